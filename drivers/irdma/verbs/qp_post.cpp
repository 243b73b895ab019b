// SPDX-License-Identifier: GPL-2.0
/*
 * Data path of the kernel's QPs: posting requests, and making completions of
 * what the device writes. Nothing here sleeps or allocates.
 *
 * A request is checked and measured before anything is written, so a refused
 * one leaves no trace. A chain of requests costs one doorbell, and none if the
 * device is still at work on those before.
 */
#include "../device.h"
#include "../hw/limits.h"
#include "../hw/regs.h"
#include "ah.h"
#include "cq.h"
#include "mr.h"
#include "qp.h"

namespace irdma {

namespace {

constexpr u32 grh_bytes = 40; /* before the payload of each datagram */
constexpr u32 qpn_mask = 0xffffff;
constexpr u32 vlan_mask = 0xfff;
constexpr u32 vlan_priority_shift = 13;

/* BTH opcodes, low six bits, as cqe::op of a receive has them. */
constexpr u32 bth_write_last_with_imm = 0x09;
constexpr u32 bth_write_only_with_imm = 0x0b;

/** Immediate data: a big-endian word for consumers, a number for the device. */
constexpr u32 swap_immediate(u32 v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return v;
#else
	return __builtin_bswap32(v);
#endif
}

/** How the device is asked for a work request that moves data. */
struct DataOp {
	hw::SqOp op, solicited;
	bool immediate;
	bool datagram; /**< a UD QP can do it */
	bool may_inline;
	bool remote;	  /**< has a remote address and key: RDMA */
	bool invalidates; /**< a key is in the place of the immediate */
};

/* False for opcodes that are none. */
bool find_data_op(u32 opcode, DataOp &op)
{
	using Op = hw::SqOp;

	switch (opcode) {
	case SHIM_WR_SEND:
		op = {Op::send, Op::send_solicited, false, true, true, false, false};
		return true;
	case SHIM_WR_SEND_WITH_IMM:
		op = {Op::send, Op::send_solicited, true, true, true, false, false};
		return true;
	case SHIM_WR_SEND_WITH_INV:
		op = {Op::send_inv, Op::send_solicited_inv, false, false, true, false, true};
		return true;
	case SHIM_WR_RDMA_WRITE:
		op = {Op::rdma_write, Op::rdma_write_solicited, false, false, true, true, false};
		return true;
	case SHIM_WR_RDMA_WRITE_WITH_IMM:
		op = {Op::rdma_write, Op::rdma_write_solicited, true, false, true, true, false};
		return true;
	case SHIM_WR_RDMA_READ:
		op = {Op::rdma_read, Op::rdma_read, false, false, false, true, false};
		return true;
	case SHIM_WR_RDMA_READ_WITH_INV:
		op = {Op::rdma_read_inv, Op::rdma_read_inv, false, false, false, true, false};
		return true;
	default:
		return false;
	}
}

/** Completion status of a flush code. */
u32 status_of_flush(hw::FlushCode code)
{
	switch (code) {
	case hw::FlushCode::general:
		return SHIM_WC_WR_FLUSH_ERR;
	case hw::FlushCode::local_protection:
		return SHIM_WC_LOC_PROT_ERR;
	case hw::FlushCode::remote_access:
		return SHIM_WC_REM_ACCESS_ERR;
	case hw::FlushCode::local_qp_operation:
		return SHIM_WC_LOC_QP_OP_ERR;
	case hw::FlushCode::remote_operation:
		return SHIM_WC_REM_OP_ERR;
	case hw::FlushCode::local_length:
		return SHIM_WC_LOC_LEN_ERR;
	case hw::FlushCode::retry_exceeded:
		return SHIM_WC_RETRY_EXC_ERR;
	case hw::FlushCode::mw_bind:
		return SHIM_WC_MW_BIND_ERR;
	case hw::FlushCode::remote_invalid_request:
		return SHIM_WC_REM_INV_REQ_ERR;
	case hw::FlushCode::none:
	case hw::FlushCode::fatal:
		break;
	}
	return SHIM_WC_FATAL_ERR;
}

u32 wc_opcode(hw::SqOp op)
{
	switch (op) {
	case hw::SqOp::rdma_write:
	case hw::SqOp::rdma_write_solicited:
		return SHIM_WC_RDMA_WRITE;
	case hw::SqOp::rdma_read:
	case hw::SqOp::rdma_read_inv:
		return SHIM_WC_RDMA_READ;
	case hw::SqOp::fast_register:
		return SHIM_WC_REG_MR;
	case hw::SqOp::local_invalidate:
		return SHIM_WC_LOCAL_INV;
	default:
		return SHIM_WC_SEND;
	}
}

/** Sum of the fragments' lengths. */
u64 total_length(const shim_sge *sge, u32 count)
{
	u64 bytes = 0;

	for (u32 i = 0; i < count; i++)
		bytes += sge[i].length;
	return bytes;
}

bool is_flush(const hw::Cqe &cqe)
{
	return cqe.get(hw::cqe::error) && cqe.get(hw::cqe::major_error) == hw::flush_major;
}

/* Status of an entry that stands for one request, with no flush. */
void take_status(shim_wc &wc, const hw::Cqe &cqe)
{
	if (!cqe.get(hw::cqe::error))
		return;
	wc.status = SHIM_WC_GENERAL_ERR;
	wc.vendor_err = static_cast<u32>(cqe.get(hw::cqe::major_error) << 16 |
					 cqe.get(hw::cqe::minor_error));
}

void take_flush(shim_wc &wc, FlushedQueue &queue)
{
	auto code = exchange(queue.code, hw::FlushCode::general);
	u32 status = exchange(queue.status, u32{0});

	wc.status = status ? status : status_of_flush(code);
	wc.vendor_err = hw::flush_major << 16 | static_cast<u32>(code);
	wc.byte_len = 0;
}

void take_extended(shim_wc &wc, const hw::Cqe &extended)
{
	if (extended.get(hw::ext_cqe::imm_valid)) {
		wc.imm_or_rkey = swap_immediate(static_cast<u32>(extended.get(hw::ext_cqe::imm)));
		wc.wc_flags |= SHIM_WC_WITH_IMM;
	}
	if (extended.get(hw::ext_cqe::mac_valid)) {
		u64 mac = extended.get(hw::ext_cqe::src_mac);

		for (int i = 5; i >= 0; i--, mac >>= 8)
			wc.smac[i] = static_cast<u8>(mac);
		wc.wc_flags |= SHIM_WC_WITH_SMAC;
	}
	if (extended.get(hw::ext_cqe::vlan_valid)) {
		u32 tag = static_cast<u32>(extended.get(hw::ext_cqe::vlan));

		wc.sl = static_cast<u8>(tag >> vlan_priority_shift);
		if (tag & vlan_mask) {
			wc.vlan_id = static_cast<u16>(tag & vlan_mask);
			wc.wc_flags |= SHIM_WC_WITH_VLAN;
		}
	}
}

} // namespace

/* ---- Posting ---- */

u64 Qp::common_header(const shim_send_wr &wr) const
{
	bool signalled = params_.signal_all || wr.send_flags & SHIM_SEND_SIGNALED;

	return hw::sq::signalled.put(signalled) |
	       hw::sq::read_fence.put((wr.send_flags & SHIM_SEND_FENCE) != 0);
}

/* A request of one quantum, without fragments. */
Status Qp::put(const SendEntry &entry, u64 header, const u64 (&words)[3], bool flushed)
{
	if (flushed)
		return sq_.record(entry) ? Status() : Error::no_memory;

	auto place = sq_.begin(entry.quanta);
	if (!place.wqe)
		return Error::no_memory;
	for (u32 i = 0; i < 3; i++)
		place.wqe->qw[i].set(words[i]);
	sq_.finish(place, header | hw::sq::opcode.put(static_cast<u64>(entry.op)), entry);
	return {};
}

Status Qp::post_data(const shim_send_wr &wr, bool flushed)
{
	bool is_inline = wr.send_flags & SHIM_SEND_INLINE;
	u32 count = static_cast<u32>(wr.num_sge);
	u64 header = common_header(wr), word2 = 0, bytes;
	DataOp data;

	if (!find_data_op(wr.opcode, data) || (!connected() && !data.datagram) ||
	    (is_inline && !data.may_inline) || count > params_.max_send_sge)
		return Error::invalid;
	bytes = total_length(wr.sg_list, count);
	if (bytes > (is_inline ? params_.max_inline : hw::max_message_bytes))
		return Error::invalid;

	const SendEntry entry = {
		.wr_id = wr.wr_id,
		.length = static_cast<u32>(bytes),
		.op = wr.send_flags & SHIM_SEND_SOLICITED ? data.solicited : data.op,
		.quanta = static_cast<u8>(is_inline ? inline_quanta(static_cast<u32>(bytes))
						    : fragment_quanta(count + data.immediate)),
	};
	if (flushed)
		return put(entry, 0, {}, true);

	if (data.remote) {
		const auto &rdma = reinterpret_cast<const shim_rdma_wr &>(wr);

		word2 = rdma.remote_addr;
		header |= hw::sq::remote_stag.put(rdma.rkey);
	} else if (data.invalidates) {
		header |= hw::sq::remote_stag.put(wr.imm_or_rkey);
	} else if (!connected()) {
		const auto &ud = reinterpret_cast<const shim_ud_wr &>(wr);

		word2 = hw::sq::ud_qkey.put(ud.remote_qkey) | hw::sq::ud_dest_qp.put(ud.remote_qpn);
		header |= hw::sq::ud_ah.put(from_c(shim_ah_of(ud.ah))->number());
	}

	auto place = sq_.begin(entry.quanta);
	if (!place.wqe)
		return Error::no_memory;
	place.wqe->qw[2].set(word2);
	if (data.immediate) {
		place.wqe->qw[0].set(hw::sq::imm_data.put(swap_immediate(wr.imm_or_rkey)));
		header |= hw::sq::immediate.put(1);
	}
	if (is_inline) {
		write_inline(place.wqe, wr.sg_list, count, place.valid);
		header |= hw::sq::inline_data.put(1) | hw::sq::inline_length.put(bytes);
	} else {
		header |= hw::sq::more_fragments.put(
			write_fragments(place.wqe, wr.sg_list, count, data.immediate, place.valid));
	}
	sq_.finish(place, header | hw::sq::opcode.put(static_cast<u64>(entry.op)), entry);
	return {};
}

/*
 * Make an MR valid for the pages that ib_map_mr_sg() has left in it, at the address that the consumer
 * wants by now: another page, perhaps, but the same place in it.
 */
Status Qp::post_fast_register(const shim_reg_wr &wr, bool flushed)
{
	u64 va;
	const Mr &mr = *from_c(shim_mr_of(wr.mr, &va));
	const FastPages *mapped = mr.fast_pages();

	if (!connected() || !mapped || !mapped->count || wr.key >> 8 != mr.stag() >> 8)
		return Error::invalid;

	const FastPages &pages = *mapped;
	if ((va ^ pages.va) & (bytes_of(pages.page_size) - 1))
		return Error::invalid;
	bool listed = pages.count > 1;
	auto level = listed ? hw::PblLevel::one : hw::PblLevel::contiguous;
	u32 first_pble = listed ? pages.list.first() : 0;

	using namespace hw::sq_fastreg;
	return put({.wr_id = wr.wr.wr_id, .length = 0, .op = hw::SqOp::fast_register, .quanta = 1},
		   common_header(wr.wr) | hw::sq::local_fence.put(1) | key.put(wr.key) |
			   index.put(wr.key >> 8) | pbl_level.put(static_cast<u64>(level)) |
			   page_size.put(static_cast<u64>(pages.page_size)) |
			   hw::sq_fastreg::access.put(stag_access(static_cast<u32>(wr.access))) |
			   va_based.put(1),
		   {va,
		    first_pble_hi.put(first_pble >> 16) |
			    page.put(listed ? 0 : pages.first_page() >> hw::page_shift),
		    length.put(pages.length) | first_pble_lo.put(first_pble)},
		   flushed);
}

Status Qp::post_invalidate(const shim_send_wr &wr, bool flushed)
{
	if (!connected())
		return Error::invalid;
	return put({.wr_id = wr.wr_id, .length = 0, .op = hw::SqOp::local_invalidate, .quanta = 1},
		   common_header(wr) |
			   hw::sq::local_fence.put((wr.send_flags & SHIM_SEND_FENCE) != 0),
		   {0, hw::sq_inval::stag.put(wr.imm_or_rkey), 0}, flushed);
}

Status Qp::post_request(const shim_send_wr &wr, bool flushed)
{
	switch (wr.opcode) {
	case SHIM_WR_REG_MR:
		return post_fast_register(reinterpret_cast<const shim_reg_wr &>(wr), flushed);
	case SHIM_WR_LOCAL_INV:
		return post_invalidate(wr, flushed);
	default:
		return post_data(wr, flushed);
	}
}

/*
 * In ERROR requests are only remembered, to be completed as flushed. In SQD the device looks at
 * them when it gets its doorbell, on the way back to RTS.
 */
int Qp::post_send(const shim_send_wr *wr, const shim_send_wr **bad)
{
	SpinGuard guard(sq_lock_);
	u32 state = post_state_.load();
	bool flushed = state == SHIM_QPS_ERR;
	Status status;

	if (user_ || state < SHIM_QPS_RTS)
		status = Error::invalid;
	while (wr && status.ok()) {
		status = post_request(*wr, flushed);
		if (status.ok())
			wr = wr->next;
	}
	if (state == SHIM_QPS_RTS && !user_ && sq_.needs_doorbell())
		ring_doorbell();
	guard.unlock();

	if (flushed) {
		wake_cqs_.store(1);
		work_.queue(device_.shim);
	}
	if (!status.ok())
		*bad = wr;
	return status.code();
}

int Qp::post_recv(const shim_recv_wr *wr, const shim_recv_wr **bad)
{
	SpinGuard guard(rq_lock_);
	u32 state = post_state_.load();
	Status status;

	if (user_ || state == SHIM_QPS_RESET)
		status = Error::invalid;
	while (wr && status.ok()) {
		u32 count = static_cast<u32>(wr->num_sge);

		if (count > params_.max_recv_sge)
			status = Error::invalid;
		else if (!rq_.post(wr->wr_id, wr->sg_list, count))
			status = Error::no_memory;
		else
			wr = wr->next;
	}
	guard.unlock();

	if (state == SHIM_QPS_ERR) {
		wake_cqs_.store(1);
		work_.queue(device_.shim);
	}
	if (!status.ok())
		*bad = wr;
	return status.code();
}

/* ---- Completing ---- */

void Qp::fill(shim_wc &wc, const SendEntry &entry) const
{
	wc = {};
	wc.wr_id = entry.wr_id;
	wc.opcode = wc_opcode(entry.op);
	wc.byte_len = entry.length;
	wc.qp = params_.ib;
	wc.port_num = 1;
}

void Qp::fill(shim_wc &wc, const ReceiveEntry &entry) const
{
	wc = {};
	wc.wr_id = entry.wr_id;
	wc.opcode = SHIM_WC_RECV;
	wc.qp = params_.ib;
	wc.port_num = 1;
}

bool Qp::complete_send(const hw::Cqe &cqe, shim_wc &wc)
{
	SendEntry entry;

	if (is_flush(cqe)) {
		if (!sq_.take_oldest(entry))
			return false;
		fill(wc, entry);
		take_flush(wc, flushed_sq_);
		return true;
	}
	if (!sq_.complete(static_cast<u32>(cqe.get(hw::cqe::wqe_index)), entry))
		return false;
	fill(wc, entry);
	take_status(wc, cqe);
	return true;
}

bool Qp::complete_receive(const hw::Cqe &cqe, const hw::Cqe *extended, shim_wc &wc)
{
	u32 op = static_cast<u32>(cqe.get(hw::cqe::op));
	bool rdma = op == bth_write_last_with_imm || op == bth_write_only_with_imm;
	u32 index = static_cast<u32>(cqe.get(hw::cqe::wqe_index));
	ReceiveEntry entry;

	/* Receives end in order; with an error the index says nothing, as the stock driver has it. */
	if (!(cqe.get(hw::cqe::error) ? rq_.take_oldest(entry) : rq_.complete(index, entry)))
		return false;
	fill(wc, entry);
	if (is_flush(cqe)) {
		take_flush(wc, flushed_rq_);
		return true;
	}
	take_status(wc, cqe);
	wc.byte_len = static_cast<u32>(cqe.get(hw::cqe::length));
	if (extended)
		take_extended(wc, *extended);
	if (connected()) {
		if (rdma)
			wc.opcode = SHIM_WC_RECV_RDMA_WITH_IMM;
		if (cqe.get(hw::cqe::stag_or_ipv4)) {
			wc.imm_or_rkey = static_cast<u32>(cqe.get(hw::cqe::inv_stag));
			wc.wc_flags |= SHIM_WC_WITH_INVALIDATE;
		}
	} else {
		wc.src_qp = static_cast<u32>(cqe.get(hw::cqe::src_qp)) & qpn_mask;
		wc.wc_flags |= SHIM_WC_GRH | SHIM_WC_WITH_NETWORK_HDR_TYPE;
		wc.network_hdr_type =
			cqe.get(hw::cqe::stag_or_ipv4) ? SHIM_NETWORK_IPV4 : SHIM_NETWORK_IPV6;
	}
	/* Data of an RDMA WRITE does not go to the buffer. */
	bool rdma_data = connected() && rdma;
	bool too_long = !rdma_data && wc.byte_len > entry.length;
	bool too_short = !connected() && wc.byte_len < grh_bytes;

	if (wc.status == SHIM_WC_SUCCESS && (too_long || too_short)) {
		wc.status = SHIM_WC_LOC_LEN_ERR;
		wc.byte_len = 0;
	}
	return true;
}

bool Qp::complete(const Cq &cq, const hw::Cqe &cqe, const hw::Cqe *extended, shim_wc &wc)
{
	bool of_sq = cqe.get(hw::cqe::is_sq);

	if (user_ || &cq != (of_sq ? &send_cq_ : &recv_cq_))
		return false;
	return of_sq ? complete_send(cqe, wc) : complete_receive(cqe, extended, wc);
}

bool Qp::take_flushed(bool sq, shim_wc &wc)
{
	SendEntry send;
	ReceiveEntry receive;

	if (sq) {
		if (!sq_.take_oldest(send))
			return false;
		fill(wc, send);
		take_flush(wc, flushed_sq_);
		return true;
	}
	if (!rq_.take_oldest(receive))
		return false;
	fill(wc, receive);
	take_flush(wc, flushed_rq_);
	return true;
}

} // namespace irdma

extern "C" {

int irdma_post_send(irdma_qp *qp, const shim_send_wr *wr, const shim_send_wr **bad)
{
	return irdma::from_c(qp)->post_send(wr, bad);
}

int irdma_post_recv(irdma_qp *qp, const shim_recv_wr *wr, const shim_recv_wr **bad)
{
	return irdma::from_c(qp)->post_recv(wr, bad);
}

} /* extern "C" */
