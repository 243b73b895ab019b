// SPDX-License-Identifier: GPL-2.0
/*
 * What happens to a QP without its owner asking: asynchronous events of the
 * device, and changes of traffic classes.
 *
 * Events arrive in interrupt context. There they are only noted; what follows
 * needs commands and the QP's mutex, and is done by the QP's work item.
 */
#include "../device.h"
#include "../hw/eq.h"
#include "cq.h"
#include "qp.h"

namespace irdma {

/*
 * An event as it waits for the work item: one word, so that it is put down and taken whole. The
 * life of the QP in which it came, then what its entry says.
 */
namespace noted {
constexpr hw::Field code{"code", 0, 11, 0};
constexpr hw::Field source{"source", 0, 15, 12};
constexpr hw::Field wqe_index{"wqe_index", 0, 30, 16};
constexpr hw::Field there{"there", 0, 31, 31};
constexpr hw::Field life{"life", 0, 63, 32};
} // namespace noted

/* Not an event of the device, but dealt with like one; its code is 0. */
static constexpr AeInfo lost_queue_set = {
	.code = hw::AeCode::lce_qp_catastrophic,
	.action = AeAction::qp_error,
	.object = AeObject::qp,
	.sq_flush = hw::FlushCode::general,
	.rq_flush = hw::FlushCode::general,
	.qp_event = SHIM_EVENT_QP_FATAL,
	.meaning = "cannot go on after the change of traffic classes",
};

void Qp::on_async_event(const AsyncEvent &event)
{
	switch (event.info->action) {
	case AeAction::qp_error:
		note_error(event);
		break;
	case AeAction::sq_drained:
		if (suspending_.exchange(0)) {
			device_.qos.on_suspended();
		} else if (draining_.exchange(0)) {
			drained_.complete();
			if (notify_drained_.exchange(0)) {
				drained_event_.store(1);
				work_.queue(device_.shim);
			}
		}
		break;
	case AeAction::report:
		say_event(event);
		break;
	case AeAction::ignore:
	case AeAction::cq_error:
	case AeAction::device_fatal:
		break;
	}
}

void Qp::say_event(const AsyncEvent &event) const
{
	if (!event.code) {
		shim_log_limited(device_.shim, SHIM_WARN, "QP %u %s", number_, event.info->meaning);
		return;
	}
	shim_log_limited(device_.shim, SHIM_WARN, "QP %u: event 0x%03x, %s (%s, request %u): %s",
			 number_, event.code, hw::ae_name(event.code), ae_source_name(event.source),
			 event.wqe_index, event.info->meaning);
}

/*
 * The first error of a QP's life says why it stands still; whatever follows is a consequence, and
 * in ERROR no news. What comes in RESET is of the life before, and must not wait for the next.
 */
void Qp::note_error(const AsyncEvent &event)
{
	u32 life = life_.load();
	u64 word = noted::code.put(event.code) | noted::source.put(event.source) |
		   noted::wqe_index.put(event.wqe_index) | noted::there.put(1) |
		   noted::life.put(life);
	u64 before;
	u32 state;

	/* Changes of traffic classes come from elsewhere than the device's events. */
	do {
		before = error_.load();
		state = post_state_.load();
		if (state == SHIM_QPS_ERR || state == SHIM_QPS_RESET ||
		    (before && noted::life.take(before) == life))
			return;
	} while (!error_.compare_exchange(before, word));
	/* It will not drain any more. */
	if (draining_.load())
		drained_.complete();
	work_.queue(device_.shim);
}

void Qp::run_events(void *arg)
{
	Qp &qp = *static_cast<Qp *>(arg);

	if (qp.drained_event_.exchange(0))
		shim_qp_event(qp.params_.ib, SHIM_EVENT_SQ_DRAINED);
	if (qp.wake_cqs_.exchange(0))
		qp.wake_flushed();
	qp.handle_error();
}

/* The consumers learn of requests that were posted to a flushed queue. */
void Qp::wake_flushed()
{
	bool marked_sq, marked_rq;

	{
		SpinGuard guard(send_cq_.lock());

		marked_sq = flushed_sq_.node.linked();
	}
	{
		SpinGuard guard(recv_cq_.lock());

		marked_rq = flushed_rq_.node.linked();
	}
	if (marked_sq && has_flushed(true))
		send_cq_.wake();
	if (marked_rq && has_flushed(false))
		recv_cq_.wake();
}

void Qp::handle_error()
{
	u64 word = error_.load();
	auto code = static_cast<u16>(noted::code.take(word));
	const AsyncEvent event = {.code = code,
				  .source = static_cast<u8>(noted::source.take(word)),
				  .wqe_index = static_cast<u32>(noted::wqe_index.take(word)),
				  .info = code ? &ae_info(code) : &lost_queue_set};

	if (!word || !enter_error(event, word))
		return;
	say_event(event);
	shim_qp_event(params_.ib, event.info->qp_event);
}

/*
 * Status of a send request at fault that the device has no flush code for, else 0. It must not look
 * flushed like those behind it: consumers take that for the consequence of an error or a disconnect
 * that they have been told of, and wait.
 */
static u32 status_without_code(const AsyncEvent &event)
{
	if (event.code == static_cast<u16>(hw::AeCode::llp_too_many_rnrs))
		return SHIM_WC_RNR_RETRY_EXC_ERR;
	return event.info->sq_flush == hw::FlushCode::general ? u32{SHIM_WC_GENERAL_ERR} : u32{0};
}

/*
 * Take the QP to ERROR. The device has stopped it already; the command makes it official, and
 * the flush completes the request at fault with the status that the event calls for. It stays noted
 * until the mutex is held, since await_drained() may hold it, and is to see the event.
 *
 * Return: whether that is news; it is not for a QP that was in ERROR, or has been in RESET since.
 */
bool Qp::enter_error(const AsyncEvent &event, u64 word)
{
	auto source = static_cast<hw::AeSource>(event.source);
	bool of_sq = source == hw::AeSource::sq || source == hw::AeSource::sq_0111;
	bool of_rq = source == hw::AeSource::rq || source == hw::AeSource::rq_0011;
	Qos::Use use(device_.qos);
	MutexGuard guard(mutex_);

	(void)error_.compare_exchange(word, 0); /* or one of a later life has come */
	if (noted::life.take(word) != life_.load() || attr_.state == SHIM_QPS_RESET ||
	    attr_.state == SHIM_QPS_ERR)
		return false;

	QpPlan plan = {};

	plan.attr = attr_;
	plan.attr.state = SHIM_QPS_ERR;
	plan.hw_state = hw::QpState::error;
	plan.modify = hw_state_ != hw::QpState::error;
	context().set(hw::qpc::err_rq_idx_valid, of_rq);
	context().set(hw::qpc::err_rq_idx, of_rq ? event.wqe_index : 0);
	Status stopped = run_command(plan);
	if (!stopped.ok() && !stopped.is(Error::busy)) /* busy: it was there already */
		shim_log_limited(device_.shim, SHIM_WARN,
				 "QP %u: the device does not take it to error", number_);
	u32 from = attr_.state;
	adopt(plan);
	trace_state(from, SHIM_QPS_ERR, event.code ? hw::ae_name(event.code) : "traffic_classes",
		    {});
	flush(true, true, of_sq ? event.info->sq_flush : hw::FlushCode::general,
	      of_rq ? event.info->rq_flush : hw::FlushCode::general,
	      of_sq ? status_without_code(event) : u32{0});
	return true;
}

/*
 * Stop sending for a change of traffic classes. No Qos::Use is held by anybody.
 *
 * Return: whether on_suspended() tells that it stands still.
 */
bool Qp::suspend()
{
	if (!runs(hw_state_))
		return false;
	suspending_.store(1);
	suspended_ = device_.cqp.run(cmd::SuspendQp{.qp = number_}).ok();
	return suspended_ || !suspending_.exchange(0);
}

/*
 * Go on, on another queue set; @qs_handle is 0 if there is none. A QP that cannot go on, or that
 * was never suspended and so has lost its queue set while it was sending, goes to ERROR.
 */
void Qp::resume(u16 qs_handle)
{
	bool moves = suspended_ || runs(hw_state_);

	suspended_ = false;
	suspending_.store(0);
	if (qs_handle)
		context().set(hw::qpc::qs_handle, qs_handle);
	if (!moves)
		return;

	auto resumed = device_.cqp.run(cmd::ResumeQp{.qp = number_, .qs_handle = qs_handle});

	if (!resumed.ok() || !qs_handle)
		note_error({.code = 0,
			    .source = static_cast<u8>(hw::AeSource::none),
			    .wqe_index = 0,
			    .info = &lost_queue_set});
}

} // namespace irdma
