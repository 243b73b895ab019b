// SPDX-License-Identifier: GPL-2.0
/*
 * A send or receive queue as the device sees it: a ring of 32-byte quanta in guest memory.
 *
 * Nobody tells the device how much was posted: it reads the first quantum of a WQE at its own index
 * and takes the WQE if the valid bit is the one of this lap (1 on the first, toggling). A WQE of
 * the send queue is as long as its header says; WQEs of the receive queue have a fixed number of
 * quanta.
 */
#pragma once

#include <cstdint>
#include <optional>

#include "hmc.h"
#include "irdma/hw/wqe.h"

namespace e810 {

/** Number of quanta of the send WQE with header @p quantum: 1 to 8. */
uint32_t send_wqe_quanta(const hw::Quantum &quantum);

class WorkQueue {
public:
	/** @p quanta: size of the ring. */
	void set_up(const PageList &pages, uint32_t quanta);

	/** Quantum index of the WQE that next() looks at. */
	uint32_t index() const { return index_; }

	/** The first quantum of the WQE at index(), if it is valid; nullopt also if it cannot be
	 * read. */
	std::optional<hw::Quantum> next(const Rdma &rdma) const;

	/** The quantum @p offset behind index(), whatever its valid bit; nullopt if it cannot be read. */
	std::optional<hw::Quantum> quantum(const Rdma &rdma, uint32_t offset) const;

	/** Goes on by @p quanta, as the length of the WQE at index(). */
	void advance(uint32_t quanta);

	uint32_t quanta() const { return quanta_; }

private:
	PageList pages_;
	uint32_t quanta_ = 0;
	uint32_t index_ = 0;
	bool polarity_ = true;
};

} // namespace e810
