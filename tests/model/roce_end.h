// SPDX-License-Identifier: GPL-2.0
/*
 * Two modelled devices, each with a queue pair to the other, and the cable between them, which a
 * test may cut. Used by the test programs of the transport.
 */
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "irdma/hw/wqe.h"
#include "rdma_driver.h"

namespace place {
constexpr uint64_t data = 8 << 20; /* 4 MiB: what the STags below name */
constexpr uint64_t data_bytes = 4 << 20;
} // namespace place

/** A fragment of memory at @p offset of place::data. */
struct Piece {
	uint64_t offset;
	uint32_t length;
};

/** A device with CQ 1, RC queue pair 2, UD queue pair 3, and an STag for all of its data. */
class RoceEnd {
public:
	static constexpr uint32_t rc = 2, ud = 3, group_ud = 4;
	static constexpr uint32_t stag = 5 << 8 | 0x77;
	static constexpr uint32_t free_stag = 6 << 8; /* allocated, for fast register */
	static constexpr uint32_t qkey = 0x11223344;
	static constexpr uint32_t cq_entries = 64;
	static constexpr uint32_t quanta = 64; /* of each queue */
	static constexpr uint64_t va = 0x7f0000000000 + 0x123;

	/** @p number: 1 or 2, the end of its addresses; @p peer: the number of the other end. */
	RoceEnd(uint8_t number, uint8_t peer, uint32_t mtu, const char *fault = "");

	/** A send WQE of one quantum with what the fields say, put into the ring of @p qp. */
	void post_send(uint32_t qp, hw::SqOp op, std::vector<Piece> pieces,
		       const std::function<void(hw::Quantum &)> &more = {});
	void post_inline(uint32_t qp, const std::vector<uint8_t> &bytes);
	void post_receive(uint32_t qp, std::vector<Piece> pieces);
	void doorbell(uint32_t qp);

	/** The next entry of CQ 1, if there is one; an extension is taken as well. */
	std::optional<hw::Cqe> poll();
	hw::Cqe extension; /* of the last entry polled */
	/** Codes of asynchronous events since the last call. */
	std::vector<uint32_t> events();

	void modify(uint32_t qp, hw::QpState next);
	void suspend(uint32_t qp);
	void resume(uint32_t qp);
	/** The network takes one more frame, and then none before unblock(). */
	void block();
	void unblock();
	/** What comes from the network. */
	void receive(const std::vector<uint8_t> &frame);
	uint8_t *data(uint64_t offset) { return driver.host.memory.data() + place::data + offset; }
	uint64_t counter(const hw::Field &field);
	/** Where PBLE 0 lies in guest memory. */
	uint64_t pble_memory() const { return pbles_; }

	RdmaDriver driver;
	/** Context of the RC queue pair, for modify(). */
	hw::QpContext context;

private:
	struct Ring {
		uint64_t base = 0;
		uint32_t head = 0;
		bool polarity = true;

		void put(RdmaDriver &driver, std::vector<hw::Quantum> quanta);
	};

	void make_addresses(uint8_t number, uint8_t peer);
	void make_memory();
	void make_qp(uint32_t qp, uint8_t number, uint8_t peer, uint32_t mtu);

	uint32_t handle_ = 0;
	uint64_t pbles_ = 0;
	Ring sq_[8], rq_[8];
	uint32_t polled_ = 0, events_seen_ = 0;
};

/** Both ends and the cable. */
class RocePair {
public:
	using Frame = std::vector<uint8_t>;

	explicit RocePair(uint32_t mtu = 1024, const char *fault = "");

	/** Moves frames until all is quiet; @p seconds of virtual time then pass in steps. */
	void run(double seconds = 0);

	RoceEnd a, b;
	/** Called for each frame; false: it is lost. It may change the frame. */
	std::function<bool(Frame &)> cable;

private:
	bool move(RoceEnd &from, RoceEnd &to);
};
