// SPDX-License-Identifier: GPL-2.0
/* Queue pairs; see queue_pairs.h. */
#include "queue_pairs.h"

#include <algorithm>
#include <utility>

#include "device.h"
#include "irdma/hw/cqe.h"
#include "irdma/hw/limits.h"
#include "rdma.h"
#include "rdma_trace.h"

namespace e810 {

namespace {

constexpr uint32_t bit(hw::QpState state)
{
	return 1u << static_cast<unsigned>(state);
}

/* Which states MODIFY_QP may lead to, by present state. */
constexpr uint32_t next_states(hw::QpState state)
{
	using enum hw::QpState;

	switch (state) {
	case idle:
		return bit(idle) | bit(rtr) | bit(error);
	case rtr:
		return bit(rtr) | bit(rts) | bit(error);
	case rts:
		return bit(rts) | bit(sqd) | bit(error);
	case sqd:
		return bit(sqd) | bit(rts) | bit(error);
	case error:
		return bit(error);
	case invalid:
	case terminate:
		break;
	}
	return 0;
}

/* Fields that a command takes only if its flag says so. */
struct Guarded {
	const hw::Field &flag;
	const hw::Field &field;
};
constexpr Guarded guarded_fields[] = {
	{hw::cqp_qp::cq_num_valid, hw::qpc::send_cq}, {hw::cqp_qp::cq_num_valid, hw::qpc::recv_cq},
	{hw::cqp_qp::arp_valid, hw::qpc::arp_index},  {hw::cqp_qp::mac_valid, hw::qpc::src_mac},
	{hw::cqp_qp::ord_valid, hw::qpc::ord},
};

/* Fields that are fixed once the queue pair exists. */
constexpr hw::Field constant_fields[] = {
	hw::qpc::sq_addr, hw::qpc::rq_addr,	hw::qpc::sq_size,
	hw::qpc::rq_size, hw::qpc::rq_wqe_size, hw::qpc::completion_ctx,
};

/* Packet sequence numbers belong to the device from the state on that starts their use. */
constexpr hw::Field receive_psn[] = {hw::qpc::expected_psn};
constexpr hw::Field send_psn[] = {hw::qpc::psn_next, hw::qpc::psn_una, hw::qpc::psn_max,
				  hw::qpc::lsn};

void keep(hw::QpContext &to, const hw::QpContext &from, std::span<const hw::Field> fields)
{
	for (const hw::Field &field : fields)
		to.set(field, from.get(field));
}

/* What the device's context becomes when it is @qp's now and the command brings @given. */
hw::QpContext merged(const QueuePair &qp, hw::QpState next, const hw::CqpWqe &wqe,
		     hw::QpContext given)
{
	for (const Guarded &guarded : guarded_fields)
		if (!wqe.get(guarded.flag))
			given.set(guarded.field, qp.context.get(guarded.field));
	keep(given, qp.context, constant_fields);
	if (!(qp.state == hw::QpState::idle && next == hw::QpState::rtr))
		keep(given, qp.context, receive_psn);
	if (!(qp.state == hw::QpState::rtr && next == hw::QpState::rts))
		keep(given, qp.context, send_psn);
	return given;
}

/* Minor code of a flush: which queues held work. */
uint16_t flushed(bool sq, bool rq)
{
	if (sq && rq)
		return hw::cqp_flushed::both;
	if (sq)
		return hw::cqp_flushed::sq;
	return rq ? hw::cqp_flushed::rq : 0;
}

uint32_t queue_quanta(uint64_t size_code)
{
	return 4u << size_code;
}

} // namespace

QueuePairs::QueuePairs(Rdma &rdma) : rdma_(rdma), qps_(Hmc::limit(hw::HmcObject::qp)) {}

QueuePair *QueuePairs::find(uint64_t id)
{
	return id < qps_.size() ? qps_[id].get() : nullptr;
}

bool QueuePairs::load_context(const hw::CqpWqe &wqe, uint32_t id, hw::QpContext &context)
{
	auto given = rdma_.dev.memory.load<hw::QpContext>(wqe.get(hw::cqp_qp::context_addr));

	if (!given)
		return false;
	context = *given;
	TraceEvent line = rdma_.dev.trace.event("qp_ctx");
	line.u64("qp", id);
	decode(line, hw::layout("qp_ctx", hw::qpc::fields), context);
	return true;
}

/* CQs and ARP entry that a context names. Those of UD name no destination: the address handle does.
 * */
CqpResult QueuePairs::check_references(const hw::CqpWqe &wqe, hw::QpType type,
				       const hw::QpContext &context)
{
	if (wqe.get(hw::cqp_qp::cq_num_valid) &&
	    (!rdma_.cqs.exists(static_cast<uint32_t>(context.get(hw::qpc::send_cq))) ||
	     !rdma_.cqs.exists(static_cast<uint32_t>(context.get(hw::qpc::recv_cq)))))
		return CqpResult::fail(refusal::bad_parameter);
	if (type == hw::QpType::rc && wqe.get(hw::cqp_qp::arp_valid) &&
	    !rdma_.addresses.arp_valid(static_cast<uint32_t>(context.get(hw::qpc::arp_index))))
		return CqpResult::fail(refusal::bad_parameter);
	return CqpResult::ok();
}

CqpResult QueuePairs::create(const hw::CqpWqe &wqe)
{
	using namespace hw::cqp_qp;
	uint32_t id = static_cast<uint32_t>(wqe.get(qp));
	CqpResult result = rdma_.hmc.check(hw::HmcObject::qp, id);
	auto type = static_cast<hw::QpType>(wqe.get(qp_type));
	auto made = std::make_unique<QueuePair>();

	if (result.error)
		return result;
	if (qps_[id] || static_cast<hw::QpState>(wqe.get(next_state)) != hw::QpState::idle)
		return CqpResult::fail(hw::cqp_error::invalid_state);
	if (!id || (type != hw::QpType::rc && type != hw::QpType::ud))
		return CqpResult::fail(refusal::bad_parameter);
	if (!load_context(wqe, id, made->context))
		return CqpResult::fail(refusal::memory_fault);
	result = check_references(wqe, type, made->context);
	if (result.error)
		return result;

	uint32_t sq = queue_quanta(made->get(hw::qpc::sq_size));
	uint32_t rq = queue_quanta(made->get(hw::qpc::rq_size));
	bool is_virtual = wqe.get(virtual_queues);
	if (sq > hw::max_wq_quanta || rq > hw::max_wq_quanta || rq < made->rq_stride())
		return CqpResult::fail(refusal::bad_parameter);
	auto pages = [&](const hw::Field &field) {
		uint64_t where = made->get(field);
		return PageList::of(is_virtual, where, static_cast<uint32_t>(where), 1);
	};
	made->id = id;
	made->type = type;
	made->virtual_queues = is_virtual;
	made->shadow = wqe.get(shadow_addr);
	made->sq.set_up(pages(hw::qpc::sq_addr), sq);
	made->rq.set_up(pages(hw::qpc::rq_addr), rq);
	if (type == hw::QpType::rc)
		made->rc = std::make_unique<RcTransport>(rdma_.roce, *made);
	else
		made->ud = std::make_unique<UdTransport>(rdma_.roce, *made);
	qps_[id] = std::move(made);
	return CqpResult::ok();
}

CqpResult QueuePairs::modify(const hw::CqpWqe &wqe)
{
	using namespace hw::cqp_qp;
	QueuePair *found = find(wqe.get(qp));
	auto next = static_cast<hw::QpState>(wqe.get(next_state));
	hw::QpContext given;

	if (!found || !(next_states(found->state) & bit(next)))
		return CqpResult::fail(hw::cqp_error::invalid_state);
	if (!load_context(wqe, found->id, given))
		return CqpResult::fail(refusal::memory_fault);
	CqpResult result = check_references(wqe, found->type, given);
	if (result.error)
		return result;
	/* From RTR on the queue pair sends, for which it needs a leaf of the work scheduler. */
	if ((next == hw::QpState::rtr || next == hw::QpState::rts) &&
	    !rdma_.scheduler.handle_valid(static_cast<uint32_t>(given.get(hw::qpc::qs_handle))))
		return CqpResult::fail(refusal::bad_parameter);

	hw::QpState before = found->state;
	found->context = merged(*found, next, wqe, given);
	found->state = next;
	change_transport(*found, before);
	return CqpResult::ok();
}

/* Tells the transport that the state of @p qp has become another than @p before. */
void QueuePairs::change_transport(QueuePair &qp, hw::QpState before)
{
	using enum hw::QpState;

	if (qp.state == before)
		return;
	if (qp.rc && qp.state == rtr)
		qp.rc->responder.start(static_cast<uint32_t>(qp.get(hw::qpc::expected_psn)));
	if (qp.rc && qp.state == rts && before == rtr)
		qp.rc->requester.start(static_cast<uint32_t>(qp.get(hw::qpc::psn_next)));
	if (qp.rc && qp.state == error) {
		qp.rc->requester.stop();
		qp.rc->responder.stop();
	}
	/* The host waits for what was begun to be complete. */
	qp.draining = qp.state == sqd;
	if (qp.draining && (qp.ud || qp.rc->requester.idle()))
		send_queue_idle(qp);
	if (qp.state == rts)
		doorbell(qp.id);
}

void QueuePairs::send_queue_idle(QueuePair &qp)
{
	if (!std::exchange(qp.draining, false))
		return;
	report(qp, hw::AeCode::qp_suspend_complete, hw::AeSource::none, 0);
}

CqpResult QueuePairs::destroy(const hw::CqpWqe &wqe)
{
	QueuePair *found = find(wqe.get(hw::cqp_qp::qp));

	if (!found)
		return CqpResult::fail(hw::cqp_error::invalid_state);
	if (found->rc)
		found->rc->responder.stop();
	qps_[found->id].reset();
	return CqpResult::ok();
}

CqpResult QueuePairs::suspend(const hw::CqpWqe &wqe)
{
	QueuePair *found = find(wqe.get(hw::cqp_suspend::qp));

	if (!found)
		return CqpResult::fail(hw::cqp_error::invalid_state);
	found->suspended = true;
	/* Nothing of it is under way, so the suspension is complete at once. */
	report(*found, hw::AeCode::qp_suspend_complete, hw::AeSource::none, 0);
	return CqpResult::ok();
}

CqpResult QueuePairs::resume(const hw::CqpWqe &wqe)
{
	QueuePair *found = find(wqe.get(hw::cqp_suspend::qp));
	uint64_t handle = wqe.get(hw::cqp_suspend::qs_handle);

	if (!found || !found->suspended)
		return CqpResult::fail(hw::cqp_error::invalid_state);
	if (handle > hw::qpc::qs_handle.max() ||
	    !rdma_.scheduler.handle_valid(static_cast<uint32_t>(handle)))
		return CqpResult::fail(refusal::bad_parameter);
	found->context.set(hw::qpc::qs_handle, handle);
	found->suspended = false;
	rdma_.roce.kick(*found); /* in SQD as well: what was begun goes on */
	return CqpResult::ok();
}

CqpResult QueuePairs::upload_context(const hw::CqpWqe &wqe)
{
	QueuePair *found = find(wqe.get(hw::cqp_upload::qp));

	if (!found)
		return CqpResult::fail(hw::cqp_error::invalid_state);
	save_psns(*found);
	if (!rdma_.dev.memory.store(wqe.get(hw::cqp_upload::addr), found->context))
		return CqpResult::fail(refusal::memory_fault);
	return CqpResult::ok();
}

/* Puts where the transport is into the context. */
void QueuePairs::save_psns(QueuePair &qp)
{
	if (qp.rc && qp.state == hw::QpState::rts)
		qp.context.set(hw::qpc::psn_next, qp.rc->requester.next_psn());
	if (qp.rc && (qp.state == hw::QpState::rtr || qp.state == hw::QpState::rts))
		qp.context.set(hw::qpc::expected_psn, qp.rc->responder.expected_psn());
}

CqpResult QueuePairs::flush(const hw::CqpWqe &wqe)
{
	using namespace hw::cqp_flush;
	constexpr auto general = static_cast<uint64_t>(hw::FlushCode::general);
	QueuePair *found = find(wqe.get(qp));
	bool user = wqe.get(user_codes);
	bool sq = false, rq = false;

	if (!found)
		return CqpResult::fail(hw::cqp_error::invalid_state);
	if (wqe.get(flush_sq))
		sq = flush_queue(*found, true, user ? wqe.get(sq_major) : hw::flush_major,
				 user ? wqe.get(sq_minor) : general);
	if (wqe.get(flush_rq))
		rq = flush_queue(*found, false, user ? wqe.get(rq_major) : hw::flush_major,
				 user ? wqe.get(rq_minor) : general);
	if (wqe.get(generate_ae))
		report(*found, static_cast<hw::AeCode>(wqe.get(ae_code)),
		       static_cast<hw::AeSource>(wqe.get(ae_source)), 0);

	CqpResult result = CqpResult::ok();
	result.minor = flushed(sq, rq);
	return result;
}

/*
 * One error completion for the oldest WQE stands for all outstanding ones: the host completes the
 * others itself. Returns whether there was one.
 */
bool QueuePairs::flush_queue(QueuePair &qp, bool is_sq, uint64_t major, uint64_t minor)
{
	using namespace hw::cqe;
	WorkQueue &queue = is_sq ? qp.sq : qp.rq;
	auto first = queue.next(rdma_);
	auto begun = is_sq && qp.rc ? qp.rc->requester.abandon() : std::nullopt;
	hw::Cqe entry;

	if (!first && !begun)
		return false;
	entry.set(completion_ctx, qp.get(hw::qpc::completion_ctx));
	entry.set(hw::cqe::qp, qp.id);
	entry.set(minor_error, minor);
	entry.set(major_error, major);
	entry.set(wqe_index, begun ? begun->index : queue.index());
	entry.set(error, 1);
	if (is_sq)
		entry.set(op, (begun ? begun->header : *first).get(hw::sq::opcode));
	entry.set(hw::cqe::is_sq, is_sq);

	/* All that is there now is flushed; what the host posts later is for a later flush. */
	uint32_t walked = 0;
	for (auto wqe = first; wqe && walked < queue.quanta(); wqe = queue.next(rdma_)) {
		uint32_t length = is_sq ? send_wqe_quanta(*wqe) : qp.rq_stride();

		queue.advance(length);
		walked += length;
	}

	uint32_t cq = static_cast<uint32_t>(qp.get(is_sq ? hw::qpc::send_cq : hw::qpc::recv_cq));
	trace_completion(cq, entry);
	rdma_.cqs.post(cq, entry, true);
	return true;
}

void QueuePairs::trace_completion(uint32_t cq, const hw::Cqe &entry)
{
	TraceEvent line = rdma_.dev.trace.event("cqe");

	line.u64("cq", cq);
	decode(line, hw::layout("cqe", hw::cqe::fields), entry);
}

void QueuePairs::report(const QueuePair &qp, hw::AeCode code, hw::AeSource source,
			uint32_t wqe_index)
{
	rdma_.events.post({.code = code,
			   .source = source,
			   .id = qp.id,
			   .context = qp.get(hw::qpc::completion_ctx),
			   .wqe_index = wqe_index,
			   .state = qp.state});
}

void QueuePairs::doorbell(uint32_t id)
{
	QueuePair *found = find(id);

	if (!found)
		return rdma_.dev.guest_error("doorbell of QP %u, which does not exist", id);
	if (found->state == hw::QpState::rts && !found->suspended)
		rdma_.roce.kick(*found);
}

uint32_t QueuePairs::in_use() const
{
	return static_cast<uint32_t>(std::count_if(qps_.begin(), qps_.end(),
						   [](const auto &qp) { return qp != nullptr; }));
}

void QueuePairs::reset()
{
	for (auto &qp : qps_)
		qp.reset();
}

} // namespace e810
