// SPDX-License-Identifier: GPL-2.0
/* Queue pairs: creation, modification, destruction; see qp.h. */
#include "qp.h"

#include "../device.h"
#include "../hw/limits.h"
#include "../hw/regs.h"
#include "cq.h"
#include "pd.h"

namespace irdma {

namespace {

constexpr u32 gsi_number = 1;
constexpr u32 drain_ms = 5000;

/* Capabilities as libirdma names them. */
constexpr u32 cap_write_with_imm = 1 << 0;
constexpr u32 cap_send_with_imm = 1 << 1;
constexpr u32 cap_roce = 1 << 2;
constexpr u32 cap_push_mode = 1 << 3; /* the library uses the extended modify call */

/* What the context of each QP begins with; none of it can be set by verbs. */
constexpr u32 first_src_port = 0xc000;
constexpr u32 first_retries = 2;
constexpr u32 congestion_window = 0x400;
constexpr u32 ack_credits = 0x1e;
constexpr u32 retransmission_timeout_min = 5;

u64 queue_address(const cmd::QueueMemory &memory)
{
	return memory.virtual_map ? memory.first_pble : memory.addr;
}

/* The one attribute whose presence, or absence, makes a transition illegal; 0: more than one. */
u32 attribute_at_fault(u32 from, u32 to, u32 type, u32 mask)
{
	for (u32 bit = SHIM_QP_CUR_STATE; bit <= SHIM_QP_DEST_QPN; bit <<= 1)
		if (shim_modify_qp_is_ok(from, to, type, mask ^ bit))
			return bit;
	return 0;
}

} // namespace

Qp::Qp(Device &device, const irdma_qp_params &params)
	: device_(device), params_(params), user_(params.uctx), pd_(*from_c(params.pd)),
	  send_cq_(*from_c(params.send_cq)), recv_cq_(*from_c(params.recv_cq))
{
}

/* In pieces, if they are large: the device takes lists of pages for both rings or for neither. */
Status Qp::allocate_joined_rings()
{
	u64 rq_at = align_up(u64{sizes_.sq_bytes()}, KernelRing::alignment(~0ull));
	auto memory = KernelRing::create(device_, rq_at + sizes_.rq_bytes());

	IRDMA_TRY(memory);
	ring_memory_ = memory.take();
	sq_memory_ = ring_memory_.memory(0);
	rq_memory_ = ring_memory_.memory(rq_at);
	return rq_.create(ring_memory_.view<hw::Quantum>(rq_at), sizes_.rq_quanta, sizes_.rq_shift);
}

/*
 * A ring has a power of two of bytes, and so has what the kernel gives: small rings by themselves
 * take no more than they need.
 */
Status Qp::allocate_kernel_rings()
{
	u64 sq_bytes = sizes_.sq_bytes(), rq_bytes = sizes_.rq_bytes();
	auto shadow = device_.dma_pool.alloc();

	IRDMA_TRY(shadow);
	shadow_ = shadow.take();
	shadow_bus_ = shadow_.bus();
	if (KernelRing::alignment(sq_bytes + rq_bytes) > 1) {
		IRDMA_TRY(allocate_joined_rings());
	} else {
		auto sq = KernelRing::create(device_, sq_bytes);
		IRDMA_TRY(sq);
		ring_memory_ = sq.take();
		auto rq = KernelRing::create(device_, rq_bytes);
		IRDMA_TRY(rq);
		rq_ring_ = rq.take();
		sq_memory_ = ring_memory_.memory(0);
		rq_memory_ = rq_ring_.memory(0);
		IRDMA_TRY(rq_.create(rq_ring_.view<hw::Quantum>(0), sizes_.rq_quanta,
				     sizes_.rq_shift));
	}
	return sq_.create(ring_memory_.view<hw::Quantum>(0), *shadow_.as<hw::QpShadow>(),
			  sizes_.sq_quanta);
}

Status Qp::take_user_rings()
{
	auto rings = from_c(params_.uctx)->take_qp_ring(params_.user_queues);

	IRDMA_TRY(rings);
	user_rings_ = rings.take();
	/* The device would read past the end of rings that are too short. */
	if (user_rings_.sq_bytes < sizes_.sq_bytes() || user_rings_.rq_bytes < sizes_.rq_bytes()) {
		shim_log_limited(
			device_.shim, SHIM_DBG,
			"create QP: registered rings of %u and %u bytes are short of %u and %u",
			user_rings_.sq_bytes, user_rings_.rq_bytes, sizes_.sq_bytes(),
			sizes_.rq_bytes());
		return Error::invalid;
	}
	sq_memory_ = user_rings_.sq;
	rq_memory_ = user_rings_.rq;
	shadow_bus_ = user_rings_.shadow;
	return {};
}

Status Qp::allocate()
{
	bool ring_sizes_given = user_ && !from_c(params_.uctx)->raw_attributes();
	auto sizes = qp_sizes(params_, ring_sizes_given);

	if (!sizes.ok())
		shim_log_limited(
			device_.shim, SHIM_DBG,
			"create QP: refused send_wr %u, recv_wr %u, sge %u and %u, inline %u",
			params_.max_send_wr, params_.max_recv_wr, params_.max_send_sge,
			params_.max_recv_sge, params_.max_inline);
	IRDMA_TRY(sizes);
	sizes_ = sizes.value();
	IRDMA_TRY(user_ ? take_user_rings() : allocate_kernel_rings());

	static_assert(sizeof(hw::QpContext) <= DmaPool::slot_bytes);
	static_assert(sizeof(hw::QpShadow) <= DmaPool::slot_bytes);
	auto memory = device_.dma_pool.alloc();
	IRDMA_TRY(memory);
	context_memory_ = memory.take();

	if (params_.type == SHIM_QPT_GSI) {
		/* The MAD layer's. The device would not refuse to make it anew under its feet. */
		if (device_.qps.has(gsi_number))
			return Error::busy;
		number_ = gsi_number;
		return {};
	}
	auto id = Id::alloc(device_.qp_ids);
	IRDMA_TRY(id);
	id_ = id.take();
	number_ = id_.value();
	return {};
}

/* The context of a QP in RESET. */
void Qp::write_first_context()
{
	using namespace hw::qpc;
	hw::QpContext c;

	c.clear();
	c.set(rq_wqe_size, sizes_.rq_shift);
	c.set(sq_addr, queue_address(sq_memory_));
	c.set(rq_addr, queue_address(rq_memory_));
	c.set(sq_size, ring_size_code(sizes_.sq_quanta));
	c.set(rq_size, ring_size_code(sizes_.rq_quanta));
	c.set(pd_hi, pd_.number() >> 16);
	c.set(pd, pd_.number());
	c.set(src_port, first_src_port);
	c.set(dest_port, hw::roce_udp_port);
	c.set(path_mtu, path_mtu_limit(device_.port.mtu));
	c.set(hw::qpc::ack_credits, irdma::ack_credits);
	c.set(cwnd, congestion_window);
	c.set(retry_count, first_retries);
	c.set(rnr_retry, first_retries);
	c.set(rto_min, retransmission_timeout_min);
	c.set(send_cq, send_cq_.number());
	c.set(recv_cq, recv_cq_.number());
	c.set(src_mac, mac_number(device_.port.mac));
	c.set(ord, hw::max_ord);
	c.set(ird_code, hw::ird_encode(hw::max_ird));
	c.set(bind_enable, 1);
	c.set(fastreg_enable, !user_);
	c.set(priv_enable, !user_);
	c.set(ud_priv_cq, !user_);
	/* The kernel's QPs are found by number; processes ask for a value of their own. */
	c.set(completion_ctx, user_ ? params_.user_completion_ctx : number_);
	c.set(hw::qpc::qs_handle, placement_.qs_handle());
	context() = c;
}

Status Qp::create_command()
{
	auto made = device_.cqp.run(cmd::CreateQp{
		.qp = number_,
		.type = hw_type(),
		.virtual_queues = sq_memory_.virtual_map,
		.context = context_memory_.bus(),
		.shadow = shadow_bus_,
	});

	/* A device that died over it may have made the QP all the same. */
	if (made.ok() || device_.dead())
		hw_state_ = hw::QpState::idle;
	return made.status();
}

Status Qp::destroy_command()
{
	if (hw_state_ == hw::QpState::invalid)
		return {};

	auto destroyed = device_.cqp.run(cmd::DestroyQp{
		.qp = number_,
		.type = hw_type(),
		.context = context_memory_.bus(),
		.shadow = shadow_bus_,
	});
	IRDMA_TRY(destroyed);
	hw_state_ = hw::QpState::invalid;
	return {};
}

Status Qp::create(irdma_qp_result &result)
{
	Qos::Use use(device_.qos);

	IRDMA_TRY(allocate());

	auto placement = device_.qos.place(0);
	IRDMA_TRY(placement);
	placement_ = placement.take();
	write_first_context();
	IRDMA_TRY(create_command());

	device_.qos.link(qos_node_, placement_.priority());
	if (!user_)
		device_.qps.insert(number_, *this, send_cq_.number(), recv_cq_.number());
	device_.events.add_qp(*this);
	listed_ = true;

	trace_state(SHIM_QPS_RESET, SHIM_QPS_RESET, "create", {});
	result.number = number_;
	result.max_send_wr = sizes_.max_send_wr();
	result.max_recv_wr = sizes_.max_recv_wr();
	result.max_send_sge = params_.max_send_sge;
	result.max_recv_sge = params_.max_recv_sge;
	result.max_inline = params_.max_inline;
	result.sq_size = sizes_.sq_quanta >> sizes_.sq_shift;
	result.rq_size = sizes_.rq_quanta >> sizes_.rq_shift;
	result.caps = cap_send_with_imm | cap_roce | cap_push_mode |
		      (connected() ? cap_write_with_imm : 0);
	return {};
}

void Qp::query(irdma_qp_state &state)
{
	MutexGuard guard(mutex_);

	state = {};
	state.attr = attr_;
	state.cap.number = number_;
	state.cap.max_send_wr = sizes_.max_send_wr();
	state.cap.max_recv_wr = sizes_.max_recv_wr();
	state.cap.max_send_sge = params_.max_send_sge;
	state.cap.max_recv_sge = params_.max_recv_sge;
	state.cap.max_inline = params_.max_inline;
	state.sq_draining = attr_.state == SHIM_QPS_SQD && draining_.load();
}

/*
 * Whether a process has never posted: the header of each ring's first request is still 0.
 * Memory that cannot be read counts as used.
 */
bool Qp::user_rings_blank()
{
	const u64 rings[] = {0, user_rings_.sq_bytes};

	for (u64 ring : rings) {
		hw::Quantum first;

		if (!user_rings_.memory->read(ring, &first, sizeof(first)).ok() ||
		    first.qw[3].get())
			return false;
	}
	return true;
}

QpFacts Qp::facts_of(const irdma_qp_change &change)
{
	u32 to = next_state(attr_, change);
	const irdma_path &path = change.path;
	QpFacts facts = {};

	facts.transition_ok = to <= SHIM_QPS_ERR &&
			      shim_modify_qp_is_ok(attr_.state, to, params_.type, change.mask);
	if (to <= SHIM_QPS_ERR && !facts.transition_ok)
		facts.attribute_at_fault =
			attribute_at_fault(attr_.state, to, params_.type, change.mask);
	facts.netdev_mtu = device_.port.mtu;
	facts.priority_tagging = device_.qos.priority_tagging();
	if (change.mask & SHIM_QP_AV)
		facts.priority =
			device_.qos.priority_of(path.traffic_class, path.tos_priority,
						path.vlan_egress, path.vlan != SHIM_NO_VLAN);
	if (user_ && attr_.state == SHIM_QPS_RESET && hw_state_ != hw::QpState::idle)
		facts.rings_blank = user_rings_blank();
	return facts;
}

/* It is the caller's mistake, not the device's: no warning. */
void Qp::say_refused(const QpRefusal &refusal, const irdma_qp_change &change, Status why)
{
	shim_log_limited(device_.shim, SHIM_INFO, "QP %u, %s to %s: refused %s 0x%llx%s, error %d",
			 number_, state_name(attr_.state), state_name(next_state(attr_, change)),
			 refusal.attribute, refusal.value, refusal.remark, why.code());
	trace_refused(refusal, next_state(attr_, change), why);
}

Status Qp::modify(const irdma_qp_change &change)
{
	Qos::Use use(device_.qos);
	MutexGuard guard(mutex_);
	const QpNow now = {.type = params_.type,
			   .user = user_,
			   .attr = &attr_,
			   .context = &context(),
			   .hw_state = hw_state_};
	QpRefusal refusal = {};
	QpPlan plan;
	Status status = plan_modify(now, facts_of(change), change, plan, refusal);

	u32 from = attr_.state, to = next_state(attr_, change);

	if (status.ok())
		status = carry_out(plan);
	else
		say_refused(refusal, change, status);
	trace_state(from, to, "modify", status);
	return status;
}

/*
 * What the new path needs comes first and is given back if a later step fails; what the old one
 * had is given back last.
 */
Status Qp::carry_out(QpPlan &plan)
{
	const hw::QpContext before = context();
	QosPlacement placement;
	ArpEntry arp;

	IRDMA_TRY(prepare(plan));
	if (plan.new_path) {
		const irdma_path &path = plan.attr.path;

		if (plan.priority != placement_.priority()) {
			auto placed = device_.qos.place(plan.priority);

			IRDMA_TRY(placed);
			placement = placed.take();
		}
		auto entry = device_.arp.get(path);
		IRDMA_TRY(entry);
		arp = entry.take();
		plan.context.set(hw::qpc::arp_index, arp.index());
		plan.context.set(hw::qpc::remote_endpoint, arp.index());
	}

	if (plan.modify && runs(plan.hw_state)) {
		auto queue_set = (placement ? placement : placement_).queue_set();

		IRDMA_TRY(queue_set);
		plan.context.set(hw::qpc::qs_handle, queue_set.value());
	}
	context() = plan.context;
	Status done = run_command(plan);
	if (!done.ok()) {
		context() = before;
		return done;
	}

	if (arp)
		arp_ = move(arp);
	if (placement) {
		device_.qos.link(qos_node_, placement.priority());
		placement_ = move(placement);
	}
	adopt(plan);
	if (plan.new_path)
		trace_path();
	return {};
}

/* What has to be before the change itself. */
Status Qp::prepare(const QpPlan &plan)
{
	if (plan.await_drained)
		IRDMA_TRY(await_drained());
	if (plan.recreate) {
		IRDMA_TRY(destroy_command());
		/* What the device has still completed meanwhile is not of the new QP's work. */
		if (!user_)
			forget_work();
		IRDMA_TRY(create_command());
	}
	return {};
}

Status Qp::await_drained()
{
	u64 end = shim_now_ms() + drain_ms;

	while (draining_.load()) {
		u64 now = shim_now_ms();

		if (error_.load())
			return Error::io;
		if (now >= end || device_.dead()) {
			shim_log_limited(device_.shim, SHIM_WARN,
					 "QP %u: the send queue has not drained yet", number_);
			return Error::busy;
		}
		if (!drained_.wait_ms(static_cast<u32>(end - now)))
			continue;
	}
	return {};
}

/* A device that is dead has stopped all QPs, so going to ERROR cannot fail. */
Status Qp::run_command(const QpPlan &plan)
{
	bool drains = plan.attr.state == SHIM_QPS_SQD && attr_.state != SHIM_QPS_SQD;

	if (!plan.modify)
		return {};
	if (drains) {
		notify_drained_.store(plan.attr.sqd_async_notify);
		draining_.store(1);
	}
	auto modified = device_.cqp.run(cmd::ModifyQp{
		.qp = number_,
		.type = hw_type(),
		.virtual_queues = sq_memory_.virtual_map,
		.context = context_memory_.bus(),
		.shadow = shadow_bus_,
		.next_state = plan.hw_state,
		.arp_valid = plan.arp_valid,
		.cq_num_valid = plan.cq_num_valid,
		.ord_valid = plan.ord_valid,
		.mac_valid = plan.mac_valid,
	});

	/* "In another state": the device has stopped it a moment before, its event is on the way. */
	if (plan.hw_state == hw::QpState::error &&
	    (device_.dead() || modified.code() == -SHIM_EBUSY))
		return {};
	if (!modified.ok() && drains)
		draining_.store(0);
	return modified.status();
}

/* The device has accepted: take over what was planned. */
void Qp::adopt(const QpPlan &plan)
{
	bool resumes = hw_state_ == hw::QpState::sqd && plan.hw_state == hw::QpState::rts;

	attr_ = plan.attr;
	hw_state_ = plan.hw_state;
	set_post_state(attr_.state);
	if (attr_.state != SHIM_QPS_SQD)
		draining_.store(0);
	if (attr_.state == SHIM_QPS_RESET)
		life_.add(1);
	if (plan.flush_sq || plan.flush_rq)
		flush(plan.flush_sq, plan.flush_rq, hw::FlushCode::general, hw::FlushCode::general);
	if (plan.forget_work)
		forget_work();
	if (plan.drop_path) {
		arp_.reset();
		/* Every QP has a place in priority 0 in RESET; if there is none, it keeps its own. */
		if (placement_.priority()) {
			auto placement = device_.qos.place(0);

			if (placement.ok()) {
				device_.qos.link(qos_node_, 0);
				placement_ = placement.take();
			}
		}
		write_first_context();
	}
	/* What was posted in SQD has had no doorbell yet. */
	if (resumes && !user_)
		ring_doorbell();
}

/* When it returns, nobody posts any more as in the old state. */
void Qp::set_post_state(u32 state)
{
	{
		SpinGuard guard(sq_lock_);

		post_state_.store(state);
	}
	SpinGuard guard(rq_lock_);
}

void Qp::ring_doorbell()
{
	device_.write(hw::reg::pfpe_wqealloc, number_);
}

void Qp::set_flush_code(Cq &cq, FlushedQueue &queue, hw::FlushCode code, u32 status)
{
	SpinGuard guard(cq.lock());

	queue.code = code;
	queue.status = status;
}

/* From now on poll takes completions from the queue. */
void Qp::mark_flushed(Cq &cq, FlushedQueue &queue)
{
	{
		SpinGuard guard(cq.lock());

		cq.add_flushed(queue);
	}
	if (has_flushed(queue.is_sq))
		cq.wake();
}

/*
 * Complete all outstanding work: the oldest request of each queue with its code, all others as
 * flushed. A process's library makes the others of the one entry that the device writes.
 * @sq_status: SHIM_WC_* of the oldest send instead of that of the code, or 0; of the kernel only.
 */
void Qp::flush(bool sq, bool rq, hw::FlushCode sq_code, hw::FlushCode rq_code, u32 sq_status)
{
	if (!user_) {
		set_flush_code(send_cq_, flushed_sq_, sq_code, sq_status);
		set_flush_code(recv_cq_, flushed_rq_, rq_code, 0);
	}
	auto flushed = device_.cqp.run(cmd::FlushWqes{
		.qp = number_,
		.sq = sq,
		.rq = rq,
		.sq_major = hw::flush_major,
		.sq_minor = static_cast<u16>(sq_code),
		.rq_major = hw::flush_major,
		.rq_minor = static_cast<u16>(rq_code),
	});

	/* To find nothing to flush is a matter of course. */
	if (!flushed.ok() && !flushed.status().is(Error::no_entry) && !device_.dead())
		shim_log_limited(device_.shim, SHIM_WARN, "QP %u: flush failed, error %d", number_,
				 flushed.code());
	if (!user_) {
		mark_flushed(send_cq_, flushed_sq_);
		mark_flushed(recv_cq_, flushed_rq_);
	}
}

/* What nobody has polled of a kernel QP is gone. */
void Qp::forget_completions()
{
	{
		SpinGuard guard(send_cq_.lock());

		flushed_sq_.node.unlink();
	}
	{
		SpinGuard guard(recv_cq_.lock());

		flushed_rq_.node.unlink();
	}
	send_cq_.forget(number_);
	if (&recv_cq_ != &send_cq_)
		recv_cq_.forget(number_);
}

/* Outstanding work of a kernel QP in RESET is gone, with the completions nobody has polled. */
void Qp::forget_work()
{
	forget_completions();
	/* Who polls must not find half of it, should the device write one more completion. */
	{
		SpinGuard polling(send_cq_.lock());
		SpinGuard posting(sq_lock_);

		sq_.rewind();
	}
	{
		SpinGuard polling(recv_cq_.lock());
		SpinGuard posting(rq_lock_);

		rq_.rewind();
	}
	/* Where the device stopped in its former life says nothing of the next, and costs a doorbell. */
	shim_memset(shadow_.as<u8>(), 0, sizeof(hw::QpShadow));
}

/* On its way out; DESTROY_QP follows in any case. */
void Qp::stop()
{
	MutexGuard guard(mutex_);
	QpPlan plan = {};

	if (!runs(hw_state_))
		return;
	plan.attr = attr_;
	plan.attr.state = SHIM_QPS_ERR;
	plan.hw_state = hw::QpState::error;
	plan.modify = true;
	Status stopped = run_command(plan);

	/* Busy: it has stopped by itself, and the event that tells so is ignored. */
	if (stopped.ok())
		hw_state_ = plan.hw_state;
	else if (!stopped.is(Error::busy))
		shim_log_limited(device_.shim, SHIM_WARN, "QP %u does not stop", number_);
}

/* The QP of a process that the device does not give up, and whose owner is told so. */
void Qp::stay()
{
	MutexGuard guard(mutex_);

	if (hw_state_ == hw::QpState::error && attr_.state != SHIM_QPS_RESET) {
		attr_.state = SHIM_QPS_ERR;
		set_post_state(SHIM_QPS_ERR);
	}
	device_.qos.link(qos_node_, placement_.priority());
	device_.events.add_qp(*this);
}

/* The device may still use it. */
void Qp::bury()
{
	context_memory_.abandon();
	shadow_.abandon();
	ring_memory_.bury(device_);
	rq_ring_.bury(device_);
	if (user_rings_.memory)
		user_rings_.memory.bury();
	pd_.keep_number();
	id_.abandon();
}

/*
 * Events first, since they queue work, and in the same Use the list by which changes of traffic
 * classes find the QP: they wait for an event of each QP that they suspend. Before that it stops,
 * as its queue set may go with such a change. Then the work, which holds a Use of its own.
 */
Status Qp::destroy(bool may_fail)
{
	{
		Qos::Use use(device_.qos);

		if (listed_ && !connected())
			device_.mcast.forget(*this); /* consumers may leave that to us */
		if (listed_) {
			device_.events.remove_qp(*this);
			stop();
			device_.qos.unlink(qos_node_);
		}
	}
	if (listed_)
		work_.cancel();

	Qos::Use use(device_.qos);
	if (listed_ && !user_)
		device_.qps.remove(number_);
	Status destroyed = destroy_command();

	if (!destroyed.ok() && may_fail && device_.can_try_again()) {
		stay();
		return destroyed;
	}
	if (listed_ && !user_) {
		set_post_state(SHIM_QPS_RESET);
		forget_completions();
	}
	if (listed_)
		trace_state(attr_.state, SHIM_QPS_RESET, "destroy", destroyed);
	if (!destroyed.ok())
		bury();
	arp_.reset();
	placement_.reset();
	return {};
}

} // namespace irdma

extern "C" {

int irdma_qp_create(irdma_device *device, const irdma_qp_params *params, irdma_qp **out,
		    irdma_qp_result *result)
{
	auto qp = irdma::make<irdma::Qp>(*irdma::from_c(device), *params);

	if (!qp)
		return -SHIM_ENOMEM;

	irdma::Status status = qp->create(*result);
	if (!status.ok()) {
		(void)qp->destroy(false);
		return status.code();
	}
	*out = irdma::to_c(qp.release());
	return 0;
}

int irdma_qp_destroy(irdma_qp *qp, bool may_fail)
{
	irdma::Status done = irdma::from_c(qp)->destroy(may_fail);

	if (done.ok())
		irdma::destroy(irdma::from_c(qp));
	return done.code();
}

int irdma_qp_modify(irdma_qp *qp, const irdma_qp_change *change)
{
	return irdma::from_c(qp)->modify(*change).code();
}

void irdma_qp_query(irdma_qp *qp, irdma_qp_state *state)
{
	irdma::from_c(qp)->query(*state);
}

} /* extern "C" */
