// SPDX-License-Identifier: GPL-2.0
/*
 * Event queues; see event_queues.h.
 *
 *   CEQ n   | CQ 7 | CQ 4 | ...    lock n: the ring, and the CQs of this CEQ
 *   AEQ     | code, QP or CQ, ...  its lock: the ring; then that of QPs, or of the CQ's CEQ
 *
 *   vector  -> interrupt -> its CEQ, its AEQ -> all taken:   enable the vector again
 *                                            -> budget used: work item goes on, then enables
 *           -> interrupt, but this CPU has had its share of them: left to the work item
 *
 * The device turns a vector off when it fires, until it is enabled again. An
 * interrupt that gets lost would leave it off for ever, so each second all
 * queues are looked at: an entry that was there the last time has been missed.
 *
 * CQs are found through one table for all CEQs. A slot of it belongs to the
 * CEQ that it names, and only under that CEQ's lock does it come to name
 * another or none, so CEQs do not wait for each other.
 */
#include "event_queues.h"

#include "../base/atomic.h"
#include "../base/lookup_table.h"
#include "../base/trace.h"
#include "../cqp/commands.h"
#include "../device.h"
#include "../hw/eq.h"
#include "../hw/limits.h"
#include "../hw/regs.h"
#include "../verbs/cq.h"
#include "../verbs/qp.h"

namespace irdma {

namespace {

namespace reg = hw::reg;

/* Entries taken in one go, with interrupts off. */
constexpr u32 ceq_budget = 64;
constexpr u32 aeq_budget = 16;
/*
 * What the handlers of a vector may take of each window of time in interrupt context. A device that
 * interrupts without end would else keep tasks from running on that CPU; work items are scheduled
 * like any task.
 */
constexpr u32 window_ms = 10;
constexpr u32 shares_per_window = 4;
/* How often the queues are looked at for entries whose interrupt was lost. */
constexpr u32 look_ms = 1000;
/* What one allocation of DMA memory can hold on every kernel. */
constexpr u32 max_aeq_bytes = 4 << 20;
/* No AEQ is made smaller than this for want of memory. */
constexpr u32 min_aeq_entries = hw::page_size / sizeof(hw::Aeqe);
constexpr u32 queue_align = 256;

/** The ring of an event queue. */
template <class Entry> struct EventRing {
	DmaBuffer memory;
	u32 entries = 0, next = 0;
	bool lap = true; /**< valid bit of a new entry */
	u64 taken = 0;	 /**< entries so far */
	u64 seen = 0;	 /**< 1 + taken when the last look found an entry, 0 if it found none */

	Status create(Device &device, u32 count)
	{
		u64 bytes = align_up(count * sizeof(Entry), static_cast<usize>(queue_align));
		auto buffer = DmaBuffer::create(device.shim, bytes);

		IRDMA_TRY(buffer);
		memory = buffer.take();
		entries = count;
		return {};
	}

	/** Copy the next entry if there is one, with @valid in its last word. */
	bool take(const hw::Field &valid, Entry &entry)
	{
		const Entry &at = memory.as<Entry>()[next];
		u64 last = at.qw[valid.word].read_once();

		if (valid.take(last) != lap)
			return false;
		dma_read_barrier();
		entry = at;
		entry.qw[valid.word].set(last);
		taken++;
		if (++next == entries) {
			next = 0;
			lap = !lap;
		}
		return true;
	}

	/** Whether the next entry was there the last time already. To be asked at intervals. */
	bool stuck(const hw::Field &valid)
	{
		const Entry &at = memory.as<Entry>()[next];
		bool there = valid.take(at.qw[valid.word].read_once()) == lap;

		return exchange(seen, there ? taken + 1 : 0) == taken + 1 && there;
	}
};

} // namespace

/** Whose completion events a CQ number's are. */
struct EventQueues::CqSlot {
	Atomic<u32> owner; /**< number of the CEQ plus 1; 0: there is no such CQ */
	Cq *cq;		   /**< under the lock of that CEQ */
};

struct EventQueues::Ceq {
	explicit Ceq(u32 n) : number(n) {}

	bool take(Device &device, CqSlot *cqs, u32 cq_limit);
	bool stuck();

	const u32 number;
	EventRing<hw::Ceqe> ring;
	SpinLock lock{SHIM_LOCK_CEQ};
};

struct EventQueues::Aeq {
	EventRing<hw::Aeqe> ring;
	SpinLock lock{SHIM_LOCK_AEQ};
	Atomic<bool> up{false};
};

/** A lent vector: its queues, and the work item that goes on where the interrupt stops. */
struct EventQueues::Vector {
	Vector(EventQueues &q, u32 i) : queues(q), index(i), work(go_on, this, SHIM_WORK_EVENTS) {}

	Status request(const char *use, int number, u32 cpu);
	void free();
	void enable() const;

	static void on_interrupt(void *vector);
	static void go_on(void *vector);
	void serve();
	bool take();
	void look();

	EventQueues &queues;
	const u32 index;
	Ceq *ceq = nullptr;
	bool has_aeq = false;
	u32 hw_index = 0;
	bool requested = false;
	Atomic<bool> stopping{false};
	/* In ticks, of on_interrupt() only. */
	const u64 window = u64{window_ms} * shim_ticks_per_ms();
	u64 window_begin = 0, used = 0;
	Work work;
};

struct EventQueues::State {
	explicit State(Device &d)
		: device(d), qps(SHIM_LOCK_QP_TABLE), sentinel(look, this, SHIM_WORK_EVENTS)
	{
	}
	~State()
	{
		for (usize i = 0; i < ceqs.count(); i++)
			irdma::destroy(ceqs[i]);
		for (usize i = 0; i < vectors.count(); i++)
			irdma::destroy(vectors[i]);
	}

	Status create(EventQueues &queues, u32 vector_count, u32 ceq_count);
	bool take_async();
	bool async_stuck();
	void dispatch(const hw::Aeqe &entry);
	bool to_cq(u32 id, const AsyncEvent &event);
	void trace(const AsyncEvent &event, const char *object, u32 number, bool known) const;
	static void look(void *state);

	Device &device;
	Array<CqSlot> cqs;
	LookupTable<Qp> qps;
	Array<Ceq *> ceqs;
	Array<Vector *> vectors;
	u32 first_ceq_vector = 0; /* 0 if the AEQ shares it */
	Aeq aeq;
	Work sentinel; /* runs while the AEQ, the last of the queues, exists */
};

EventQueues::EventQueues(Device &device) : device_(device) {}
EventQueues::~EventQueues() = default;

/* ---- Vectors ---- */

void EventQueues::Vector::enable() const
{
	queues.device_.write(
		reg::glint_dyn_ctl(hw_index),
		static_cast<u32>(reg::dyn_ctl_intena.put(1) | reg::dyn_ctl_clearpba.put(1)));
}

Status EventQueues::Vector::request(const char *use, int number, u32 cpu)
{
	shim_device *shim = queues.device_.shim;

	hw_index = shim_vector_hw_index(shim, index);
	Status status = Status::from(shim_irq_request(shim, index, on_interrupt, this, use, number,
						      shim_spread_cpu(shim, cpu)));
	requested = status.ok();
	return status;
}

/**
 * No more interrupts, no more work; what runs has ended when it returns. The vector's causes are
 * disabled before. The vector itself is last: a handler that still runs would enable it again.
 */
void EventQueues::Vector::free()
{
	if (!requested)
		return;
	stopping.store(true);
	shim_irq_free(queues.device_.shim, index);
	work.cancel();
	queues.device_.write(reg::glint_dyn_ctl(hw_index), 0);
	requested = false;
}

/** Take a budget's worth; whether there may be more. */
bool EventQueues::Vector::take()
{
	State &state = *queues.state_;
	bool more = false;

	if (ceq)
		more = ceq->take(queues.device_, state.cqs.data(),
				 static_cast<u32>(state.cqs.count()));
	if (has_aeq && state.aeq.up.load())
		more |= state.take_async();
	return more;
}

void EventQueues::Vector::on_interrupt(void *arg)
{
	Vector &vector = *static_cast<Vector *>(arg);
	u64 begin = shim_ticks();

	if (begin - vector.window_begin >= vector.window) {
		vector.window_begin = begin;
		vector.used = 0;
	}
	if (vector.used >= vector.window / shares_per_window) {
		vector.work.queue(vector.queues.device_.shim);
		return;
	}
	vector.serve();
	vector.used += shim_ticks() - begin;
}

void EventQueues::Vector::go_on(void *arg)
{
	static_cast<Vector *>(arg)->serve();
}

/** Take a budget's worth; the rest is for the work item, queued anew so that others get a turn. */
void EventQueues::Vector::serve()
{
	if (take())
		work.queue(queues.device_.shim);
	else if (!stopping.load())
		enable();
}

/** Serve it if an interrupt of it was lost. */
void EventQueues::Vector::look()
{
	bool missed = ceq && ceq->stuck();

	if (has_aeq)
		missed |= queues.state_->async_stuck();
	if (!missed)
		return;
	shim_log_limited(queues.device_.shim, SHIM_INFO,
			 "an interrupt of vector %u did not come; its events were taken late",
			 hw_index);
	work.queue(queues.device_.shim);
}

void EventQueues::State::look(void *arg)
{
	State &s = *static_cast<State *>(arg);

	for (usize i = 0; i < s.vectors.count(); i++)
		s.vectors[i]->look();
	s.sentinel.queue_ms(s.device.shim, look_ms);
}

/* ---- Plan ---- */

Status EventQueues::State::create(EventQueues &queues, u32 vector_count, u32 ceq_count)
{
	auto cq_slots = Array<CqSlot>::create(device.hmc.count(hw::HmcObject::cq));
	auto ceq_array = Array<Ceq *>::create(ceq_count);
	auto vector_array = Array<Vector *>::create(vector_count);

	IRDMA_TRY(cq_slots);
	IRDMA_TRY(ceq_array);
	IRDMA_TRY(vector_array);
	IRDMA_TRY(qps.create(device.hmc.count(hw::HmcObject::qp)));
	cqs = cq_slots.take();
	ceqs = ceq_array.take();
	vectors = vector_array.take();

	for (u32 i = 0; i < vector_count; i++) {
		vectors[i] = make<Vector>(queues, i).release();
		if (!vectors[i])
			return Error::no_memory;
	}
	for (u32 i = 0; i < ceq_count; i++) {
		ceqs[i] = make<Ceq>(i).release();
		if (!ceqs[i])
			return Error::no_memory;
		vectors[first_ceq_vector + i]->ceq = ceqs[i];
	}
	vectors[0]->has_aeq = true;
	return {};
}

Status EventQueues::plan()
{
	u32 cpus = shim_online_cpus();
	u32 lent = min(shim_vectors(device_.shim), cpus + 1);
	auto state = make<State>(device_);

	if (!state)
		return Error::no_memory;
	state->first_ceq_vector = lent > cpus ? 1 : 0;
	u32 ceqs = min(lent - state->first_ceq_vector, device_.hmc.max_ceqs());
	IRDMA_TRY(state->create(*this, state->first_ceq_vector + ceqs, ceqs));
	ceq_count_ = ceqs;
	state_ = move(state);
	return {};
}

/* ---- CEQs ---- */

/** The cause of a CEQ's interrupt: its vector, or none. */
static u32 cause(u32 vector, bool enable)
{
	return static_cast<u32>(reg::cause_vector.put(vector) |
				reg::cause_itr_index.put(reg::itr_index_none) |
				reg::cause_enable.put(enable));
}

Status EventQueues::create_ceq(u32 number)
{
	State &s = *state_;
	Ceq &ceq = *s.ceqs[number];
	Vector &vector = *s.vectors[s.first_ceq_vector + number];
	u32 entries = min(device_.hmc.count(hw::HmcObject::cq), hw::max_ceq_entries);

	IRDMA_TRY(ceq.ring.create(device_, entries));
	auto created = device_.cqp.run(cmd::CreateCeq{
		.ceq = number,
		.entries = entries,
		.addr = ceq.ring.memory.bus(),
		.vsi = device_.port.vsi,
		.itr_no_expire = false,
	});
	if (!created.ok()) {
		device_.graveyard.bury(move(ceq.ring.memory));
		return created.status();
	}
	Status requested = vector.request(vector.has_aeq ? "AEQ-CEQ" : "CEQ",
					  static_cast<int>(number), number);
	if (!requested.ok()) {
		destroy_ceq(number);
		return requested;
	}
	device_.write(reg::glint_ceqctl(number), cause(vector.hw_index, true));
	vector.enable();
	return {};
}

void EventQueues::destroy_ceq(u32 number)
{
	State &s = *state_;
	Ceq &ceq = *s.ceqs[number];
	Vector &vector = *s.vectors[s.first_ceq_vector + number];

	if (vector.requested)
		device_.write(reg::glint_ceqctl(number), cause(vector.hw_index, false));
	vector.free();
	if (!number)
		device_.cqp.stop_interrupts();
	auto destroyed =
		device_.cqp.run(cmd::DestroyCeq{.ceq = number, .entries = ceq.ring.entries});
	if (!destroyed.ok())
		device_.graveyard.bury(move(ceq.ring.memory));
}

Status EventQueues::create_ceq0()
{
	IRDMA_TRY(create_ceq(0));
	device_.cqp.start_interrupts();
	return {};
}

Status EventQueues::create_ceqs()
{
	for (u32 i = 1; i < ceq_count_; i++) {
		Status created = create_ceq(i);

		if (!created.ok()) {
			while (--i)
				destroy_ceq(i);
			return created;
		}
	}
	return {};
}

void EventQueues::destroy_ceqs()
{
	for (u32 i = ceq_count_; --i;)
		destroy_ceq(i);
}

void EventQueues::destroy_ceq0()
{
	destroy_ceq(0);
	state_ = Owner<State>();
}

bool EventQueues::Ceq::stuck()
{
	SpinGuard guard(lock);

	return ring.stuck(hw::ceqe::valid);
}

/** Take a budget's worth of entries; whether it was used up. */
bool EventQueues::Ceq::take(Device &device, CqSlot *cqs, u32 cq_limit)
{
	SpinGuard guard(lock);

	for (u32 i = 0; i < ceq_budget; i++) {
		hw::Ceqe entry;

		if (!ring.take(hw::ceqe::valid, entry))
			return false;
		u64 id = entry.get(hw::ceqe::context);
		bool known = true;

		if (id == hw::ccq_number && number == 0) {
			device.write(reg::pfpe_cqack, hw::ccq_number);
			device.cqp.on_ccq_event();
		} else if (id < cq_limit && cqs[id].owner.load() == number + 1) {
			device.write(reg::pfpe_cqack, static_cast<u32>(id));
			cqs[id].cq->on_completion_event();
		} else {
			/* Of a CQ that is gone, or nonsense. */
			known = false;
			shim_log_limited(device.shim, SHIM_DBG,
					 "CEQ %u: event of CQ %llu, which is not there", number,
					 id);
		}
		if (tracing(SHIM_TRACE_CEQ_EVENT))
			shim_trace_ceq_event(device.shim, number, id, known);
	}
	return true;
}

/* ---- AEQ ---- */

Status EventQueues::create_aeq()
{
	State &s = *state_;
	u32 entries =
		min(device_.hmc.count(hw::HmcObject::qp) + device_.hmc.count(hw::HmcObject::cq),
		    min(hw::max_aeq_entries, static_cast<u32>(max_aeq_bytes / sizeof(hw::Aeqe))));
	Vector &vector = *s.vectors[0];

	/* A machine that has run for long, as at a reset, may not have so much memory side by side. */
	Status have = s.aeq.ring.create(device_, entries);
	while (have.is(Error::no_memory) && entries > min_aeq_entries) {
		entries = max(entries / 2, min_aeq_entries);
		have = s.aeq.ring.create(device_, entries);
	}
	IRDMA_TRY(have);
	auto created = device_.cqp.run(cmd::CreateAeq{
		.entries = entries,
		.memory = {.addr = s.aeq.ring.memory.bus()},
	});
	if (!created.ok()) {
		device_.graveyard.bury(move(s.aeq.ring.memory));
		return created.status();
	}
	s.aeq.up.store(true);
	if (!vector.ceq) {
		Status requested = vector.request("AEQ", -1, 0);

		if (!requested.ok()) {
			destroy_aeq();
			return requested;
		}
	}
	device_.write(reg::pfint_aeqctl, cause(vector.hw_index, true));
	if (!vector.ceq)
		vector.enable();
	s.sentinel.queue_ms(device_.shim, look_ms);
	return {};
}

void EventQueues::destroy_aeq()
{
	State &s = *state_;
	Vector &vector = *s.vectors[0];

	s.sentinel.cancel();
	device_.write(reg::pfint_aeqctl, 0);
	if (!vector.ceq)
		vector.free();
	s.aeq.up.store(false);
	{
		/* A handler on a shared vector that has seen it up is through after this. */
		SpinGuard guard(s.aeq.lock);
	}
	auto destroyed = device_.cqp.run(cmd::DestroyAeq{.entries = s.aeq.ring.entries});
	if (!destroyed.ok())
		device_.graveyard.bury(move(s.aeq.ring.memory));
}

/** Take a budget's worth of entries; whether it was used up. */
bool EventQueues::State::take_async()
{
	SpinGuard guard(aeq.lock);
	u32 taken = 0;

	for (; taken < aeq_budget && aeq.up.load(); taken++) {
		hw::Aeqe entry;

		if (!aeq.ring.take(hw::aeqe::valid, entry))
			break;
		dispatch(entry);
	}
	if (taken)
		device.write(reg::pfpe_aeqalloc, taken);
	return taken == aeq_budget;
}

bool EventQueues::State::async_stuck()
{
	SpinGuard guard(aeq.lock);

	return aeq.up.load() && aeq.ring.stuck(hw::aeqe::valid);
}

void EventQueues::State::dispatch(const hw::Aeqe &entry)
{
	namespace f = hw::aeqe;
	u32 code = static_cast<u32>(entry.get(f::code));
	u32 source = static_cast<u32>(entry.get(f::source));
	u32 id =
		static_cast<u32>(entry.get(f::id_low) | entry.get(f::id_high) << f::id_low.width());
	const AeInfo &info = ae_info(code);
	const AsyncEvent event = {.code = static_cast<u16>(code),
				  .source = static_cast<u8>(source),
				  .wqe_index = static_cast<u32>(entry.get(f::wqe_index)),
				  .info = &info};
	const char *object = "object";
	bool known = false;

	if (entry.get(f::overflow))
		shim_log_limited(
			device.shim, SHIM_ERR,
			"asynchronous events were lost, their queue was full; QPs that stand "
			"still have to be made anew");
	if (info.action == AeAction::device_fatal) {
		if (!device.dead()) /* what is given up already needs no second reason */
			shim_log_limited(device.shim, SHIM_ERR, "event 0x%03x, %s: %s", code,
					 hw::ae_name(code), info.meaning);
		trace(event, "device", 0, true);
		return device.declare_dead(info.meaning);
	}

	if (info.object == AeObject::qp ||
	    (info.object == AeObject::by_source && hw::ae_source_is_qp(source))) {
		object = "qp";
		known = qps.with(id, [&](Qp &qp) { qp.on_async_event(event); });
	} else if (info.object == AeObject::cq ||
		   (info.object == AeObject::by_source && hw::ae_source_is_cq(source))) {
		object = "cq";
		known = to_cq(id, event);
	}
	trace(event, object, id, known);
	if (!known)
		shim_log_limited(device.shim, SHIM_DBG,
				 "event 0x%03x, %s, of object %u (%s): nobody's", code,
				 hw::ae_name(code), id, ae_source_name(source));
}

/** @object: what @number is the number of; @known: there is one of that number. */
void EventQueues::State::trace(const AsyncEvent &event, const char *object, u32 number,
			       bool known) const
{
	if (!tracing(SHIM_TRACE_ASYNC_EVENT))
		return;
	const shim_traced_event traced = {.code = event.code,
					  .name = hw::ae_name(event.code),
					  .object = object,
					  .number = number,
					  .source = ae_source_name(event.source),
					  .request = event.wqe_index,
					  .known = known};

	shim_trace_async_event(device.shim, &traced);
}

bool EventQueues::State::to_cq(u32 id, const AsyncEvent &event)
{
	u32 owner = id < cqs.count() ? cqs[id].owner.load() : 0;

	if (!owner)
		return false;
	SpinGuard guard(ceqs[owner - 1]->lock);

	if (cqs[id].owner.load() != owner)
		return false;
	cqs[id].cq->on_async_event(event);
	return true;
}

/* ---- Objects ---- */

void EventQueues::add_cq(Cq &cq)
{
	State &s = *state_;
	CqSlot &slot = s.cqs[cq.number()];
	SpinGuard guard(s.ceqs[cq.ceq()]->lock);

	slot.cq = &cq;
	slot.owner.store(cq.ceq() + 1);
}

void EventQueues::remove_cq(Cq &cq)
{
	State &s = *state_;
	CqSlot &slot = s.cqs[cq.number()];
	SpinGuard guard(s.ceqs[cq.ceq()]->lock);

	slot.owner.store(0);
	slot.cq = nullptr;
}

void EventQueues::add_qp(Qp &qp)
{
	state_->qps.insert(qp.number(), qp);
}

void EventQueues::remove_qp(Qp &qp)
{
	state_->qps.remove(qp.number());
}

void EventQueues::for_each_qp(void (*use)(void *arg, Qp &qp), void *arg)
{
	state_->qps.for_each([&](Qp &qp) { use(arg, qp); });
}

/* ---- What administrators see ---- */

template <class Queue> static void show_ring(shim_text *text, Queue &queue)
{
	u32 entries, next;
	u64 taken;
	{
		SpinGuard guard(queue.lock);

		entries = queue.ring.entries;
		next = queue.ring.next;
		taken = queue.ring.taken;
	}
	shim_print(text, " entries %u next %u taken %llu\n", entries, next, taken);
}

void EventQueues::show(shim_text *text) const
{
	const State &s = *state_;

	for (usize i = 0; i < s.vectors.count(); i++) {
		const Vector &vector = *s.vectors[i];

		shim_print(text, "vector %u msix %u irq %d\n", vector.index, vector.hw_index,
			   shim_vector_irq(device_.shim, vector.index));
		if (vector.has_aeq) {
			shim_print(text, "  aeq");
			show_ring(text, state_->aeq);
		}
		if (vector.ceq) {
			shim_print(text, "  ceq %u", vector.ceq->number);
			show_ring(text, *vector.ceq);
		}
	}
}

} // namespace irdma
