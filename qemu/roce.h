// SPDX-License-Identifier: GPL-2.0
/*
 * The RoCEv2 transport: moves data between queue pairs and the wire.
 *
 *	doorbell, timer, packet -> kick(qp) -> pump() -> RcTransport, UdTransport: one frame a turn
 *	                                                      |
 *	Wire::ready() ... <- faults, loopback or Wire <- send()
 *	Wire -> receive() -> faults -> deliver() -> checks -> requester, responder, UD
 *
 * Queue pairs with something to send stand in a line and send one frame in turn, from QEMU's main
 * loop, as long as the wire takes frames. Nothing is made that cannot be sent at once, so nothing
 * piles up; acknowledgements fall together while they wait. A frame to a MAC of the device itself
 * goes into a queue and comes back from there. Errors stop the queue pair and are told to the driver by one
 * asynchronous event; flushing is the driver's decision (see QueuePairs).
 */
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "deferred.h"
#include "irdma/hw/cqe.h"
#include "irdma/hw/cqp.h"
#include "irdma/hw/eq.h"
#include "irdma/hw/qp_context.h"
#include "roce_faults.h"
#include "roce_memory.h"
#include "roce_packet.h"
#include "roce_wqe.h"

namespace e810 {

class Roce {
public:
	explicit Roce(Rdma &rdma);

	/** A RoCEv2 frame from the wire. False: it is for another MAC and not the engine's. */
	bool receive(std::span<const uint8_t> frame);

	/** The wire takes frames again. */
	void wire_ready() { pump_.schedule(); }

	/** @p qp may have something to send. */
	void kick(QueuePair &qp);

	/** Is property "fault" well formed? */
	bool faults_valid() const { return sent_faults_.valid(); }

	/** How many frames that property has done something to, as long as there is the card. */
	uint64_t faults_made() const { return sent_faults_.made() + received_faults_.made(); }

	/** Forgets frames under way. Queue pairs are gone already. */
	void reset();

	/* For the transports of queue pairs. */

	/** Sends a frame of @p qp; a multicast comes back as well if @p loopback. */
	void send(const QueuePair &qp, const RocePath &path, RoceFrame &&frame,
		  bool loopback = false);

	/** From @p qp to the destination in its context; nullopt: its ARP entry is gone. */
	std::optional<RocePath> path_of(const QueuePair &qp) const;

	/** Completion of a send request, if it was to be signalled. */
	void complete(const QueuePair &qp, const SendWork &work);

	/** What a received message is, for its completion. */
	struct Received {
		const RocePacket &last; /* its last packet */
		uint32_t wqe_index;
		uint32_t length; /* bytes in the buffer, or written */
		bool grh;	 /* UD */
	};
	void complete(const QueuePair &qp, const Received &message);

	/** Stops @p qp and reports why. @p wqe_index is of the queue that @p source names. */
	void fail(QueuePair &qp, hw::AeCode code, hw::AeSource source, uint32_t wqe_index);

	/** Nothing leaves a queue pair any more, until the control QP is gone. */
	void hang() { hung_ = true; }

	Rdma &rdma;
	RoceMemory memory;

private:
	bool can_send() const;
	bool is_own_mac(uint64_t mac) const;
	void pump();
	void transmit(std::vector<uint8_t> &&frame);
	void return_frames();
	void deliver(std::span<const uint8_t> frame);
	void deliver_to(QueuePair &qp, const RocePacket &packet);
	bool accepts(const QueuePair &qp, const RocePacket &packet);
	void notice_congestion(QueuePair &qp, const RocePacket &packet);
	void count(const hw::QpContext &context, const RocePath &path, size_t ip_bytes, bool sent);
	void trace(const char *event, const RocePacket &packet);

	bool hung_ = false;
	std::deque<uint32_t> line_; /* numbers of the queue pairs to send */
	std::deque<std::vector<uint8_t>> loopback_;
	uint64_t own_mac_;
	Deferred pump_;
	Deferred return_frames_;
	RoceFaults sent_faults_;
	RoceFaults received_faults_;
};

} // namespace e810
