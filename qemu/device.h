// SPDX-License-Identifier: GPL-2.0
/*
 * The modelled E810: one PCI function, made of blocks.
 *
 * A block is a class in a file of its own that owns one part of the hardware. It is a member of Device,
 * claims its registers in its constructor, and has reset(ResetKind). Blocks reach each other through
 * Device. QEMU reaches the device through the e810_device_* functions of glue.h.
 *
 * All code runs under QEMU's global lock, one entry at a time: a guest can make the device write to its own
 * registers by DMA, and such an access from within the device is refused (see Entry), so no block is ever
 * entered while it is at work.
 */
#pragma once

#include <string_view>

#include "adminq.h"
#include "dcb.h"
#include "ddp.h"
#include "deferred.h"
#include "firmware_log.h"
#include "glue.h"
#include "interrupts.h"
#include "lan_rx.h"
#include "lan_tx.h"
#include "memory.h"
#include "nvm.h"
#include "port.h"
#include "rdma.h"
#include "registers.h"
#include "reset.h"
#include "reset_kind.h"
#include "resources.h"
#include "scheduler.h"
#include "switch.h"
#include "trace.h"
#include "vsi.h"
#include "wire.h"

namespace e810 {

class Device {
public:
	explicit Device(e810_host *host);
	~Device();
	Device(const Device &) = delete;
	Device &operator=(const Device &) = delete;

	/** Completes construction. Returns nullptr, or why the device cannot be. */
	const char *start();

	/** Resets all blocks, in the order of their dependence. */
	void reset(ResetKind kind);

	/**
	 * Property "fail" (refusals.h): should the device refuse the step called @p step? AdminQ
	 * commands are asked for as "aq-<name>" (see the table in adminq.cpp).
	 */
	bool fails(std::string_view step);

	/** The guest did what the hardware would not accept: goes to QEMU's log and to the trace. */
	[[gnu::format(printf, 2, 3)]] void guest_error(const char *format, ...);

	/** Entries, called by the glue and by Timer and Deferred. */
	uint32_t mmio_read(uint32_t offset);
	void mmio_write(uint32_t offset, uint32_t value);
	bool receive(std::span<const uint8_t> frame);
	void send_done();
	void link_changed();
	/** Properties set while the device runs. Return nullptr, or what is wrong with the text. */
	const char *set_fail(std::string_view steps);
	const char *inject(std::string_view text);
	/** Property "faults": how many there were by "fail", "inject" and "fault". */
	uint64_t faults_made() const;

	/** Frames that receive() refused may be offered again: soon, not within this call. */
	void receive_again() { e810_bh_schedule(receive_flush_); }

	/** The device is being worked on. At most one Entry succeeds at a time. */
	class Entry {
	public:
		explicit Entry(Device &dev);
		~Entry();
		Entry(const Entry &) = delete;
		Entry &operator=(const Entry &) = delete;
		explicit operator bool() const { return first_; }

	private:
		Device &dev_;
		bool first_;
	};

	e810_host *const host;
	Memory memory;
	Trace trace;
	Registers registers;

	/* Blocks */
	Interrupts interrupts;
	Reset reset_block;
	AdminQueue adminq;
	FirmwareLog firmware_log;
	Nvm nvm;
	Ddp ddp;
	Resources resources;
	Vsis vsis;
	Switch vswitch;
	Scheduler scheduler;
	Dcb dcb;
	Port port;
	Wire wire;
	LanTx lan_tx;
	LanRx lan_rx;
	Rdma rdma;

private:
	void flush_receive();

	bool busy_ = false;
	bool receive_refused_ = false;
	e810_bh *receive_flush_;
};

} // namespace e810
