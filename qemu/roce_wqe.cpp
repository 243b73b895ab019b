// SPDX-License-Identifier: GPL-2.0
/* Work requests; see roce_wqe.h. */
#include "roce_wqe.h"

#include <algorithm>
#include <atomic>

#include "device.h"
#include "irdma/hw/cqe.h"
#include "rdma.h"

namespace e810 {

namespace {

using hw::SqOp;

/* Which queue pairs may post what, and what the request does besides. */
struct Operation {
	SqOp op;
	bool on_ud;
	bool has_data;
	bool solicited;
	bool invalidate;
};
constexpr Operation operations[] = {
	{SqOp::rdma_write, false, true, false, false},
	{SqOp::rdma_write_solicited, false, true, true, false},
	{SqOp::rdma_read, false, true, false, false},
	{SqOp::rdma_read_inv, false, true, false, false},
	{SqOp::send, true, true, false, false},
	{SqOp::send_solicited, true, true, true, false},
	{SqOp::send_inv, false, true, false, true},
	{SqOp::send_solicited_inv, false, true, true, true},
	{SqOp::bind_mw, false, false, false, false},
	{SqOp::fast_register, false, false, false, false},
	{SqOp::local_invalidate, false, false, false, false},
	{SqOp::nop, true, false, false, false},
};

const Operation *find_operation(uint64_t opcode)
{
	for (const Operation &row : operations)
		if (static_cast<uint64_t>(row.op) == opcode)
			return &row;
	return nullptr;
}

/* Two words as a fragment. */
Fragment fragment_of(uint64_t address, uint64_t word)
{
	return {address, static_cast<uint32_t>(hw::fragment::stag.take(word)),
		static_cast<uint32_t>(hw::fragment::length.take(word))};
}

/* Fragments from the second quantum on, two a quantum. False: one could not be read. */
bool add_fragments(const Rdma &rdma, const WorkQueue &queue, uint64_t count, FragmentList &list)
{
	for (uint64_t i = 0; i < count; i += 2) {
		auto quantum = queue.quantum(rdma, static_cast<uint32_t>(1 + i / 2));

		if (!quantum)
			return false;
		list.add(fragment_of(quantum->qw[0].get(), quantum->qw[1].get()));
		if (i + 1 < count)
			list.add(fragment_of(quantum->qw[2].get(), quantum->qw[3].get()));
	}
	return true;
}

bool read_inline(const Rdma &rdma, const WorkQueue &queue, SendWork &work)
{
	size_t length = work.header.get(hw::sq::inline_length);
	auto take = [&](const hw::Quantum &quantum, size_t from, size_t most) {
		auto *bytes = reinterpret_cast<const uint8_t *>(&quantum) + from;
		size_t part = std::min(most, length - work.inline_data.size());

		work.inline_data.insert(work.inline_data.end(), bytes, bytes + part);
	};

	take(work.header, sizeof(uint64_t), hw::inline_first_bytes);
	for (uint32_t i = 1; work.inline_data.size() < length; i++) {
		auto quantum = queue.quantum(rdma, i);

		if (!quantum)
			return false;
		take(*quantum, 0, hw::inline_quantum_bytes);
	}
	work.length = static_cast<uint32_t>(length);
	return true;
}

RoceFault read_data(const Rdma &rdma, const WorkQueue &queue, SendWork &work)
{
	constexpr size_t most_inline =
		hw::inline_first_bytes + (hw::max_quanta_per_wqe - 1) * hw::inline_quantum_bytes;
	uint64_t more = work.header.get(hw::sq::more_fragments);

	if (work.is_inline) {
		if (work.is_read() || work.header.get(hw::sq::inline_length) > most_inline)
			return hw::AeCode::wqe_invalid_parameter;
		return read_inline(rdma, queue, work) ? std::nullopt
						      : RoceFault(hw::AeCode::lce_qp_catastrophic);
	}
	if (more >= FragmentList::most)
		return hw::AeCode::wqe_invalid_parameter;
	/* The immediate takes the place of fragment 0. */
	if (!work.has_immediate)
		work.data.add(fragment_of(work.header.qw[0].get(), work.header.qw[1].get()));
	if (!add_fragments(rdma, queue, more, work.data))
		return hw::AeCode::lce_qp_catastrophic;
	if (work.data.length > hw::max_message_bytes)
		return hw::AeCode::wqe_invalid_parameter;
	work.length = static_cast<uint32_t>(work.data.length);
	return std::nullopt;
}

SendWork decode(const Rdma &rdma, const QueuePair &qp, const hw::Quantum &header)
{
	const Operation *row = find_operation(header.get(hw::sq::opcode));
	bool ud = qp.type == hw::QpType::ud;
	SendWork work;

	work.header = header;
	work.index = qp.sq.index();
	work.signalled = header.get(hw::sq::signalled);
	work.read_fence = header.get(hw::sq::read_fence) && !ud;
	work.local_fence = header.get(hw::sq::local_fence) && !ud;
	if (!row || (ud && !row->on_ud)) {
		work.fault = hw::AeCode::wqe_unexpected_opcode;
		return work;
	}
	work.op = row->op;
	if (!row->has_data)
		return work;
	work.solicited = row->solicited;
	work.has_invalidate = row->invalidate;
	work.has_immediate = header.get(hw::sq::immediate) && !work.is_read() && !row->invalidate;
	work.is_inline = header.get(hw::sq::inline_data);
	work.fault = read_data(rdma, qp.sq, work);
	return work;
}

/* Tells the host at which quantum the device stopped. */
void publish_tail(Rdma &rdma, const QueuePair &qp)
{
	uint64_t tail = hw::qp_shadow::sq_tail.put(qp.sq.index());

	if (!rdma.dev.memory.write64(qp.shadow, tail))
		rdma.memory_error("QP shadow area");
	std::atomic_thread_fence(std::memory_order_seq_cst);
}

} // namespace

std::optional<SendWork> next_send(Rdma &rdma, QueuePair &qp)
{
	auto header = qp.sq.next(rdma);

	if (!header) {
		publish_tail(rdma, qp);
		header = qp.sq.next(rdma);
		if (!header)
			return std::nullopt;
	}
	SendWork work = decode(rdma, qp, *header);
	uint32_t quanta = send_wqe_quanta(*header);
	TraceEvent line = rdma.dev.trace.event("sq_wqe");
	line.u64("qp", qp.id).u64("index", work.index);
	line.str("op", hw::sq_op_name(static_cast<uint32_t>(header->get(hw::sq::opcode))));
	line.u64("quanta", quanta).u64("length", work.length).flag("signalled", work.signalled);
	qp.sq.advance(quanta);
	return work;
}

std::optional<ReceiveWork> next_receive(Rdma &rdma, const QueuePair &qp)
{
	auto header = qp.rq.next(rdma);
	ReceiveWork work;

	if (!header)
		return std::nullopt;
	/* No more than the stride of the queue holds. */
	uint64_t more =
		std::min<uint64_t>(header->get(hw::rq::more_fragments), 2 * (qp.rq_stride() - 1));
	work.index = qp.rq.index();
	work.buffer.add(fragment_of(header->qw[0].get(), header->qw[1].get()));
	if (!add_fragments(rdma, qp.rq, more, work.buffer))
		return std::nullopt;
	return work;
}

RoceFault copy_payload(const RoceMemory &memory, const QueuePair &qp, const SendWork &work,
		       uint64_t offset, std::span<uint8_t> out)
{
	if (!work.is_inline)
		return memory.gather(qp, work.data, offset, out);
	std::copy_n(work.inline_data.begin() + static_cast<ptrdiff_t>(offset), out.size(),
		    out.begin());
	return std::nullopt;
}

} // namespace e810
