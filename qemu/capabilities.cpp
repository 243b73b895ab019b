// SPDX-License-Identifier: GPL-2.0
/*
 * Capabilities of device and function: AdminQ commands 000a and 000b.
 *
 * One list serves both. Not reported are SR-IOV, 1588, NVM management and the 5-layer scheduler.
 */
#include "capabilities.h"

#include "adminq.h"
#include "device.h"

namespace e810 {

namespace {

struct Capability {
	uint16_t id;
	uint32_t number;
	uint32_t logical_id;
	uint32_t physical_id;
};

constexpr size_t entry_size = 32;

} // namespace

AqError AdminQueue::list_capabilities(AqCommand &cmd)
{
	const Capability list[] = {
		{0x0005, 1, 0, 0}, /* valid functions: PF 0 */
		{0x0017, max_vsis, 0, 0},
		{0x0018, 1, 1, 8}, /* DCB: enabled, TCs in use, most TCs */
		{0x0040, rss_table_size, rss_queue_bits, 0},
		{0x0041, lan_queues, 0, 0}, /* receive */
		{0x0042, lan_queues, 0, 0}, /* transmit */
		{0x0043, e810_vectors(dev_.host), 0, 0},
		{0x0045, fd_guaranteed + fd_shared, 0, 0},
		{0x0047, max_mtu, 0, 0},
		{0x0051, 1, 0, 0}, /* RDMA */
	};
	size_t offset = 0;

	if (cmd.buffer.size() < sizeof(list) / sizeof(list[0]) * entry_size)
		return AqError::enomem;
	for (const Capability &c : list) {
		Bytes entry = cmd.buffer.part(offset, entry_size);

		entry.fill(0);
		entry.put16(0, c.id);
		entry.put8(2, 1); /* major version */
		entry.put32(4, c.number);
		entry.put32(8, c.logical_id);
		entry.put32(12, c.physical_id);
		offset += entry_size;
	}
	cmd.params.put32(4, static_cast<uint32_t>(offset / entry_size));
	cmd.answer = offset;
	return AqError::ok;
}

} // namespace e810
