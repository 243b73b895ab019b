// SPDX-License-Identifier: GPL-2.0
/*
 * Work of the kernel's QPs: requests as they stand in the ring, completions
 * that the device writes, and those that it forges. Words of requests are as
 * the stock driver writes them (uk.c); what a completion becomes is ib_core's
 * (enum ib_wc_*), and what must not happen is in "Trust nothing".
 */
#include "fake/rig.h"
#include "hw/limits.h"
#include "hw/wqe.h"
#include "work_request.h"

using namespace irdma;
using namespace irdma::fake;
using namespace irdma::test;

namespace {

/** A QP that is up, and what is posted to it and polled from it. */
struct Worker {
	Scene &scene;
	KernelQp qp;
	shim_sge sge[3] = {{0x1000, 100, 7}, {0x2000, 50, 8}, {0x3000, 25, 9}};
	shim_wc wc[8] = {};

	explicit Worker(Scene &s, u32 type = SHIM_QPT_RC, u32 wrs = 16, bool signal_all = true)
		: scene(s), qp(*s.rig, type, wrs, 64, signal_all)
	{
	}
	u32 number() const { return qp.number(); }
	u32 cq() const { return qp.cq_result.number; }

	shim_rdma_wr request(u32 opcode, u32 sges, u64 id = 1, s32 flags = 0)
	{
		shim_rdma_wr wr = {};

		wr.wr.opcode = opcode;
		wr.wr.sg_list = sge;
		wr.wr.num_sge = static_cast<s32>(sges);
		wr.wr.wr_id = id;
		wr.wr.send_flags = flags;
		wr.remote_addr = 0xabc0001000;
		wr.rkey = 0x12345678;
		return wr;
	}
	int send(u32 opcode, u32 sges, u64 id = 1, s32 flags = 0)
	{
		shim_rdma_wr wr = request(opcode, sges, id, flags);
		const shim_send_wr *bad = nullptr;

		return irdma_post_send(qp.qp, &wr.wr, &bad);
	}
	int receive(u64 id, u32 sges = 1)
	{
		shim_recv_wr wr = {nullptr, id, sge, static_cast<s32>(sges)};
		const shim_recv_wr *bad = nullptr;

		return irdma_post_recv(qp.qp, &wr, &bad);
	}
	int poll(int count = 8) { return irdma_poll_cq(qp.cq, count, wc); }

	hw::Quantum *sq()
	{
		return static_cast<hw::Quantum *>(scene.world().dma(
			scene.engine().qp(number()).context.get(hw::qpc::sq_addr), 512 * 32));
	}
	/** An entry for a request of the SQ at that quantum. */
	hw::Cqe sent(u32 index, u64 op = 3) const
	{
		hw::Cqe cqe;

		cqe.set(hw::cqe::qp, number());
		cqe.set(hw::cqe::wqe_index, index);
		cqe.set(hw::cqe::is_sq, 1);
		cqe.set(hw::cqe::op, op);
		return cqe;
	}
	hw::Cqe received(u32 index, u32 bytes) const
	{
		hw::Cqe cqe;

		cqe.set(hw::cqe::qp, number());
		cqe.set(hw::cqe::wqe_index, index);
		cqe.set(hw::cqe::length, bytes);
		return cqe;
	}
	bool complete(const hw::Cqe &cqe) { return scene.engine().complete(cq(), cqe); }
};

/* ---- Requests in the ring ---- */

struct Wanted {
	u32 opcode; /**< SHIM_WR_* */
	u32 op, solicited_op;
	bool remote, immediate, invalidates, rc_only;
	u32 wc_opcode;
};

constexpr Wanted requests[] = {
	{SHIM_WR_SEND, 0x03, 0x05, false, false, false, false, SHIM_WC_SEND},
	{SHIM_WR_SEND_WITH_IMM, 0x03, 0x05, false, true, false, false, SHIM_WC_SEND},
	{SHIM_WR_SEND_WITH_INV, 0x04, 0x06, false, false, true, true, SHIM_WC_SEND},
	{SHIM_WR_RDMA_WRITE, 0x00, 0x0d, true, false, false, true, SHIM_WC_RDMA_WRITE},
	{SHIM_WR_RDMA_WRITE_WITH_IMM, 0x00, 0x0d, true, true, false, true, SHIM_WC_RDMA_WRITE},
	{SHIM_WR_RDMA_READ, 0x01, 0x01, true, false, false, true, SHIM_WC_RDMA_READ},
	{SHIM_WR_RDMA_READ_WITH_INV, 0x0b, 0x0b, true, false, false, true, SHIM_WC_RDMA_READ},
};

void requests_in_the_ring()
{
	for (const Wanted &w : requests)
		for (s32 flags = 0; flags < 8; flags++) { /* fence, signalled, solicited */
			Scene s;
			REQUIRE(s.ready);
			Worker worker(s, SHIM_QPT_RC, 16, false);
			REQUIRE(worker.qp.bring_up(SHIM_QPS_RTS));
			shim_rdma_wr wr = worker.request(w.opcode, 2, 5, flags);
			const shim_send_wr *bad = nullptr;

			wr.wr.imm_or_rkey = 0x04030201;
			EXPECT_EQ(irdma_post_send(worker.qp.qp, &wr.wr, &bad), 0);
			hw::Quantum *sq = worker.sq();
			REQUIRE(sq != nullptr);
			u32 op = flags & SHIM_SEND_SOLICITED ? w.solicited_op : w.op;
			if (sq->get(hw::sq::opcode) != op)
				FAIL("request %u is opcode %llu, not %u", w.opcode,
				     sq->get(hw::sq::opcode), op);
			EXPECT_EQ(sq->get(hw::sq::valid), 1);
			EXPECT_EQ(sq->get(hw::sq::signalled), (flags & SHIM_SEND_SIGNALED) != 0);
			EXPECT_EQ(sq->get(hw::sq::read_fence), (flags & SHIM_SEND_FENCE) != 0);
			EXPECT_EQ(sq->get(hw::sq::immediate), w.immediate);
			if (w.remote) {
				EXPECT_EQ(sq->get(hw::sq::remote_addr), 0xabc0001000);
				EXPECT_EQ(sq->get(hw::sq::remote_stag), 0x12345678);
			}
			if (w.invalidates)
				EXPECT_EQ(sq->get(hw::sq::remote_stag), 0x04030201);
			/* Immediate data is big endian to consumers, and takes fragment 0's place. */
			if (w.immediate)
				EXPECT_EQ(sq->get(hw::sq::imm_data), 0x01020304);
			else
				EXPECT_EQ(sq->qw[0].get(), 0x1000);
			EXPECT_EQ(s.engine().doorbells, 1);
			EXPECT_EQ(s.engine().last_doorbell, worker.number());
			/* Its completion. */
			EXPECT(worker.complete(worker.sent(0, op)));
			EXPECT_EQ(worker.poll(), 1);
			EXPECT_EQ(worker.wc[0].wr_id, 5);
			EXPECT_EQ(worker.wc[0].status, SHIM_WC_SUCCESS);
			EXPECT_EQ(worker.wc[0].opcode, w.wc_opcode);
			EXPECT_EQ(worker.wc[0].byte_len, 150);
			EXPECT(worker.wc[0].qp == &worker.qp.ib_qp);
			EXPECT_EQ(worker.poll(), 0);
		}
}

/* Large rings are in pieces, which PBLEs join: over laps, all is where the device looks. */
void rings_in_pieces()
{
	Scene s;
	REQUIRE(s.ready);
	constexpr u32 wrs = 2000, cqes = 5000, rounds = 9000;
	Worker worker(s, SHIM_QPT_RC, wrs);
	KernelQp large(*s.rig, SHIM_QPT_RC, wrs, cqes, true);

	REQUIRE(worker.qp.made && large.made);
	const Command &made = *s.engine().last_of(hw::CqpOp::create_qp);
	EXPECT_EQ(made.get(hw::cqp_qp::virtual_queues), 1);
	EXPECT_EQ(s.engine().last_of(hw::CqpOp::create_cq)->get(hw::cqp_cq::virtual_map), 1);
	REQUIRE(large.bring_up(SHIM_QPS_RTS));
	auto &qp = s.engine().qp(large.number());
	u64 sq = qp.context.get(hw::qpc::sq_addr), rq = qp.context.get(hw::qpc::rq_addr);
	u32 sq_mask = (4u << qp.context.get(hw::qpc::sq_size)) - 1;
	auto quantum = [&s](u64 first_pble, u32 i) {
		return s.world().dma_as<hw::Quantum>(s.engine().pble(first_pble + i / 128) +
						     i % 128 * 32);
	};
	shim_sge sge = {0x1000, 100, 7};
	u32 at = 0, receive_at = 0;

	for (u32 n = 1; n <= rounds; n++) {
		shim_rdma_wr wr = {};
		shim_recv_wr receive = {nullptr, n, &sge, 1};
		const shim_send_wr *bad = nullptr;
		const shim_recv_wr *bad_receive = nullptr;

		wr.wr.opcode = SHIM_WR_SEND;
		wr.wr.wr_id = n;
		wr.wr.sg_list = &sge;
		wr.wr.num_sge = 1;
		sge.addr = n;
		if (!EXPECT_EQ(irdma_post_send(large.qp, &wr.wr, &bad), 0) ||
		    !EXPECT_EQ(irdma_post_recv(large.qp, &receive, &bad_receive), 0))
			return;
		const hw::Quantum *wqe = quantum(sq, at & sq_mask);
		const hw::Quantum *rwqe = quantum(rq, receive_at);
		if (!wqe || !rwqe || !EXPECT_EQ(wqe->qw[0].get(), n) ||
		    !EXPECT_EQ(wqe->get(hw::sq::valid), !(at & (sq_mask + 1))) ||
		    !EXPECT_EQ(rwqe->qw[0].get(), n))
			return;
		hw::Cqe sent = worker.sent(at & sq_mask), got = worker.received(receive_at, 10);
		sent.set(hw::cqe::qp, large.number());
		got.set(hw::cqe::qp, large.number());
		if (!EXPECT(s.engine().complete(large.cq_result.number, sent)) ||
		    !EXPECT(s.engine().complete(large.cq_result.number, got)) ||
		    !EXPECT_EQ(irdma_poll_cq(large.cq, 8, worker.wc), 2) ||
		    !EXPECT_EQ(worker.wc[0].wr_id, n) || !EXPECT_EQ(worker.wc[1].wr_id, n))
			return;
		at++;
		receive_at = (receive_at + 2) & ((4u << qp.context.get(hw::qpc::rq_size)) - 1);
	}
}

void requests_that_are_refused()
{
	Scene s;
	REQUIRE(s.ready);
	Worker rc(s), ud(s, SHIM_QPT_UD);
	constexpr u32 unknown[] = {5, 6, 8, 10, 12, 0x21, 0xf0, ~0u};

	EXPECT_EQ(rc.send(SHIM_WR_SEND, 1), -SHIM_EINVAL); /* RESET */
	EXPECT_EQ(rc.receive(1), -SHIM_EINVAL);
	REQUIRE(rc.qp.bring_up(SHIM_QPS_RTR));
	EXPECT_EQ(rc.send(SHIM_WR_SEND, 1), -SHIM_EINVAL); /* not before RTS */
	EXPECT_EQ(rc.receive(1), 0);
	REQUIRE(!rc.qp.modify(SHIM_QPS_RTS));
	REQUIRE(ud.qp.bring_up(SHIM_QPS_RTS));
	for (u32 opcode : unknown)
		EXPECT_EQ(rc.send(opcode, 1), -SHIM_EINVAL);
	for (const Wanted &w : requests)
		if (w.rc_only)
			EXPECT_EQ(ud.send(w.opcode, 1), -SHIM_EINVAL);
	EXPECT_EQ(rc.send(SHIM_WR_SEND, 4), -SHIM_EINVAL); /* made for three */
	EXPECT_EQ(rc.receive(1, 4), -SHIM_EINVAL);
	rc.sge[0].length = 0x80000000; /* the device has 2 GiB less one */
	EXPECT_EQ(rc.send(SHIM_WR_RDMA_WRITE, 1), -SHIM_EINVAL);
	rc.sge[0].length = 0x7fffffff;
	EXPECT_EQ(rc.send(SHIM_WR_RDMA_WRITE, 1), 0);
	rc.sge[0].length = 65; /* inline: made for 64 */
	EXPECT_EQ(rc.send(SHIM_WR_SEND, 1, 1, SHIM_SEND_INLINE), -SHIM_EINVAL);
	rc.sge[0].length = 8;
	EXPECT_EQ(rc.send(SHIM_WR_RDMA_READ, 1, 1, SHIM_SEND_INLINE), -SHIM_EINVAL);
	EXPECT_EQ(ud.send(SHIM_WR_LOCAL_INV, 0), -SHIM_EINVAL);
	/* None of them has left a trace. */
	EXPECT(rc.complete(rc.sent(0, 0)));
	EXPECT_EQ(rc.poll(), 1);
	EXPECT_EQ(rc.poll(), 0);
}

/* A chain stops at the first that does not fit, and says which. */
void chains()
{
	Scene s;
	REQUIRE(s.ready);
	Worker w(s);
	REQUIRE(w.qp.bring_up(SHIM_QPS_RTS));
	shim_rdma_wr chain[3] = {w.request(SHIM_WR_SEND, 1, 1), w.request(SHIM_WR_SEND, 9, 2),
				 w.request(SHIM_WR_SEND, 1, 3)};
	const shim_send_wr *bad = nullptr;
	shim_recv_wr receives[2] = {{nullptr, 1, w.sge, 1}, {nullptr, 2, w.sge, 9}};
	const shim_recv_wr *bad_receive = nullptr;

	chain[0].wr.next = &chain[1].wr;
	chain[1].wr.next = &chain[2].wr;
	EXPECT_EQ(irdma_post_send(w.qp.qp, &chain[0].wr, &bad), -SHIM_EINVAL);
	EXPECT(bad == &chain[1].wr);
	EXPECT_EQ(s.engine().doorbells, 1); /* the first was posted */
	receives[0].next = &receives[1];
	EXPECT_EQ(irdma_post_recv(w.qp.qp, receives, &bad_receive), -SHIM_EINVAL);
	EXPECT(bad_receive == &receives[1]);
}

/* What a consumer posts when a completion has made room begins where it was stopped. */
void chains_meet_a_full_queue()
{
	Scene s;
	REQUIRE(s.ready);
	Worker w(s);
	REQUIRE(w.qp.bring_up(SHIM_QPS_RTS));
	constexpr u32 length = 512;
	Many<shim_rdma_wr, length> chain;
	const shim_send_wr *bad = nullptr;

	for (u32 i = 0; i < length; i++) {
		chain[i] = w.request(SHIM_WR_SEND, 1, i);
		if (i)
			chain[i - 1].wr.next = &chain[i].wr;
	}
	EXPECT_EQ(irdma_post_send(w.qp.qp, &chain[0].wr, &bad), -SHIM_ENOMEM);
	REQUIRE(bad);
	u64 posted = bad->wr_id;
	EXPECT(posted >= w.qp.qp_result.max_send_wr);
	EXPECT(w.complete(w.sent(0)));
	EXPECT_EQ(w.poll(), 1);
	EXPECT_EQ(irdma_post_send(w.qp.qp, bad, &bad), -SHIM_ENOMEM);
	EXPECT_EQ(bad->wr_id, posted + 1);
}

void inline_and_datagrams()
{
	Scene s;
	REQUIRE(s.ready);
	static u8 data[64];
	Worker ud(s, SHIM_QPT_UD);
	irdma_ah *ah = nullptr;
	u32 number = 0;
	REQUIRE(ud.qp.bring_up(SHIM_QPS_RTS));
	irdma_path path = KernelQp::default_path();
	REQUIRE(!irdma_ah_create(s.rig->c(), ud.qp.pd, &path, true, false, &ah, &number));
	shim_ud_wr wr = {};
	const shim_send_wr *bad = nullptr;

	for (u32 i = 0; i < 64; i++)
		data[i] = static_cast<u8>(i);
	wr.wr.opcode = SHIM_WR_SEND_WITH_IMM;
	wr.wr.imm_or_rkey = 0x44332211;
	wr.wr.sg_list = ud.sge;
	wr.wr.num_sge = 1;
	wr.wr.send_flags = SHIM_SEND_INLINE;
	ud.sge[0] = {reinterpret_cast<u64>(data), 64, 0};
	wr.ah = ah;
	wr.remote_qpn = 0xabcdef;
	wr.remote_qkey = 0x80010000;
	EXPECT_EQ(irdma_post_send(ud.qp.qp, &wr.wr, &bad), 0);
	hw::Quantum *sq = ud.sq();
	REQUIRE(sq != nullptr);
	EXPECT_EQ(sq->get(hw::sq::ud_ah), number);
	EXPECT_EQ(sq->get(hw::sq::ud_dest_qp), 0xabcdef);
	EXPECT_EQ(sq->get(hw::sq::ud_qkey), 0x80010000);
	EXPECT_EQ(sq->get(hw::sq::inline_data), 1);
	EXPECT_EQ(sq->get(hw::sq::inline_length), 64);
	EXPECT_EQ(sq->get(hw::sq::imm_data), 0x11223344);
	const u8 *raw = reinterpret_cast<const u8 *>(sq);
	EXPECT_EQ(raw[8], 0);
	EXPECT_EQ(raw[15], 7);
	EXPECT_EQ(raw[32], 8);
	EXPECT_EQ(raw[63], 0x80);
	EXPECT_EQ(raw[64], 39);
	irdma_ah_destroy(ah, true);
}

void fast_registration_and_invalidation()
{
	Scene s;
	REQUIRE(s.ready);
	Worker w(s);
	irdma_mr *mr = nullptr;
	u32 lkey = 0, rkey = 0;
	REQUIRE(w.qp.bring_up(SHIM_QPS_RTS));
	REQUIRE(!irdma_mr_alloc(s.rig->c(), w.qp.pd, 4, &mr, &lkey, &rkey));
	shim_reg_wr wr = {};
	const shim_send_wr *bad = nullptr;

	wr.wr.opcode = SHIM_WR_REG_MR;
	wr.wr.wr_id = 31;
	fake::IbMr ib = {mr, 0x7000};
	wr.mr = &ib;
	wr.key = lkey | 0x5a;
	wr.access = SHIM_ACCESS_LOCAL_WRITE | SHIM_ACCESS_REMOTE_READ;
	EXPECT_EQ(irdma_post_send(w.qp.qp, &wr.wr, &bad), -SHIM_EINVAL); /* no pages yet */
	irdma_mr_begin_pages(mr);
	for (u64 i = 0; i < 3; i++)
		EXPECT_EQ(irdma_mr_set_page(mr, 0x40000000 + i * 0x10000), 0);
	EXPECT_EQ(irdma_mr_end_pages(mr, 0x7000, 0x2800, 4096), 0);
	wr.key = (lkey ^ 0x100) | 0x5a;
	EXPECT_EQ(irdma_post_send(w.qp.qp, &wr.wr, &bad), -SHIM_EINVAL); /* another MR's key */
	wr.key = (lkey & ~0xffu) | 0x5a;
	EXPECT_EQ(irdma_post_send(w.qp.qp, &wr.wr, &bad), 0);
	hw::Quantum *sq = w.sq();
	REQUIRE(sq != nullptr);
	EXPECT_EQ(sq->get(hw::sq_fastreg::va), 0x7000);
	EXPECT_EQ(sq->get(hw::sq_fastreg::length), 0x2800);
	EXPECT_EQ(sq->get(hw::sq_fastreg::key), 0x5a);
	EXPECT_EQ(sq->get(hw::sq_fastreg::index), lkey >> 8);
	EXPECT_EQ(sq->get(hw::sq_fastreg::pbl_level), 1);
	EXPECT_EQ(sq->get(hw::sq_fastreg::page), 0);
	EXPECT_EQ(sq->get(hw::sq_fastreg::access), 1 | 2 | 4);
	EXPECT_EQ(sq->get(hw::sq_fastreg::va_based), 1);
	EXPECT_EQ(sq->get(hw::sq::local_fence), 1);
	EXPECT(w.complete(w.sent(0, 9)));
	EXPECT_EQ(w.poll(), 1);
	EXPECT_EQ(w.wc[0].opcode, static_cast<u32>(SHIM_WC_REG_MR));
	/* One page needs no list. */
	irdma_mr_begin_pages(mr);
	EXPECT_EQ(irdma_mr_set_page(mr, 0x40000000), 0);
	EXPECT_EQ(irdma_mr_end_pages(mr, 0x7000, 0x800, 4096), 0);
	EXPECT_EQ(irdma_post_send(w.qp.qp, &wr.wr, &bad), 0);
	EXPECT_EQ(sq[1].get(hw::sq_fastreg::pbl_level), 0);
	EXPECT_EQ(sq[1].get(hw::sq_fastreg::page), 0x40000);
	/* The consumer has another address for it, after the pages: not another place in the page. */
	ib.iova = 0x1234567800007010;
	EXPECT_EQ(irdma_post_send(w.qp.qp, &wr.wr, &bad), -SHIM_EINVAL);
	ib.iova = 0x1234567800009000;
	EXPECT_EQ(irdma_post_send(w.qp.qp, &wr.wr, &bad), 0);
	EXPECT_EQ(sq[2].get(hw::sq_fastreg::va), ib.iova);
	EXPECT_EQ(sq[2].get(hw::sq_fastreg::length), 0x800);
	/* Invalidation. */
	shim_rdma_wr invalidate = w.request(SHIM_WR_LOCAL_INV, 0, 32, SHIM_SEND_FENCE);
	invalidate.wr.imm_or_rkey = rkey;
	EXPECT_EQ(irdma_post_send(w.qp.qp, &invalidate.wr, &bad), 0);
	EXPECT_EQ(sq[3].get(hw::sq::opcode), 0x0a);
	EXPECT_EQ(sq[3].get(hw::sq_inval::stag), rkey);
	EXPECT_EQ(sq[3].get(hw::sq::local_fence), 1);
	EXPECT(w.complete(w.sent(3, 10)));
	EXPECT_EQ(w.poll(), 1);
	EXPECT_EQ(w.wc[0].opcode, SHIM_WC_LOCAL_INV);
	irdma_mr_deregister(mr, false);
}

void full_queues()
{
	Scene s;
	REQUIRE(s.ready);
	Worker w(s);
	u32 sent = 0, received = 0;
	REQUIRE(w.qp.bring_up(SHIM_QPS_RTS));

	while (w.send(SHIM_WR_SEND, 3, sent) == 0)
		sent++;
	EXPECT_EQ(w.send(SHIM_WR_SEND, 3), -SHIM_ENOMEM);
	EXPECT_EQ(w.send(SHIM_WR_SEND, 3, 1, SHIM_SEND_INLINE), -SHIM_EINVAL);
	EXPECT(sent >= w.qp.qp_result.max_send_wr);
	while (w.receive(received) == 0)
		received++;
	EXPECT_EQ(w.receive(1), -SHIM_ENOMEM);
	EXPECT(received >= w.qp.qp_result.max_recv_wr);
	EXPECT_EQ(s.engine().doorbells, 1); /* the device is still at the first */
}

/* ---- Completions ---- */

void receives()
{
	Scene s;
	REQUIRE(s.ready);
	Worker w(s);
	REQUIRE(w.qp.bring_up(SHIM_QPS_RTS));

	for (u64 id = 1; id <= 5; id++)
		EXPECT_EQ(w.receive(id, 3), 0); /* 175 bytes each, two quanta */
	EXPECT(w.complete(w.received(0, 175)));
	/* With the STag that the peer has invalidated. */
	hw::Cqe cqe = w.received(2, 10);
	cqe.set(hw::cqe::stag_or_ipv4, 1);
	cqe.set(hw::cqe::inv_stag, 0x777);
	EXPECT(w.complete(cqe));
	/* With immediate data, SEND and WRITE. */
	hw::Cqe extended;
	extended.set(hw::ext_cqe::imm, 0x01020304);
	extended.set(hw::ext_cqe::imm_valid, 1);
	EXPECT(s.engine().complete(w.cq(), w.received(4, 20), extended));
	cqe = w.received(6, 100000); /* goes to the MR, not to the buffer */
	cqe.set(hw::cqe::op, 0x0b);
	EXPECT(s.engine().complete(w.cq(), cqe, extended));
	/* An error of one request; its index is not to be relied on. */
	cqe = w.received(0x7fff, 5);
	cqe.set(hw::cqe::error, 1);
	cqe.set(hw::cqe::major_error, 2);
	cqe.set(hw::cqe::minor_error, 3);
	EXPECT(w.complete(cqe));

	EXPECT_EQ(w.poll(), 5);
	for (u32 i = 0; i < 5; i++)
		EXPECT_EQ(w.wc[i].wr_id, i + 1);
	EXPECT_EQ(w.wc[0].byte_len, 175);
	EXPECT_EQ(w.wc[0].opcode, SHIM_WC_RECV);
	EXPECT_EQ(w.wc[0].wc_flags, 0);
	EXPECT_EQ(w.wc[1].wc_flags, SHIM_WC_WITH_INVALIDATE);
	EXPECT_EQ(w.wc[1].imm_or_rkey, 0x777);
	EXPECT_EQ(w.wc[2].wc_flags, SHIM_WC_WITH_IMM);
	EXPECT_EQ(w.wc[2].imm_or_rkey, 0x04030201);
	EXPECT_EQ(w.wc[3].opcode, SHIM_WC_RECV_RDMA_WITH_IMM);
	EXPECT_EQ(w.wc[3].status, SHIM_WC_SUCCESS);
	EXPECT_EQ(w.wc[3].byte_len, 100000);
	EXPECT_EQ(w.wc[4].status, SHIM_WC_GENERAL_ERR);
	EXPECT_EQ(w.wc[4].vendor_err, 0x20003);
	EXPECT_EQ(w.poll(), 0);
}

void datagrams_received()
{
	Scene s;
	REQUIRE(s.ready);
	Worker w(s, SHIM_QPT_UD);
	REQUIRE(w.qp.bring_up(SHIM_QPS_RTS));

	for (u64 id = 1; id <= 4; id++)
		EXPECT_EQ(w.receive(id, 3), 0);
	hw::Cqe cqe = w.received(0, 50), extended;
	cqe.set(hw::cqe::src_qp, 0xff123456);
	cqe.set(hw::cqe::stag_or_ipv4, 1);
	extended.set(hw::ext_cqe::mac_valid, 1);
	extended.set(hw::ext_cqe::src_mac, 0x525400e81002);
	extended.set(hw::ext_cqe::vlan_valid, 1);
	extended.set(hw::ext_cqe::vlan, 5u << 13 | 77);
	EXPECT(s.engine().complete(w.cq(), cqe, extended));
	extended.set(hw::ext_cqe::vlan, 3u << 13); /* VLAN 0: a priority alone */
	EXPECT(s.engine().complete(w.cq(), w.received(2, 40), extended));
	EXPECT(w.complete(w.received(4, 39)));	/* shorter than its GRH */
	EXPECT(w.complete(w.received(6, 176))); /* longer than its buffer */
	EXPECT_EQ(w.poll(), 4);
	EXPECT_EQ(w.wc[0].src_qp, 0x123456);
	EXPECT_EQ(w.wc[0].network_hdr_type, SHIM_NETWORK_IPV4);
	EXPECT_EQ(w.wc[0].wc_flags, SHIM_WC_GRH | SHIM_WC_WITH_NETWORK_HDR_TYPE |
					    SHIM_WC_WITH_SMAC | SHIM_WC_WITH_VLAN);
	EXPECT_EQ(w.wc[0].smac[0], 0x52);
	EXPECT_EQ(w.wc[0].smac[5], 0x02);
	EXPECT_EQ(w.wc[0].vlan_id, 77);
	EXPECT_EQ(w.wc[0].sl, 5);
	EXPECT_EQ(w.wc[1].network_hdr_type, SHIM_NETWORK_IPV6);
	EXPECT_EQ(w.wc[1].sl, 3);
	EXPECT(!(w.wc[1].wc_flags & SHIM_WC_WITH_VLAN));
	EXPECT_EQ(w.wc[2].status, SHIM_WC_LOC_LEN_ERR);
	EXPECT_EQ(w.wc[3].status, SHIM_WC_LOC_LEN_ERR);
	EXPECT_EQ(w.wc[3].byte_len, 0);
}

/* Over many laps of the CQ, with and without extended entries. */
void cq_over_many_laps()
{
	Scene s;
	REQUIRE(s.ready);
	Worker w(s);
	REQUIRE(w.qp.bring_up(SHIM_QPS_RTS));
	u32 size = w.qp.cq_result.ring_size;
	hw::Cqe extended;
	u32 index = 0, requests_in_ring = w.qp.qp_result.rq_size;

	EXPECT_EQ(size, 2 * (64 + 1));
	extended.set(hw::ext_cqe::imm_valid, 1);
	for (u32 n = 0; n < 20 * size; n++) {
		EXPECT_EQ(w.receive(n), 0);
		extended.set(hw::ext_cqe::imm, n);
		hw::Cqe cqe = w.received(index << 1, 10);
		bool with_imm = n % 3 == 0;
		bool written =
			with_imm ? s.engine().complete(w.cq(), cqe, extended) : w.complete(cqe);
		index = (index + 1) % requests_in_ring;
		if (!EXPECT(written) || !EXPECT_EQ(w.poll(), 1) || !EXPECT_EQ(w.wc[0].wr_id, n))
			return;
		if (with_imm)
			EXPECT_EQ(w.wc[0].imm_or_rkey, __builtin_bswap32(n));
	}
}

/* An entry whose extended one is still to come is not there yet. */
void half_a_completion()
{
	Scene s;
	REQUIRE(s.ready);
	Worker w(s);
	REQUIRE(w.qp.bring_up(SHIM_QPS_RTS));
	hw::Cqe cqe = w.received(0, 10);
	hw::Cqe second;

	EXPECT_EQ(w.receive(1), 0);
	cqe.set(hw::cqe::extended, 1);
	EXPECT(w.complete(cqe));
	EXPECT_EQ(w.poll(), 0);
	EXPECT_EQ(irdma_cq_notify(w.qp.cq, SHIM_CQ_NEXT_COMP | SHIM_CQ_REPORT_MISSED_EVENTS), 0);
	EXPECT(w.complete(second));
	EXPECT_EQ(irdma_cq_notify(w.qp.cq, SHIM_CQ_NEXT_COMP | SHIM_CQ_REPORT_MISSED_EVENTS), 1);
	EXPECT_EQ(w.poll(), 1);
}

/* ---- Trust nothing ---- */

/* Entries that name a QP that is not there, or another CQ's; an index that is not posted. */
void forged_completions()
{
	Scene s;
	REQUIRE(s.ready);
	Worker w(s), other(s);
	REQUIRE(w.qp.bring_up(SHIM_QPS_RTS) && other.qp.bring_up(SHIM_QPS_RTS));
	const u32 qps[] = {0, 1, 2, other.number(), 63, 64, 65, 0xffffff};

	EXPECT_EQ(w.send(SHIM_WR_SEND, 1, 11), 0);
	EXPECT_EQ(w.receive(12), 0);
	EXPECT_EQ(other.send(SHIM_WR_SEND, 1, 13), 0);
	for (u32 qp : qps)
		for (u32 sq = 0; sq < 2; sq++) {
			hw::Cqe cqe = w.sent(0);

			cqe.set(hw::cqe::qp, qp);
			cqe.set(hw::cqe::is_sq, sq);
			EXPECT(w.complete(cqe));
			if (!EXPECT_EQ(w.poll(), 0))
				FAIL("QP %u", qp);
		}
	for (u32 index = 1; index < 0x8000; index = index * 2 + 1)
		for (u32 sq = 0; sq < 2; sq++) {
			hw::Cqe cqe = w.sent(index);

			cqe.set(hw::cqe::is_sq, sq);
			EXPECT(w.complete(cqe));
			if (!EXPECT_EQ(w.poll(), 0))
				FAIL("index %u", index);
		}
	/* A completion context is never used as a pointer. */
	hw::Cqe cqe = w.sent(0);
	cqe.set(hw::cqe::completion_ctx, 0xdeadbeefdeadbeef);
	EXPECT(w.complete(cqe));
	EXPECT_EQ(w.poll(), 1);
	EXPECT_EQ(w.wc[0].wr_id, 11);
	EXPECT(w.complete(cqe)); /* twice */
	EXPECT_EQ(w.poll(), 0);
	EXPECT(w.complete(w.received(0, 101))); /* longer than its buffer */
	EXPECT_EQ(w.poll(), 1);
	EXPECT_EQ(w.wc[0].status, SHIM_WC_LOC_LEN_ERR);
	EXPECT_EQ(w.wc[0].byte_len, 0);
	EXPECT_EQ(other.poll(), 0);
}

/*
 * A CQ whose every entry is valid: as many completions as there is room for, then an end. The same
 * if each has an extended one.
 */
void cq_that_never_ends()
{
	for (u32 extended = 0; extended < 2; extended++) {
		Scene s;
		REQUIRE(s.ready);
		Worker w(s);
		REQUIRE(w.qp.bring_up(SHIM_QPS_RTS));
		auto &cq = s.engine().cq(w.cq());
		auto *ring = static_cast<hw::Cqe *>(s.world().dma(cq.ring.bus, cq.size * 32));
		u32 posted = 0;

		REQUIRE(ring != nullptr);
		while (w.receive(posted) == 0)
			posted++;
		for (u32 i = 0; i < cq.size; i++) {
			ring[i] = w.received(0, 10);
			ring[i].set(hw::cqe::extended, extended);
			ring[i].set(hw::cqe::valid, 1);
		}
		EXPECT_EQ(w.poll(), 1); /* the oldest, once; the others fit nothing */
		EXPECT_EQ(w.poll(), 0);
		for (u32 i = 0; i < cq.size; i++)
			ring[i].set(hw::cqe::valid, 0); /* "new" again on the second lap */
		EXPECT(w.poll() <= 1);
	}
}

/* Random bytes as completions: nothing but what was posted ever comes out. */
void noise_of(u32 type)
{
	Scene s;
	REQUIRE(s.ready);
	Worker w(s, type);
	REQUIRE(w.qp.bring_up(SHIM_QPS_RTS));
	Random random(11);
	u32 posted = 0, polled = 0, received = 0;
	u64 last[2] = {}; /* of receives, of sends */

	for (u32 i = 0; i < 3000; i++) {
		hw::Cqe cqe;

		if (w.receive(1000 + posted) == 0)
			posted++;
		if (type == SHIM_QPT_RC && w.send(SHIM_WR_SEND, 1, 1000000 + i) == 0)
			posted++;
		for (hw::Le64 &word : cqe.qw)
			word.set(random.next64());
		if (random.below(2))
			cqe.set(hw::cqe::qp, w.number());
		if (random.below(2)) /* of a send, or of the next receive */
			cqe.set(hw::cqe::wqe_index,
				random.below(2) ? random.below(512)
						: received % w.qp.qp_result.rq_size << 1);
		if (random.below(2)) /* else what follows belongs to it */
			cqe.set(hw::cqe::extended, 0);
		(void)w.complete(cqe);
		int n = w.poll();
		polled += static_cast<u32>(n);
		for (int k = 0; k < n; k++) {
			u64 id = w.wc[k].wr_id;
			bool sent = id >= 1000000;

			/* In order, and so none twice. */
			if (id < 1000 || id <= last[sent] || w.wc[k].status > 21)
				return FAIL("completion %llu after %llu, status %u", id, last[sent],
					    w.wc[k].status);
			last[sent] = id;
			received += !sent;
		}
	}
	EXPECT(polled > 100 && polled <= posted);
	EXPECT_EQ(w.qp.state(), SHIM_QPS_RTS);
	note("%u of %u requests ended", polled, posted);
}

void noise()
{
	noise_of(SHIM_QPT_RC);
	noise_of(SHIM_QPT_UD);
}

/* ---- Flush ---- */

/* In ERR each request completes once, in order: the first with its code, the rest flushed. */
void flush()
{
	for (u32 device_tells = 0; device_tells < 2; device_tells++) {
		Scene s;
		REQUIRE(s.ready);
		Worker w(s);
		REQUIRE(w.qp.bring_up(SHIM_QPS_RTS));
		static u64 seen[16];
		u32 n = 0;

		for (u64 id = 1; id <= 5; id++) {
			EXPECT_EQ(w.send(SHIM_WR_SEND, 3, id), 0);
			EXPECT_EQ(w.receive(100 + id), 0);
		}
		EXPECT(w.complete(w.sent(0))); /* one is done before */
		s.engine().event(0x50a, hw::AeSource::sq, w.number());
		if (device_tells) { /* one entry stands for all of a queue */
			hw::Cqe cqe = w.sent(2);

			cqe.set(hw::cqe::error, 1);
			cqe.set(hw::cqe::major_error, 1);
			cqe.set(hw::cqe::minor_error, 8);
			s.world().settle();
			EXPECT(w.complete(cqe));
			cqe.set(hw::cqe::is_sq, 0);
			cqe.set(hw::cqe::minor_error, 1);
			EXPECT(w.complete(cqe));
		}
		s.world().settle();
		for (int got; (got = w.poll(3)) > 0;)
			for (int i = 0; i < got && n < 16; i++) {
				u32 status = w.wc[i].status;
				u64 id = w.wc[i].wr_id;
				u32 wanted = id == 1   ? SHIM_WC_SUCCESS
					     : id == 2 ? SHIM_WC_RETRY_EXC_ERR
						       : SHIM_WC_WR_FLUSH_ERR;

				seen[n++] = id;
				if (status != wanted)
					FAIL("request %llu: status %u, not %u", id, status, wanted);
			}
		EXPECT_EQ(n, 10);
		u64 last_send = 0, last_receive = 100;
		for (u32 i = 0; i < n; i++) {
			u64 &last = seen[i] < 100 ? last_send : last_receive;

			EXPECT_EQ(seen[i], last + 1);
			last = seen[i];
		}
	}
}

/*
 * On a CQ that is never empty, since another QP is busy: what was there before the flush comes first,
 * and the flushed requests do not wait for what comes after.
 */
void flush_beside_a_busy_qp()
{
	Scene s;
	REQUIRE(s.ready);
	Worker w(s), busy(s);
	irdma_qp_params params = {};
	u32 index = 0, seen = 0;

	params.type = SHIM_QPT_RC;
	params.max_send_wr = params.max_recv_wr = 16;
	params.max_send_sge = params.max_recv_sge = 3;
	params.ib = &busy.qp.ib_qp;
	params.pd = w.qp.pd;
	params.send_cq = params.recv_cq = w.qp.cq;
	irdma_qp_destroy(busy.qp.qp, false);
	busy.qp.qp = nullptr;
	REQUIRE(!irdma_qp_create(s.rig->c(), &params, &busy.qp.qp, &busy.qp.qp_result));
	auto work = [&busy, &w, &index](u32 count) {
		for (u32 i = 0; i < count; i++) {
			EXPECT_EQ(busy.receive(1000), 0);
			EXPECT(w.complete(busy.received(2 * index, 10)));
			index = (index + 1) % busy.qp.qp_result.rq_size;
		}
	};

	REQUIRE(w.qp.bring_up(SHIM_QPS_RTS) && busy.qp.bring_up(SHIM_QPS_RTS));
	for (u64 id = 1; id <= 3; id++)
		EXPECT_EQ(w.receive(id), 0);
	work(6);
	EXPECT(w.complete(w.received(0, 10)));
	EXPECT_EQ(w.qp.modify(SHIM_QPS_ERR), 0);
	for (u32 round = 0; round < 10; round++) {
		work(4);
		EXPECT_EQ(w.poll(4), 4);
		for (u32 i = 0; i < 4; i++) {
			if (w.wc[i].qp != &w.qp.ib_qp)
				continue;
			EXPECT_EQ(w.wc[i].wr_id, ++seen);
			EXPECT_EQ(w.wc[i].status,
				  seen == 1 ? SHIM_WC_SUCCESS : SHIM_WC_WR_FLUSH_ERR);
		}
	}
	EXPECT_EQ(seen, 3);
}

/* Each flush code is the status that ib_core has for it. */
void status_of_each_code()
{
	constexpr struct {
		u32 event, status;
	} codes[] = {
		{0x102, SHIM_WC_LOC_PROT_ERR},	    {0x20d, SHIM_WC_REM_ACCESS_ERR},
		{0x133, SHIM_WC_LOC_QP_OP_ERR},	    {0x20e, SHIM_WC_REM_OP_ERR},
		{0x134, SHIM_WC_LOC_LEN_ERR},	    {0x700, SHIM_WC_FATAL_ERR},
		{0x50a, SHIM_WC_RETRY_EXC_ERR},	    {0x114, SHIM_WC_MW_BIND_ERR},
		{0x208, SHIM_WC_REM_INV_REQ_ERR},   {0x205, SHIM_WC_GENERAL_ERR},
		{0x50f, SHIM_WC_RNR_RETRY_EXC_ERR},
	};

	for (const auto &c : codes) {
		Scene s;
		REQUIRE(s.ready);
		Worker w(s);
		REQUIRE(w.qp.bring_up(SHIM_QPS_RTS));
		EXPECT_EQ(w.send(SHIM_WR_SEND, 1, 1), 0);
		s.engine().event(c.event, hw::AeSource::sq, w.number());
		s.world().settle();
		EXPECT_EQ(w.poll(), 1);
		if (w.wc[0].status != c.status)
			FAIL("event 0x%x: status %u, not %u", c.event, w.wc[0].status, c.status);
	}
}

/* What is posted in ERR completes as flushed too, and an armed CQ is told. */
void posting_in_error()
{
	Scene s;
	REQUIRE(s.ready);
	Worker w(s);
	REQUIRE(w.qp.bring_up(SHIM_QPS_RTS));

	EXPECT_EQ(w.qp.modify(SHIM_QPS_ERR), 0);
	EXPECT_EQ(irdma_cq_notify(w.qp.cq, SHIM_CQ_NEXT_COMP), 0);
	EXPECT_EQ(w.send(SHIM_WR_SEND, 2, 1), 0);
	EXPECT_EQ(w.send(SHIM_WR_LOCAL_INV, 0, 2), 0);
	EXPECT_EQ(w.receive(3), 0);
	EXPECT_EQ(s.world().completions, 0);
	s.world().settle();
	EXPECT_EQ(s.world().completions, 1);
	EXPECT_EQ(irdma_cq_notify(w.qp.cq, SHIM_CQ_NEXT_COMP | SHIM_CQ_REPORT_MISSED_EVENTS), 1);
	EXPECT_EQ(w.poll(), 3);
	for (u32 i = 0; i < 3; i++)
		EXPECT_EQ(w.wc[i].status, SHIM_WC_WR_FLUSH_ERR);
	EXPECT_EQ(s.engine().doorbells, 0);
	u32 n = 0;
	while (w.send(SHIM_WR_SEND, 1, n) == 0)
		n++;
	EXPECT(n > 16);
}

/* RESET takes work back without completions, also those in the ring that nobody has polled. */
void reset_takes_work_back()
{
	Scene s;
	REQUIRE(s.ready);
	Worker w(s);
	REQUIRE(w.qp.bring_up(SHIM_QPS_RTS));

	EXPECT_EQ(w.send(SHIM_WR_SEND, 1, 1), 0);
	EXPECT_EQ(w.receive(2), 0);
	EXPECT(w.complete(w.sent(0)));
	EXPECT_EQ(w.qp.modify(SHIM_QPS_RESET), 0);
	EXPECT_EQ(w.poll(), 0);
	REQUIRE(w.qp.bring_up(SHIM_QPS_RTS));
	EXPECT_EQ(w.send(SHIM_WR_SEND, 1, 3), 0);
	EXPECT(w.complete(w.sent(0)));
	EXPECT_EQ(w.poll(), 1);
	EXPECT_EQ(w.wc[0].wr_id, 3);
}

/* Where the device has stopped in a former life says nothing of the first requests of the next. */
void doorbell_of_another_life()
{
	Scene s;
	REQUIRE(s.ready);
	Worker w(s);
	REQUIRE(w.qp.bring_up(SHIM_QPS_RTS));
	auto *shadow = s.world().dma_as<hw::QpShadow>(s.engine().qp(w.number()).shadow_bus);
	REQUIRE(shadow != nullptr);

	for (u32 i = 1; i <= 5; i++)
		EXPECT_EQ(w.send(SHIM_WR_SEND, 1, i), 0);
	EXPECT_EQ(s.engine().doorbells, 1);
	shadow->set(hw::qp_shadow::sq_tail, 5);
	EXPECT_EQ(w.qp.modify(SHIM_QPS_RESET), 0);
	REQUIRE(w.qp.bring_up(SHIM_QPS_RTS));
	EXPECT_EQ(w.send(SHIM_WR_SEND, 1, 6), 0);
	EXPECT_EQ(s.engine().doorbells, 2);
}

/* ---- Arming ---- */

void arming()
{
	Scene s;
	REQUIRE(s.ready);
	Worker w(s);
	REQUIRE(w.qp.bring_up(SHIM_QPS_RTS));
	hw::Cqe solicited = w.received(0, 10);

	for (u32 i = 0; i < 6; i++)
		EXPECT_EQ(w.receive(i), 0);
	solicited.set(hw::cqe::solicited, 1);
	EXPECT_EQ(irdma_cq_notify(w.qp.cq, SHIM_CQ_SOLICITED), 0);
	EXPECT(w.complete(w.received(0, 10)));
	s.world().settle();
	EXPECT_EQ(s.world().completions, 0);
	solicited.set(hw::cqe::wqe_index, 2);
	EXPECT(w.complete(solicited));
	s.world().settle();
	EXPECT_EQ(s.world().completions, 1);
	EXPECT_EQ(w.poll(), 2);
	/* Any asks for more than solicited: the doorbell again; not the other way round. */
	EXPECT_EQ(irdma_cq_notify(w.qp.cq, SHIM_CQ_SOLICITED), 0);
	EXPECT_EQ(irdma_cq_notify(w.qp.cq, SHIM_CQ_NEXT_COMP), 0);
	u32 sequence = s.engine().cq(w.cq()).sequence;
	EXPECT_EQ(irdma_cq_notify(w.qp.cq, SHIM_CQ_SOLICITED), 0);
	EXPECT_EQ(irdma_cq_notify(w.qp.cq, SHIM_CQ_NEXT_COMP), 0);
	EXPECT_EQ(s.engine().cq(w.cq()).sequence, sequence);
	EXPECT(w.complete(w.received(4, 10)));
	s.world().settle();
	EXPECT_EQ(s.world().completions, 2);
	EXPECT_EQ(irdma_cq_notify(w.qp.cq, SHIM_CQ_NEXT_COMP | SHIM_CQ_REPORT_MISSED_EVENTS), 1);
	s.world().settle(); /* one that is there already is told at once */
	EXPECT_EQ(s.world().completions, 3);
}

void cqs_of_each_size()
{
	Scene s;
	REQUIRE(s.ready);
	constexpr u32 sizes[] = {0, 1, 2, 63, 1000, 524286, 524287, ~0u};

	for (u32 entries : sizes) {
		irdma_cq_params params = {};
		irdma_cq *cq = nullptr;
		irdma_cq_result result = {};

		params.entries = entries;
		int err = irdma_cq_create(s.rig->c(), &params, &cq, &result);
		bool fits = entries && entries < 524287; /* 1048575 in the ring, two for each */
		EXPECT_EQ(err, fits ? 0 : -SHIM_EINVAL);
		if (err)
			continue;
		EXPECT_EQ(result.entries, entries);
		EXPECT(result.ring_size > 2 * entries && result.ring_size <= 1048575);
		EXPECT_EQ(s.engine().cq(result.number).size, result.ring_size);
		EXPECT(s.engine().cq(result.number).check_overflow);
		irdma_cq_destroy(cq, false);
	}
}

constexpr bridge_case cases[] = {
	TEST(requests_in_the_ring),
	TEST(rings_in_pieces),
	TEST(requests_that_are_refused),
	TEST(chains),
	TEST(chains_meet_a_full_queue),
	TEST(inline_and_datagrams),
	TEST(fast_registration_and_invalidation),
	TEST(full_queues),
	TEST(receives),
	TEST(datagrams_received),
	TEST(cq_over_many_laps),
	TEST(half_a_completion),
	TEST(forged_completions),
	TEST(cq_that_never_ends),
	TEST(noise),
	TEST(flush),
	TEST(flush_beside_a_busy_qp),
	TEST(status_of_each_code),
	TEST(posting_in_error),
	TEST(reset_takes_work_back),
	TEST(doorbell_of_another_life),
	TEST(arming),
	TEST(cqs_of_each_size),
};

} // namespace

SUITE(work, cases)
