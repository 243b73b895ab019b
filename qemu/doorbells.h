// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbells: registers of the kernel, the page mapped into every user process, and push pages.
 *
 * The user page and the kernel's registers do the same: a QP number says that work was posted, a CQ
 * number arms the CQ. A push page takes WQEs written straight to the device; MANAGE_PUSH_PAGE hands
 * one out. Without a transport what is pushed goes nowhere, and the WQE is found in the ring as
 * well.
 */
#pragma once

#include <bitset>
#include <cstdint>

#include "cqp_result.h"
#include "irdma/hw/limits.h"

namespace e810 {

class Rdma;

class Doorbells {
public:
	explicit Doorbells(Rdma &rdma);

	CqpResult manage_push_page(const hw::CqpWqe &wqe);

	/** Push pages handed out. */
	uint32_t in_use() const { return static_cast<uint32_t>(pages_.count()); }
	void reset() { pages_.reset(); }

private:
	void write_wqealloc(uint32_t, uint32_t qp);
	void write_cqarm(uint32_t, uint32_t cq);
	void write_cqack(uint32_t, uint32_t cq);
	void write_user_page(uint32_t index, uint32_t value);
	void write_push(uint32_t index, uint32_t value);
	void work(const char *from, uint32_t qp);
	void arm(const char *from, uint32_t cq);

	Rdma &rdma_;
	std::bitset<hw::max_push_pages> pages_;
};

} // namespace e810
