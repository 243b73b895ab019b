// SPDX-License-Identifier: GPL-2.0
/* The device as a whole: construction, entry, reset, and what all blocks use. See device.h. */
#include "device.h"

#include <cstdarg>
#include <cstdio>
#include <new>

namespace e810 {

namespace {

/* PRTDCB_GENS: firmware leaves DCBX to software. */
constexpr uint32_t dcbx_disabled = 7;

} // namespace

Device::Device(e810_host *h)
	: host(h), memory(h), interrupts(*this), reset_block(*this), adminq(*this), nvm(*this),
	  ddp(*this), resources(*this), vsis(*this), vswitch(*this), scheduler(*this), dcb(*this),
	  port(*this), wire(*this), lan_tx(*this), lan_rx(*this), rdma(*this),
	  receive_flush_(e810_bh_new(callback<&Device::flush_receive>, this))
{
	registers.constant(regs::PF_FUNC_RID, 0);
	registers.constant(regs::GLPCI_CNF2, 0); /* cache lines of 64 bytes */
	registers.constant(regs::PFPM_WUS, 0);	 /* nothing woke us */
	registers.constant(regs::PRTDCB_GENS, dcbx_disabled);
	registers.constant(regs::GLQF_FD_SIZE, fd_shared << 16 | fd_guaranteed);
}

Device::~Device()
{
	e810_bh_free(receive_flush_);
}

const char *Device::start()
{
	const char *path = e810_trace_path(host);

	if (!registers.seal())
		return "two blocks claim the same register";
	if (const char *steps = e810_fail_steps(host))
		if (const char *error = set_fail(steps))
			return error;
	if (!rdma.roce.faults_valid())
		return "property \"fault\" is malformed";
	if (path && !trace.open(path))
		return "the trace file cannot be opened";
	return nullptr;
}

void Device::reset(ResetKind kind)
{
	trace.event("reset").str("kind", reset_name(kind));
	registers.clear();
	/* Users first, so that none of them acts on what it uses after that is gone. */
	rdma.reset(kind);
	lan_tx.reset(kind);
	lan_rx.reset(kind);
	wire.reset(kind);
	dcb.reset(kind);
	scheduler.reset(kind);
	vswitch.reset(kind);
	vsis.reset(kind);
	resources.reset(kind);
	ddp.reset(kind);
	port.reset(kind);
	firmware_log.reset(kind);
	adminq.reset(kind);
	interrupts.reset(kind);
	reset_block.reset(kind);
}

bool Device::fails(std::string_view step)
{
	return rdma.refusals.ask(step).action != Refusals::Action::none;
}

const char *Device::set_fail(std::string_view steps)
{
	if (!rdma.refusals.set(steps))
		return "property \"fail\" is malformed or names an unknown step";
	return nullptr;
}

const char *Device::inject(std::string_view text)
{
	Entry entry(*this);

	return entry ? rdma.injections.inject(text) : "the device is at work";
}

uint64_t Device::faults_made() const
{
	return rdma.refusals.made() + rdma.injections.made() + rdma.roce.faults_made();
}

void Device::guest_error(const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	std::vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	e810_log_guest_error(text);
	trace.event("guest_error").str("text", text);
}

Device::Entry::Entry(Device &dev) : dev_(dev), first_(!dev.busy_)
{
	dev_.busy_ = true;
}

Device::Entry::~Entry()
{
	if (!first_)
		return;
	dev_.busy_ = false;
	if (dev_.receive_refused_)
		e810_bh_schedule(dev_.receive_flush_);
}

uint32_t Device::mmio_read(uint32_t offset)
{
	Entry entry(*this);

	if (!entry) {
		guest_error("device reads its own register %#x", offset);
		return UINT32_MAX;
	}
	return registers.read(offset & ~3u);
}

void Device::mmio_write(uint32_t offset, uint32_t value)
{
	Entry entry(*this);

	if (!entry) {
		guest_error("device writes its own register %#x", offset);
		return;
	}
	registers.write(offset & ~3u, value);
}

bool Device::receive(std::span<const uint8_t> frame)
{
	Entry entry(*this);

	/* Our own transmission came back within the call: take it when that is over. */
	if (!entry) {
		receive_refused_ = true;
		return false;
	}
	return wire.receive(frame);
}

void Device::send_done()
{
	/* The backend may call within our own e810_nic_send(), so nothing is done here and now. */
	wire.sent();
}

void Device::link_changed()
{
	Entry entry(*this);

	if (entry)
		port.link_changed();
}

void Device::flush_receive()
{
	receive_refused_ = false;
	e810_nic_receive_ready(host);
}

} // namespace e810

using e810::Device;

/* The device is known to C by a name only. */
static Device *device(e810_device *dev)
{
	return reinterpret_cast<Device *>(dev);
}

e810_device *e810_device_new(e810_host *host, const char **error)
{
	auto *dev = new Device(host);

	*error = dev->start();
	if (*error) {
		delete dev;
		return nullptr;
	}
	return reinterpret_cast<e810_device *>(dev);
}

void e810_device_free(e810_device *dev)
{
	delete device(dev);
}

void e810_device_reset(e810_device *dev, e810_bus_reset kind)
{
	Device::Entry entry(*device(dev));

	/* A guest's DMA can reach its own configuration space nowhere, so a reset never nests. */
	device(dev)->reset(kind == E810_BUS_RESET_FLR ? e810::ResetKind::function_level
						      : e810::ResetKind::power_on);
}

uint32_t e810_device_read(e810_device *dev, uint32_t offset)
{
	return device(dev)->mmio_read(offset);
}

void e810_device_write(e810_device *dev, uint32_t offset, uint32_t value)
{
	device(dev)->mmio_write(offset, value);
}

bool e810_device_receive(e810_device *dev, const uint8_t *frame, size_t len)
{
	return device(dev)->receive({frame, len});
}

void e810_device_send_done(e810_device *dev)
{
	device(dev)->send_done();
}

void e810_device_link_changed(e810_device *dev)
{
	device(dev)->link_changed();
}

const char *e810_device_set_fail(e810_device *dev, const char *steps)
{
	return device(dev)->set_fail(steps);
}

const char *e810_device_inject(e810_device *dev, const char *text)
{
	return device(dev)->inject(text);
}

uint64_t e810_device_faults(e810_device *dev)
{
	return device(dev)->faults_made();
}

unsigned int e810_device_injected(e810_device *dev)
{
	return device(dev)->rdma.injections.left();
}
