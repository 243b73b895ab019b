// SPDX-License-Identifier: GPL-2.0
/* The least of a driver; see rdma_driver.h. */
#include "rdma_driver.h"

#include <cstdio>
#include <cstdlib>

#include "irdma/hw/regs.h"

namespace {

constexpr uint64_t cookie = 0x1122334455667788;
constexpr uint32_t ring_entries = 2048;
constexpr uint32_t ccq_entries = 2049;

} // namespace

RdmaDriver::RdmaDriver(const char *fail, uint8_t number, const char *fault)
{
	const char *error;

	host.fail = fail;
	host.fault = fault;
	host.mac[E810_MAC_LEN - 1] = number;
	host.device = e810_device_new(&host, &error);
	if (!host.device) {
		std::printf("no device: %s\n", error);
		std::exit(1);
	}
	e810_device_reset(host.device, E810_BUS_RESET_POWER_ON);
}

RdmaDriver::~RdmaDriver()
{
	e810_device_free(host.device);
}

uint32_t RdmaDriver::create_cqp(uint64_t size_code)
{
	hw::Words<8> context;

	context.set(hw::cqp_context::sq_size, size_code);
	context.set(hw::cqp_context::sq_addr, place::cqp_ring);
	context.set(hw::cqp_context::cookie, cookie);
	put(place::cqp_context, context);
	posted = 0;
	has_ccq = false;
	write(hw::reg::pfpe_ccqphigh, 0);
	write(hw::reg::pfpe_ccqplow, place::cqp_context);
	return read(hw::reg::pfpe_ccqpstatus);
}

void RdmaDriver::destroy_cqp()
{
	write(hw::reg::pfpe_ccqphigh, 0);
	write(hw::reg::pfpe_ccqplow, 0);
}

std::optional<Done> RdmaDriver::post(hw::CqpOp op, hw::CqpWqe wqe)
{
	uint32_t index = posted % ring_entries;

	wqe.set(hw::cqp::opcode, static_cast<uint64_t>(op));
	wqe.set(hw::cqp::valid, !(posted / ring_entries % 2));
	put(place::cqp_ring + index * sizeof(wqe), wqe);
	posted++;
	write(hw::reg::pfpe_cqpdb, posted % ring_entries);

	auto entry = get<hw::CcqEntry>(place::ccq + ccq_seen_ % ccq_entries * sizeof(hw::CcqEntry));
	if (!has_ccq || entry.get(hw::ccqe::valid) != !(ccq_seen_ / ccq_entries % 2) ||
	    entry.get(hw::ccqe::cookie) != cookie || entry.get(hw::ccqe::wqe_index) != index)
		return std::nullopt;
	ccq_seen_++;
	put<uint64_t>(place::shadows, ccq_seen_ % ccq_entries);
	return Done{entry.get(hw::ccqe::error) != 0,
		    static_cast<uint16_t>(entry.get(hw::ccqe::major_error)),
		    static_cast<uint16_t>(entry.get(hw::ccqe::minor_error)),
		    static_cast<uint32_t>(entry.get(hw::ccqe::return_value))};
}

uint32_t RdmaDriver::must(hw::CqpOp op, const hw::CqpWqe &wqe)
{
	std::optional<Done> done = post(op, wqe);

	if ((has_ccq && (!done || done->error)) ||
	    read(hw::reg::pfpe_cqptail) != posted % ring_entries) {
		std::printf("command %#x failed: minor %#x\n", static_cast<unsigned>(op),
			    done ? done->minor : 0);
		std::exit(1);
	}
	return done ? done->value : 0;
}

hw::CqpWqe RdmaDriver::cq_wqe(uint32_t cq, uint32_t entries)
{
	hw::CqpWqe wqe;

	wqe.set(hw::cqp_cq::cq, cq);
	wqe.set(hw::cqp_cq::size, entries);
	wqe.set(hw::cqp_cq::context, 0x1000 + cq);
	wqe.set(hw::cqp_cq::ceq_valid, 1);
	wqe.set(hw::cqp_cq::check_overflow, 1);
	wqe.set(hw::cqp_cq::addr, cq ? place::cq : place::ccq);
	wqe.set(hw::cqp_cq::shadow_addr, place::shadows + 64 * cq);
	return wqe;
}

hw::CqpWqe RdmaDriver::qp_wqe(uint32_t qp, hw::QpState next)
{
	hw::CqpWqe wqe;

	wqe.set(hw::cqp_qp::qp, qp);
	wqe.set(hw::cqp_qp::qp_type, static_cast<uint64_t>(hw::QpType::rc));
	wqe.set(hw::cqp_qp::next_state, static_cast<uint64_t>(next));
	wqe.set(hw::cqp_qp::cq_num_valid, 1);
	wqe.set(hw::cqp_qp::context_addr, place::buffer);
	return wqe;
}

void RdmaDriver::arm(uint32_t cq, uint32_t consumer, bool next)
{
	hw::CqShadow shadow;

	shadow.set(hw::cq_shadow::consumer_index, consumer);
	shadow.set(hw::cq_shadow::arm_next, next);
	shadow.set(hw::cq_shadow::arm_solicited, 1);
	put(place::shadows + 64 * cq, shadow);
	write(hw::reg::pfpe_cqarm, cq);
}

void RdmaDriver::bring_up()
{
	hw::CqpWqe wqe;

	create_cqp();
	wqe.set(hw::cqp_fpm::addr, place::buffer);
	must(hw::CqpOp::query_fpm, wqe);
	/* A few objects of each kind. */
	hw::FpmBuffer fpm;
	for (const hw::HmcObjectInfo &info : hw::hmc_object_info)
		if (info.size != hw::HmcObjectInfo::not_queried)
			fpm.qw[info.commit_word].set(info.object == hw::HmcObject::pble ? 4096
											: 64);
	put(place::buffer, fpm);
	must(hw::CqpOp::commit_fpm, wqe);

	for (uint64_t sd = 0; sd < 4; sd++) {
		hw::CqpWqe update;
		update.qw[0].set(hw::cqp_sds::sd_index.put(sd) | hw::cqp_sds::sd_write.put(1));
		update.qw[1].set((place::segments + sd * hw::sd_bytes) |
				 hw::cqp_sds::sd_valid.put(1) | hw::cqp_sds::sd_direct.put(1) |
				 hw::cqp_sds::sd_bp_count.put(hw::pages_per_sd));
		must(hw::CqpOp::update_pe_sds, update);
	}
	/* The completion of CREATE_CQ of the CCQ is its first entry. */
	ccq_seen_ = 0;
	std::memset(host.memory.data() + place::ccq, 0, ccq_entries * sizeof(hw::CcqEntry));
	has_ccq = true;
	must(hw::CqpOp::create_cq, cq_wqe(0, ccq_entries));

	hw::CqpWqe queue;
	queue.set(hw::cqp_ceq::size, 16);
	queue.set(hw::cqp_ceq::addr, place::ceq);
	must(hw::CqpOp::create_ceq, queue);
	queue = hw::CqpWqe{};
	queue.set(hw::cqp_aeq::size, 4);
	queue.set(hw::cqp_aeq::addr, place::aeq);
	must(hw::CqpOp::create_aeq, queue);
	/* Vector 1 for the AEQ, 2 for the CEQ. */
	write(hw::reg::pfint_aeqctl, 1u << 30 | 1);
	write(hw::reg::glint_ceqctl(0), 1u << 30 | 2);
	write(hw::reg::glint_dyn_ctl(1), 1);
	write(hw::reg::glint_dyn_ctl(2), 1);
}
