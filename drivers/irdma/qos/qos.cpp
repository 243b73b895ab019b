// SPDX-License-Identifier: GPL-2.0
/* Quality of service; see qos.h. */
#include "qos.h"

#include "../cqp/commands.h"
#include "../device.h"
#include "../hw/limits.h"
#include "../verbs/qp.h"

namespace irdma {

namespace {

constexpr u32 priorities = hw::max_user_priorities;
constexpr u32 classes = hw::max_traffic_classes;
static_assert(priorities == SHIM_MAX_UP && classes == SHIM_MAX_TC);

constexpr u32 root_node = 0;
constexpr u32 suspend_ms = 5000;
constexpr u32 change_ms = 5000;

/** A node of the tree, without its place in it. */
struct Node {
	u32 number;
	u32 parent;
	u8 traffic_class;
	u8 weight;
	bool leaf;
	bool enabled;
};

constexpr Node inner_node(u32 number, u32 parent)
{
	return {.number = number,
		.parent = parent,
		.traffic_class = 0,
		.weight = 1,
		.leaf = false,
		.enabled = true};
}

} // namespace

struct Qos::State {
	explicit State(Device &d) : device(d) {}

	void learn();
	bool class_in_use(u8 tc) const;
	Result<u32> command(u32 op, const Node &node);
	void delete_node(const Node &node);
	Status add_trunk();
	void remove_trunk_if_bare();
	Status add_leaf(u8 tc);
	Status enable_leaf(u8 tc, const Node &node);
	void remove_leaf(u8 tc);
	void await_nobody_inside();

	/** The leaf of a traffic class. */
	struct Leaf {
		Id node; /**< empty: there is no leaf */
		u16 qs_handle = 0;
		u32 teid = 0; /**< of ice */
	};

	Device &device;
	Mutex mutex{SHIM_MUTEX_QOS}; /**< all but the gate and the lists of a change */
	shim_qos map = {};
	u32 users[priorities] = {};
	List<Qp> qps[priorities];
	IdTable node_ids;
	bool root = false;
	Id vsi_node;
	Leaf leaf[classes];

	/* The gate. */
	Mutex gate{SHIM_MUTEX_QOS_GATE};
	Atomic<u32> inside{0};
	Atomic<u32> awaited{0}; /**< somebody waits until nobody is inside */
	Completion all_out;
	Atomic<u32> changing{0};   /**< between before_tc_change() and after_tc_change() */
	Atomic<u32> suspending{0}; /**< QPs that are yet to stand still */
};

/* In DSCP mode ice's table of priorities has no meaning: priorities are traffic classes. */
void Qos::State::learn()
{
	shim_get_qos(device.shim, &map);
	for (u32 i = 0; i < priorities; i++)
		map.up2tc[i] = static_cast<u8>(map.dscp_mode ? i : map.up2tc[i] % classes);
	for (u8 &priority : map.dscp2up)
		priority %= priorities;
}

bool Qos::State::class_in_use(u8 tc) const
{
	for (u32 i = 0; i < priorities; i++)
		if (map.up2tc[i] == tc && users[i])
			return true;
	return false;
}

Result<u32> Qos::State::command(u32 op, const Node &node)
{
	return device.cqp.run(cmd::WorkSchedNode{
		.node_op = op,
		.node = node.number,
		.parent = node.parent,
		.vsi = device.port.vsi,
		.traffic_class = node.traffic_class,
		.weight = node.weight,
		.priority_type = hw::cqp_ws::priority_weighted,
		.leaf = node.leaf,
		.enable = node.enabled,
	});
}

/* A node that the device keeps goes with the device; its number is not used again before. */
void Qos::State::delete_node(const Node &node)
{
	auto deleted = command(hw::cqp_ws::op_delete, node);

	if (!deleted.ok() && !device.dead())
		shim_log_limited(device.shim, SHIM_WARN, "work-scheduler node %u stays: error %d",
				 node.number, deleted.code());
}

/* Root and VSI node. */
Status Qos::State::add_trunk()
{
	if (!root) {
		IRDMA_TRY(command(hw::cqp_ws::op_add, inner_node(root_node, root_node)));
		root = true;
	}
	if (!vsi_node) {
		auto id = Id::alloc(node_ids);

		IRDMA_TRY(id);
		IRDMA_TRY(command(hw::cqp_ws::op_add, inner_node(id.value().value(), root_node)));
		vsi_node = id.take();
	}
	return {};
}

void Qos::State::remove_trunk_if_bare()
{
	for (const Leaf &l : leaf)
		if (l.node)
			return;
	if (vsi_node) {
		delete_node(inner_node(vsi_node.value(), root_node));
		vsi_node.reset();
	}
	if (exchange(root, false))
		delete_node(inner_node(root_node, root_node));
}

/* A leaf carries traffic once ice has its queue set too. */
Status Qos::State::enable_leaf(u8 tc, const Node &node)
{
	Leaf &l = leaf[tc];
	Node enabled = node;

	IRDMA_TRY(Status::from(shim_qset_add(device.shim, l.qs_handle, tc, &l.teid)));
	enabled.enabled = true;

	auto modified = command(hw::cqp_ws::op_modify, enabled);
	if (!modified.ok())
		shim_qset_del(device.shim, l.qs_handle, tc, l.teid);
	return modified.status();
}

Status Qos::State::add_leaf(u8 tc)
{
	Leaf &l = leaf[tc];

	if (l.node)
		return {};

	Status made = add_trunk();
	auto id = Id::alloc(node_ids);
	if (made.ok())
		made = id.status();
	if (!made.ok()) {
		remove_trunk_if_bare();
		return made;
	}

	const Node node = {.number = id.value().value(),
			   .parent = vsi_node.value(),
			   .traffic_class = tc,
			   .weight = max<u8>(map.tc[tc].relative_bw, 1),
			   .leaf = true,
			   .enabled = false};
	auto added = command(hw::cqp_ws::op_add, node);

	made = added.status();
	if (made.ok()) {
		l.qs_handle = static_cast<u16>(added.value());
		made = enable_leaf(tc, node);
		if (!made.ok())
			delete_node(node);
	}
	if (made.ok())
		l.node = id.take();
	else
		remove_trunk_if_bare();
	return made;
}

void Qos::State::remove_leaf(u8 tc)
{
	Leaf &l = leaf[tc];

	if (!l.node)
		return;
	delete_node({.number = l.node.value(),
		     .parent = vsi_node.value(),
		     .traffic_class = tc,
		     .weight = max<u8>(map.tc[tc].relative_bw, 1),
		     .leaf = true,
		     .enabled = true});
	shim_qset_del(device.shim, l.qs_handle, tc, l.teid);
	l.node.reset();
	remove_trunk_if_bare();
}

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

Qos::Qos(Device &device) : device_(device) {}

Qos::~Qos() = default;

Status Qos::create()
{
	auto state = make<State>(device_);

	if (!state)
		return Error::no_memory;
	IRDMA_TRY(state->node_ids.create(root_node + 1, hw::max_ws_nodes));
	state->learn();
	state_ = move(state);
	return {};
}

void Qos::destroy()
{
	state_ = {};
}

Result<QosPlacement> Qos::place(u8 priority)
{
	State &s = *state_;
	QosPlacement placement;
	MutexGuard guard(s.mutex);

	if (s.changing.load())
		return Error::busy;
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
		s.remove_leaf(tc);
}

u16 Qos::qs_handle(u8 priority) const
{
	MutexGuard guard(state_->mutex);

	return state_->leaf[state_->map.up2tc[priority]].qs_handle;
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

u8 Qos::priority_of(u8 tos, u8 tos_priority, const u8 *vlan_egress, bool vlan) const
{
	const shim_qos &map = state_->map;
	u8 priority = map.dscp_mode ? map.dscp2up[tos >> 2] : tos_priority;

	if (vlan)
		priority = vlan_egress[priority & 15];
	return priority & (priorities - 1);
}

bool Qos::priority_tagging() const
{
	return state_->map.num_tc > 1 && !state_->map.dscp_mode;
}

/* A change is over in a moment. If ice never tells of its end, work goes on without queue sets. */
void Qos::enter()
{
	State &s = *state_;

	for (u32 ms = 0; s.changing.load() && ms < change_ms; ms += 10)
		shim_sleep_us(10 * 1000);

	MutexGuard guard(s.gate);
	s.inside.add(1);
}

void Qos::leave()
{
	State &s = *state_;

	if (!s.inside.sub(1) && s.awaited.exchange(0))
		s.all_out.complete();
}

void Qos::on_suspended()
{
	Atomic<u32> &left = state_->suspending;

	/* One that comes after the change has given up waiting counts for nothing. */
	for (u32 n = left.load(); n && !left.compare_exchange(n, n - 1);)
		n = left.load();
}

/* The gate is held, so those who are inside leave and no others come. */
void Qos::State::await_nobody_inside()
{
	for (awaited.exchange(1); inside.load(); awaited.exchange(1))
		all_out.wait();
	awaited.exchange(0);
}

void Qos::before_tc_change()
{
	State &s = *state_;
	MutexGuard gate(s.gate);

	if (s.changing.exchange(1))
		return;
	s.await_nobody_inside();
	for (List<Qp> &list : s.qps)
		for (Qp &qp : list) {
			s.suspending.add(1);
			if (!qp.suspend())
				s.suspending.sub(1);
		}
	for (u32 ms = 0; s.suspending.load() && !device_.dead() && ms < suspend_ms; ms++)
		shim_sleep_us(1000);
	if (s.suspending.exchange(0))
		shim_log(device_.shim, SHIM_WARN,
			 "not all QPs stand still for the change of traffic classes");

	MutexGuard guard(s.mutex);
	for (u8 tc = 0; tc < classes; tc++)
		s.remove_leaf(tc);
}

void Qos::after_tc_change()
{
	State &s = *state_;
	MutexGuard gate(s.gate);

	if (!s.changing.load())
		return;
	s.await_nobody_inside(); /* who found the change too long is at work on a QP */
	{
		MutexGuard guard(s.mutex);

		s.learn();
	}
	for (u8 priority = 0; priority < priorities; priority++) {
		u8 tc = s.map.up2tc[priority];
		bool ok = true;

		if (s.users[priority]) {
			MutexGuard guard(s.mutex);

			ok = s.add_leaf(tc).ok();
		}
		if (!ok)
			shim_log(device_.shim, SHIM_ERR,
				 "priority %u has no queue set after the change of traffic classes",
				 static_cast<u32>(priority));
		for (Qp &qp : s.qps[priority])
			qp.resume(s.leaf[tc].qs_handle, ok);
	}
	s.changing.store(0);
}

void Qos::on_removal()
{
	state_->changing.store(0);
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
