// SPDX-License-Identifier: GPL-2.0
/*
 * Life of a device; see device.h. The entry points of driver.h that concern
 * the device as a whole are at the end.
 */
#include "device.h"

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
	: shim(s), cqp(*this), hmc(*this), events(*this), pbles(*this), arp(*this), qos(*this),
	  mcast(*this), statistics(*this)
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
	shim_log(shim, SHIM_DBG, "firmware %u.%u, %u QPs, %u CEQs, %llu MiB of host memory",
		 fw_major, fw_minor, hmc.count(hw::HmcObject::qp), events.ceq_count(),
		 hmc.backed_bytes() >> 20);
	return {};
}

void Device::stop()
{
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

/* ---- Death ---- */

void Device::declare_dead(const char *why)
{
	if (!dead_.compare_exchange(false, true))
		return;
	shim_log(shim, SHIM_ERR, "device is given up: %s", why);
	cqp.fail_all();
	if (registered_.load())
		report_death();
}

/** Before there are consumers nothing is reset: that would be tried again, for ever. */
void Device::report_death()
{
	if (!reported_.compare_exchange(false, true))
		return;
	shim_log(shim, SHIM_WARN, "asking for a reset of the function");
	shim_device_fatal(shim);
	shim_request_reset(shim);
}

void Device::on_registered()
{
	/* Either we see that it is dead, or declare_dead() sees that it is registered. */
	registered_.exchange(true);
	if (dead())
		report_death();
}

void Device::on_removal()
{
	registered_.store(false);
	if (cqp.exists() || !dead_.compare_exchange(false, true))
		return;
	shim_log(shim, SHIM_INFO, "device was reset or is gone");
	cqp.fail_all();
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
 * May sleep. Finds out whether the engine still answers.
 */
void irdma_device_removing(irdma_device *device)
{
	from_c(device)->on_removal();
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
	destroy(d);
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
