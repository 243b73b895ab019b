// SPDX-License-Identifier: GPL-2.0
/*
 * What commands do to the objects of the fake engine, and the checks of what
 * they name; see engine.h.
 */
#include "base/memory.h"
#include "engine.h"

namespace irdma::fake {

using hw::CqpOp;

namespace {

bool runs(hw::QpState state)
{
	return state == hw::QpState::rtr || state == hw::QpState::rts || state == hw::QpState::sqd;
}

} // namespace

void Engine::carry_out(const Command &c, Answer &a)
{
	switch (c.op) {
	case CqpOp::create_qp:
		return create_qp(c);
	case CqpOp::modify_qp:
		return modify_qp(c);
	case CqpOp::destroy_qp:
		return destroy_qp(c);
	case CqpOp::create_cq:
		return create_cq(c);
	case CqpOp::modify_cq:
		return modify_cq(c);
	case CqpOp::destroy_cq:
		return destroy_cq(c);
	case CqpOp::alloc_stag:
	case CqpOp::reg_mr:
		return stag(c, true);
	case CqpOp::dealloc_stag:
		return stag(c, false);
	case CqpOp::manage_arp: {
		u32 index = static_cast<u32>(c.get(hw::cqp_arp::index));

		EXPECT(index && index < max_arps);
		arp_[index % max_arps] =
			c.get(hw::cqp_arp::entry_valid) ? c.get(hw::cqp_arp::mac) : 0;
		return;
	}
	case CqpOp::query_rdma_features: {
		u64 bytes = c.get(hw::cqp_features::length);
		void *to = world_.dma(c.get(hw::cqp_features::addr), bytes);

		EXPECT_EQ(bytes, sizeof(features));
		if (to)
			__builtin_memcpy(to, features, sizeof(features));
		return;
	}
	case CqpOp::create_ceq:
		return create_ceq(c);
	case CqpOp::destroy_ceq: {
		Ring &ceq = ceq_[c.get(hw::cqp_ceq::ceq) % max_ceqs];

		EXPECT_EQ(c.get(hw::cqp_ceq::size), ceq.entries);
		EXPECT(static_cast<bool>(ceq));
		ceq = {};
		return;
	}
	case CqpOp::create_aeq:
		EXPECT(!aeq_);
		aeq_.bus = c.get(hw::cqp_aeq::addr);
		aeq_.entries = static_cast<u32>(c.get(hw::cqp_aeq::size));
		aeq_.next = 0;
		aeq_.lap = true;
		EXPECT_EQ(aeq_.bus % 256, 0);
		world_.dma(aeq_.bus, u64{aeq_.entries} * sizeof(hw::Aeqe));
		return;
	case CqpOp::destroy_aeq:
		EXPECT_EQ(c.get(hw::cqp_aeq::size), aeq_.entries);
		EXPECT(static_cast<bool>(aeq_));
		aeq_ = {};
		return;
	case CqpOp::create_ah:
		return address_handle(c, true);
	case CqpOp::destroy_ah:
		return address_handle(c, false);
	case CqpOp::update_pe_sds:
		return update_segments(c);
	case CqpOp::query_fpm:
		return query_fpm(c);
	case CqpOp::commit_fpm:
		return commit_fpm(c);
	case CqpOp::shmc_pages_allocated:
		EXPECT(segments() != 0);
		return;
	case CqpOp::flush_wqes:
		EXPECT(qp(static_cast<u32>(c.get(hw::cqp_flush::qp))).there);
		EXPECT(c.get(hw::cqp_flush::flush_sq) || c.get(hw::cqp_flush::flush_rq));
		return;
	case CqpOp::create_mcast:
		return group(c, 1);
	case CqpOp::modify_mcast:
		return group(c, 0);
	case CqpOp::destroy_mcast:
		return group(c, 2);
	case CqpOp::suspend_qp:
		return suspend(c);
	case CqpOp::resume_qp:
		EXPECT(qp(static_cast<u32>(c.get(hw::cqp_suspend::qp))).there);
		return;
	case CqpOp::work_sched_node:
		a.value = work_node(c);
		return;
	case CqpOp::gather_stats: {
		void *to = world_.dma(c.get(hw::cqp_stats::addr), sizeof(statistics));

		if (to)
			__builtin_memcpy(to, &statistics, sizeof(statistics));
		return;
	}
	case CqpOp::upload_context: {
		auto *to = world_.dma_as<hw::QpContext>(c.get(hw::cqp_upload::addr));
		QueuePair &q = qp(static_cast<u32>(c.get(hw::cqp_upload::qp)));

		EXPECT(q.there);
		EXPECT_EQ(c.get(hw::cqp_upload::qp_type), q.type);
		if (to)
			*to = q.context;
		return;
	}
	default:
		FAIL("the driver has no use for command %s",
		     hw::cqp_layout(static_cast<u32>(c.op)).name);
	}
}

/* ---- QPs ---- */

/* The whole of a queue is DMA memory. */
void Engine::check_queue(const Command &c, u64 address, u64 bytes)
{
	if (!c.get(hw::cqp_qp::virtual_queues)) {
		world_.dma(address, bytes);
		return;
	}
	for (u64 i = 0; i < div_round_up(bytes, u64{hw::page_size}); i++)
		world_.dma(pble(address + i), min(bytes, u64{hw::page_size}));
}

/* Take what the command shows; false if that is not to be had. */
bool Engine::read_qp(const Command &c, QueuePair &q)
{
	auto *context = world_.dma_as<hw::QpContext>(c.get(hw::cqp_qp::context_addr));

	if (!context)
		return false;
	q.context_bus = c.get(hw::cqp_qp::context_addr);
	q.shadow_bus = c.get(hw::cqp_qp::shadow_addr);
	q.context = *context;
	EXPECT(cq(static_cast<u32>(q.context.get(hw::qpc::send_cq))).there);
	EXPECT(cq(static_cast<u32>(q.context.get(hw::qpc::recv_cq))).there);
	EXPECT_EQ(q.context.get(hw::qpc::dest_port), 4791);
	EXPECT(q.context.get(hw::qpc::src_port) >= 0xc000); /* RoCEv2: the dynamic ports */
	if (strict_memory) {
		check_queue(c, q.context.get(hw::qpc::sq_addr),
			    32ULL << (q.context.get(hw::qpc::sq_size) + 2));
		check_queue(c, q.context.get(hw::qpc::rq_addr),
			    32ULL << (q.context.get(hw::qpc::rq_size) + 2));
	}
	return true;
}

void Engine::create_qp(const Command &c)
{
	u32 number = static_cast<u32>(c.get(hw::cqp_qp::qp));
	QueuePair &q = qp(number);

	EXPECT(number && number != 2 && number < max_qps && !q.there);
	EXPECT_EQ(c.get(hw::cqp_qp::next_state), hw::QpState::idle);
	EXPECT(c.get(hw::cqp_qp::cq_num_valid));
	EXPECT(c.get(hw::cqp_qp::shadow_addr));
	q = {};
	q.type = static_cast<hw::QpType>(c.get(hw::cqp_qp::qp_type));
	EXPECT(q.type == hw::QpType::rc || q.type == hw::QpType::ud);
	q.there = read_qp(c, q);
	q.state = hw::QpState::idle;
}

void Engine::modify_qp(const Command &c)
{
	u32 number = static_cast<u32>(c.get(hw::cqp_qp::qp));
	QueuePair &q = qp(number);
	auto next = static_cast<hw::QpState>(c.get(hw::cqp_qp::next_state));
	bool drains = next == hw::QpState::sqd && q.state != hw::QpState::sqd;

	if (!EXPECT(q.there))
		return;
	EXPECT_EQ(c.get(hw::cqp_qp::qp_type), q.type);
	EXPECT_EQ(c.get(hw::cqp_qp::context_addr), q.context_bus);
	EXPECT_EQ(c.get(hw::cqp_qp::shadow_addr), q.shadow_bus);
	read_qp(c, q);
	if (runs(next) && q.type == hw::QpType::rc) {
		u32 index = static_cast<u32>(q.context.get(hw::qpc::arp_index));

		if (!arp(index))
			FAIL("QP %u has ARP index %u, which has no entry", number, index);
	}
	q.state = next;
	if (drains && suspends)
		event(static_cast<u32>(0x900), hw::AeSource::sq, number);
}

void Engine::destroy_qp(const Command &c)
{
	QueuePair &q = qp(static_cast<u32>(c.get(hw::cqp_qp::qp)));

	EXPECT(q.there);
	EXPECT_EQ(c.get(hw::cqp_qp::qp_type), q.type);
	EXPECT_EQ(c.get(hw::cqp_qp::context_addr), q.context_bus);
	EXPECT(c.get(hw::cqp_qp::remove_hash));
	q = {};
}

void Engine::suspend(const Command &c)
{
	u32 number = static_cast<u32>(c.get(hw::cqp_suspend::qp));

	EXPECT(runs(qp(number).state));
	if (suspends)
		event(0x900, hw::AeSource::sq, number);
}

/* ---- CQs and CEQs ---- */

/* Where its ring is, and how long. */
void Engine::read_cq(const Command &c, CompletionQueue &q)
{
	q.size = q.ring.entries = static_cast<u32>(c.get(hw::cqp_cq::size));
	q.ring.bus = c.get(hw::cqp_cq::addr);
	q.ring.listed = c.get(hw::cqp_cq::virtual_map);
	q.ring.first_pble = static_cast<u32>(c.get(hw::cqp_cq::first_pble));
	EXPECT_EQ(c.get(hw::cqp_cq::pbl_level), q.ring.listed ? 1 : 0);
}

void Engine::create_cq(const Command &c)
{
	u32 number = static_cast<u32>(c.get(hw::cqp_cq::cq));
	CompletionQueue &q = cq(number);
	u32 ceq = static_cast<u32>(c.get(hw::cqp_cq::ceq));

	EXPECT(number < max_cqs && !q.there);
	EXPECT(!number || has_ceq(ceq));
	EXPECT_EQ(c.get(hw::cqp_cq::ceq_valid), 1);
	q = {};
	q.ceq = ceq;
	read_cq(c, q);
	q.context = c.get(hw::cqp_cq::context);
	q.shadow_bus = c.get(hw::cqp_cq::shadow_addr);
	q.check_overflow = c.get(hw::cqp_cq::check_overflow);
	q.ring.lap = true;
	EXPECT(q.size > 1);
	if (number)
		EXPECT(c.get(hw::cqp_cq::shadow_read_threshold) < q.size);
	q.there = true;
}

void Engine::modify_cq(const Command &c)
{
	CompletionQueue &q = cq(static_cast<u32>(c.get(hw::cqp_cq::cq)));

	EXPECT(q.there);
	EXPECT(c.get(hw::cqp_cq::resize));
	read_cq(c, q);
}

void Engine::destroy_cq(const Command &c)
{
	u32 number = static_cast<u32>(c.get(hw::cqp_cq::cq));
	CompletionQueue &q = cq(number);

	EXPECT(q.there);
	EXPECT_EQ(c.get(hw::cqp_cq::size), q.size);
	for (u32 i = 0; i < max_qps && number; i++)
		if (qp_[i].there && !qp_[i].kept &&
		    (qp_[i].context.get(hw::qpc::send_cq) == number ||
		     qp_[i].context.get(hw::qpc::recv_cq) == number))
			FAIL("CQ %u goes before QP %u, which uses it", number, i);
	q = {};
}

void Engine::create_ceq(const Command &c)
{
	u32 number = static_cast<u32>(c.get(hw::cqp_ceq::ceq));
	Ring &ceq = ceq_[number % max_ceqs];

	EXPECT(number < max_ceqs && !ceq);
	ceq.bus = c.get(hw::cqp_ceq::addr);
	ceq.entries = static_cast<u32>(c.get(hw::cqp_ceq::size));
	ceq.next = 0;
	ceq.lap = true;
	EXPECT_EQ(ceq.bus % 256, 0);
	world_.dma(ceq.bus, u64{ceq.entries} * sizeof(hw::Ceqe));
}

/* ---- STags, handles, groups ---- */

void Engine::stag(const Command &c, bool made)
{
	/* The driver may put random bits above the number. */
	u32 index = static_cast<u32>(c.get(hw::cqp_stag::index)) & (16384 - 1);

	EXPECT(index && index < max_stags);
	EXPECT_EQ(has_stag(index), !made);
	if (made && c.op == CqpOp::reg_mr &&
	    static_cast<hw::PblLevel>(c.get(hw::cqp_stag::pbl_level)) == hw::PblLevel::contiguous)
		EXPECT_EQ(c.get(hw::cqp_stag::first_pble), 0);
	stag_[index % max_stags] = made;
}

void Engine::address_handle(const Command &c, bool made)
{
	u32 number = static_cast<u32>(c.get(hw::cqp_ah::ah));

	EXPECT(number && number < max_ahs);
	EXPECT_EQ(has_ah(number), !made);
	if (made)
		EXPECT(arp(static_cast<u32>(c.get(hw::cqp_ah::arp_index))) != 0);
	ah_[number % max_ahs] = made;
}

/* 1: made, 0: changed, 2: gone. Members come first, and are QPs that exist. */
void Engine::group(const Command &c, u32 change)
{
	u32 number = static_cast<u32>(c.get(hw::cqp_mcast::group));
	auto *members = static_cast<hw::Le64 *>(
		world_.dma(c.get(hw::cqp_mcast::members_addr), 8 * sizeof(hw::Le64)));
	bool ended = false;

	EXPECT(number && number < max_groups);
	EXPECT_EQ(has_group(number), change != 1);
	for (u32 i = 0; i < 8 && members; i++) {
		u64 member = members[i].get();
		bool valid = hw::cqp_mcast::member_valid.take(member);

		EXPECT(!valid || !ended);
		ended = ended || !valid;
		if (valid && !qp(static_cast<u32>(hw::cqp_mcast::member_qp.take(member))).there)
			FAIL("member %u of group %u is no QP", i, number);
	}
	group_[number % max_groups] = change != 2;
}

/* ---- Host memory cache ---- */

void Engine::set_segment(u64 command, u64 data)
{
	using namespace hw::cqp_sds;
	u32 index = static_cast<u32>(sd_index.take(command));

	EXPECT(index < max_segments);
	EXPECT_EQ(sd_partition.take(command), 1);
	EXPECT_EQ(sd_write.take(command), 1);
	EXPECT_EQ(sd_bp_count.take(data), 512);
	if (!sd_valid.take(data)) {
		segment_[index % max_segments] = 0; /* one that is clear already does no harm */
		return;
	}
	u64 bus = sd_page.take(data) << 12;
	EXPECT_EQ(sd_direct.take(data), 1);
	EXPECT_EQ(bus % hw::sd_bytes, 0);
	EXPECT_EQ(segment_[index % max_segments], 0);
	world_.dma(bus, hw::sd_bytes);
	segment_[index % max_segments] = bus;
}

void Engine::update_segments(const Command &c)
{
	using namespace hw::cqp_sds;

	EXPECT_EQ(c.get(more_entries), 0);
	set_segment(c.get(command0), c.get(data0));
	if (c.get(entry1_valid))
		set_segment(c.get(command1), c.get(data1));
	if (c.get(entry2_valid))
		set_segment(c.get(command2), c.get(data2));
}

void Engine::offer_word(hw::HmcObject kind, u64 bits, u64 keep)
{
	for (const auto &info : hw::hmc_object_info)
		if (info.object == kind) {
			hw::Le64 &word = fpm.qw[info.query_word];

			word.set((word.get() & keep) | bits);
		}
}

void Engine::query_fpm(const Command &c)
{
	auto *to = world_.dma_as<hw::FpmBuffer>(c.get(hw::cqp_fpm::addr));

	EXPECT_EQ(c.get(hw::cqp_fpm::hmc_fn), world_.port.pf_id);
	if (to)
		*to = fpm;
}

/* Lay the kinds out one after the other, as the counts are. */
void Engine::commit_fpm(const Command &c)
{
	auto *fpm_buffer = world_.dma_as<hw::FpmBuffer>(c.get(hw::cqp_fpm::addr));
	u64 at = fpm.get(hw::fpm_query::first_sd) * hw::sd_bytes;

	EXPECT_EQ(c.get(hw::cqp_fpm::length), 176);
	if (!fpm_buffer)
		return;
	for (const hw::HmcObjectInfo &info : hw::hmc_object_info) {
		hw::Le64 &word = fpm_buffer->qw[info.commit_word];
		u64 count = hw::fpm_count.take(word.get());
		u64 size = info.fixed_bytes;

		if (info.size == hw::HmcObjectInfo::log2_bytes)
			size = 1ULL << hw::fpm_size.take(fpm.qw[info.query_word].get());
		if (info.size == hw::HmcObjectInfo::not_queried) {
			EXPECT_EQ(word.get(), 0);
			count = 1;
		}
		word.set(hw::fpm_base.put(at / hw::fpm_base_unit) | count);
		if (info.object == hw::HmcObject::pble)
			pble_base_ = at;
		at = align_up(at + count * size, u64{hw::fpm_base_unit});
	}
	if (on_commit)
		on_commit(*fpm_buffer);
}

/* ---- Work scheduler ---- */

/* The handle of a leaf is its number, which is never 0. */
u32 Engine::work_node(const Command &c)
{
	using namespace hw::cqp_ws;
	u32 number = static_cast<u32>(c.get(node)), above = static_cast<u32>(c.get(parent));
	Node &n = node_[number % max_nodes];

	EXPECT(number < max_nodes);
	EXPECT_EQ(c.get(vsi), world_.port.vsi);
	switch (c.get(node_op)) {
	case op_add:
		EXPECT(!n.there);
		EXPECT(!number || node_[above % max_nodes].there);
		EXPECT(c.get(weight) >= 1 && c.get(weight) <= 100);
		n = {true, c.get(leaf) != 0, c.get(enable) != 0, above,
		     static_cast<u8>(c.get(traffic_class))};
		break;
	case op_modify:
		EXPECT(n.there);
		n.enabled = c.get(enable);
		break;
	default:
		EXPECT(n.there);
		for (u32 i = 1; i < max_nodes; i++)
			if (i != number && node_[i].there && node_[i].parent == number)
				FAIL("work-scheduler node %u goes before node %u under it", number,
				     i);
		n.there = false;
	}
	return n.leaf ? number : 0;
}

} // namespace irdma::fake
