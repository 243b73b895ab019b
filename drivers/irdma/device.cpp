// SPDX-License-Identifier: GPL-2.0
/*
 * Life of a device; see device.h. The entry points of driver.h that concern
 * the device as a whole are at the end.
 */
#include "device.h"

#include "base/trace.h"
#include "hw/limits.h"
#include "hw/regs.h"

namespace irdma {

namespace {

namespace reg = hw::reg;

constexpr u32 engine_ready_ms = 15000; /* firmware boots after a reset */
constexpr u32 min_mtu_ipv4 = 576;
constexpr u32 min_mtu_ipv6 = 1280;
constexpr u32 min_stag_index_bits = 14;
constexpr u32 ah_limit = 1u << 17; /* bits of an AH's index */

/*
 * How long a dead device waits before each reset that it asks for; there are no more than these. The
 * first: ice may tell of the cause in its service task, and a request that comes while that runs is
 * looked at when its timer starts it again. In 6.12 it stands still once devlink has reloaded ice.
 */
constexpr u32 reset_delays_ms[] = {100, 1000, 5000, 20000};
constexpr u32 trust_ms = 10 * 60 * 1000;
constexpr u32 reset_again_ms = 50; /* when ice cannot be asked just now */

constexpr u32 log2_ceil(u64 v)
{
	return v <= 1 ? 0 : log2_floor(v - 1) + 1;
}

} // namespace

/* ---- Graveyard ---- */

struct Graveyard::Grave {
	Grave(DmaBuffer m, Grave *n) : memory(move(m)), next(n) {}

	DmaBuffer memory;
	Grave *next;
};

Graveyard::~Graveyard()
{
	while (graves_) {
		Grave *grave = graves_;

		graves_ = grave->next;
		destroy(grave);
	}
}

void Graveyard::bury(DmaBuffer memory)
{
	if (!memory)
		return;
	auto grave = make<Grave>(move(memory), nullptr);

	if (!grave) {
		memory.abandon(); /* lost rather than written to by the device */
		return;
	}
	SpinGuard guard(lock_);

	grave->next = graves_;
	graves_ = grave.release();
}

/* ---- Bring-up ---- */

struct Device::Step {
	const char *name;
	Status (*up)(Device &);
	void (*down)(Device &); /**< null: nothing to undo */
};

/* The order is the stock driver's. */
const Device::Step Device::steps[] = {
	{"engine ready", [](Device &d) { return d.wait_for_engine(); }, nullptr},
	{"doorbells", [](Device &d) { return d.check_doorbells(); }, nullptr},
	{"control QP", [](Device &d) { return d.cqp.create(); },
	 [](Device &d) { d.cqp.destroy(); }},
	{"host memory query", [](Device &d) { return d.hmc.query(); }, nullptr},
	{"host memory commit", [](Device &d) { return d.hmc.commit(); }, nullptr},
	{"host memory segments", [](Device &d) { return d.hmc.allocate(); },
	 [](Device &d) { d.hmc.release(); }},
	{"object numbers", [](Device &d) { return d.create_id_tables(); }, nullptr},
	{"event queue plan", [](Device &d) { return d.events.plan(); }, nullptr},
	{"CCQ", [](Device &d) { return d.cqp.create_ccq(); },
	 [](Device &d) { d.cqp.destroy_ccq(); }},
	{"features", [](Device &d) { return d.read_features(); }, nullptr},
	{"CEQ 0", [](Device &d) { return d.events.create_ceq0(); },
	 [](Device &d) { d.events.destroy_ceq0(); }},
	{"CEQs", [](Device &d) { return d.events.create_ceqs(); },
	 [](Device &d) { d.events.destroy_ceqs(); }},
	{"page lists", [](Device &d) { return d.pbles.create(); },
	 [](Device &d) { d.pbles.destroy(); }},
	{"AEQ", [](Device &d) { return d.events.create_aeq(); },
	 [](Device &d) { d.events.destroy_aeq(); }},
	{"ARP table", [](Device &d) { return d.arp.create(); }, [](Device &d) { d.arp.destroy(); }},
	{"quality of service", [](Device &d) { return d.qos.create(); },
	 [](Device &d) { d.qos.destroy(); }},
	{"statistics", [](Device &d) { return d.statistics.create(); },
	 [](Device &d) { d.statistics.destroy(); }},
};

Device::Device(shim_device *s)
	: shim(s), dma_pool(s), cqp(*this), hmc(*this), events(*this), pbles(hmc), arp(*this),
	  qos(*this), mcast(*this), shared_ahs(*this), late_ahs(*this), statistics(*this),
	  reset_work_(reset, this, SHIM_WORK_EVENTS)
{
	shim_get_port_info(shim, &port);
}

Status Device::start()
{
	for (const Step &step : steps) {
		Status status = step.up(*this);

		if (!status.ok()) {
			shim_log(shim, SHIM_ERR, "bring-up failed at \"%s\": %d", step.name,
				 status.code());
			stop();
			return status;
		}
		up_++;
	}
	shim_log(shim, SHIM_INFO,
		 "%llu KiB of memory for %u QPs, %u CQs and %u MRs (limits_sel %u), firmware %u.%u",
		 shim_dma_bytes(shim) >> 10, hmc.count(hw::HmcObject::qp),
		 hmc.count(hw::HmcObject::cq), hmc.count(hw::HmcObject::mr), shim_limits_sel(),
		 fw_major, fw_minor);
	trace("up", "", 0, 0);
	return {};
}

void Device::stop()
{
	/* An address handle that was destroyed without sleeping gives its ARP entry back only then. */
	if (up_ == array_size(steps)) {
		late_ahs.finish();
		cqp.drain();
	}
	while (up_) {
		const Step &step = steps[--up_];

		if (step.down)
			step.down(*this);
	}
}

Status Device::wait_for_engine()
{
	for (u64 start = shim_now_ms();; shim_sleep_us(10000)) {
		u32 cpu[] = {read(reg::glpe_cpustatus0), read(reg::glpe_cpustatus1),
			     read(reg::glpe_cpustatus2)};
		bool ready = true;

		for (u32 status : cpu)
			ready = ready && status == reg::cpustatus_ready;
		if (ready)
			return {};
		if (cpu[0] == ~0u) {
			shim_log(shim, SHIM_ERR, "device is off the bus");
			return Error::no_device;
		}
		if (shim_now_ms() - start > engine_ready_ms) {
			shim_log(shim, SHIM_ERR, "protocol engine is not ready: status %#x %#x %#x",
				 cpu[0], cpu[1], cpu[2]);
			return Error::timed_out;
		}
	}
}

Status Device::check_doorbells()
{
	u32 size = static_cast<u32>(reg::lbarctrl_db_size.take(read(reg::glpci_lbarctrl)));

	if (size == reg::db_size_4m || size == reg::db_size_8m)
		return {};
	shim_log(shim, SHIM_ERR, "protocol engine has no doorbells in BAR 0 (size code %u)", size);
	return Error::no_device;
}

Status Device::create_id_tables()
{
	using HmcObject = hw::HmcObject;
	u32 mrs = hmc.count(HmcObject::mr);

	IRDMA_TRY(pd_ids.create(1, hw::max_pds));
	IRDMA_TRY(cq_ids.create(hw::ccq_number + 1, hmc.count(HmcObject::cq)));
	IRDMA_TRY(qp_ids.create(hw::first_user_qp, hmc.count(HmcObject::qp)));
	IRDMA_TRY(stag_ids.create(1, mrs));
	IRDMA_TRY(ah_ids.create(1, min(hmc.count(HmcObject::fsiav), ah_limit)));
	IRDMA_TRY(mcast_ids.create(1, min(hmc.count(HmcObject::fsimc), hw::max_mcast_groups)));
	IRDMA_TRY(qps.create(hmc.count(HmcObject::qp)));
	stag_index_bits = max(log2_ceil(mrs), min_stag_index_bits);
	return {};
}

Status Device::read_features()
{
	namespace f = hw::cqp_features;
	auto buffer = DmaBuffer::create(shim, f::buffer_bytes);

	IRDMA_TRY(buffer);
	auto done = cqp.run(cmd::QueryFeatures{
		.buffer = buffer.value().bus(),
		.length = f::buffer_bytes,
	});
	if (!done.ok()) {
		graveyard.bury(buffer.take());
		return done.status();
	}
	u64 first = buffer.value().as<hw::Le64>()->get();

	/* The firmware's version, and the number of entries; one more at least is always there. */
	if (f::entry_type.take(first) || f::entry_count.take(first) < 2)
		return Error::protocol;
	fw_major = static_cast<u16>(f::fw_major.take(first));
	fw_minor = static_cast<u16>(f::fw_minor.take(first));
	return {};
}

void Device::show_numbers(shim_text *text) const
{
	const struct {
		const char *name;
		const IdTable &table;
	} tables[] = {
		{"PDs", pd_ids},     {"CQs", cq_ids}, {"QPs", qp_ids},
		{"STags", stag_ids}, {"AHs", ah_ids}, {"multicast_groups", mcast_ids},
	};

	for (const auto &t : tables)
		shim_print(text, "%s %u of %u\n", t.name, t.table.used(), t.table.capacity());
}

/* ---- Death ---- */

/** A step on the way to a reset or from it; see the event irdma_reset. */
void Device::trace(const char *what, const char *why, u32 attempt, int error) const
{
	if (tracing(SHIM_TRACE_RESET))
		shim_trace_reset(shim, what, why, attempt, error);
}

/**
 * End all commands; whether this is news. Who drains the control QP, and finds the device dead
 * already, waits for the callbacks.
 */
bool Device::die()
{
	Cqp::Calling calling(cqp);

	if (!dead_.compare_exchange(false, true))
		return false;
	cqp.fail_all();
	return true;
}

void Device::declare_dead(const char *why)
{
	if (!die())
		return;
	shim_log(shim, SHIM_ERR, "device is given up: %s", why);
	trace("given_up", why, 0, 0);
	report_death();
}

void Device::on_lost()
{
	if (!die())
		return;
	shim_log(shim, SHIM_INFO, "device was reset or is off the bus");
	trace("lost", "reset by others, or off the bus", 0, 0);
	report_death();
}

/**
 * Before there are consumers nothing is reset: that would be tried again, for ever. The lock keeps
 * them from going meanwhile.
 */
void Device::report_death()
{
	SpinGuard guard(life_lock_);

	if (!registered_ || exchange(reported_, true))
		return;
	shim_device_fatal(shim);
	if (on_bus())
		plan_reset();
}

bool Device::on_bus() const
{
	return read(reg::pfpe_ccqpstatus) != ~0u;
}

/** A device that works for a while is trusted again; one that never does is left alone. */
void Device::plan_reset()
{
	shim_history &history = *shim_history_of(shim);

	if (shim_now_ms() - history.last_reset_ms > trust_ms)
		history.resets = 0;
	if (history.resets < array_size(reset_delays_ms))
		reset_work_.queue_ms(shim, reset_delays_ms[history.resets]);
	else
		shim_log(shim, SHIM_ERR,
			 "%u resets have not helped: out of use until irdma is loaded anew",
			 history.resets);
	trace(history.resets < array_size(reset_delays_ms) ? "planned" : "out_of_use", "",
	      history.resets, 0);
}

void Device::reset(void *arg)
{
	Device &device = *static_cast<Device *>(arg);
	shim_history &history = *shim_history_of(device.shim);
	int error = shim_request_reset(device.shim);

	if (error == -SHIM_EAGAIN) {
		device.reset_work_.queue_ms(device.shim, reset_again_ms);
		return;
	}
	device.trace("asked", "", history.resets + 1, error);
	if (error == -SHIM_EBUSY) /* one is under way */
		return;
	if (error) {
		shim_log(device.shim, SHIM_ERR, "ice refuses to reset the function: %d", error);
		return;
	}
	history.resets++;
	history.last_reset_ms = shim_now_ms();
	shim_log(device.shim, SHIM_WARN, "asked for a reset of the function, attempt %u of %llu",
		 history.resets, static_cast<u64>(array_size(reset_delays_ms)));
}

void Device::on_registered()
{
	{
		SpinGuard guard(life_lock_);

		registered_ = true;
	}
	if (dead())
		report_death();
}

bool Device::on_removal()
{
	removing_.store(true);
	{
		SpinGuard guard(life_lock_);

		registered_ = false;
	}
	reset_work_.cancel();
	bool lost = reg::rstat_device_state.take(read(reg::glgen_rstat)) || !cqp.exists();

	trace("removing", "", 0, 0);
	if (lost)
		on_lost();
	else
		cqp.hurry();
	qos.on_removal();
	return !lost;
}

void Device::on_critical_error(u32 oicr)
{
	if (oicr & reg::oicr_hmc_error)
		declare_dead("error of the host memory cache");
	if (oicr & reg::oicr_pe_push_error)
		declare_dead("error of push mode");
	if (oicr & reg::oicr_pe_critical) {
		u32 error = read(reg::glpe_criterr);

		shim_log(shim, SHIM_WARN, "critical error of the protocol engine: %#x", error);
		if (error != reg::criterr_q1_resource)
			declare_dead("critical error of the protocol engine");
	}
}

} // namespace irdma

/* ---- Entry points ---- */

using namespace irdma;

/**
 * irdma_device_start() - bring a device up
 * @dev: its shim, with the link to ice
 * @out: gets the device
 *
 * May sleep. Return: 0, or a negative errno; the step that failed has been logged and all before
 * it are undone.
 */
int irdma_device_start(shim_device *dev, irdma_device **out)
{
	auto device = make<Device>(dev);

	if (!device)
		return -SHIM_ENOMEM;
	Status status = device->start();
	if (status.ok())
		*out = to_c(device.release());
	else if (device->keeps_memory())
		(void)device.release();
	return status.code();
}

/**
 * irdma_device_registered() - consumers can use the device from now on
 * @device: the device
 *
 * Any context.
 */
void irdma_device_registered(irdma_device *device)
{
	from_c(device)->on_registered();
}

/**
 * irdma_device_removing() - the device is about to go
 * @device: the device
 *
 * May sleep. Return: false if it is being reset or is off the bus.
 */
bool irdma_device_removing(irdma_device *device)
{
	return from_c(device)->on_removal();
}

/**
 * irdma_device_stop() - take a device down; no object of it is left
 * @device: the device, which is freed
 *
 * May sleep.
 */
void irdma_device_stop(irdma_device *device)
{
	Device *d = from_c(device);

	d->stop();
	if (!d->keeps_memory())
		destroy(d);
}

/**
 * irdma_describe_memory() - what memory the engine has from us
 * @device: the device
 * @details: gets it
 *
 * May sleep.
 */
void irdma_describe_memory(irdma_device *device, irdma_memory_details *details)
{
	Device &d = *from_c(device);

	*details = {
		.cache = d.hmc.backed_bytes(),
		.page_lists = d.pbles.backed_bytes(),
		.page_lists_used = d.pbles.used() * hw::pble_bytes,
	};
}

/**
 * irdma_show() - what debugfs shows of a device
 * @device: the device, which is up, or dead but not stopped
 * @view: what of it
 * @text: gets it
 *
 * May sleep.
 */
void irdma_show(irdma_device *device, irdma_view view, shim_text *text)
{
	Device &d = *from_c(device);

	switch (view) {
	case IRDMA_VIEW_CQP:
		return d.cqp.show(text);
	case IRDMA_VIEW_HMC:
		d.hmc.show(text);
		return d.show_numbers(text);
	case IRDMA_VIEW_PAGE_LISTS:
		return d.pbles.show(text);
	case IRDMA_VIEW_QOS:
		return d.qos.show(text);
	case IRDMA_VIEW_ARP:
		return d.arp.show(text);
	case IRDMA_VIEW_VECTORS:
		return d.events.show(text);
	}
}

/**
 * irdma_critical_error() - ice saw causes of an interrupt that mean trouble
 * @device: the device
 * @oicr: the causes, register PFINT_OICR
 *
 * May sleep.
 */
void irdma_critical_error(irdma_device *device, u32 oicr)
{
	from_c(device)->on_critical_error(oicr);
}

/**
 * irdma_mtu_changed() - the netdev has another MTU
 * @device: the device
 * @mtu: bytes
 *
 * May sleep. The path MTU of a QP is its consumer's choice and stays.
 */
void irdma_mtu_changed(irdma_device *device, u32 mtu)
{
	Device &d = *from_c(device);

	d.port.mtu = mtu;
	if (mtu < min_mtu_ipv6)
		shim_log(d.shim, SHIM_WARN, "MTU %u is below what RDMA over %s needs", mtu,
			 mtu < min_mtu_ipv4 ? "IP" : "IPv6");
}
