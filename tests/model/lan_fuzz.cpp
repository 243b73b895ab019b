// SPDX-License-Identifier: GPL-2.0
/*
 * Throws nonsense at the model's LAN side: AdminQ commands, descriptors, registers, received frames and
 * changing memory, while the sanitizers watch.
 *
 *	lan-fuzz [SEED [ROUNDS]]
 *
 * Checked is that the device survives, a failure being a sanitizer's report, and that frames got through in
 * both directions, so that rings and filters are known to be reached.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "lan_driver.h"
#include "lan_regs.h"

using namespace e810;

namespace {

class Fuzzer {
public:
	explicit Fuzzer(uint64_t seed) : random_(seed) { bring_up(); }

	void round()
	{
		switch (below(8)) {
		case 0:
		case 1:
			command();
			break;
		case 2:
		case 3:
			transmit();
			break;
		case 4:
		case 5:
			receive();
			break;
		case 6:
			any_register();
			break;
		case 7:
			rare();
			break;
		}
	}

	uint64_t sent() const { return sent_; }
	uint64_t received() const { return received_; }

private:
	uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

	void bring_up()
	{
		const uint8_t broadcast[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

		driver_.host.hole = UINT64_MAX;
		driver_.host.backend_full = false;
		driver_.host.link_up = true;
		e810_device_reset(driver_.host.device,
				  below(2) ? E810_BUS_RESET_FLR : E810_BUS_RESET_POWER_ON);
		driver_.open_admin();
		driver_.add_vsi(static_cast<uint8_t>(below(2)));
		driver_.add_rule(1, 1, 8 << 4 | 1 << 17, broadcast);
		driver_.add_rule(0, 4, 8 << 4 | 2, broadcast);
		driver_.add_tx_queue(8);
		driver_.open_rx();
	}

	/* A number as commands have them: mostly small. */
	uint8_t byte()
	{
		return below(3) ? static_cast<uint8_t>(below(10)) : static_cast<uint8_t>(random_());
	}

	void command()
	{
		constexpr uint16_t opcodes[] = {
			0x0001, 0x0003, 0x0008, 0x0009, 0x000a, 0x0107, 0x0200, 0x0208,
			0x0209, 0x0210, 0x0211, 0x0213, 0x02a0, 0x02a1, 0x02a2, 0x0400,
			0x0401, 0x0403, 0x0404, 0x0408, 0x0409, 0x040a, 0x040e, 0x040f,
			0x0410, 0x0412, 0x0415, 0x0600, 0x0601, 0x0605, 0x0607, 0x0701,
			0x0c30, 0x0c31, 0x0c33, 0x0c40, 0x0c42, 0x0c43, 0xff30, 0xff32,
		};
		Admin admin;

		admin.data.resize(below(8) ? below(200) : below(4200));
		for (uint8_t &b : admin.data)
			b = byte();
		for (uint8_t &b : admin.params)
			b = byte();
		driver_.run(below(64) ? opcodes[below(std::size(opcodes))]
				      : static_cast<uint16_t>(random_()),
			    admin);
	}

	void transmit()
	{
		uint32_t count = 1 + below(6);

		driver_.host.sent.clear();
		for (uint32_t i = 0; i < count; i++) {
			uint64_t length = 1 + (below(4) ? below(2000) : below(16383));
			uint64_t word =
				(below(4) ? 0 : random_() & ~(0x3fffull << 34)) | length << 34;

			word = (word & ~0xfull) | (below(8) ? 0 : below(2));
			if (i + 1 == count)
				word |= 3 << 4;
			driver_.tx(below(64) ? below(e810_host::memory_bytes - 16384) : random_(),
				   word);
		}
		if (below(64))
			driver_.ring_tx();
		else
			driver_.write(regs::QTX_COMM_DBELL + 4 * below(300),
				      static_cast<uint32_t>(random_()));
		sent_ += driver_.host.sent.size();
	}

	void receive()
	{
		Octets frame(below(8) ? 14 + below(200) : below(10000));

		for (uint8_t &b : frame)
			b = byte();
		for (size_t i = 0; i < 6 && i < frame.size() && below(8); i++)
			frame[i] = 0xff;
		if (frame.size() > 40 && below(2)) {
			const uint8_t ip[2][3] = {{0x08, 0x00, 0x45}, {0x86, 0xdd, 0x60}};

			std::copy_n(ip[below(2)], 3, frame.begin() + 12);
		}
		if (!e810_device_receive(driver_.host.device, frame.data(), frame.size()))
			driver_.write(regs::QRX_TAIL,
				      (driver_.read(regs::QRX_TAIL) + 8) % rx_entries);
		received_ += driver_.get<uint16_t>(lan_place::rx_ring + 8) != 0;
		for (uint32_t i = 0; i < rx_entries; i++) {
			driver_.put(lan_place::rx_ring + i * 32,
				    lan_place::rx_data + i * rx_buffer);
			driver_.put(lan_place::rx_ring + i * 32 + 8, uint64_t{0});
		}
	}

	void any_register()
	{
		constexpr uint32_t pages[] = {0x080000, 0x0b6000, 0x0b8000, 0x120000, 0x140000,
					      0x150000, 0x160000, 0x16c000, 0x22e000, 0x22f000,
					      0x280000, 0x290000, 0x2c0000, 0x380000};
		uint32_t reg = pages[below(std::size(pages))] + below(0x1000) / 4 * 4;

		driver_.read(reg);
		if (below(4) == 0)
			driver_.write(reg, static_cast<uint32_t>(random_()));
	}

	void rare()
	{
		switch (below(64)) {
		case 0:
		case 1:
		case 2:
		case 3:
			bring_up();
			break;
		case 4:
			driver_.host.hole = below(e810_host::memory_bytes) & ~4095u;
			break;
		case 5:
			driver_.host.backend_full = !driver_.host.backend_full;
			break;
		case 6:
			driver_.host.link_up = !driver_.host.link_up;
			e810_device_link_changed(driver_.host.device);
			break;
		default:
			e810_device_send_done(driver_.host.device);
			host_time += 10'000'000;
			driver_.host.settle();
			break;
		}
	}

	std::mt19937_64 random_;
	LanDriver driver_;
	uint64_t sent_ = 0;
	uint64_t received_ = 0;
};

} // namespace

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 1;
	uint64_t rounds = argc > 2 ? std::strtoull(argv[2], nullptr, 0) : 100000;
	Fuzzer fuzzer(seed);

	for (uint64_t i = 0; i < rounds; i++)
		fuzzer.round();
	bool reached = fuzzer.sent() && fuzzer.received();
	std::printf("lan-fuzz: %s, %llu rounds from seed %llu, %llu frames out, %llu in\n",
		    reached ? "PASS" : "FAIL", static_cast<unsigned long long>(rounds),
		    static_cast<unsigned long long>(seed),
		    static_cast<unsigned long long>(fuzzer.sent()),
		    static_cast<unsigned long long>(fuzzer.received()));
	return !reached;
}
