// SPDX-License-Identifier: GPL-2.0
/*
 * The control QP (CQP): the ring through which the driver gives the engine its commands.
 *
 * Writing the address of a context to PFPE_CCQPHIGH, then PFPE_CCQPLOW, creates it; address 0
 * destroys it and with it all that its commands made. PFPE_CQPDB takes the driver's producer index:
 *
 *	CQPDB -> WQE at tail, valid bit of this lap? -> handler (cqp_commands.cpp)
 *	      -> PFPE_CQPTAIL moves -> entry in the CCQ, once that exists -> its CEQ event if armed
 *
 * A command is complete when the doorbell write returns. CQPTAIL also has an error bit, for the
 * time when there is no CCQ: it tells how the last command ended, PFPE_CQPERRCODES tells why. A WQE
 * that cannot be read or has the wrong valid bit stops the CQP for good, with the same bit.
 */
#pragma once

#include <cstdint>
#include <vector>

#include "cqp_result.h"
#include "deferred.h"
#include "refusals.h"

namespace e810 {

class Rdma;

/** Name, handler and layout of a command. */
struct CqpCommand {
	hw::CqpOp op;
	CqpResult (*run)(Rdma &rdma, const hw::CqpWqe &wqe);
};

/** The command with @p opcode, or nullptr. */
const CqpCommand *find_command(uint64_t opcode);

class Cqp {
public:
	explicit Cqp(Rdma &rdma);

	bool exists() const { return entries_ != 0; }
	void reset();
	/** Firmware hangs: doorbells do nothing until the CQP is created anew. */
	void hang() { hung_ = true; }

	/** Gives the answers that property "fail" has kept, the oldest or the newest first. */
	void release(bool newest_first);
	/** Answers that are kept. */
	uint32_t held() const { return static_cast<uint32_t>(held_.size()); }

private:
	/** An answer that is to be given later. */
	struct Held {
		uint32_t index;
		uint64_t opcode;
		CqpResult result;
		int64_t due; /* virtual time in ns */
	};

	uint32_t read_tail(uint32_t);
	void write_tail(uint32_t, uint32_t value);
	uint32_t read_status(uint32_t);
	void write_status(uint32_t, uint32_t value);
	uint32_t read_error(uint32_t) { return error_codes_; }
	void write_low(uint32_t, uint32_t low);
	void write_doorbell(uint32_t, uint32_t producer);

	void create(uint64_t context_address);
	bool load_context(uint64_t address);
	void destroy();
	void refuse(uint16_t minor);
	void stop(uint16_t minor);
	bool step();
	CqpResult execute(const hw::CqpWqe &wqe, Refusals::Verdict verdict);
	void answer(uint32_t index, uint64_t opcode, const CqpResult &result,
		    const Refusals::Verdict &verdict);
	void complete(uint32_t index, uint64_t opcode, const CqpResult &result,
		      Refusals::Answer how = Refusals::Answer::normal);
	void post_completion(uint32_t index, const CqpResult &result, Refusals::Answer how);
	void give_due();

	Rdma &rdma_;
	std::vector<Held> held_; /* in the order of their commands */
	Timer due_;
	uint64_t ring_ = 0;
	uint64_t cookie_ = 0;
	uint32_t entries_ = 0; /* 0: no CQP */
	uint32_t next_ = 0;    /* index of the WQE to execute next */
	uint32_t tail_ = 0;    /* what CQPTAIL shows */
	uint32_t error_codes_ = 0;
	bool polarity_ = true;
	bool status_done_ = false;
	bool status_error_ = false;
	bool stopped_ = false;
	bool failed_ = false; /* the last command did */
	bool hung_ = false;   /* see hang() */
};

} // namespace e810
