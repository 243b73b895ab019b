// SPDX-License-Identifier: GPL-2.0
/*
 * The control QP: a ring of 2048 commands that the device executes, and the
 * CCQ in which it completes them, in any order.
 *
 * Each ring entry has a slot with the state of its command. A caller that
 * waits sleeps on its slot; one that may not sleep leaves a callback. The slot
 * stays taken until the device has answered, also when the caller has given
 * up, so that a late answer never meets another command. Callers beyond the
 * ring's depth queue for a slot in order.
 *
 * Before the CCQ exists, and after it is gone, a command is waited for by the
 * CQPTAIL register. A command that is not answered within its deadline means
 * that the control QP has stopped: the device is declared dead, once, and all
 * callers, waiting or to come, get Error::no_device at once.
 *
 * An entry of the CCQ is believed only if its index is that of a command in
 * flight.
 */
#ifndef IRDMA_CQP_CQP_H
#define IRDMA_CQP_CQP_H

#include "../base/lock.h"
#include "../base/memory.h"
#include "../base/result.h"
#include "../hw/cqp.h"

namespace irdma {

class Device;

/** How a command ended. */
struct CqpOutcome {
	Status status; /**< ok; no_device: no answer; else see cqp_error() */
	u32 return_value;
	u16 major, minor; /**< error codes of the device, 0 if ok */
};

/** Called with the outcome of a posted command, in interrupt context. */
using CqpCallback = void (*)(void *arg, const CqpOutcome &outcome);

class Cqp {
public:
	explicit Cqp(Device &device);
	~Cqp();

	/** Create the control QP; commands run by register polling. May sleep. */
	Status create();
	/** Destroy it; all commands must have ended. May sleep. */
	void destroy();

	/** Create the CCQ, completing on CEQ 0; from then on commands complete through it. */
	Status create_ccq();
	void destroy_ccq();

	/**
	 * Run a command and wait for its end. May sleep; hold no spinlock.
	 *
	 * Return: the device's return value; Error::no_device if the device is dead or was
	 * declared dead; otherwise an error by the device's code, which has been logged with
	 * the command's name.
	 */
	template <class Command> Result<u32> run(const Command &command)
	{
		hw::CqpWqe wqe;

		command.encode(wqe);
		return execute(Command::op, wqe);
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

	/** End all commands with Error::no_device; from now on none is posted. Any context. */
	void fail_all();

private:
	Result<u32> execute(hw::CqpOp op, hw::CqpWqe &wqe);
	Status submit(hw::CqpOp op, hw::CqpWqe &wqe, CqpCallback done, void *arg);

	Device &device_;
	struct State; /* in cqp.cpp */
	Owner<State> state_;
};

/** Name of an error that the device gives a command: major and minor code. */
const char *cqp_error_name(u16 major, u16 minor);

} // namespace irdma

#endif
