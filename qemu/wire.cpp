// SPDX-License-Identifier: GPL-2.0
/* Sending, receiving and steering frames; see wire.h. */
#include "wire.h"

#include <algorithm>

#include "device.h"
#include "packet.h"

namespace e810 {

namespace {

/* Frames kept while the backend is full: more than one segmented packet of each sender makes. */
constexpr size_t most_waiting = 16384;

constexpr uint64_t counter_mask = (1ull << 40) - 1;

} // namespace

Wire::Wire(Device &dev) : dev_(dev), resume_(dev, callback<&Wire::resume>, this)
{
	Registers &r = dev.registers;

	r.claim<&Wire::read_counter<&Wire::rx_, &Counters::bytes>, nullptr>(this, regs::GLPRT_GORCL,
									    2);
	r.claim<&Wire::read_counter<&Wire::rx_, &Counters::unicast>, nullptr>(this,
									      regs::GLPRT_UPRCL, 2);
	r.claim<&Wire::read_counter<&Wire::rx_, &Counters::multicast>, nullptr>(
		this, regs::GLPRT_MPRCL, 2);
	r.claim<&Wire::read_counter<&Wire::rx_, &Counters::broadcast>, nullptr>(
		this, regs::GLPRT_BPRCL, 2);
	r.claim<&Wire::read_counter<&Wire::tx_, &Counters::bytes>, nullptr>(this, regs::GLPRT_GOTCL,
									    2);
	r.claim<&Wire::read_counter<&Wire::tx_, &Counters::unicast>, nullptr>(this,
									      regs::GLPRT_UPTCL, 2);
	r.claim<&Wire::read_counter<&Wire::tx_, &Counters::multicast>, nullptr>(
		this, regs::GLPRT_MPTCL, 2);
	r.claim<&Wire::read_counter<&Wire::tx_, &Counters::broadcast>, nullptr>(
		this, regs::GLPRT_BPTCL, 2);
}

template <auto Direction, auto Field> uint32_t Wire::read_counter(uint32_t half)
{
	uint64_t value = (this->*Direction).*Field & counter_mask;

	return static_cast<uint32_t>(half ? value >> 32 : value);
}

void Wire::Counters::count(std::span<const uint8_t> frame)
{
	bytes += frame.size() + 4; /* with FCS, as the hardware counts */
	if (!is_multicast(frame))
		unicast++;
	else if (is_broadcast(frame))
		broadcast++;
	else
		multicast++;
}

void Wire::reset(ResetKind kind)
{
	waiting_.clear();
	if (kind == ResetKind::pf || kind == ResetKind::function_level)
		return;
	rx_ = Counters{};
	tx_ = Counters{};
}

void Wire::send(std::span<const uint8_t> frame)
{
	std::vector<uint8_t> padded;

	if (!dev_.port.link_up() || frame.size() < ethernet_header || frame.size() > max_frame)
		return;
	if (frame.size() < min_frame) {
		padded.assign(frame.begin(), frame.end());
		padded.resize(min_frame);
		frame = padded;
	}
	tx_.count(frame);
	if (ready())
		transmit(frame);
	else if (waiting_.size() < most_waiting)
		waiting_.emplace_back(frame.begin(), frame.end());
}

void Wire::transmit(std::span<const uint8_t> frame)
{
	/* A frame that the backend has no room for is queued there; it is done with either way. */
	backend_full_ = !e810_nic_send(dev_.host, frame.data(), frame.size());
}

void Wire::resume()
{
	backend_full_ = false;
	while (!waiting_.empty() && !backend_full_) {
		std::vector<uint8_t> frame = std::move(waiting_.front());

		waiting_.pop_front();
		transmit(frame);
	}
	if (ready())
		dev_.lan_tx.wire_ready();
	if (ready())
		dev_.rdma.wire_ready();
}

bool Wire::receive(std::span<const uint8_t> frame)
{
	if (!dev_.port.link_up() || frame.size() < ethernet_header || frame.size() > max_frame)
		return true;
	if (!(is_rocev2(frame) && dev_.rdma.receive(frame)) && !dev_.vswitch.receive(frame))
		return false;
	rx_.count(frame);
	return true;
}

} // namespace e810
