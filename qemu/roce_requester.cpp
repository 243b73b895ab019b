// SPDX-License-Identifier: GPL-2.0
/* The requester of a reliable connection; see roce_rc.h. */
#include <algorithm>
#include <bit>

#include "device.h"
#include "rdma.h"
#include "roce_rc.h"

namespace e810 {

namespace {

/* Contexts have no timeout that the device would have to use. */
constexpr int64_t retransmit_after = 500'000'000;

/* Packets in flight, and how often one of them asks for an acknowledgement. */
constexpr uint32_t most_in_flight = 64;
constexpr uint32_t ack_every = 8;

/* Requests taken from the send queue at a time. */
constexpr size_t most_works = 128;

/* More PSNs may not wait for an answer: duplicates would look like news. */
constexpr uint32_t most_psns = 1 << 23;

constexpr uint64_t retry_for_ever = 7;

/* What a NAK means for the request that it refuses. */
struct Refusal {
	uint8_t syndrome;
	hw::AeCode code;
};
constexpr Refusal refusals[] = {
	{syndrome::nak_invalid_request, hw::AeCode::ib_invalid_request},
	{syndrome::nak_remote_access, hw::AeCode::ib_remote_access_error},
	{syndrome::nak_remote_operation, hw::AeCode::ib_remote_op_error},
};

RocePlace place_of(uint32_t packet, uint32_t packets)
{
	if (packets == 1)
		return RocePlace::only;
	if (!packet)
		return RocePlace::first;
	return packet + 1 == packets ? RocePlace::last : RocePlace::middle;
}

/* Extended headers of packet @p place of a SEND or WRITE. */
uint8_t headers_of(const SendWork &request, const RocePlace place)
{
	bool starts = place == RocePlace::first || place == RocePlace::only;
	bool ends = place == RocePlace::last || place == RocePlace::only;
	uint8_t headers = 0;

	if (starts && request.is_write())
		headers |= roce_header::reth;
	if (ends && request.has_immediate)
		headers |= roce_header::immediate;
	if (ends && request.has_invalidate)
		headers |= roce_header::ieth;
	return headers;
}

const hw::Field &message_counter(const SendWork &request)
{
	if (request.is_read())
		return counter::rdma_tx_reads;
	return request.is_write() ? counter::rdma_tx_writes : counter::rdma_tx_sends;
}

} // namespace

uint32_t roce_mtu(const QueuePair &qp)
{
	constexpr uint32_t least = 256, most = 4096;
	auto mtu = static_cast<uint32_t>(qp.get(hw::qpc::path_mtu));

	return std::bit_floor(std::clamp(mtu, least, most));
}

Requester::Requester(Roce &roce, QueuePair &qp)
	: roce_(roce), qp_(qp), timer_(roce.rdma.dev, callback<&Requester::expired>, this)
{
}

void Requester::start(uint32_t psn)
{
	state_ = State::sending;
	mtu_ = roce_mtu(qp_);
	next_psn_ = una_ = sent_end_ = psn;
	window_ = most_in_flight;
	progress();
}

void Requester::stop()
{
	state_ = State::stopped;
	timer_.cancel();
	timer_armed_ = false;
}

std::optional<SendWork> Requester::abandon()
{
	std::optional<SendWork> oldest;

	if (!works_.empty())
		oldest = std::move(works_.front().request);
	works_.clear();
	cursor_ = 0;
	return oldest;
}

bool Requester::reads_outstanding() const
{
	return std::any_of(works_.begin(), works_.begin() + static_cast<ptrdiff_t>(cursor_),
			   [](const Work &w) { return w.request.is_read(); });
}

/* Packets that wait for an answer. A READ counts as one. */
uint32_t Requester::in_flight() const
{
	uint32_t count = 0;

	for (size_t i = 0; i <= cursor_ && i < works_.size(); i++)
		count += works_[i].request.is_read() ? works_[i].sent
						     : works_[i].sent - works_[i].acked;
	return count;
}

/* Order and limits that keep @p work, the one at the cursor, from going on now. */
bool Requester::must_wait(const Work &work) const
{
	const SendWork &request = work.request;
	bool fenced = request.op == hw::SqOp::local_invalidate ||
		      (request.local_fence && request.op != hw::SqOp::fast_register);

	if (!work.sent && !work.acked &&
	    ((fenced && cursor_) || (request.read_fence && reads_outstanding())))
		return true;
	if (request.is_local())
		return false;
	if (cursor_ && psn_distance(una_, work.psn) + work.packets > most_psns)
		return true;
	if (request.is_read()) {
		uint64_t reads = 0;
		uint32_t asked_for = 0;

		for (size_t i = 0; i < cursor_; i++) {
			if (!works_[i].request.is_read())
				continue;
			reads++;
			asked_for += works_[i].packets - works_[i].acked;
		}
		/* All of it would come again for one that gets lost. */
		return reads >= std::max<uint64_t>(qp_.get(hw::qpc::ord), 1) ||
		       asked_for >= most_in_flight;
	}
	return in_flight() >= window_;
}

bool Requester::take_next()
{
	if (works_.size() >= most_works || qp_.state != hw::QpState::rts || qp_.suspended)
		return false;
	std::optional<SendWork> request = next_send(roce_.rdma, qp_);
	if (!request)
		return false;

	Work work;
	work.psn = next_psn_;
	work.packets = request->is_local() ? 0 : roce_packets(request->length, mtu_);
	work.request = std::move(*request);
	next_psn_ = (next_psn_ + work.packets) & psn_mask;
	works_.push_back(std::move(work));
	return true;
}

bool Requester::step()
{
	if (state_ != State::sending || qp_.suspended)
		return false;
	while (cursor_ < works_.size() && works_[cursor_].done)
		cursor_++;
	if (cursor_ == works_.size() && !take_next())
		return false;

	Work &work = works_[cursor_];
	if (must_wait(work))
		return false;
	/* What is wrong with a request is told when all before it is complete. */
	if (work.request.fault) {
		if (!cursor_)
			fail(*work.request.fault, work);
		return false;
	}
	if (work.request.is_local())
		run_local(work);
	else if (work.request.is_read())
		send_read(work);
	else
		send_packet(work);
	return state_ == State::sending;
}

void Requester::run_local(Work &work)
{
	const SendWork &request = work.request;
	RoceFault fault;

	if (request.op == hw::SqOp::fast_register)
		fault = roce_.memory.fast_register(qp_, request.header);
	else if (request.op == hw::SqOp::bind_mw)
		fault = roce_.memory.bind(qp_, request.header);
	else if (request.op == hw::SqOp::local_invalidate)
		fault = roce_.memory.invalidate(
			qp_, static_cast<uint32_t>(request.header.get(hw::sq_inval::stag)), false);
	if (fault) {
		work.request.fault = fault;
		if (!cursor_)
			fail(*fault, work);
		return;
	}
	work.done = true;
	cursor_++;
	complete_done();
}

void Requester::send_packet(Work &work)
{
	const SendWork &request = work.request;
	uint32_t offset = work.sent * mtu_;
	uint32_t size = std::min(mtu_, request.length - offset);
	RocePlace place = place_of(work.sent, work.packets);
	bool ends = place == RocePlace::last || place == RocePlace::only;
	std::optional<RocePath> path = roce_.path_of(qp_);
	RoceFields fields;

	fields.opcode = roce_opcode(request.is_write() ? RoceMessage::write : RoceMessage::send,
				    place, headers_of(request, place));
	fields.solicited = ends && request.solicited;
	fields.ack_request = ends || work.sent % ack_every == ack_every - 1;
	fields.pkey = qp_.pkey();
	fields.dest_qp = static_cast<uint32_t>(qp_.get(hw::qpc::dest_qp));
	fields.psn = (work.psn + work.sent) & psn_mask;
	fields.address = request.remote_address();
	fields.key = request.remote_stag();
	fields.length = request.length;
	fields.immediate = request.immediate();
	fields.invalidate = request.remote_stag();
	if (path) {
		RoceFrame frame(*path, fields, size);
		RoceFault fault = copy_payload(roce_.memory, qp_, request, offset, frame.payload());

		if (fault) {
			work.request.fault = fault;
			if (!cursor_)
				fail(*fault, work);
			return;
		}
		roce_.send(qp_, *path, std::move(frame));
	}
	if (!work.sent++ && fields.psn == sent_end_)
		roce_.rdma.stats.count(qp_.context, message_counter(request));
	if (work.sent == work.packets)
		cursor_++;
	sent_up_to(fields.psn + 1);
}

/* Asks for all of a READ that has not come yet. */
void Requester::send_read(Work &work)
{
	const SendWork &request = work.request;
	uint32_t offset = work.acked * mtu_;
	std::optional<RocePath> path = roce_.path_of(qp_);
	RoceFields fields;

	fields.opcode = bth_op::rc_read_request;
	fields.ack_request = true;
	fields.pkey = qp_.pkey();
	fields.dest_qp = static_cast<uint32_t>(qp_.get(hw::qpc::dest_qp));
	fields.psn = (work.psn + work.acked) & psn_mask;
	fields.address = request.remote_address() + offset;
	fields.key = request.remote_stag();
	fields.length = request.length - offset;
	if (path)
		roce_.send(qp_, *path, RoceFrame(*path, fields, 0));
	if (work.psn == sent_end_)
		roce_.rdma.stats.count(qp_.context, message_counter(request));
	work.sent = 1;
	cursor_++;
	sent_up_to(work.psn + work.packets);
}

/* @p end: behind the PSNs of what was just sent. */
void Requester::sent_up_to(uint32_t end)
{
	if (psn_distance(una_, end) > psn_distance(una_, sent_end_))
		sent_end_ = end & psn_mask;
	else
		roce_.rdma.stats.count(qp_.context, counter::retransmitted);
	if (!timer_armed_)
		timer_.arm_in(retransmit_after);
	timer_armed_ = true;
}

void Requester::answer(const RocePacket &packet)
{
	uint32_t ahead = psn_distance(una_, packet.fields.psn);
	uint8_t code = packet.fields.syndrome;

	/* The peer is at work, maybe still on what it was asked for twice: that takes its time. */
	if (state_ == State::sending && timer_armed_)
		timer_.arm_in(retransmit_after);
	/* Not about anything that is outstanding: a duplicate, or out of the blue. */
	if (state_ == State::stopped || ahead >= psn_distance(una_, sent_end_))
		return;
	if (packet.op->message == RoceMessage::read_response)
		return read_response(packet);

	bool good = syndrome::is_ack(code);
	/* A NAK acknowledges what is before it. */
	bool lost = acknowledge(packet.fields.psn + good);
	if (lost) {
		/* READ responses before it are missing. */
		if (!went_back_)
			retry();
	} else if (!good && packet.fields.psn == una_ && !works_.empty()) {
		refused(code);
	}
	roce_.kick(qp_);
}

/* All before @p end has arrived. Returns whether responses to a READ before it are missing. */
bool Requester::acknowledge(uint32_t end)
{
	uint32_t packets = psn_distance(una_, end);
	bool moved = false;

	while (packets && !works_.empty()) {
		Work &work = works_.front();
		if (work.request.is_read() || !work.packets)
			break;
		uint32_t part = std::min(packets, work.packets - work.acked);

		work.acked += part;
		work.sent = std::max(work.sent, work.acked);
		una_ = (una_ + part) & psn_mask;
		packets -= part;
		moved = true;
		window_ = std::min(window_ + part, most_in_flight);
		if (work.acked < work.packets)
			break;
		complete_front();
		complete_done();
	}
	if (moved)
		progress();
	return packets;
}

void Requester::read_response(const RocePacket &packet)
{
	if (acknowledge(packet.fields.psn)) {
		if (!went_back_)
			retry();
		return roce_.kick(qp_);
	}
	if (works_.empty() || !works_.front().request.is_read())
		return;

	Work &work = works_.front();
	uint32_t offset = work.acked * mtu_;
	uint32_t size = std::min(mtu_, work.request.length - offset);
	if (packet.payload.size() != size || packet.op->ends() != (work.acked + 1 == work.packets))
		return fail(hw::AeCode::roce_rsp_length_error, work);
	if (RoceFault fault = roce_.memory.scatter(qp_, work.request.data, offset, packet.payload))
		return fail(*fault, work);
	una_ = (una_ + 1) & psn_mask;
	if (++work.acked == work.packets) {
		if (work.request.op == hw::SqOp::rdma_read_inv)
			if (RoceFault fault = roce_.memory.invalidate(
				    qp_, work.request.data.fragments[0].stag, false))
				return fail(*fault, work);
		complete_front();
		complete_done();
	}
	progress();
	roce_.kick(qp_);
}

void Requester::refused(uint8_t code)
{
	if (syndrome::is_rnr(code)) {
		if (!rnr_left_)
			return fail(hw::AeCode::llp_too_many_rnrs, works_.front());
		if (qp_.get(hw::qpc::rnr_retry) != retry_for_ever)
			rnr_left_--;
		go_back();
		state_ = State::waiting;
		timer_.arm_in(rnr_timer_ns(code));
		timer_armed_ = true;
		return;
	}
	if (code == syndrome::nak_sequence)
		return retry();
	for (const Refusal &row : refusals)
		if (row.syndrome == code)
			return fail(row.code, works_.front());
}

/* Something has been answered: all retries again, and time for the rest. */
void Requester::progress()
{
	retries_left_ = qp_.get(hw::qpc::retry_count);
	rnr_left_ = qp_.get(hw::qpc::rnr_retry);
	went_back_ = false;
	if (state_ == State::waiting)
		return;
	timer_armed_ = una_ != sent_end_;
	if (timer_armed_)
		timer_.arm_in(retransmit_after);
	else
		timer_.cancel();
}

void Requester::complete_front()
{
	roce_.complete(qp_, works_.front().request);
	works_.pop_front();
	if (cursor_)
		cursor_--;
}

/* Local requests complete when all before them is. */
void Requester::complete_done()
{
	while (!works_.empty() && works_.front().done)
		complete_front();
	if (works_.empty())
		roce_.rdma.qps.send_queue_idle(qp_);
}

void Requester::go_back()
{
	went_back_ = true;
	for (size_t i = 0; i <= cursor_ && i < works_.size(); i++)
		works_[i].sent = works_[i].request.is_read() ? 0 : works_[i].acked;
	cursor_ = 0;
}

void Requester::retry()
{
	if (works_.empty())
		return;
	if (!retries_left_)
		return fail(hw::AeCode::llp_too_many_retries, works_.front());
	retries_left_--;
	go_back();
	timer_.arm_in(retransmit_after);
	timer_armed_ = true;
}

void Requester::expired()
{
	timer_armed_ = false;
	if (state_ == State::waiting) {
		state_ = State::sending;
	} else if (state_ == State::sending && una_ != sent_end_) {
		/* What may not be sent again is no retry. */
		if (qp_.suspended) {
			timer_.arm_in(retransmit_after);
			timer_armed_ = true;
		} else {
			retry();
		}
	}
	roce_.kick(qp_);
}

void Requester::slow_down()
{
	window_ = std::max(window_ / 2, 1u);
}

void Requester::fail(hw::AeCode code, const Work &work)
{
	roce_.fail(qp_, code, hw::AeSource::sq, work.request.index);
}

} // namespace e810
