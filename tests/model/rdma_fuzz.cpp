// SPDX-License-Identifier: GPL-2.0
/*
 * Throws nonsense at the model's protocol engine: random commands, contexts, doorbells, ring
 * contents and registers, with numbers near the limits of the tables, while the sanitizers watch.
 *
 *	rdma-fuzz [SEED [ROUNDS]]
 *
 * Checked is that the device survives, a failure being a sanitizer's report, and that each command
 * went well now and then, so that it is known to be reached.
 */
#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "irdma/hw/regs.h"
#include "rdma_driver.h"

namespace {

class Fuzzer {
public:
	explicit Fuzzer(uint64_t seed) : random_(seed) { driver_.bring_up(); }

	void round()
	{
		switch (below(16)) {
		case 0:
		case 1:
		case 2:
		case 3:
		case 4:
		case 5:
		case 6:
		case 7:
			command();
			break;
		case 8:
		case 9:
		case 10:
			doorbell();
			break;
		case 11:
		case 12:
			scribble();
			break;
		case 13:
			engine_register();
			break;
		case 14:
			driver_.host.settle();
			break;
		case 15:
			rare();
			break;
		}
	}

	/** Commands that never went well: the nonsense was too wild to get anywhere. */
	unsigned never() const
	{
		unsigned count = 0;

		for (uint32_t opcode = 0; opcode < hw::cqp_opcodes; opcode++) {
			bool virtual_function =
				opcode == static_cast<uint32_t>(hw::CqpOp::manage_vf_pble_bp) ||
				opcode == static_cast<uint32_t>(hw::CqpOp::manage_hmc_pm_func);
			const hw::Layout layout = hw::cqp_layout(opcode);

			if (layout.count && !virtual_function && !succeeded_[opcode]) {
				std::printf("%s never succeeded\n", layout.name);
				count++;
			}
		}
		return count;
	}

private:
	uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

	/* Mostly small, sometimes at a limit, sometimes anything. */
	uint64_t number(const hw::Field &field)
	{
		switch (below(8)) {
		case 0:
			return random_();
		case 1:
			return field.max();
		case 2:
			return below(2048);
		case 3:
			return 0;
		default:
			return below(8);
		}
	}

	/* Mostly where there is memory. */
	uint64_t address()
	{
		return below(16) ? random_() % e810_host::memory_bytes & ~7ULL : random_();
	}

	void command()
	{
		uint32_t opcode = below(hw::cqp_opcodes + 2);
		const hw::Layout layout = hw::cqp_layout(opcode);
		hw::CqpWqe wqe;

		/* These two would end the game too early. */
		if ((opcode == static_cast<uint32_t>(hw::CqpOp::destroy_cq) ||
		     opcode == static_cast<uint32_t>(hw::CqpOp::commit_fpm)) &&
		    below(32))
			return;
		for (unsigned i = 0; i < layout.count; i++) {
			const hw::Field &field = layout.fields[i];
			wqe.set(field, field.width() >= 57 ? address() : number(field));
		}
		if (below(4))
			plausible(opcode, wqe);
		auto done = driver_.post(static_cast<hw::CqpOp>(opcode), wqe);
		if (!done)
			return restart(); /* the nonsense has cost us CQP or CCQ */
		if (!done->error)
			succeeded_[opcode]++;
	}

	/* Makes a command on a queue pair one that the device may well accept. */
	void plausible(uint32_t opcode, hw::CqpWqe &wqe)
	{
		using enum hw::CqpOp;
		constexpr uint32_t pairs = 4;

		switch (static_cast<hw::CqpOp>(opcode)) {
		case create_qp:
		case modify_qp:
		case destroy_qp:
			wqe.set(hw::cqp_qp::qp, below(pairs));
			wqe.set(hw::cqp_qp::qp_type, 3 + below(2));
			wqe.set(hw::cqp_qp::next_state, opcode ? 1 + below(6) : 1);
			wqe.set(hw::cqp_qp::context_addr, context());
			break;
		case flush_wqes:
			wqe.set(hw::cqp_flush::qp, below(pairs));
			break;
		case suspend_qp:
		case resume_qp:
			wqe.set(hw::cqp_suspend::qp, below(pairs));
			wqe.set(hw::cqp_suspend::qs_handle, 1 + below(2));
			break;
		case work_sched_node:
			wqe.set(hw::cqp_ws::node, below(4));
			wqe.set(hw::cqp_ws::parent, below(4) / 2);
			wqe.set(hw::cqp_ws::node_op, below(3));
			break;
		default:
			break;
		}
	}

	uint64_t context()
	{
		hw::QpContext context;

		for (const hw::Field &field : hw::qpc::fields)
			context.set(field, field.width() >= 57 ? address() : number(field));
		context.set(hw::qpc::send_cq, below(2));
		context.set(hw::qpc::recv_cq, below(2));
		context.set(hw::qpc::sq_size, below(16));
		context.set(hw::qpc::rq_size, below(16));
		driver_.put(place::buffer, context);
		return place::buffer;
	}

	void doorbell()
	{
		constexpr uint32_t bells[] = {
			hw::reg::pfpe_cqarm,	 hw::reg::pfpe_cqack,
			hw::reg::pfpe_wqealloc,	 hw::reg::pfpe_aeqalloc,
			hw::reg::db_page_offset, hw::reg::db_page_offset + hw::reg::db_cqarm,
		};

		driver_.write(bells[below(std::size(bells))],
			      below(8) ? below(64) : static_cast<uint32_t>(random_()));
	}

	/* The guest changes what lies in its memory. */
	void scribble()
	{
		uint64_t at = address() % (e810_host::memory_bytes - 8);

		for (int i = 0; i < 64; i++, at = (at + 8) % (e810_host::memory_bytes - 8))
			if (at < place::cqp_context || at >= place::cqp_ring + 2048 * 64)
				driver_.put(at, below(2) ? random_() : address());
	}

	void engine_register()
	{
		uint32_t page = below(2) ? 0x500000 : hw::reg::push_area_offset;
		uint32_t reg = page + below(0x10000) / 4 * 4;

		driver_.read(reg);
		if (reg != hw::reg::pfpe_cqpdb && reg != hw::reg::pfpe_ccqplow)
			driver_.write(reg, static_cast<uint32_t>(random_()));
	}

	void rare()
	{
		switch (below(256)) {
		case 0:
			driver_.write(hw::reg::pfpe_cqpdb, static_cast<uint32_t>(random_()));
			restart();
			break;
		case 1:
			e810_device_reset(driver_.host.device, E810_BUS_RESET_FLR);
			driver_.bring_up();
			break;
		case 2:
			restart();
			break;
		case 3:
			driver_.host.hole = address() & ~4095ULL;
			for (int i = 0; i < 8; i++)
				doorbell();
			driver_.host.hole = UINT64_MAX;
			break;
		}
	}

	void restart()
	{
		driver_.destroy_cqp();
		driver_.bring_up();
	}

	std::mt19937_64 random_;
	RdmaDriver driver_;
	std::array<uint64_t, hw::cqp_opcodes + 2> succeeded_{};
};

} // namespace

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 1;
	uint64_t rounds = argc > 2 ? std::strtoull(argv[2], nullptr, 0) : 300000;
	Fuzzer fuzzer(seed);

	for (uint64_t i = 0; i < rounds; i++)
		fuzzer.round();
	unsigned never = fuzzer.never();
	std::printf("rdma-fuzz: %s, %llu rounds from seed %llu\n", never ? "FAIL" : "PASS",
		    static_cast<unsigned long long>(rounds), static_cast<unsigned long long>(seed));
	return never != 0;
}
