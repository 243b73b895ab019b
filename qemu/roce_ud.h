// SPDX-License-Identifier: GPL-2.0
/*
 * Datagrams: UD queue pairs, and the GSI of queue pair 1, through which rdma_cm speaks.
 *
 * A datagram is one packet, sent to where an address handle says and complete when sent. A received
 * one goes into the next receive request behind 40 bytes that hold its IP header. What does not fit, has no request or the
 * wrong Q_Key is dropped silently.
 */
#pragma once

#include "roce.h"

namespace e810 {

class UdTransport {
public:
	UdTransport(Roce &roce, QueuePair &qp) : roce_(roce), qp_(qp) {}

	/** Sends a datagram. Returns whether there may be more. */
	bool step();

	/** A datagram to this queue pair. */
	void receive(const RocePacket &packet);

private:
	std::optional<RocePath> path_to(const hw::CqpWqe &handle) const;
	void send(const SendWork &work, const RocePath &path);

	Roce &roce_;
	QueuePair &qp_;
	uint32_t psn_ = 0;
};

} // namespace e810
