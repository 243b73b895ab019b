// SPDX-License-Identifier: GPL-2.0
/*
 * Both ends of a reliable connection: the requester, which carries out send requests, and the
 * responder, which answers those of the peer. One of each belongs to an RC queue pair.
 *
 * Requester: works_ are the requests taken from the send queue and not completed, in order.
 *
 *	works_:   [ acknowledged .. | sent, not acknowledged | not sent .. ]
 *	                            una_                     cursor_ (work), SendState::sent (packet)
 *
 * Retransmission is go-back-N: what is not acknowledged counts as not sent. It happens when the peer
 * reports a gap, when an answer shows that an earlier one was lost, and when nothing has come for
 * a while; each uses up one retry unless there is progress in between.
 *
 *	stopped --start()--> sending <--- RNR NAK, timer ---> waiting
 *	                        \-- error, no retry left --> stopped
 *
 * Responder: expected_ is the PSN it wants next.
 *
 *	ready --- a later PSN: one sequence NAK ---> gap
 *	  \------ no receive request: RNR NAK -----> not_ready   (silent until expected_ comes again)
 *	  \------ bad request: NAK, event ---------> stopped
 *
 * Answers stand in one line, since READ responses and acknowledgements must keep their order.
 */
#pragma once

#include <deque>
#include <optional>

#include "deferred.h"
#include "roce.h"

namespace e810 {

/** A path MTU in bytes out of a context: 256 to 4096. */
uint32_t roce_mtu(const QueuePair &qp);

/** What a message of @p length bytes counts in packets. */
constexpr uint32_t roce_packets(uint32_t length, uint32_t mtu)
{
	return length ? (length - 1) / mtu + 1 : 1;
}

class Requester {
public:
	Requester(Roce &roce, QueuePair &qp);

	/** The queue pair has reached RTS: @p psn is the first to use. */
	void start(uint32_t psn);
	/** No more packets, answers or completions. */
	void stop();

	/** Sends a frame or starts a request. Returns whether there may be more to do. */
	bool step();

	/** An ACKNOWLEDGE or READ response. */
	void answer(const RocePacket &packet);

	/** The peer or a switch is congested: send less for a while. */
	void slow_down();

	/** Is all that was begun complete? */
	bool idle() const { return works_.empty(); }

	/** The oldest incomplete request, if any, for a flush; all are forgotten. */
	std::optional<SendWork> abandon();

	uint32_t next_psn() const { return next_psn_; }

private:
	enum class State { stopped, sending, waiting };
	/** A request and how far it is. Packets are counted within it. */
	struct Work {
		SendWork request;
		uint32_t psn = 0;
		uint32_t packets = 0; /* PSNs it takes; 0: local */
		uint32_t sent = 0;    /* requests; of a READ: 1 if asked for */
		uint32_t acked = 0;   /* or READ responses received */
		bool done = false;
	};

	bool take_next();
	bool must_wait(const Work &work) const;
	bool reads_outstanding() const;
	uint32_t in_flight() const;
	void run_local(Work &work);
	void send_packet(Work &work);
	void send_read(Work &work);
	void sent_up_to(uint32_t end);
	bool acknowledge(uint32_t end);
	void read_response(const RocePacket &packet);
	void refused(uint8_t syndrome);
	void progress();
	void complete_front();
	void complete_done();
	void go_back();
	void retry();
	void expired();
	void fail(hw::AeCode code, const Work &work);

	Roce &roce_;
	QueuePair &qp_;
	Timer timer_;
	State state_ = State::stopped;
	std::deque<Work> works_;
	size_t cursor_ = 0; /* first work not wholly sent */
	uint32_t mtu_ = 0;
	uint32_t next_psn_ = 0; /* for the next request */
	uint32_t una_ = 0;	/* oldest not acknowledged */
	uint32_t sent_end_ = 0; /* behind the last PSN ever sent */
	uint32_t window_ = 0;	/* packets that may be in flight */
	uint64_t retries_left_ = 0;
	uint64_t rnr_left_ = 0;
	bool went_back_ = false; /* since the last progress */
	bool timer_armed_ = false;
};

class Responder {
public:
	Responder(Roce &roce, QueuePair &qp) : roce_(roce), qp_(qp) {}

	/** The queue pair has reached RTR. */
	void start(uint32_t expected_psn);
	/** No more requests. Acknowledgements and refusals that are due go out. */
	void stop();

	/** Sends one answer, if there is any. */
	void step();
	bool has_answers() const { return !answers_.empty(); }

	/** A request of the peer. */
	void request(const RocePacket &packet);

	uint32_t expected_psn() const { return expected_; }

private:
	enum class State { stopped, ready, gap, not_ready };
	/** An ACK or NAK, or READ responses from packet @p sent on. */
	struct Answer {
		bool read = false;
		bool again = false; /* wholly answered before */
		uint32_t psn = 0;
		uint8_t syndrome = 0;
		uint32_t msn = 0;
		Fragment source = {};
		uint32_t sent = 0;
	};
	/** How a request went. */
	struct Outcome {
		uint8_t syndrome = syndrome::ack;
		RoceFault fault; /* to be reported */
		hw::AeSource source = hw::AeSource::inbound_read_write;

		bool good() const { return syndrome == syndrome::ack; }
	};

	void duplicate(const RocePacket &packet);
	bool well_placed(const RocePacket &packet) const;
	Outcome execute(const RocePacket &packet);
	Outcome send(const RocePacket &packet);
	Outcome write(const RocePacket &packet);
	Outcome read(const RocePacket &packet);
	bool take_receive();
	void complete(const RocePacket &packet, uint32_t length);
	void answer(uint8_t syndrome, uint32_t psn);
	void refuse(const Outcome &outcome);
	void send_ack(const Answer &answer, const RocePath &path);
	bool send_read(Answer &answer, const RocePath &path);
	size_t reads_waiting() const;

	Roce &roce_;
	QueuePair &qp_;
	State state_ = State::stopped;
	uint32_t mtu_ = 0;
	uint32_t expected_ = 0;
	uint32_t msn_ = 0;		     /* messages finished */
	std::optional<RoceMessage> message_; /* begun and not ended */
	std::optional<ReceiveWork> receive_; /* taken for it */
	Fragment target_;		     /* of a WRITE: what is left of it */
	uint32_t received_ = 0;		     /* bytes of it */
	std::deque<Answer> answers_;
};

/** The transport of an RC queue pair. */
struct RcTransport {
	RcTransport(Roce &roce, QueuePair &qp) : requester(roce, qp), responder(roce, qp) {}

	/** Sends a frame, of the two in turn. Returns whether there may be more. */
	bool step();

	Requester requester;
	Responder responder;

private:
	bool responders_turn_ = true;
};

} // namespace e810
