// SPDX-License-Identifier: GPL-2.0
/*
 * The functions of shim/kernel.h as a test has them: calls of the World, and
 * locks that only check that they are used as they must be.
 */
#include "work_request.h"
#include "world.h"

using irdma::fake::World;
using namespace irdma;

namespace {

/* What the opaque bytes of a lock or a completion hold. */
struct LockState {
	u32 held;
	u32 cls;
};

struct CompletionState {
	u32 count;
};

#define LOCK_NAME(cls, name) name,
constexpr const char *lock_names[] = {SHIM_LOCK_LIST(LOCK_NAME)};

constexpr u32 completed_for_ever = ~0u / 2;

LockState &state_of(shim_spinlock *lock)
{
	static_assert(sizeof(LockState) <= sizeof(shim_spinlock));
	return *reinterpret_cast<LockState *>(lock);
}

LockState &state_of(shim_mutex *mutex)
{
	return *reinterpret_cast<LockState *>(mutex);
}

CompletionState &state_of(shim_completion *c)
{
	return *reinterpret_cast<CompletionState *>(c);
}

void take(LockState &lock, const char *what)
{
	if (lock.held) {
		FAIL("%s %s is taken by its holder", what, lock_names[lock.cls]);
		bridge_abort();
	}
	lock.held = 1;
}

void give(LockState &lock, const char *what)
{
	if (!lock.held)
		FAIL("%s %s is given up by one who does not hold it", what, lock_names[lock.cls]);
	lock.held = 0;
}

World &world()
{
	return World::current();
}

} // namespace

extern "C" {

/* ---- Log ---- */

void shim_log(shim_device *dev, shim_level level, const char *fmt, ...)
{
	__builtin_va_list args;

	__builtin_va_start(args, fmt);
	dev->world.log(level, fmt, args);
	__builtin_va_end(args);
}

void shim_log_limited(shim_device *dev, shim_level level, const char *fmt, ...)
{
	__builtin_va_list args;

	__builtin_va_start(args, fmt);
	dev->world.log(level, fmt, args);
	__builtin_va_end(args);
}

void shim_warn_once(const char *what)
{
	world().warn(what);
}

/* ---- Tracepoints, and what debugfs shows ---- */

u32 shim_tracing;

void shim_trace_cqp_post(shim_device *dev, const shim_traced_command *)
{
	dev->world.trace(SHIM_TRACE_CQP_POST);
}

void shim_trace_cqp_done(shim_device *dev, const shim_traced_command *)
{
	dev->world.trace(SHIM_TRACE_CQP_DONE);
}

void shim_trace_qp_state(shim_device *dev, const shim_traced_qp *)
{
	dev->world.trace(SHIM_TRACE_QP_STATE);
}

void shim_trace_qp_refused(shim_device *dev, const shim_traced_qp *)
{
	dev->world.trace(SHIM_TRACE_QP_REFUSED);
}

void shim_trace_qp_path(shim_device *dev, const shim_traced_path *)
{
	dev->world.trace(SHIM_TRACE_QP_PATH);
}

void shim_trace_arp(shim_device *dev, const shim_traced_arp *)
{
	dev->world.trace(SHIM_TRACE_ARP);
}

void shim_trace_async_event(shim_device *dev, const shim_traced_event *)
{
	dev->world.trace(SHIM_TRACE_ASYNC_EVENT);
}

void shim_trace_ceq_event(shim_device *dev, u32, u64, bool)
{
	dev->world.trace(SHIM_TRACE_CEQ_EVENT);
}

void shim_trace_mr_register(shim_device *dev, const shim_traced_mr *)
{
	dev->world.trace(SHIM_TRACE_MR_REGISTER);
}

void shim_trace_mr_deregister(shim_device *dev, u32, int)
{
	dev->world.trace(SHIM_TRACE_MR_DEREGISTER);
}

void shim_trace_reset(shim_device *dev, const char *, const char *, u32, int)
{
	dev->world.trace(SHIM_TRACE_RESET);
}

void shim_print(shim_text *text, const char *fmt, ...)
{
	u64 room = sizeof(text->text) - text->length;
	__builtin_va_list args;

	__builtin_va_start(args, fmt);
	bridge_format(text->text + text->length, room, fmt, args);
	__builtin_va_end(args);
	while (text->text[text->length])
		text->length++;
}

int shim_vector_irq(shim_device *, u32 index)
{
	return 40 + static_cast<int>(index);
}

/* ---- Memory ---- */

void *shim_zalloc(u64 bytes)
{
	world().must_sleep("memory is asked for");
	return world().allocate(bytes, __builtin_return_address(0));
}

void *shim_zalloc_atomic(u64 bytes)
{
	return world().allocate(bytes, __builtin_return_address(0));
}

void shim_free(void *mem)
{
	if (mem)
		world().release(mem);
}

void shim_memset(void *mem, int byte, u64 bytes)
{
	__builtin_memset(mem, byte, bytes);
}

void shim_memcpy(void *to, const void *from, u64 bytes)
{
	__builtin_memcpy(to, from, bytes);
}

void *shim_dma_alloc(shim_device *dev, u64 bytes, u64 *bus)
{
	return dev->world.dma_allocate(bytes, bus);
}

void shim_dma_free(shim_device *dev, u64 bytes, void *cpu, u64 bus)
{
	dev->world.dma_release(bytes, cpu, bus);
}

u64 shim_dma_bytes(shim_device *dev)
{
	return dev->world.dma_bytes();
}

u32 shim_reg_read(shim_device *dev, u32 offset)
{
	return dev->world.registers->read(offset);
}

void shim_reg_write(shim_device *dev, u32 offset, u32 value)
{
	dev->world.registers->write(offset, value);
}

/* ---- Locks ---- */

void shim_spin_init(shim_spinlock *lock, shim_lock_class cls)
{
	state_of(lock) = {0, cls};
}

unsigned long shim_spin_lock(shim_spinlock *lock)
{
	if (world().on_lock)
		world().on_lock();
	take(state_of(lock), "spinlock");
	return world().spinlocks++;
}

void shim_spin_unlock(shim_spinlock *lock, unsigned long flags)
{
	give(state_of(lock), "spinlock");
	world().spinlocks--;
	EXPECT_EQ(world().spinlocks, flags); /* in the reverse order */
}

void shim_mutex_init(shim_mutex *mutex, shim_lock_class cls)
{
	state_of(mutex) = {0, cls};
}

void shim_mutex_destroy(shim_mutex *mutex)
{
	EXPECT_EQ(state_of(mutex).held, 0);
}

void shim_mutex_lock(shim_mutex *mutex)
{
	world().must_sleep("a mutex is taken");
	if (auto faster = exchange(world().on_mutex, {}))
		faster();
	take(state_of(mutex), "mutex");
}

void shim_mutex_unlock(shim_mutex *mutex)
{
	give(state_of(mutex), "mutex");
}

void shim_completion_init(shim_completion *c)
{
	state_of(c) = {0};
}

void shim_complete(shim_completion *c)
{
	state_of(c).count++;
}

void shim_complete_all(shim_completion *c)
{
	state_of(c).count = completed_for_ever;
}

bool shim_try_wait(shim_completion *c)
{
	CompletionState &state = state_of(c);

	if (!state.count)
		return false;
	if (state.count < completed_for_ever)
		state.count--;
	return true;
}

void shim_wait(shim_completion *c)
{
	auto done = [c] { return state_of(c).count != 0; };

	world().must_sleep("a wait");
	if (!world().wait(done, world().now() + 4000 * World::second)) {
		FAIL("a wait that nothing will end");
		bridge_abort();
	}
	shim_try_wait(c);
}

u32 shim_wait_ms(shim_completion *c, u32 ms)
{
	u64 deadline = world().now() + ms * World::ms;
	auto done = [c] { return state_of(c).count != 0; };

	world().must_sleep("a wait");
	if (!world().wait(done, deadline))
		return 0;
	shim_try_wait(c);
	return static_cast<u32>((deadline - world().now()) / World::ms) + 1;
}

/* ---- Work and time ---- */

void shim_work_init(shim_work *work, shim_work_kind kind, void (*function)(void *), void *arg)
{
	work->kind = kind;
	work->function = function;
	work->arg = arg;
}

bool shim_work_queue(shim_device *dev, shim_work *work)
{
	return dev->world.queue(work, 0);
}

bool shim_work_queue_ms(shim_device *dev, shim_work *work, u32 delay_ms)
{
	return dev->world.queue(work, delay_ms * World::ms);
}

bool shim_work_cancel(shim_work *work)
{
	world().must_sleep("work is cancelled");
	return world().cancel(work);
}

void shim_work_flush(shim_device *dev)
{
	dev->world.settle();
}

u64 shim_now_ms(void)
{
	return world().now() / World::ms;
}

u64 shim_now_ns(void)
{
	return world().now();
}

u64 shim_ticks(void)
{
	return world().now();
}

u32 shim_ticks_per_ms(void)
{
	return World::ms;
}

void shim_udelay(u32 us)
{
	world().advance(world().now() + us * World::us, false);
}

void shim_sleep_us(u32 us)
{
	World &w = world();

	w.must_sleep("a sleep");
	w.advance(w.now() + max(us * World::us, w.least_sleep), false);
}

u32 shim_random(void)
{
	World &w = world();

	w.random = w.random * 1664525 + 1013904223;
	return w.random;
}

/* ---- Interrupts ---- */

u32 shim_vectors(shim_device *dev)
{
	return dev->world.vectors;
}

u32 shim_vector_hw_index(shim_device *, u32 index)
{
	return 4 + index;
}

int shim_irq_request(shim_device *dev, u32 index, void (*handler)(void *), void *arg, const char *,
		     int, int)
{
	dev->world.must_sleep("an interrupt is asked for");
	return dev->world.request_irq(index, handler, arg);
}

void shim_irq_free(shim_device *dev, u32 index)
{
	dev->world.must_sleep("an interrupt is given back");
	dev->world.free_irq(index);
}

u32 shim_online_cpus(void)
{
	return world().cpus;
}

int shim_spread_cpu(shim_device *dev, u32 i)
{
	return static_cast<int>(i % dev->world.cpus);
}

u32 shim_limits_sel(void)
{
	return world().limits_sel;
}

/* ---- ice ---- */

void shim_get_port_info(shim_device *dev, shim_port_info *info)
{
	*info = dev->world.port;
}

void shim_get_qos(shim_device *dev, shim_qos *qos)
{
	*qos = dev->world.qos;
}

int shim_qset_add(shim_device *dev, u16 qs_handle, u8 tc, u32 *teid)
{
	dev->world.must_sleep("ice is asked for a queue set");
	return dev->world.add_qset(qs_handle, tc, teid);
}

void shim_qset_del(shim_device *dev, u16 qs_handle, u8 tc, u32 teid)
{
	dev->world.must_sleep("ice is given a queue set back");
	dev->world.delete_qset(qs_handle, tc, teid);
}

int shim_vsi_filter(shim_device *, bool)
{
	return 0;
}

int shim_request_reset(shim_device *dev)
{
	if (!dev->world.reset_error)
		dev->world.resets++;
	return dev->world.reset_error;
}

shim_history *shim_history_of(shim_device *dev)
{
	return &dev->world.history;
}

/* ---- ib_core ---- */

bool shim_modify_qp_is_ok(u32 from, u32 to, u32 qp_type, u32 mask)
{
	return bridge_modify_qp_is_ok(from, to, qp_type, mask);
}

void shim_qp_event(void *ib_qp, u32 event)
{
	world().must_sleep("the consumer of a QP is told");
	world().tell(ib_qp, event);
}

void shim_cq_event(void *ib_cq, u32 event)
{
	world().tell(ib_cq, event);
}

void shim_cq_completion(void *ib_cq)
{
	World &w = world();

	w.completions++;
	if (w.on_completion)
		w.on_completion(ib_cq);
}

bool shim_neighbour_mac(shim_device *dev, u32, const u32 ip[4], bool, u8 mac[6])
{
	u64 number = dev->world.neighbour ? dev->world.neighbour(ip[3]) : 0;

	for (u32 i = 0; i < 6; i++)
		mac[i] = static_cast<u8>(number >> (40 - 8 * i));
	return number;
}

void shim_port_event(shim_device *, bool) {}

void shim_device_fatal(shim_device *dev)
{
	dev->world.fatal++;
}

/* An AH of ib_core is, here, that of the driver. */
irdma_ah *shim_ah_of(void *ib_ah)
{
	return static_cast<irdma_ah *>(ib_ah);
}

irdma_mr *shim_mr_of(void *ib_mr, u64 *va)
{
	auto *mr = static_cast<irdma::fake::IbMr *>(ib_mr);

	*va = mr->iova;
	return mr->irdma;
}

} /* extern "C" */
