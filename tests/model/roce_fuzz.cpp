// SPDX-License-Identifier: GPL-2.0
/*
 * Throws nonsense at the model's RoCEv2 transport, from both sides, while the sanitizers watch:
 * frames with fields changed at random (and a right ICRC, so that they get in), and work requests
 * of random words.
 *
 *	roce-fuzz [SEED [ROUNDS]]
 *
 * Checked is that the devices survive, and that work got done in between, so that the nonsense is
 * known to get somewhere.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "irdma/hw/regs.h"
#include "roce_end.h"
#include "roce_packet.h"

namespace {

class Fuzzer {
public:
	explicit Fuzzer(uint64_t seed) : random_(seed) {}

	/** A connection that lives until something ends it. Returns what was completed. */
	unsigned connection()
	{
		RocePair pair(256u << below(3));
		unsigned completions = 0;

		pair.cable = [&](RocePair::Frame &frame) {
			if (below(50) == 0)
				spoil(frame);
			return below(32) != 0;
		};
		for (int i = 0; i < 60; i++) {
			work(pair.a);
			work(pair.b);
			pair.run(below(8) ? 0 : 0.6);
			for (RoceEnd *end : {&pair.a, &pair.b}) {
				while (auto entry = end->poll())
					completions += !entry->get(hw::cqe::error);
				end->events();
			}
		}
		return completions;
	}

private:
	uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

	void work(RoceEnd &end)
	{
		constexpr hw::SqOp usual[] = {hw::SqOp::send, hw::SqOp::rdma_write,
					      hw::SqOp::rdma_read};
		constexpr hw::SqOp rare[] = {hw::SqOp::send_inv, hw::SqOp::fast_register,
					     hw::SqOp::bind_mw, hw::SqOp::local_invalidate,
					     hw::SqOp::nop};
		uint32_t qp = RoceEnd::rc + below(3);
		bool rc = qp == RoceEnd::rc;
		hw::SqOp op = rc ? usual[below(std::size(usual))] : hw::SqOp::send;

		if (below(40) == 0)
			op = rare[below(std::size(rare))];
		end.post_receive(qp, {{below(1 << 20), 30'000}});
		end.post_send(qp, op, {{below(1 << 20), below(rc ? 30'000 : 256)}},
			      [&](hw::Quantum &q) {
				      if (rc)
					      connected(q);
				      else
					      datagram(q);
				      spoil(q);
			      });
	}

	void connected(hw::Quantum &q)
	{
		q.set(hw::sq::remote_addr, RoceEnd::va + below(1 << 20));
		q.set(hw::sq::remote_stag, RoceEnd::stag);
		if (below(6) == 0)
			q.set(hw::sq::immediate, 1);
	}

	void datagram(hw::Quantum &q)
	{
		q.set(hw::sq::ud_qkey, RoceEnd::qkey);
		q.set(hw::sq::ud_ah, below(2));
		q.set(hw::sq::ud_dest_qp, below(2) ? 0xffffff : RoceEnd::ud);
	}

	void spoil(hw::Quantum &q)
	{
		if (below(100) == 0)
			q.qw[below(4)].set(random_());
		if (below(100) == 0)
			q.set(hw::sq::opcode, below(64));
		if (below(100) == 0)
			q.set(hw::sq::inline_data, 1);
	}

	/* Changes headers or length, and makes the ICRC right again. */
	void spoil(RocePair::Frame &frame)
	{
		constexpr size_t udp = 34, bth = 42, icrc_bytes = 4;

		switch (below(6)) {
		case 0: /* too short */
			frame.resize(14 + below(static_cast<uint32_t>(frame.size() - 13)));
			break;
		case 1:
			frame[bth] = static_cast<uint8_t>(below(0x20));
			break;
		case 2: /* a PSN nearby */
			frame[bth + 11] = static_cast<uint8_t>(frame[bth + 11] + below(5) - 2);
			break;
		case 3: /* longer, with a UDP length to match */
			frame.resize(frame.size() + 4 * below(100));
			break;
		default:
			frame[bth + below(static_cast<uint32_t>(
					    std::min<size_t>(28, frame.size() - bth)))] =
				static_cast<uint8_t>(random_());
			break;
		}
		if (frame.size() < bth + 12 + icrc_bytes)
			return;
		size_t length = frame.size() - udp;
		e810::put_be16(frame, 16, static_cast<uint16_t>(frame.size() - 14));
		e810::put_be16(frame, udp + 4, static_cast<uint16_t>(length));
		uint32_t crc = e810::roce_icrc(
			std::span(frame).subspan(14, frame.size() - 14 - icrc_bytes), false);
		for (size_t i = 0; i < icrc_bytes; i++)
			frame[frame.size() - icrc_bytes + i] = static_cast<uint8_t>(crc >> 8 * i);
	}

	std::mt19937_64 random_;
};

} // namespace

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 1;
	unsigned long rounds = argc > 2 ? std::strtoul(argv[2], nullptr, 0) : 100;
	Fuzzer fuzzer(seed);
	unsigned completions = 0;

	for (unsigned long i = 0; i < rounds; i++)
		completions += fuzzer.connection();
	std::printf("seed %llu: survived %lu connections, %u completions\n",
		    static_cast<unsigned long long>(seed), rounds, completions);
	return completions ? 0 : 1;
}
