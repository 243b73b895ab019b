// SPDX-License-Identifier: GPL-2.0
/* The responder of a reliable connection; see roce_rc.h. */
#include <algorithm>

#include "device.h"
#include "rdma.h"
#include "roce_rc.h"

namespace e810 {

namespace {

/* Contexts have no timer for RNR NAKs: 1.28 ms. */
constexpr uint8_t rnr_timer_code = 14;

/* PSNs at least this far ahead are behind: duplicates. */
constexpr uint32_t half_of_psns = 1 << 23;

/* Answers in the line; more are not needed, as ACKs fall together. */
constexpr size_t most_answers = 2 * hw::max_ird + 2;

constexpr Fragment part_of(const Fragment &whole, uint32_t offset, uint32_t length)
{
	return {whole.address + offset, whole.stag, length};
}

} // namespace

void Responder::start(uint32_t expected_psn)
{
	state_ = State::ready;
	mtu_ = roce_mtu(qp_);
	expected_ = expected_psn;
}

void Responder::stop()
{
	state_ = State::stopped;
	message_.reset();
	receive_.reset();
	/* What is acknowledged is executed: a peer must not wait for that in vain. */
	std::erase_if(answers_, [](const Answer &a) { return a.read; });
	while (!answers_.empty())
		step();
}

/* Those asked for once more are not the peer's to wait for, perhaps: it may have the first answer. */
size_t Responder::reads_waiting() const
{
	return static_cast<size_t>(
		std::count_if(answers_.begin(), answers_.end(),
			      [](const Answer &a) { return a.read && !a.again; }));
}

void Responder::request(const RocePacket &packet)
{
	uint32_t ahead = psn_distance(expected_, packet.fields.psn);

	if (state_ == State::stopped)
		return;
	if (ahead >= half_of_psns)
		return duplicate(packet);
	if (ahead) {
		/* Once for a gap, and not for what follows a refused packet. */
		if (state_ == State::ready) {
			state_ = State::gap;
			answer(syndrome::nak_sequence, expected_);
		}
		return;
	}
	state_ = State::ready;
	Outcome outcome = well_placed(packet) ? execute(packet)
					      : Outcome{syndrome::nak_invalid_request,
							hw::AeCode::ib_invalid_request};
	if (!outcome.good())
		return refuse(outcome);
	expected_ = (expected_ + (packet.op->message == RoceMessage::read_request
					  ? roce_packets(packet.fields.length, mtu_)
					  : 1)) &
		    psn_mask;
	if (packet.op->message != RoceMessage::read_request &&
	    (packet.op->ends() || packet.fields.ack_request))
		answer(syndrome::ack, packet.fields.psn);
}

/* Does it continue the message that was begun, with as much payload as its place wants? */
bool Responder::well_placed(const RocePacket &packet) const
{
	const RoceOpcode &op = *packet.op;
	size_t size = packet.payload.size();

	if (op.starts() ? message_.has_value() : message_ != op.message)
		return false;
	if (op.place == RocePlace::only)
		return size <= mtu_;
	return op.ends() ? size && size <= mtu_ : size == mtu_;
}

Responder::Outcome Responder::execute(const RocePacket &packet)
{
	switch (packet.op->message) {
	case RoceMessage::send:
		return send(packet);
	case RoceMessage::write:
		return write(packet);
	case RoceMessage::read_request:
		return read(packet);
	default:
		return {syndrome::nak_invalid_request, hw::AeCode::ib_invalid_request};
	}
}

/* A receive request for the message, unless it has one. */
bool Responder::take_receive()
{
	if (!receive_)
		receive_ = next_receive(roce_.rdma, qp_);
	return receive_.has_value();
}

Responder::Outcome Responder::send(const RocePacket &packet)
{
	auto size = static_cast<uint32_t>(packet.payload.size());

	if (packet.op->starts())
		received_ = 0;
	if (!take_receive())
		return {syndrome::rnr | rnr_timer_code, {}};
	if (received_ + uint64_t{size} > receive_->buffer.length)
		return {syndrome::nak_invalid_request,
			hw::AeCode::ddp_ube_ddp_message_too_long_for_available_buffer,
			hw::AeSource::rq};
	if (RoceFault fault =
		    roce_.memory.scatter(qp_, receive_->buffer, received_, packet.payload))
		return {syndrome::nak_remote_operation, fault, hw::AeSource::rq};
	if (packet.op->has(roce_header::ieth))
		if (RoceFault fault = roce_.memory.invalidate(qp_, packet.fields.invalidate, true))
			return {syndrome::nak_remote_access, fault, hw::AeSource::rq};
	received_ += size;
	message_ = RoceMessage::send;
	if (packet.op->ends()) {
		roce_.rdma.stats.count(qp_.context, counter::rdma_rx_sends);
		complete(packet, received_);
	}
	return {};
}

Responder::Outcome Responder::write(const RocePacket &packet)
{
	auto size = static_cast<uint32_t>(packet.payload.size());
	bool ends = packet.op->ends();

	if (packet.op->starts()) {
		target_ = {packet.fields.address, packet.fields.key, packet.fields.length};
		received_ = 0;
		if (!qp_.get(hw::qpc::wr_rdresp_ok))
			return {syndrome::nak_remote_access, hw::AeCode::amp_rights_violation};
		if (target_.length > hw::max_message_bytes)
			return {syndrome::nak_invalid_request, hw::AeCode::ib_invalid_request};
		if (target_.length)
			if (RoceFault fault = roce_.memory.check_remote(qp_, target_,
									hw::access::remote_write))
				return {syndrome::nak_remote_access, fault};
	}
	if (size > target_.length - received_ || (ends && size != target_.length - received_))
		return {syndrome::nak_invalid_request, hw::AeCode::ib_invalid_request};
	if (packet.op->has(roce_header::immediate) && !take_receive())
		return {syndrome::rnr | rnr_timer_code, {}};
	if (RoceFault fault = roce_.memory.write_remote(qp_, part_of(target_, received_, size),
							packet.payload))
		return {syndrome::nak_remote_access, fault};
	received_ += size;
	message_ = RoceMessage::write;
	if (ends) {
		roce_.rdma.stats.count(qp_.context, counter::rdma_rx_writes);
		complete(packet, received_);
	}
	return {};
}

/* The message is whole: a completion if it has used a receive request. */
void Responder::complete(const RocePacket &packet, uint32_t length)
{
	message_.reset();
	msn_ = (msn_ + 1) & psn_mask;
	if (!receive_)
		return;
	Roce::Received message{packet, receive_->index, length, false};
	receive_.reset();
	qp_.rq.advance(qp_.rq_stride());
	roce_.complete(qp_, message);
}

Responder::Outcome Responder::read(const RocePacket &packet)
{
	const RoceFields &f = packet.fields;
	Answer response{.read = true, .psn = f.psn, .source = {f.address, f.key, f.length}};

	if (!qp_.get(hw::qpc::rd_ok))
		return {syndrome::nak_remote_access, hw::AeCode::amp_rights_violation};
	if (f.length > hw::max_message_bytes)
		return {syndrome::nak_invalid_request, hw::AeCode::roe_invalid_rdma_read_request};
	if (reads_waiting() >=
	    std::max(hw::ird_decode(static_cast<uint32_t>(qp_.get(hw::qpc::ird_code))), 1u))
		return {syndrome::nak_invalid_request, hw::AeCode::ib_rreq_and_q1_full};
	if (f.length)
		if (RoceFault fault = roce_.memory.check_remote(qp_, response.source,
								hw::access::remote_read))
			return {syndrome::nak_remote_access, fault};
	msn_ = (msn_ + 1) & psn_mask;
	response.msn = msn_;
	answers_.push_back(response);
	roce_.rdma.stats.count(qp_.context, counter::rdma_rx_reads);
	roce_.kick(qp_);
	return {};
}

/*
 * It has been executed. A READ is answered again, and instead of answers to what followed, since the
 * peer sends that again as well; anything else only needs its acknowledgement.
 */
void Responder::duplicate(const RocePacket &packet)
{
	const RoceFields &f = packet.fields;

	if (packet.op->message != RoceMessage::read_request) {
		if (packet.op->ends() || f.ack_request)
			answer(syndrome::ack, expected_ - 1);
		return;
	}
	uint32_t behind = psn_distance(f.psn, expected_);
	uint32_t packets = roce_packets(f.length, mtu_);
	if (f.length > hw::max_message_bytes || packets > behind)
		return;
	bool again = true;
	std::erase_if(answers_, [&](const Answer &a) {
		uint32_t ahead = psn_distance(f.psn, a.psn + (a.read ? a.sent : 0));

		/* Of its own PSNs; those behind it are others'. */
		if (a.read && ahead < packets)
			again &= a.again;
		return ahead < behind;
	});
	if (answers_.size() >= most_answers)
		return;
	answers_.push_back({.read = true,
			    .again = again,
			    .psn = f.psn,
			    .msn = msn_,
			    .source = {f.address, f.key, f.length}});
	roce_.kick(qp_);
}

void Responder::answer(uint8_t code, uint32_t psn)
{
	Answer next{.psn = psn & psn_mask, .syndrome = code, .msn = msn_};

	if (!answers_.empty() && !answers_.back().read && answers_.back().syndrome == syndrome::ack)
		answers_.back() = next;
	else if (answers_.size() < most_answers)
		answers_.push_back(next);
	roce_.kick(qp_);
}

void Responder::refuse(const Outcome &outcome)
{
	answer(outcome.syndrome, expected_);
	if (syndrome::is_rnr(outcome.syndrome)) {
		state_ = State::not_ready;
		return;
	}
	roce_.fail(qp_, *outcome.fault, outcome.source,
		   outcome.source == hw::AeSource::rq ? qp_.rq.index() : 0);
}

void Responder::step()
{
	std::optional<RocePath> path = roce_.path_of(qp_);

	if (answers_.empty())
		return;
	if (!path)
		return answers_.clear();
	if (!answers_.front().read)
		send_ack(answers_.front(), *path);
	else if (!send_read(answers_.front(), *path))
		return;
	answers_.pop_front();
}

void Responder::send_ack(const Answer &answer, const RocePath &path)
{
	RoceFields fields;

	fields.opcode = bth_op::rc_acknowledge;
	fields.pkey = qp_.pkey();
	fields.dest_qp = static_cast<uint32_t>(qp_.get(hw::qpc::dest_qp));
	fields.psn = answer.psn;
	fields.syndrome = answer.syndrome;
	fields.msn = answer.msn;
	roce_.send(qp_, path, RoceFrame(path, fields, 0));
}

/*
 * Sends one response. Returns whether it was the last; not if the queue pair stops. What was
 * answered before may be gone by now: a peer that asked again for want of patience has the first
 * answer meanwhile, and has said or been told that the region is not needed any more. Such a request
 * is dropped; a peer that still waits will run out of retries.
 */
bool Responder::send_read(Answer &answer, const RocePath &path)
{
	uint32_t packets = roce_packets(answer.source.length, mtu_);
	uint32_t offset = answer.sent * mtu_;
	uint32_t size = std::min(mtu_, answer.source.length - offset);
	bool last = answer.sent + 1 == packets;
	RocePlace place = last ? RocePlace::last : RocePlace::middle;
	RoceFields fields;

	if (!answer.sent)
		place = last ? RocePlace::only : RocePlace::first;
	fields.opcode = roce_opcode(RoceMessage::read_response, place,
				    place == RocePlace::middle ? 0 : roce_header::aeth);
	fields.pkey = qp_.pkey();
	fields.dest_qp = static_cast<uint32_t>(qp_.get(hw::qpc::dest_qp));
	fields.psn = (answer.psn + answer.sent) & psn_mask;
	fields.syndrome = syndrome::ack;
	fields.msn = answer.msn;
	RoceFrame frame(path, fields, size);
	if (RoceFault fault = roce_.memory.read_remote(qp_, part_of(answer.source, offset, size),
						       frame.payload())) {
		if (answer.again)
			return true;
		/* A region that is gone meanwhile. The refusal goes out as the queue pair stops. */
		answer = {.psn = fields.psn,
			  .syndrome = syndrome::nak_remote_access,
			  .msn = answer.msn};
		roce_.fail(qp_, *fault, hw::AeSource::outbound_read_response, 0);
		return false;
	}
	roce_.send(qp_, path, std::move(frame));
	answer.sent++;
	return last;
}

bool RcTransport::step()
{
	bool responds = responders_turn_ && responder.has_answers();

	responders_turn_ = !responders_turn_;
	if (responds) {
		responder.step();
		return true;
	}
	return requester.step() || responder.has_answers();
}

} // namespace e810
