// SPDX-License-Identifier: GPL-2.0
/*
 * The wire: frames between the device and QEMU's network backend, and the port's counters.
 *
 * LAN rings and protocol engine both send through it. When the backend is full, ready() is false and the
 * senders should stop; they are told (wire_ready()) when to go on. What is sent all the same, the rest of
 * one large segmented packet, is kept. Received frames are steered here: RoCEv2 to the protocol engine
 * first, all else to the switch.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "deferred.h"
#include "reset_kind.h"

namespace e810 {

class Device;

/** Largest frame with VLAN tag, without FCS, in bytes. */
constexpr size_t max_frame = 9728;
/** Smallest frame without FCS; shorter ones are padded. */
constexpr size_t min_frame = 60;

class Wire {
public:
	explicit Wire(Device &dev);

	/** May frames be sent now? If not, wire_ready() of LanTx and Rdma is called when they may. */
	bool ready() const { return !backend_full_ && waiting_.empty(); }

	/**
	 * Sends one frame, Ethernet header first, without FCS; pads it. While the link is down, or with
	 * a length that does not fit, the frame is lost, as on a cable.
	 */
	void send(std::span<const uint8_t> frame);

	/** A frame from the backend. False: no room for it now, the backend shall keep it. */
	bool receive(std::span<const uint8_t> frame);

	/** The backend takes frames again. */
	void sent() { resume_.schedule(); }

	void reset(ResetKind kind);

private:
	/* GLPRT counters of one direction; each is 40 bits in two registers. */
	struct Counters {
		uint64_t bytes = 0;
		uint64_t unicast = 0;
		uint64_t multicast = 0;
		uint64_t broadcast = 0;

		void count(std::span<const uint8_t> frame);
	};

	template <auto Direction, auto Field> uint32_t read_counter(uint32_t half);
	void transmit(std::span<const uint8_t> frame);
	void resume();

	Device &dev_;
	bool backend_full_ = false;
	std::deque<std::vector<uint8_t>> waiting_;
	Deferred resume_;
	Counters rx_;
	Counters tx_;
};

/** Is this a UDP frame to the RoCEv2 port, over IPv4 or IPv6, not fragmented, with at most one VLAN tag? */
bool is_rocev2(std::span<const uint8_t> frame);

} // namespace e810
