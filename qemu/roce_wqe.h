// SPDX-License-Identifier: GPL-2.0
/*
 * Work requests taken from the queues: a WQE in guest memory becomes a SendWork or ReceiveWork once,
 * so that what the guest writes there afterwards does not matter.
 */
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "roce_memory.h"

namespace e810 {

/** A send request. */
struct SendWork {
	hw::SqOp op = hw::SqOp::nop;
	hw::Quantum header; /* its first quantum */
	uint32_t index = 0; /* quantum in the send queue */
	bool signalled = false;
	bool read_fence = false;
	bool local_fence = false;
	bool solicited = false;
	bool has_immediate = false;
	bool has_invalidate = false;
	bool is_inline = false;
	uint32_t length = 0;
	FragmentList data;
	std::vector<uint8_t> inline_data;
	RoceFault fault; /* malformed: to be reported when its turn comes */

	uint32_t immediate() const { return static_cast<uint32_t>(header.get(hw::sq::imm_data)); }
	uint64_t remote_address() const { return header.get(hw::sq::remote_addr); }
	/** Remote key, or the STag that the peer shall invalidate. */
	uint32_t remote_stag() const
	{
		return static_cast<uint32_t>(header.get(hw::sq::remote_stag));
	}

	bool is_read() const { return op == hw::SqOp::rdma_read || op == hw::SqOp::rdma_read_inv; }
	bool is_write() const
	{
		return op == hw::SqOp::rdma_write || op == hw::SqOp::rdma_write_solicited;
	}
	bool is_send() const { return op >= hw::SqOp::send && op <= hw::SqOp::send_solicited_inv; }
	/** Nothing goes over the wire for it. */
	bool is_local() const { return !is_read() && !is_write() && !is_send(); }
};

/** A receive request. */
struct ReceiveWork {
	uint32_t index = 0;
	FragmentList buffer;
};

/**
 * Takes the next send request of @p qp off its queue. If there is none, the host is told where the
 * device stopped, and, since the host may have posted just before it could see that, the queue is
 * looked at once more.
 */
std::optional<SendWork> next_send(Rdma &rdma, QueuePair &qp);

/** The next receive request, left in its queue until WorkQueue::advance() by rq_stride(). */
std::optional<ReceiveWork> next_receive(Rdma &rdma, const QueuePair &qp);

/** Copies payload of @p work, from @p offset. */
RoceFault copy_payload(const RoceMemory &memory, const QueuePair &qp, const SendWork &work,
		       uint64_t offset, std::span<uint8_t> out);

} // namespace e810
