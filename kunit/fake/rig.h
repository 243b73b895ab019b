// SPDX-License-Identifier: GPL-2.0
/*
 * A world, an engine, and the driver's device on it, as most tests want them;
 * and the objects that they make in it.
 */
#ifndef KUNIT_FAKE_RIG_H
#define KUNIT_FAKE_RIG_H

#include "base/memory.h"
#include "device.h"
#include "verbs/cq.h"
#include "verbs/qp.h"
#include "engine.h"
#include "world.h"

namespace irdma::fake {

/** Owner of something large of the test's own, which the world does not count. */
template <class T> class Large {
public:
	template <class... Args> explicit Large(Args &...args)
	{
		void *room = bridge_alloc(sizeof(T), false);

		if (!room)
			bridge_abort();
		object_ = new (room) T(args...);
	}
	~Large()
	{
		object_->~T();
		bridge_free(object_, false);
	}
	Large(const Large &) = delete;
	Large &operator=(const Large &) = delete;
	T &operator*() const { return *object_; }
	T *operator->() const { return object_; }

private:
	T *object_;
};

/** So many of them, likewise. (A static would want to be destroyed at the end of the program.) */
template <class T, u32 count> class Many {
public:
	T &operator[](u32 i) const { return room_->all[i]; }
	T *begin() const { return room_->all; }
	T *end() const { return room_->all + count; }

private:
	struct Room {
		T all[count];
	};
	Large<Room> room_;
};

class Rig {
public:
	Rig() : world_(), engine_(*world_) {}
	/** Takes the device down, with an obedient engine, and checks that nothing is left. */
	~Rig();

	World &world() { return *world_; }
	Engine &engine() { return *engine_; }

	/** Bring the device up; what irdma_device_start() returns. */
	int try_start();
	/** The same where it must go well. */
	bool start();
	/** Take it down, as its removal does if it was announced. */
	void stop();
	/** Consumers are there: an ib_device would be registered. */
	void announce();
	bool up() const { return device_; }
	irdma_device *c() { return device_; }
	Device &device() { return *from_c(device_); }

private:
	Large<World> world_;
	Large<Engine> engine_;
	irdma_device *device_ = nullptr;
	bool announced_ = false;
};

/** A rig that a test begins with: up, unless it has to be set up first. */
struct Scene {
	Large<Rig> rig;
	bool ready = false;

	explicit Scene(bool start = true)
	{
		if (start)
			ready = rig->start();
	}
	Engine &engine() { return rig->engine(); }
	World &world() { return rig->world(); }
	/** Let the commands of a kind fail, with that minor code. */
	void refuse(hw::CqpOp op, u16 minor = 0x1111)
	{
		auto refusing = [op, minor](const Command &c, Answer &a) {
			if (c.op == op)
				a.fail(0xffff, minor);
		};
		engine().on_command = refusing;
	}
	void obey() { engine().on_command = {}; }
};

/** A PD, a CQ and a QP of the kernel on a rig. */
struct KernelQp {
	irdma_pd *pd = nullptr;
	irdma_cq *cq = nullptr;
	irdma_qp *qp = nullptr;
	u32 pd_number = 0;
	irdma_cq_result cq_result = {};
	irdma_qp_result qp_result = {};
	int ib_cq = 0, ib_qp = 0; /**< their addresses stand for ib_core's objects */
	bool made = false;

	explicit KernelQp(Rig &rig, u32 type = SHIM_QPT_RC, u32 wrs = 16, u32 entries = 64,
			  bool signal_all = false);
	~KernelQp();

	Qp &object() { return *from_c(qp); }
	u32 number() const { return qp_result.number; }

	/** Change it; what irdma_qp_modify() returns. */
	int modify(u32 state, u32 more = 0);
	/** To that state, from RESET, as a consumer does. */
	bool bring_up(u32 state);
	/** Attributes that the transition from where it is to @state needs, and values for all. */
	irdma_qp_change change_to(u32 state);
	u32 state();

	irdma_path path = default_path();
	u32 access = 0; /**< SHIM_ACCESS_* */
	u32 type;
	static irdma_path default_path();
};

} // namespace irdma::fake

#endif
