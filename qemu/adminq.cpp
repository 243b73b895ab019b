// SPDX-License-Identifier: GPL-2.0
/* AdminQ: execution and the table of commands; see adminq.h. */
#include "adminq.h"

#include <algorithm>
#include <array>
#include <string>

#include "device.h"

namespace e810 {

namespace {

/* Largest command buffer, bytes. */
constexpr size_t max_buffer = 4096;

/* Firmware 6.1.0 with API 1.5.0: old enough that nothing optional is expected of it. */
constexpr uint8_t firmware_version[4] = {0, 6, 1, 0}; /* branch, major, minor, patch */
constexpr uint8_t api_version[4] = {0, 1, 5, 0};

/* Time for which a lock is granted, ms. */
constexpr uint32_t lock_hold_ms = 3000;
constexpr uint16_t lock_global_config = 4;

struct Command {
	uint16_t opcode;
	const char *name;
	AqError (*run)(Device &dev, AqCommand &cmd);
};

/* Makes a plain function of a block's handler: on<&Device::block, &Block::handler>. */
template <auto Member, auto Handler> AqError on(Device &dev, AqCommand &cmd)
{
	return ((dev.*Member).*Handler)(cmd);
}

template <auto Handler> constexpr auto own = on<&Device::adminq, Handler>;
constexpr auto accept = own<&AdminQueue::accept>;
constexpr auto refuse = own<&AdminQueue::refuse>;

/* Every command that the modelled firmware knows, by opcode. */
constexpr Command commands[] = {
	{0x0001, "get-version", own<&AdminQueue::get_version>},
	{0x0002, "driver-version", accept},
	{0x0003, "queue-shutdown", own<&AdminQueue::shutdown>},
	{0x0008, "request-resource", own<&AdminQueue::request_resource>},
	{0x0009, "release-resource", own<&AdminQueue::release_resource>},
	{0x000a, "list-function-caps", own<&AdminQueue::list_capabilities>},
	{0x000b, "list-device-caps", own<&AdminQueue::list_capabilities>},

	{0x0107, "read-mac", on<&Device::port, &Port::read_mac>},
	{0x0108, "write-mac", accept},
	{0x0110, "clear-pxe-mode", accept},

	{0x0200, "get-switch-config", on<&Device::vswitch, &Switch::get_config>},
	{0x0203, "set-port-params", accept},
	{0x0208, "alloc-resource", on<&Device::resources, &Resources::allocate>},
	{0x0209, "free-resource", on<&Device::resources, &Resources::free>},
	{0x020c, "set-vlan-mode", refuse},
	{0x020d, "get-vlan-mode", refuse},
	{0x0210, "add-vsi", on<&Device::vsis, &Vsis::add>},
	{0x0211, "update-vsi", on<&Device::vsis, &Vsis::update>},
	{0x0213, "free-vsi", on<&Device::vsis, &Vsis::free>},
	{0x0292, "get-recipe", refuse},
	{0x02a0, "add-switch-rules", on<&Device::vswitch, &Switch::add_rules>},
	{0x02a1, "update-switch-rules", on<&Device::vswitch, &Switch::update_rules>},
	{0x02a2, "remove-switch-rules", on<&Device::vswitch, &Switch::remove_rules>},
	{0x02a4, "clear-pf-config", accept},

	{0x0303, "set-pfc-mode", on<&Device::dcb, &Dcb::set_pfc_mode>},

	{0x0400, "get-default-topology", on<&Device::scheduler, &Scheduler::get_default_topology>},
	{0x0401, "add-sched-elems", on<&Device::scheduler, &Scheduler::add>},
	{0x0403, "config-sched-elems", on<&Device::scheduler, &Scheduler::configure>},
	{0x0404, "get-sched-elems", on<&Device::scheduler, &Scheduler::get>},
	{0x0408, "move-sched-elems", on<&Device::scheduler, &Scheduler::move>},
	{0x0409, "suspend-sched-elems", on<&Device::scheduler, &Scheduler::suspend>},
	{0x040a, "resume-sched-elems", on<&Device::scheduler, &Scheduler::resume>},
	{0x040e, "query-port-ets", on<&Device::dcb, &Dcb::query_port_ets>},
	{0x040f, "delete-sched-elems", on<&Device::scheduler, &Scheduler::remove>},
	{0x0410, "add-rl-profiles", on<&Device::scheduler, &Scheduler::add_rate_profiles>},
	{0x0412, "query-sched-resources", on<&Device::scheduler, &Scheduler::query_resources>},
	{0x0415, "remove-rl-profiles", on<&Device::scheduler, &Scheduler::remove_rate_profiles>},

	{0x0600, "get-phy-caps", on<&Device::port, &Port::get_phy_caps>},
	{0x0601, "set-phy-config", on<&Device::port, &Port::set_phy_config>},
	{0x0603, "set-mac-config", accept},
	{0x0605, "restart-an", on<&Device::port, &Port::restart_an>},
	{0x0607, "get-link-status", on<&Device::port, &Port::get_link_status>},
	{0x0613, "set-event-mask", accept},
	{0x06e0, "get-link-topology", own<&AdminQueue::no_such_node>},
	{0x06e9, "set-port-led", accept},
	{0x06ea, "get-port-options", refuse},

	{0x0701, "nvm-read", on<&Device::nvm, &Nvm::read>},

	{0x0a00, "lldp-get-mib", refuse},
	{0x0a01, "lldp-set-mib-change", accept},
	{0x0a05, "lldp-stop", accept},
	{0x0a08, "lldp-set-local-mib", on<&Device::dcb, &Dcb::set_local_mib>},

	{0x0b02, "set-rss-key", accept},
	{0x0b03, "set-rss-lut", accept},

	{0x0c30, "add-tx-queues", on<&Device::scheduler, &Scheduler::add_tx_queues>},
	{0x0c31, "disable-tx-queues", on<&Device::scheduler, &Scheduler::disable_tx_queues>},
	{0x0c33, "add-rdma-qsets", on<&Device::scheduler, &Scheduler::add_rdma_qsets>},
	{0x0c40, "download-package", on<&Device::ddp, &Ddp::download>},
	{0x0c41, "upload-section", refuse},
	{0x0c42, "update-package", on<&Device::ddp, &Ddp::update>},
	{0x0c43, "get-package-info", on<&Device::ddp, &Ddp::get_info>},

	{0xff30, "fw-log-config", on<&Device::firmware_log, &FirmwareLog::configure>},
	{0xff31, "fw-log-register", on<&Device::firmware_log, &FirmwareLog::register_driver>},
	{0xff32, "fw-log-query", on<&Device::firmware_log, &FirmwareLog::query>},
};

static_assert(std::ranges::is_sorted(commands, {}, &Command::opcode));

const Command *find(uint16_t opcode)
{
	const Command *found = std::ranges::lower_bound(commands, opcode, {}, &Command::opcode);

	return found != std::end(commands) && found->opcode == opcode ? found : nullptr;
}

/* The mailbox's registers are in steps of 0x80 like the others', but for the pairs' distance. */
constexpr ControlQueue::Layout layout(uint32_t send, uint32_t receive, uint32_t step)
{
	return {{send, send + step, send + 2 * step, send + 3 * step, send + 4 * step},
		{receive, receive + step, receive + 2 * step, receive + 3 * step,
		 receive + 4 * step}};
}

} // namespace

AdminQueue::AdminQueue(Device &dev)
	: dev_(dev), admin_(dev, "admin", layout(regs::PF_FW_ATQBAL, regs::PF_FW_ARQBAL, 0x100),
			    Cause::firmware(), run_admin, this),
	  mailbox_(dev, "mailbox", layout(regs::PF_MBX_ATQBAL, regs::PF_MBX_ARQBAL, 0x80),
		   Cause::mailbox(), run_nobody, this),
	  sideband_(dev, "sideband", layout(regs::PF_SB_ATQBAL, regs::PF_SB_ARQBAL, 0x80),
		    Cause::sideband(), run_nobody, this)
{
}

void AdminQueue::reset(ResetKind)
{
	std::ranges::fill(held_, false);
}

void AdminQueue::run_admin(void *block, ControlDescriptor &desc)
{
	static_cast<AdminQueue *>(block)->run(desc);
}

void AdminQueue::run_nobody(void *, ControlDescriptor &desc)
{
	desc.flags |= ControlDescriptor::flag_done | ControlDescriptor::flag_complete |
		      ControlDescriptor::flag_error;
	desc.retval = static_cast<uint16_t>(AqError::enoent);
}

void AdminQueue::run(ControlDescriptor &desc)
{
	std::array<uint8_t, max_buffer> data{};
	bool has_buffer = desc.flags & ControlDescriptor::flag_buffer;
	std::span<uint8_t> buffer(data.data(), has_buffer ? desc.datalen : 0);
	uint64_t addr = desc.address();
	const Command *command = find(desc.opcode);
	AqError result = AqError::ok;

	if (has_buffer && desc.datalen > max_buffer) {
		buffer = {};
		result = AqError::einval;
	}
	if (desc.flags & ControlDescriptor::flag_read && !dev_.memory.read(addr, buffer))
		result = AqError::einval;

	AqCommand cmd{desc.opcode, Bytes(desc.params), Bytes(buffer), buffer.size()};
	const char *name = command ? command->name : "unknown";

	if (result == AqError::ok) {
		if (dev_.fails(std::string("aq-") + name))
			result = AqError::eperm;
		else
			result = command ? command->run(dev_, cmd) : AqError::enosys;
	}
	if (has_buffer && result == AqError::ok &&
	    !dev_.memory.write(addr, buffer.first(std::min(cmd.answer, buffer.size()))))
		result = AqError::einval;

	dev_.trace.event("aq")
		.str("op", name)
		.hex("opcode", desc.opcode)
		.bytes("params", desc.params)
		.u64("len", desc.datalen)
		.u64("ret", static_cast<uint16_t>(result));

	desc.flags |= ControlDescriptor::flag_done | ControlDescriptor::flag_complete;
	if (result != AqError::ok)
		desc.flags |= ControlDescriptor::flag_error;
	desc.retval = static_cast<uint16_t>(result);
	desc.datalen = static_cast<uint16_t>(std::min(cmd.answer, buffer.size()));
}

AqError AdminQueue::accept(AqCommand &)
{
	return AqError::ok;
}

AqError AdminQueue::refuse(AqCommand &)
{
	return AqError::enosys;
}

AqError AdminQueue::no_such_node(AqCommand &)
{
	return AqError::enoent;
}

AqError AdminQueue::get_version(AqCommand &cmd)
{
	cmd.params.copy_in(8, firmware_version);
	cmd.params.copy_in(12, api_version);
	return AqError::ok;
}

AqError AdminQueue::shutdown(AqCommand &)
{
	/* The driver is going: locks that it forgot are free. */
	std::ranges::fill(held_, false);
	return AqError::ok;
}

AqError AdminQueue::request_resource(AqCommand &cmd)
{
	constexpr uint16_t status_granted = 0, status_done = 2;
	uint16_t id = cmd.params.u16(0);
	uint16_t status = status_granted;

	if (id >= resources)
		return AqError::einval;
	if (held_[id])
		return AqError::ebusy;
	/* Whoever wants to configure the device finds that it is done: no lock is needed. */
	if (id == lock_global_config && dev_.ddp.active())
		status = status_done;
	else
		held_[id] = true;
	cmd.params.put32(4, lock_hold_ms);
	cmd.params.put16(12, status);
	return AqError::ok;
}

AqError AdminQueue::release_resource(AqCommand &cmd)
{
	uint16_t id = cmd.params.u16(0);

	if (id >= resources)
		return AqError::einval;
	held_[id] = false;
	return AqError::ok;
}

} // namespace e810
