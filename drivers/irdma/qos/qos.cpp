// SPDX-License-Identifier: GPL-2.0
/* Quality of service; see qos.h. */
#include "qos.h"

#include "../device.h"
#include "../hw/limits.h"
#include "../verbs/qp.h"
#include "ws_tree.h"

namespace irdma {

namespace {

constexpr u32 priorities = hw::max_user_priorities;
constexpr u32 classes = hw::max_traffic_classes;
static_assert(priorities == SHIM_MAX_UP && classes == SHIM_MAX_TC);

constexpr u32 suspend_ms = 5000;
constexpr u32 suspend_poll_ms = 100; /* a device that dies tells nobody who waits here */
constexpr u32 change_ms = 10000;

} // namespace

struct Qos::State {
	explicit State(Device &d) : device(d), tree(d) {}

	void learn();
	Status add_leaf(u8 tc);
	bool class_in_use(u8 tc) const;

	void begin_change();
	void finish_change();
	void suspend_all();
	void resume_all();
	static void end_overdue_change(void *state);

	Device &device;
	Mutex mutex{SHIM_MUTEX_QOS}; /**< tree, users, lists but during a change, and the map */
	SpinLock map_lock{SHIM_LOCK_QOS}; /**< the map, for those who may not sleep */
	shim_qos map = {};
	WsTree tree;
	u32 users[priorities] = {};
	List<Qp> qps[priorities];

	/* The gate. */
	Mutex gate{SHIM_MUTEX_QOS_GATE};
	bool changing = false; /**< under the gate, as are these: */
	u64 overdue_ms = 0;    /**< when the change is taken for given up */
	u32 waiting = 0;       /**< how many want in once the change is over */
	Completion over;       /**< once for each of them */
	Atomic<u32> inside{0};
	Atomic<u32> awaited{0}; /**< somebody waits until nobody is inside */
	Completion all_out;
	Atomic<u32> moving{0}; /**< QPs that are yet to stand still */
	Completion still;
	Work overdue{end_overdue_change, this};
};

/* In DSCP mode ice's table of priorities has no meaning: priorities are traffic classes. */
void Qos::State::learn()
{
	shim_qos now = {};

	shim_get_qos(device.shim, &now);
	for (u32 i = 0; i < priorities; i++)
		now.up2tc[i] = static_cast<u8>(now.dscp_mode ? i : now.up2tc[i] % classes);
	for (u8 &priority : now.dscp2up)
		priority %= priorities;

	MutexGuard guard(mutex);
	SpinGuard spin(map_lock);

	map = now;
}

Status Qos::State::add_leaf(u8 tc)
{
	return tree.add_leaf(tc, max<u8>(map.tc[tc].relative_bw, 1));
}

bool Qos::State::class_in_use(u8 tc) const
{
	for (u32 i = 0; i < priorities; i++)
		if (map.up2tc[i] == tc && users[i])
			return true;
	return false;
}

/* ---- Places ---- */

QosPlacement::QosPlacement(QosPlacement &&other)
	: qos_(exchange<Qos *>(other.qos_, nullptr)), priority_(other.priority_)
{
}

QosPlacement &QosPlacement::operator=(QosPlacement &&other)
{
	if (this != &other) {
		reset();
		qos_ = exchange<Qos *>(other.qos_, nullptr);
		priority_ = other.priority_;
	}
	return *this;
}

void QosPlacement::reset()
{
	if (qos_)
		exchange<Qos *>(qos_, nullptr)->remove(priority_);
}

u16 QosPlacement::qs_handle() const
{
	return qos_ ? qos_->qs_handle(priority_) : u16{0};
}

Result<u16> QosPlacement::queue_set() const
{
	return qos_ ? qos_->queue_set(priority_) : Result<u16>(Error::invalid);
}

Qos::Qos(Device &device) : device_(device) {}

Qos::~Qos() = default;

Status Qos::create()
{
	auto state = make<State>(device_);

	if (!state)
		return Error::no_memory;
	IRDMA_TRY(state->tree.create());
	state->learn();
	state_ = move(state);
	return {};
}

void Qos::destroy()
{
	state_->overdue.cancel();
	state_ = {};
}

Result<QosPlacement> Qos::place(u8 priority)
{
	State &s = *state_;
	QosPlacement placement;
	MutexGuard guard(s.mutex);

	IRDMA_TRY(s.add_leaf(s.map.up2tc[priority]));
	s.users[priority]++;
	placement.qos_ = this;
	placement.priority_ = priority;
	return move(placement);
}

void Qos::remove(u8 priority)
{
	State &s = *state_;
	MutexGuard guard(s.mutex);
	u8 tc = s.map.up2tc[priority];

	s.users[priority]--;
	if (!s.class_in_use(tc))
		s.tree.remove_leaf(tc);
}

u16 Qos::qs_handle(u8 priority) const
{
	MutexGuard guard(state_->mutex);

	return state_->tree.qs_handle(state_->map.up2tc[priority]);
}

Result<u16> Qos::queue_set(u8 priority)
{
	State &s = *state_;
	MutexGuard guard(s.mutex);
	u8 tc = s.map.up2tc[priority];

	IRDMA_TRY(s.add_leaf(tc));
	return s.tree.qs_handle(tc);
}

void Qos::link(ListNode<Qp> &node, u8 priority)
{
	MutexGuard guard(state_->mutex);

	state_->qps[priority].push_back(node);
}

void Qos::unlink(ListNode<Qp> &node)
{
	MutexGuard guard(state_->mutex);

	node.unlink();
}

/* ---- Priorities ---- */

u8 Qos::priority_of(u8 tos, u8 tos_priority, const u8 *vlan_egress, bool vlan) const
{
	SpinGuard guard(state_->map_lock);
	const shim_qos &map = state_->map;
	u8 priority = tos_priority;

	if (map.dscp_mode)
		priority = map.dscp2up[tos >> 2];
	else if (vlan)
		priority = vlan_egress[priority & 15];
	return priority & (priorities - 1);
}

bool Qos::priority_tagging() const
{
	SpinGuard guard(state_->map_lock);

	return state_->map.num_tc > 1 && !state_->map.dscp_mode;
}

/* ---- What administrators see ---- */

/** Lists stand still while the mutex is held, and while a change has it not: see begin_change(). */
void Qos::show(shim_text *text)
{
	State &s = *state_;
	MutexGuard guard(s.mutex);

	shim_print(text, "classes %u\nmode %s\n", static_cast<u32>(s.map.num_tc),
		   s.map.dscp_mode ? "dscp" : "vlan");
	s.tree.show(text);
	for (u32 priority = 0; priority < priorities; priority++) {
		shim_print(text, "priority %u class %u users %u QPs", priority,
			   static_cast<u32>(s.map.up2tc[priority]), s.users[priority]);
		for (Qp &qp : s.qps[priority])
			shim_print(text, " %u", qp.number());
		shim_print(text, "\n");
	}
}

/* ---- Gate ---- */

void Qos::enter()
{
	State &s = *state_;

	bool waited = false;

	/*
	 * It may be another's turn, or another change: each who waits is counted until it is in.
	 * Those who wait may be all the work that the workqueue runs at a time, with the item that
	 * ends an overdue change behind them: then one of them ends it.
	 */
	for (;; (void)s.over.wait_ms(change_ms)) {
		MutexGuard guard(s.gate);

		if (s.changing && shim_now_ms() >= s.overdue_ms)
			s.finish_change();
		if (!s.changing) {
			s.inside.add(1);
			s.waiting -= waited;
			return;
		}
		s.waiting += !waited;
		waited = true;
	}
}

void Qos::leave()
{
	State &s = *state_;

	if (!s.inside.sub(1) && s.awaited.exchange(0))
		s.all_out.complete();
}

/* ---- Change of traffic classes; all with the gate held ---- */

/* Nobody is inside, so lists and QPs stand still. */
void Qos::State::begin_change()
{
	changing = true;
	for (awaited.exchange(1); inside.load(); awaited.exchange(1))
		all_out.wait();
	awaited.exchange(0);
	suspend_all();
	{
		MutexGuard guard(mutex);

		for (u8 tc = 0; tc < classes; tc++)
			tree.remove_leaf(tc);
	}
	overdue_ms = shim_now_ms() + change_ms;
}

void Qos::State::suspend_all()
{
	u64 end = shim_now_ms() + suspend_ms;

	while (still.try_wait()) /* of a change that did not wait for the last one */
		;
	moving.store(1); /* keeps it from 0 until all have been told */
	for (List<Qp> &list : qps)
		for (Qp &qp : list) {
			moving.add(1);
			if (!qp.suspend())
				moving.sub(1);
		}
	if (moving.sub(1))
		while (!still.wait_ms(suspend_poll_ms) && !device.dead() && shim_now_ms() < end)
			;
	if (moving.exchange(0) && !device.dead())
		shim_log(device.shim, SHIM_WARN,
			 "not all QPs stand still for the change of traffic classes");
}

void Qos::State::finish_change()
{
	learn();
	resume_all();
	device.mcast.follow_queue_sets();
	changing = false;
	for (u32 i = 0; i < waiting; i++)
		over.complete();
}

void Qos::State::resume_all()
{
	for (u8 priority = 0; priority < priorities; priority++) {
		u8 tc = map.up2tc[priority];
		Status made;
		u16 handle;

		{
			MutexGuard guard(mutex);

			if (users[priority])
				made = add_leaf(tc);
			handle = tree.qs_handle(tc);
		}
		if (!made.ok() && !device.dead())
			shim_log(device.shim, SHIM_ERR,
				 "no queue set for priority %u in traffic class %u: error %d",
				 static_cast<u32>(priority), static_cast<u32>(tc), made.code());
		for (Qp &qp : qps[priority])
			qp.resume(handle);
	}
}

/* ice does not say so when it gives a change up. What it has then is learned all the same. */
void Qos::State::end_overdue_change(void *arg)
{
	State &s = *static_cast<State *>(arg);
	MutexGuard guard(s.gate);
	u64 now = shim_now_ms();

	if (!s.changing)
		return;
	if (now >= s.overdue_ms)
		s.finish_change();
	else /* it was to end another, that is over */
		s.overdue.queue_ms(s.device.shim, static_cast<u32>(s.overdue_ms - now));
}

void Qos::on_suspended()
{
	State &s = *state_;

	/* One that comes after the change has given up waiting counts for nothing. */
	for (u32 n = s.moving.load(); n; n = s.moving.load()) {
		if (!s.moving.compare_exchange(n, n - 1))
			continue;
		if (n == 1)
			s.still.complete();
		return;
	}
}

void Qos::before_tc_change()
{
	State &s = *state_;

	{
		MutexGuard guard(s.gate);

		if (!s.changing)
			s.begin_change();
	}
	s.overdue.queue_ms(device_.shim, change_ms);
}

/* One that is not announced began before we were there, or was taken for given up. */
void Qos::after_tc_change()
{
	State &s = *state_;

	s.overdue.cancel();
	MutexGuard guard(s.gate);

	if (!s.changing)
		s.begin_change();
	s.finish_change();
}

void Qos::on_removal()
{
	State &s = *state_;

	s.overdue.cancel();
	MutexGuard guard(s.gate);

	if (s.changing)
		s.finish_change();
}

} // namespace irdma

extern "C" {

void irdma_before_tc_change(irdma_device *device)
{
	irdma::from_c(device)->qos.before_tc_change();
}

void irdma_after_tc_change(irdma_device *device)
{
	irdma::from_c(device)->qos.after_tc_change();
}

} /* extern "C" */
