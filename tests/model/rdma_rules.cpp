// SPDX-License-Identifier: GPL-2.0
/*
 * What the model's protocol engine must do and must refuse, one rule after the other, without QEMU
 * and without a driver that would only do what is right. Prints a line for each rule that is
 * broken.
 */
#include <cstdio>

#include "irdma/hw/ae_codes.h"
#include "irdma/hw/regs.h"
#include "irdma/hw/wqe.h"
#include "rdma_driver.h"
#include "rules.h"

namespace {

constexpr uint16_t invalid_state = hw::cqp_error::invalid_state;

bool refused(const std::optional<Done> &done, uint16_t minor)
{
	return done && done->error && done->minor == minor;
}

bool fine(const std::optional<Done> &done)
{
	return done && !done->error;
}

/* A context for QP tests: CQ 1 for both queues, 16 quanta each, physical. */
void put_context(RdmaDriver &driver, uint32_t qs_handle = 0)
{
	hw::QpContext context;

	context.set(hw::qpc::sq_addr, place::queues);
	context.set(hw::qpc::rq_addr, place::queues + 0x1000);
	context.set(hw::qpc::sq_size, 2);
	context.set(hw::qpc::rq_size, 2);
	context.set(hw::qpc::send_cq, 1);
	context.set(hw::qpc::recv_cq, 1);
	context.set(hw::qpc::completion_ctx, 0x9988);
	context.set(hw::qpc::qs_handle, qs_handle);
	driver.put(place::buffer, context);
}

hw::CqpWqe ws_wqe(uint32_t node, uint32_t parent, uint32_t op, bool leaf)
{
	hw::CqpWqe wqe;

	wqe.set(hw::cqp_ws::node, node);
	wqe.set(hw::cqp_ws::parent, parent);
	wqe.set(hw::cqp_ws::node_op, op);
	wqe.set(hw::cqp_ws::leaf, leaf);
	return wqe;
}

/* CQ 1, a scheduler leaf and QP 2 in RTS. */
void make_rts(RdmaDriver &driver)
{
	driver.must(hw::CqpOp::create_cq, driver.cq_wqe(1, 8));
	driver.must(hw::CqpOp::work_sched_node, ws_wqe(0, 0, hw::cqp_ws::op_add, false));
	uint32_t handle =
		driver.must(hw::CqpOp::work_sched_node, ws_wqe(1, 0, hw::cqp_ws::op_add, true));
	put_context(driver, handle);
	driver.must(hw::CqpOp::create_qp, driver.qp_wqe(2, hw::QpState::idle));
	driver.must(hw::CqpOp::modify_qp, driver.qp_wqe(2, hw::QpState::rtr));
	driver.must(hw::CqpOp::modify_qp, driver.qp_wqe(2, hw::QpState::rts));
}

void post_work(RdmaDriver &driver, uint64_t queue, uint32_t index, bool valid = true)
{
	hw::Quantum quantum;

	quantum.set(hw::sq::opcode, static_cast<uint64_t>(hw::SqOp::send));
	quantum.set(hw::sq::valid, valid);
	driver.put(queue + index * sizeof(quantum), quantum);
}

hw::CqpWqe flush_wqe(uint32_t qp)
{
	hw::CqpWqe wqe;

	wqe.set(hw::cqp_flush::qp, qp);
	wqe.set(hw::cqp_flush::flush_sq, 1);
	wqe.set(hw::cqp_flush::flush_rq, 1);
	return wqe;
}

void cqp_life()
{
	RdmaDriver driver;

	CHECK(driver.create_cqp(0) == 1u << 31);
	CHECK(driver.create_cqp(11) == 1u << 31);
	CHECK(driver.create_cqp() == 1);
	CHECK(driver.create_cqp() == (1u << 31 | 1)); /* there is one already */
	driver.destroy_cqp();
	CHECK(driver.read(hw::reg::pfpe_ccqpstatus) == 0);
	CHECK(driver.create_cqp() == 1);

	/* Valid bit of the wrong lap. */
	driver.put(place::cqp_ring, hw::CqpWqe{});
	driver.write(hw::reg::pfpe_cqpdb, 1);
	CHECK(driver.read(hw::reg::pfpe_cqptail) == 1u << 31);

	/* It takes all objects with it. */
	driver.destroy_cqp();
	driver.bring_up();
	driver.destroy_cqp();
	driver.bring_up();

	/* Every kind of reset ends it. */
	e810_device_reset(driver.host.device, E810_BUS_RESET_FLR);
	CHECK(driver.read(hw::reg::pfpe_ccqpstatus) == 0);
	CHECK(driver.read(hw::reg::pfpe_cqptail) == 0);
}

void cqp_laps()
{
	RdmaDriver driver;

	driver.bring_up();
	for (int i = 0; i < 5000; i++)
		if (!fine(driver.post(hw::CqpOp::nop, {})))
			return CHECK(!"NOP over three laps of CQP and CCQ");
	CHECK(driver.post(static_cast<hw::CqpOp>(0x3f), {})->error);
	CHECK(driver.read(hw::reg::pfpe_cqptail) >> 31);
	CHECK(fine(driver.post(hw::CqpOp::nop, {})));
	CHECK(!(driver.read(hw::reg::pfpe_cqptail) >> 31));
}

void memory_cache()
{
	RdmaDriver driver;
	hw::CqpWqe wqe;

	driver.bring_up();
	/* More than QUERY_FPM offers. */
	hw::FpmBuffer fpm;
	fpm.qw[0].set(513);
	driver.put(place::buffer, fpm);
	wqe.set(hw::cqp_fpm::addr, place::buffer);
	CHECK(driver.post(hw::CqpOp::commit_fpm, wqe)->error);
	wqe.set(hw::cqp_fpm::addr, ~0ULL - 7);
	CHECK(driver.post(hw::CqpOp::commit_fpm, wqe)->error);

	/* No CQ beyond the committed number, and none without memory behind it. */
	CHECK(driver.post(hw::CqpOp::create_cq, driver.cq_wqe(64, 8))->error);
	hw::CqpWqe clear;
	clear.qw[0].set(hw::cqp_sds::sd_write.put(1));
	CHECK(fine(driver.post(hw::CqpOp::update_pe_sds, clear)));
	auto done = driver.post(hw::CqpOp::create_cq, driver.cq_wqe(1, 8));
	CHECK(done && done->error && done->major == hw::cqp_error::object_cache);

	/* The same segment, paged: only its first page is there. */
	hw::CqpWqe paged;
	driver.put<uint64_t>(place::segments, (place::segments + 0x1000) | hw::pd_entry_valid);
	paged.qw[0].set(hw::cqp_sds::sd_write.put(1));
	paged.qw[1].set(place::segments | hw::cqp_sds::sd_valid.put(1) |
			hw::cqp_sds::sd_bp_count.put(hw::pages_per_sd));
	CHECK(fine(driver.post(hw::CqpOp::update_pe_sds, paged)));
	put_context(driver);
	CHECK(driver.post(hw::CqpOp::create_cq, driver.cq_wqe(1, 8))->error);
	hw::CqpWqe bad = paged;
	bad.qw[0].set(hw::cqp_sds::sd_write.put(1) | 0x7fff);
	CHECK(driver.post(hw::CqpOp::update_pe_sds, bad)->error);
}

void queue_pair_states()
{
	RdmaDriver driver;

	driver.bring_up();
	put_context(driver);
	CHECK(driver.post(hw::CqpOp::create_qp, driver.qp_wqe(2, hw::QpState::idle))
		      ->error); /* no CQ */
	make_rts(driver);
	CHECK(refused(driver.post(hw::CqpOp::create_qp, driver.qp_wqe(2, hw::QpState::idle)),
		      invalid_state));
	CHECK(refused(driver.post(hw::CqpOp::modify_qp, driver.qp_wqe(2, hw::QpState::idle)),
		      invalid_state));
	CHECK(refused(driver.post(hw::CqpOp::modify_qp, driver.qp_wqe(2, hw::QpState::rtr)),
		      invalid_state));
	CHECK(fine(driver.post(hw::CqpOp::modify_qp, driver.qp_wqe(2, hw::QpState::error))));
	CHECK(refused(driver.post(hw::CqpOp::modify_qp, driver.qp_wqe(2, hw::QpState::rts)),
		      invalid_state));
	CHECK(fine(driver.post(hw::CqpOp::destroy_qp, driver.qp_wqe(2, hw::QpState::error))));
	CHECK(refused(driver.post(hw::CqpOp::destroy_qp, driver.qp_wqe(2, hw::QpState::error)),
		      invalid_state));
	/* RTR needs a leaf of the work scheduler. */
	put_context(driver, 77);
	CHECK(fine(driver.post(hw::CqpOp::create_qp, driver.qp_wqe(3, hw::QpState::idle))));
	CHECK(driver.post(hw::CqpOp::modify_qp, driver.qp_wqe(3, hw::QpState::rtr))->error);
}

void sequence_numbers()
{
	RdmaDriver driver;
	hw::CqpWqe upload;

	driver.bring_up();
	make_rts(driver);
	/* A change within RTS must not touch what the device counts. */
	auto context = driver.get<hw::QpContext>(place::buffer);
	context.set(hw::qpc::psn_next, 77);
	context.set(hw::qpc::expected_psn, 88);
	context.set(hw::qpc::tos, 9);
	context.set(hw::qpc::sq_addr, 0x123000);
	driver.put(place::buffer, context);
	driver.must(hw::CqpOp::modify_qp, driver.qp_wqe(2, hw::QpState::rts));
	upload.set(hw::cqp_upload::qp, 2);
	upload.set(hw::cqp_upload::addr, place::buffer + 0x100);
	driver.must(hw::CqpOp::upload_context, upload);
	auto kept = driver.get<hw::QpContext>(place::buffer + 0x100);
	CHECK(kept.get(hw::qpc::psn_next) == 0);
	CHECK(kept.get(hw::qpc::expected_psn) == 0);
	CHECK(kept.get(hw::qpc::tos) == 9);
	CHECK(kept.get(hw::qpc::sq_addr) == place::queues);
}

void flush()
{
	RdmaDriver driver;

	driver.bring_up();
	make_rts(driver);
	auto done = driver.post(hw::CqpOp::flush_wqes, flush_wqe(2));
	CHECK(fine(done) && done->minor == 0); /* nothing was posted */
	post_work(driver, place::queues, 0);
	post_work(driver, place::queues, 1);
	driver.write(hw::reg::db_page_offset, 2);
	driver.arm(1, 0);
	uint32_t messages = driver.host.messages[2];
	done = driver.post(hw::CqpOp::flush_wqes, flush_wqe(2));
	CHECK(fine(done) && done->minor == hw::cqp_flushed::sq);
	auto entry = driver.get<hw::Cqe>(place::cq);
	CHECK(entry.get(hw::cqe::valid) && entry.get(hw::cqe::error) && entry.get(hw::cqe::is_sq));
	CHECK(entry.get(hw::cqe::completion_ctx) == 0x9988 && entry.get(hw::cqe::qp) == 2);
	CHECK(entry.get(hw::cqe::major_error) == 1 && entry.get(hw::cqe::minor_error) == 1);
	CHECK(driver.host.messages[2] == messages + 1);
	CHECK(driver.get<hw::Ceqe>(place::ceq).get(hw::ceqe::context) == 0x1001);
	CHECK(!driver.get<hw::Cqe>(place::cq + sizeof(entry))
		       .get(hw::cqe::valid)); /* one for both */

	/* What comes later is flushed by a later command, with its own index. */
	post_work(driver, place::queues, 2);
	post_work(driver, place::queues + 0x1000, 0);
	done = driver.post(hw::CqpOp::flush_wqes, flush_wqe(2));
	CHECK(fine(done) && done->minor == hw::cqp_flushed::both);
	CHECK(driver.get<hw::Cqe>(place::cq + sizeof(entry)).get(hw::cqe::wqe_index) == 2);
}

void arming()
{
	RdmaDriver driver;
	auto events = [&] {
		uint32_t count = 0;
		while (driver.get<hw::Ceqe>(place::ceq + count * 8).get(hw::ceqe::valid))
			count++;
		return count;
	};
	auto complete = [&](uint32_t index) {
		post_work(driver, place::queues, index);
		driver.must(hw::CqpOp::flush_wqes, flush_wqe(2));
	};

	driver.bring_up();
	make_rts(driver);
	complete(0);
	CHECK(events() == 0); /* not armed */
	driver.arm(1, 0);
	CHECK(events() == 1); /* there was something already */
	complete(1);
	CHECK(events() == 1); /* one shot */
	driver.arm(1, 0);
	CHECK(events() == 1); /* not before the first is acknowledged */
	driver.write(hw::reg::pfpe_cqack, 1);
	CHECK(events() == 2);
	driver.write(hw::reg::pfpe_cqack, 1);
	CHECK(events() == 2);
	complete(2);
	CHECK(events() == 2); /* the arm is used up */
	driver.arm(1, 3);
	CHECK(events() == 2); /* all consumed */
	complete(3);
	CHECK(events() == 3);
	driver.write(hw::reg::pfpe_cqack, 1);
	driver.arm(1, 3);
	CHECK(events() == 3); /* of that entry there was an event */
	complete(4);
	CHECK(events() == 4);
	driver.write(hw::reg::pfpe_cqarm, 63);
	driver.write(hw::reg::pfpe_cqarm, 0xffffffff);
}

void overflows()
{
	RdmaDriver driver;
	hw::CqpWqe event;

	driver.bring_up();
	make_rts(driver);
	/* CQ 1 has 8 entries, none consumed: the eighth does not fit. */
	for (uint32_t i = 0; i < 8; i++) {
		post_work(driver, place::queues, i);
		driver.must(hw::CqpOp::flush_wqes, flush_wqe(2));
	}
	auto entry = driver.get<hw::Aeqe>(place::aeq);
	CHECK(entry.get(hw::aeqe::valid));
	CHECK(entry.get(hw::aeqe::code) == static_cast<uint64_t>(hw::AeCode::cq_operation_error));
	CHECK(entry.get(hw::aeqe::id_low) == 1 && entry.get(hw::aeqe::completion_ctx) == 0x1001);
	CHECK(driver.host.messages[1] == 1);

	/* The AEQ has 4 entries: the fifth event is lost, the next tells so. */
	event.set(hw::cqp_flush::qp, 2);
	event.set(hw::cqp_flush::generate_ae, 1);
	event.set(hw::cqp_flush::ae_code, 0x50a);
	event.set(hw::cqp_flush::ae_source, 5);
	for (int i = 0; i < 4; i++)
		driver.must(hw::CqpOp::flush_wqes, event);
	CHECK(driver.get<hw::Aeqe>(place::aeq).get(hw::aeqe::valid));
	driver.write(hw::reg::pfpe_aeqalloc, 4);
	driver.must(hw::CqpOp::flush_wqes, event);
	entry = driver.get<hw::Aeqe>(place::aeq);
	CHECK(!entry.get(hw::aeqe::valid) && entry.get(hw::aeqe::overflow));
	CHECK(entry.get(hw::aeqe::code) == 0x50a && entry.get(hw::aeqe::source) == 5);
	CHECK(entry.get(hw::aeqe::qp_state) == static_cast<uint64_t>(hw::QpState::rts));
}

void work_scheduler()
{
	RdmaDriver driver;
	auto node = [&](uint32_t id, uint32_t parent, uint32_t op, bool leaf) {
		return driver.post(hw::CqpOp::work_sched_node, ws_wqe(id, parent, op, leaf));
	};

	driver.bring_up();
	CHECK(node(1, 0, hw::cqp_ws::op_add, false)->error); /* no parent */
	CHECK(node(0, 0, hw::cqp_ws::op_add, true)->error);  /* a root is no leaf */
	CHECK(fine(node(0, 0, hw::cqp_ws::op_add, false)));
	CHECK(node(0, 0, hw::cqp_ws::op_add, false)->error); /* twice */
	CHECK(node(1, 0, hw::cqp_ws::op_add, true)->value == 1);
	CHECK(node(2, 0, hw::cqp_ws::op_add, true)->value == 2);
	CHECK(node(3, 1, hw::cqp_ws::op_add, true)->error);			 /* below a leaf */
	CHECK(refused(node(0, 0, hw::cqp_ws::op_delete, false), invalid_state)); /* has children */
	CHECK(fine(node(1, 0, hw::cqp_ws::op_delete, true)));
	CHECK(node(4, 0, hw::cqp_ws::op_add, true)->value == 1);
	CHECK(node(5, 0, hw::cqp_ws::op_modify, true)->error);
	CHECK(node(5, 0, 3, true)->error);
}

void stags()
{
	RdmaDriver driver;
	hw::CqpWqe wqe;

	driver.bring_up();
	wqe.set(hw::cqp_stag::index, 5);
	wqe.set(hw::cqp_stag::is_mr, 1);
	CHECK(fine(driver.post(hw::CqpOp::alloc_stag, wqe)));
	CHECK(refused(driver.post(hw::CqpOp::alloc_stag, wqe), invalid_state));
	CHECK(refused(driver.post(hw::CqpOp::query_stag, wqe), hw::cqp_error::stag_invalid));
	wqe.set(hw::cqp_stag::index, 5 | 0xabc000); /* the same number, another index */
	CHECK(refused(driver.post(hw::CqpOp::dealloc_stag, wqe), hw::cqp_error::stag_invalid));
	wqe.set(hw::cqp_stag::index, 5);
	CHECK(fine(driver.post(hw::CqpOp::dealloc_stag, wqe)));
	wqe.set(hw::cqp_stag::index, 6 | 0xabc000);
	wqe.set(hw::cqp_stag::pbl_level, 2);
	CHECK(driver.post(hw::CqpOp::reg_mr, wqe)->error);
	wqe.set(hw::cqp_stag::pbl_level, 1);
	wqe.set(hw::cqp_stag::first_pble, 4096);
	CHECK(driver.post(hw::CqpOp::reg_mr, wqe)->error);
	wqe.set(hw::cqp_stag::first_pble, 4095);
	wqe.set(hw::cqp_stag::length, 4097); /* two pages */
	CHECK(driver.post(hw::CqpOp::reg_mr, wqe)->error);
	wqe.set(hw::cqp_stag::va, 1);
	wqe.set(hw::cqp_stag::length, 4096);
	CHECK(driver.post(hw::CqpOp::reg_mr, wqe)->error);
	wqe.set(hw::cqp_stag::length, 4095);
	CHECK(fine(driver.post(hw::CqpOp::reg_mr, wqe)));
	CHECK(fine(driver.post(hw::CqpOp::query_stag, wqe)));
	wqe.set(hw::cqp_stag::index, 64);
	CHECK(driver.post(hw::CqpOp::reg_mr, wqe)->error);
}

/* A region of 513 pages through a list of two levels: all of it must be there. */
void two_levels()
{
	constexpr uint32_t root = 8;
	RdmaDriver driver;
	hw::CqpWqe wqe;

	driver.bring_up();
	auto committed = driver.get<hw::FpmBuffer>(place::buffer);
	uint64_t pbles = place::segments + (committed.qw[14].get() >> 32) * hw::fpm_base_unit;
	wqe.set(hw::cqp_stag::index, 5);
	wqe.set(hw::cqp_stag::is_mr, 1);
	wqe.set(hw::cqp_stag::pbl_level, static_cast<uint64_t>(hw::PblLevel::two));
	wqe.set(hw::cqp_stag::first_pble, root);
	wqe.set(hw::cqp_stag::length, 513 * 4096);
	driver.put<uint64_t>(pbles + 8 * root, 1024);
	driver.put<uint64_t>(pbles + 8 * (root + 1), 4096); /* one beyond the last */
	CHECK(driver.post(hw::CqpOp::reg_mr, wqe)->error);
	driver.put<uint64_t>(pbles + 8 * root, 4095);
	driver.put<uint64_t>(pbles + 8 * (root + 1), 1024);
	CHECK(driver.post(hw::CqpOp::reg_mr, wqe)->error);
	driver.put<uint64_t>(pbles + 8 * root, 4096 - 512);
	driver.put<uint64_t>(pbles + 8 * (root + 1), 4095);
	CHECK(fine(driver.post(hw::CqpOp::reg_mr, wqe)));
	driver.must(hw::CqpOp::dealloc_stag, wqe);
	wqe.set(hw::cqp_stag::first_pble, 4095);
	CHECK(driver.post(hw::CqpOp::reg_mr, wqe)->error);
}

void page_lists()
{
	RdmaDriver driver;
	hw::CqpWqe wqe;

	/* A CQ of two pages through PBLEs that are not in order. */
	driver.bring_up();
	auto committed = driver.get<hw::FpmBuffer>(place::buffer);
	uint64_t pbles = committed.qw[14].get() >> 32;
	uint64_t list = place::segments + pbles * hw::fpm_base_unit;
	driver.put<uint64_t>(list + 8 * 10, place::cq + 0x1000);
	driver.put<uint64_t>(list + 8 * 11, place::cq);
	wqe = driver.cq_wqe(1, 130);
	wqe.set(hw::cqp_cq::addr, 0);
	wqe.set(hw::cqp_cq::virtual_map, 1);
	wqe.set(hw::cqp_cq::pbl_level, 1);
	wqe.set(hw::cqp_cq::first_pble, 10);
	driver.must(hw::CqpOp::create_cq, wqe);
	put_context(driver);
	driver.must(hw::CqpOp::create_qp, driver.qp_wqe(2, hw::QpState::idle));
	for (uint32_t i = 0; i < 129; i++) {
		post_work(driver, place::queues, i % 16, !(i / 16 % 2));
		driver.must(hw::CqpOp::flush_wqes, flush_wqe(2));
	}
	CHECK(driver.get<hw::Cqe>(place::cq + 0x1000).get(hw::cqe::wqe_index) == 0);
	CHECK(driver.get<hw::Cqe>(place::cq + 0x1000 + 127 * 32).get(hw::cqe::wqe_index) == 15);
	CHECK(driver.get<hw::Cqe>(place::cq).get(hw::cqe::valid));
}

/* A segment whose pages lie backwards, and a CQ through a list of two levels in it. */
void paged_segment()
{
	constexpr uint64_t table = place::segments + 4 * hw::sd_bytes;
	RdmaDriver driver;
	hw::CqpWqe update;

	driver.bring_up();
	auto page = [](uint64_t index) {
		return place::segments + (hw::pages_per_sd - 1 - index) * 4096;
	};
	for (uint64_t i = 0; i < hw::pages_per_sd; i++)
		driver.put<uint64_t>(table + 8 * i, page(i) | hw::pd_entry_valid);
	update.qw[0].set(hw::cqp_sds::sd_write.put(1));
	update.qw[1].set(table | hw::cqp_sds::sd_valid.put(1) |
			 hw::cqp_sds::sd_bp_count.put(hw::pages_per_sd));
	driver.must(hw::CqpOp::update_pe_sds, update);

	uint64_t pbles =
		(driver.get<hw::FpmBuffer>(place::buffer).qw[14].get() >> 32) * hw::fpm_base_unit;
	auto pble = [&](uint64_t index) {
		uint64_t at = pbles + 8 * index;
		return page(at / 4096) + at % 4096;
	};
	driver.put<uint64_t>(pble(1000), 2048); /* root: index of the leaf */
	driver.put<uint64_t>(pble(2048), place::cq);
	hw::CqpWqe wqe = driver.cq_wqe(1, 8);
	wqe.set(hw::cqp_cq::virtual_map, 1);
	wqe.set(hw::cqp_cq::pbl_level, static_cast<uint64_t>(hw::PblLevel::two));
	wqe.set(hw::cqp_cq::first_pble, 1000);
	driver.must(hw::CqpOp::create_cq, wqe);
	put_context(driver);
	driver.must(hw::CqpOp::create_qp, driver.qp_wqe(2, hw::QpState::idle));
	post_work(driver, place::queues, 0);
	driver.must(hw::CqpOp::flush_wqes, flush_wqe(2));
	CHECK(driver.get<hw::Cqe>(place::cq).get(hw::cqe::valid));
}

void suspension()
{
	RdmaDriver driver;
	hw::CqpWqe wqe;

	driver.bring_up();
	make_rts(driver);
	wqe.set(hw::cqp_suspend::qp, 2);
	wqe.set(hw::cqp_suspend::qs_handle, 1);
	CHECK(refused(driver.post(hw::CqpOp::resume_qp, wqe), invalid_state));
	CHECK(fine(driver.post(hw::CqpOp::suspend_qp, wqe)));
	CHECK(driver.get<hw::Aeqe>(place::aeq).get(hw::aeqe::code) ==
	      static_cast<uint64_t>(hw::AeCode::qp_suspend_complete));
	wqe.set(hw::cqp_suspend::qs_handle, 9);
	CHECK(driver.post(hw::CqpOp::resume_qp, wqe)->error);
	wqe.set(hw::cqp_suspend::qs_handle, 1);
	CHECK(fine(driver.post(hw::CqpOp::resume_qp, wqe)));
}

/* A WQE of more quanta than its ring has: the device does not go on behind the ring. */
void small_ring()
{
	constexpr uint64_t ring_end = place::queues + 4 * sizeof(hw::Quantum);
	RdmaDriver driver;
	uint32_t inside = 0, behind = 0;
	hw::Quantum nop;

	driver.bring_up();
	make_rts(driver);
	put_context(driver, 1);
	auto context = driver.get<hw::QpContext>(place::buffer);
	context.set(hw::qpc::sq_size, 0);
	driver.put(place::buffer, context);
	driver.must(hw::CqpOp::create_qp, driver.qp_wqe(3, hw::QpState::idle));
	driver.must(hw::CqpOp::modify_qp, driver.qp_wqe(3, hw::QpState::rtr));
	driver.must(hw::CqpOp::modify_qp, driver.qp_wqe(3, hw::QpState::rts));
	driver.host.settle();
	driver.host.during_read = [&](uint64_t address) {
		inside += address >= place::queues && address < ring_end;
		behind += address >= ring_end && address < place::queues + 0x1000;
	};
	nop.set(hw::sq::opcode, static_cast<uint64_t>(hw::SqOp::nop));
	nop.set(hw::sq::inline_data, 1);
	nop.set(hw::sq::inline_length, 200); /* 8 quanta: two laps */
	nop.set(hw::sq::valid, 1);
	driver.put(place::queues, nop);
	driver.write(hw::reg::db_page_offset, 3);
	driver.host.settle();
	CHECK(inside && !behind);
}

void refusals()
{
	RdmaDriver driver("modify_cq=8001.0042,nop:2,nop:4!mute,db-size");

	driver.bring_up();
	CHECK(driver.read(hw::reg::glpci_lbarctrl) == 0);
	auto done = driver.post(hw::CqpOp::modify_cq, driver.cq_wqe(0, 8));
	CHECK(done && done->error && done->major == 0x8001 && done->minor == 0x42);
	CHECK(fine(driver.post(hw::CqpOp::nop, {})));
	CHECK(driver.post(hw::CqpOp::nop, {})->error);
	CHECK(fine(driver.post(hw::CqpOp::nop, {})));
	uint32_t tail = driver.read(hw::reg::pfpe_cqptail);
	CHECK(!driver.post(hw::CqpOp::nop, {}));
	CHECK(driver.read(hw::reg::pfpe_cqptail) == tail);
	CHECK(fine(driver.post(hw::CqpOp::nop, {})));
	CHECK(!e810_device_set_fail(driver.host.device, "modify_cq@cq-1"));
	CHECK(fine(driver.post(hw::CqpOp::modify_cq, driver.cq_wqe(0, 8))));
	CHECK(!e810_device_set_fail(driver.host.device, "modify_cq@cq-0:2"));
	CHECK(fine(driver.post(hw::CqpOp::modify_cq, driver.cq_wqe(0, 8))));
	CHECK(driver.post(hw::CqpOp::modify_cq, driver.cq_wqe(0, 8))->error);
	for (const char *wrong : {"modify_cq@no-0", "modify_cq@cq-x", "cqp-create@cq-0"})
		CHECK(e810_device_set_fail(driver.host.device, wrong));
	CHECK(RdmaDriver("cqp-create").create_cqp() == 1u << 31);
	CHECK(RdmaDriver("cqp-create!mute").create_cqp() == 0);
	CHECK(RdmaDriver("cpustatus").read(hw::reg::glpe_cpustatus0) == 0);

	RdmaDriver stuck("cqp-destroy:1");

	CHECK(stuck.create_cqp() == 1);
	stuck.destroy_cqp();
	CHECK(stuck.read(hw::reg::pfpe_ccqpstatus) == 1);
	CHECK(stuck.create_cqp() >> 31 == 1);
	stuck.destroy_cqp();
	CHECK(stuck.read(hw::reg::pfpe_ccqpstatus) == 0);
}

void inject(RdmaDriver &driver, const char *text)
{
	const char *error = e810_device_inject(driver.host.device, text);

	check(!error, error ? error : "", __LINE__);
}

/* Answers kept, doubled and spoiled by property "fail", set while the device runs. */
void spoilt_answers()
{
	RdmaDriver driver;
	auto fail = [&](const char *steps) {
		return !e810_device_set_fail(driver.host.device, steps);
	};
	auto entry = [&](uint32_t index) {
		return driver.get<hw::CcqEntry>(place::ccq + index * sizeof(hw::CcqEntry));
	};

	driver.bring_up();
	uint32_t at = driver.get<uint32_t>(place::shadows); /* entries so far */
	uint32_t wqe = driver.posted;
	CHECK(!fail("nop!never") && !fail("nop!delay=x") && !fail("no-such-step"));
	CHECK(fail("nop!hold"));
	CHECK(!driver.post(hw::CqpOp::nop, {}) && !driver.post(hw::CqpOp::nop, {}));
	CHECK(e810_device_injected(driver.host.device) == 2);
	CHECK(!entry(at).get(hw::ccqe::valid));
	inject(driver, "release:newest=1");
	CHECK(entry(at).get(hw::ccqe::wqe_index) == wqe + 1);
	CHECK(entry(at + 1).get(hw::ccqe::wqe_index) == wqe);

	CHECK(fail("nop!delay=5"));
	driver.post(hw::CqpOp::nop, {});
	driver.host.settle();
	CHECK(!entry(at + 2).get(hw::ccqe::valid));
	host_time += 5000000;
	driver.host.settle();
	CHECK(entry(at + 2).get(hw::ccqe::wqe_index) == wqe + 2);

	CHECK(fail("nop:1!twice,nop:2!index,nop:3!cookie,nop:4!polarity,nop:5=ffff.8002!twice"));
	for (int i = 0; i < 5; i++)
		driver.post(hw::CqpOp::nop, {});
	CHECK(entry(at + 3).get(hw::ccqe::wqe_index) == wqe + 3);
	CHECK(entry(at + 4).get(hw::ccqe::wqe_index) == wqe + 3);
	CHECK(entry(at + 5).get(hw::ccqe::wqe_index) == wqe + 5);
	CHECK(entry(at + 6).get(hw::ccqe::cookie) != entry(at + 5).get(hw::ccqe::cookie));
	CHECK(!entry(at + 7).get(hw::ccqe::valid));
	CHECK(entry(at + 8).get(hw::ccqe::error) && entry(at + 9).get(hw::ccqe::error));
}

void injections()
{
	RdmaDriver driver;
	e810_device *device = driver.host.device;
	auto enable = [&](uint32_t vector) { driver.write(hw::reg::glint_dyn_ctl(vector), 1); };

	for (const char *nonsense :
	     {"x", "ae", "ae:code=0x50a,what=1", "ae:code=70000", "cqe:qp=1", "ceqe:ceq=0", "irq",
	      "irq:cause=ceq99", "drop:cause=all,n=x", "release:a=1"})
		CHECK(e810_device_inject(device, nonsense));
	driver.bring_up();
	unsigned int aeq = driver.host.messages[1], ceq = driver.host.messages[2];

	/* An AEQ of 4 entries takes 6 events as they are returned. */
	inject(driver, "ae:code=0x50a,id=77,n=6");
	CHECK(e810_device_injected(device) == 2);
	CHECK(driver.host.messages[1] == aeq + 1);
	auto event = driver.get<hw::Aeqe>(place::aeq);
	CHECK(event.get(hw::aeqe::code) == 0x50a && event.get(hw::aeqe::id_low) == 77);
	driver.write(hw::reg::pfpe_aeqalloc, 4);
	CHECK(e810_device_injected(device) == 0);
	CHECK(!driver.get<hw::Aeqe>(place::aeq).get(hw::aeqe::valid)); /* second lap */
	inject(driver, "ae:code=0x50a,id=77,n=6,burst=1");
	driver.write(hw::reg::pfpe_aeqalloc, 4);
	inject(driver, "ae:code=0x50a,id=77");
	CHECK(driver.get<hw::Aeqe>(place::aeq).get(hw::aeqe::overflow));

	/* Completions about anything, in a CQ that exists. */
	CHECK(e810_device_inject(device, "cqe:cq=1"));
	driver.must(hw::CqpOp::create_cq, driver.cq_wqe(1, 8));
	inject(driver, "cqe:cq=1,qp=77,wqe=5,send=1,major=3,minor=4,n=2");
	auto forged = driver.get<hw::Cqe>(place::cq + sizeof(hw::Cqe));
	CHECK(forged.get(hw::cqe::valid) && forged.get(hw::cqe::qp) == 77);
	CHECK(forged.get(hw::cqe::is_sq) && forged.get(hw::cqe::wqe_index) == 5);
	CHECK(forged.get(hw::cqe::error) && forged.get(hw::cqe::minor_error) == 4);

	/* A batch for each time that the vector is enabled. */
	inject(driver, "ceqe:ceq=0,cq=900,n=3,batch=2");
	CHECK(driver.host.messages[2] == ceq + 1 && e810_device_injected(device) == 1);
	CHECK(driver.get<hw::Ceqe>(place::ceq).get(hw::ceqe::context) == 900);
	enable(2);
	CHECK(driver.host.messages[2] == ceq + 2); /* the second entry's */
	enable(2);
	CHECK(driver.host.messages[2] == ceq + 3 && e810_device_injected(device) == 0);

	/* A lost message leaves the vector off; a spurious one comes whatever it is. */
	enable(2);
	ceq = driver.host.messages[2];
	inject(driver, "drop:cause=ceq0;ceqe:ceq=0,cq=1;ceqe:ceq=0,cq=1");
	CHECK(driver.host.messages[2] == ceq);
	enable(2);
	CHECK(driver.host.messages[2] == ceq + 1);
	inject(driver, "irq:cause=ceq0,n=2");
	CHECK(driver.host.messages[2] == ceq + 2);
	enable(2);
	CHECK(driver.host.messages[2] == ceq + 3);
}

void unreachable_memory()
{
	RdmaDriver driver;

	driver.bring_up();
	make_rts(driver);
	driver.host.hole = place::buffer;
	CHECK(driver.post(hw::CqpOp::modify_qp, driver.qp_wqe(2, hw::QpState::error))->error);
	driver.host.hole = place::cq;
	post_work(driver, place::queues, 0);
	CHECK(fine(driver.post(hw::CqpOp::flush_wqes, flush_wqe(2))));
	driver.host.hole = place::cqp_ring;
	driver.post(hw::CqpOp::nop, {});
	CHECK(driver.read(hw::reg::pfpe_cqptail) >> 31 || driver.posted > 128);
}

} // namespace

int main()
{
	cqp_life();
	cqp_laps();
	memory_cache();
	queue_pair_states();
	sequence_numbers();
	flush();
	arming();
	overflows();
	work_scheduler();
	stags();
	two_levels();
	page_lists();
	paged_segment();
	suspension();
	small_ring();
	refusals();
	spoilt_answers();
	injections();
	unreachable_memory();
	std::printf("rdma-rules: %s\n", broken ? "FAIL" : "PASS");
	return broken != 0;
}
