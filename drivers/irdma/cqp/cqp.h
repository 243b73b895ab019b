// SPDX-License-Identifier: GPL-2.0
/*
 * The control QP: a ring of 2048 commands that the device executes, and the
 * CCQ in which it completes them, in any order.
 *
 * Each ring entry has a slot with the state of its command. A caller that
 * waits sleeps on its slot; one that may not sleep takes the answers itself for a
 * while, or leaves a callback. The slot stays taken until the device has
 * answered, also when the caller has given up, so that a late answer never meets
 * another command. Callers beyond the ring's depth queue for a slot in order.
 *
 * How the end of a command is learnt:
 *   - before the CCQ exists and after it is gone, by polling the CQPTAIL register;
 *   - while the CCQ exists but CEQ 0 has no interrupt, by polling the CCQ;
 *   - else by the interrupt of CEQ 0. A waiter looks at the CCQ itself after a
 *     second, and twice a second from then on, in case that interrupt was lost.
 *
 * Whoever waits also looks whether the engine still has a control QP: a reset of the
 * device by others takes it away, and so does its removal from the bus.
 *
 * A command that is not answered within its deadline means that the control QP
 * has stopped: the device is declared dead, once, and all callers, waiting or to
 * come, get Error::no_device at once.
 *
 * An entry of the CCQ is believed only if it carries the control QP's cookie and
 * its index is that of a command in flight.
 */
#ifndef IRDMA_CQP_CQP_H
#define IRDMA_CQP_CQP_H

#include "../base/atomic.h"
#include "../base/lock.h"
#include "../base/memory.h"
#include "../base/result.h"
#include "../hw/cqp.h"

namespace irdma {

class Device;

/** How a command ended. */
struct CqpOutcome {
	Status status; /**< ok; no_device: no answer; else by the codes, see Cqp::run() */
	u32 return_value;
	u16 major, minor; /**< error codes of the device, 0 if ok */
};

/** Called with the outcome of a posted command, in any context; must not sleep. */
using CqpCallback = void (*)(void *arg, const CqpOutcome &outcome);

class Cqp {
public:
	explicit Cqp(Device &device);
	~Cqp();

	/** Create the control QP; commands run by register polling. May sleep. */
	Status create();
	/** Destroy it; all commands must have ended. May sleep. */
	void destroy();

	/** Create the CCQ, completing on CEQ 0; commands run by polling it. May sleep. */
	Status create_ccq();
	void destroy_ccq();

	/** CEQ 0 has its interrupt: commands complete by it. */
	void start_interrupts();
	/** CEQ 0 is about to go; no command is in flight. */
	void stop_interrupts();

	/** Whether the engine still has a control QP: no after a reset, or off the bus. */
	bool exists() const;

	/**
	 * Run a command and wait for its end. May sleep; hold no spinlock.
	 *
	 * Return: the device's return value; Error::no_device if the device is dead or was
	 * declared dead; otherwise an error by the device's code, which has been logged with
	 * the command's name: Error::busy for a wrong state, Error::no_entry for a flush with
	 * nothing to flush, Error::no_memory for an object without memory behind it, else
	 * Error::io.
	 */
	template <class Command> Result<u32> run(const Command &command)
	{
		hw::CqpWqe wqe;

		command.encode(wqe);
		return execute(Command::op, wqe);
	}

	/**
	 * The same without sleeping: takes the answers itself, microseconds apart, for a tenth of
	 * a second at most. Any context, with interrupts off as well: they may be those that tell.
	 *
	 * Return: as run(); also Error::again if the ring is full; Error::timed_out if the answer
	 * is yet to come: the device may still carry the command out.
	 */
	template <class Command> Result<u32> run_atomic(const Command &command)
	{
		hw::CqpWqe wqe;

		command.encode(wqe);
		return execute_atomic(Command::op, wqe);
	}

	/**
	 * Post a command without waiting. Any context.
	 *
	 * Return: an error if it was not posted (then @done is not called): Error::no_device,
	 * or Error::again if the ring is full.
	 */
	template <class Command>
	Status post(const Command &command, CqpCallback done = nullptr, void *arg = nullptr)
	{
		hw::CqpWqe wqe;

		command.encode(wqe);
		return submit(Command::op, wqe, done, arg);
	}

	/** Take what the CCQ holds, and arm it again. From the interrupt of CEQ 0. */
	void on_ccq_event();

	/**
	 * Wait for commands that nobody waits for, and their callbacks: what these use is about to go.
	 * A device that does not answer is dead, and they have all been called as well. May sleep.
	 */
	void drain();

	/** Held by who may be calling callbacks, or is about to: drain() waits for it. Any context. */
	class Calling {
	public:
		explicit Calling(Cqp &cqp) : cqp_(cqp) { cqp_.calling_.add(1); }
		~Calling() { cqp_.calling_.sub(1); }
		Calling(const Calling &) = delete;
		Calling &operator=(const Calling &) = delete;

	private:
		Cqp &cqp_;
	};

	/** Removal has begun: what has no answer soon is not waited for. Any context. */
	void hurry();

	/** Ring and commands in flight, for debugfs. Any context. */
	void show(shim_text *text) const;

	/** End all commands with Error::no_device; from now on none is posted. Any context. */
	void fail_all();

private:
	Result<u32> execute(hw::CqpOp op, hw::CqpWqe &wqe);
	Result<u32> execute_atomic(hw::CqpOp op, hw::CqpWqe &wqe);
	Status submit(hw::CqpOp op, hw::CqpWqe &wqe, CqpCallback done, void *arg);

	Device &device_;
	Atomic<u32> calling_{0};
	struct State; /* in cqp.cpp */
	Owner<State> state_;
};

/** Name of an error that the device gives a command: major and minor code. */
const char *cqp_error_name(u16 major, u16 minor);

} // namespace irdma

#endif
