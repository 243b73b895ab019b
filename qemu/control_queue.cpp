// SPDX-License-Identifier: GPL-2.0
/* Control queue rings; see control_queue.h. */
#include "control_queue.h"

#include <algorithm>

#include "device.h"

namespace e810 {

namespace {

constexpr uint32_t index_mask = 0x3ff;
constexpr uint32_t len_overflow = 1u << 29;
constexpr uint32_t len_critical = 1u << 30;
constexpr uint32_t len_enable = 1u << 31;

} // namespace

ControlQueue::ControlQueue(Device &dev, const char *name, const Layout &layout, Cause cause,
			   Handler handler, void *block)
	: dev_(dev), name_(name), layout_(layout), cause_(cause), handler_(handler), block_(block)
{
	dev.registers.claim<nullptr, &ControlQueue::write_send_tail>(this, layout.send[tail]);
}

uint32_t ControlQueue::entries(const uint32_t (&ring)[5]) const
{
	uint32_t value = dev_.registers.get(ring[len]);

	return value & len_enable ? value & index_mask : 0;
}

uint64_t ControlQueue::slot(const uint32_t (&ring)[5], uint32_t index) const
{
	uint64_t base =
		uint64_t{dev_.registers.get(ring[bah])} << 32 | dev_.registers.get(ring[bal]);

	return base + uint64_t{index} * sizeof(ControlDescriptor);
}

void ControlQueue::write_send_tail(uint32_t, uint32_t value)
{
	Registers &r = dev_.registers;
	uint32_t size = entries(layout_.send);
	uint32_t end = value & index_mask;
	uint32_t next = r.get(layout_.send[head]) & index_mask;
	bool interrupt = false;

	r.set(layout_.send[tail], end);
	if (!size) /* the driver clears the indexes before it enables the queue */
		return;
	if (end >= size || next >= size) {
		dev_.guest_error("%s queue: index beyond %u entries", name_, size);
		r.set(layout_.send[len], r.get(layout_.send[len]) | len_critical);
		return;
	}
	while (next != end) {
		uint64_t addr = slot(layout_.send, next);
		auto desc = dev_.memory.load<ControlDescriptor>(addr);

		if (desc) {
			interrupt |= !(desc->flags & ControlDescriptor::flag_no_interrupt);
			handler_(block_, *desc);
			/* The command may have reset the queue: then nobody waits for an answer. */
			if (!entries(layout_.send))
				return;
		}
		if (!desc || !dev_.memory.store(addr, *desc)) {
			dev_.guest_error("%s queue: descriptor not accessible", name_);
			r.set(layout_.send[len], r.get(layout_.send[len]) | len_critical);
			return;
		}
		next = next + 1 == size ? 0 : next + 1;
		r.set(layout_.send[head], next);
	}
	if (interrupt)
		dev_.interrupts.raise(cause_);
}

void ControlQueue::post(uint16_t opcode, std::span<const uint8_t, 16> params,
			std::span<const uint8_t> data)
{
	Registers &r = dev_.registers;
	uint32_t size = entries(layout_.receive);
	uint32_t next = r.get(layout_.receive[head]) & index_mask;

	if (!size || next >= size)
		return;
	if (next == (r.get(layout_.receive[tail]) & index_mask)) {
		r.set(layout_.receive[len], r.get(layout_.receive[len]) | len_overflow);
		return;
	}

	uint64_t addr = slot(layout_.receive, next);
	auto desc = dev_.memory.load<ControlDescriptor>(addr);

	if (!desc || !dev_.memory.write(desc->address(),
					data.first(std::min<size_t>(data.size(), desc->datalen)))) {
		dev_.guest_error("%s queue: event buffer not accessible", name_);
		return;
	}
	desc->flags = ControlDescriptor::flag_done | ControlDescriptor::flag_complete |
		      ControlDescriptor::flag_buffer;
	desc->opcode = opcode;
	desc->retval = 0;
	desc->datalen = static_cast<uint16_t>(std::min<size_t>(data.size(), desc->datalen));
	/* The buffer's address stays in the descriptor for the driver to find. */
	std::copy_n(params.begin(), 8, desc->params);
	if (!dev_.memory.store(addr, *desc))
		return;
	r.set(layout_.receive[head], next + 1 == size ? 0 : next + 1);
	dev_.interrupts.raise(cause_);
}

} // namespace e810
