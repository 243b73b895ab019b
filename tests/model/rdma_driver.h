// SPDX-License-Identifier: GPL-2.0
/*
 * The least of a driver for the model's protocol engine: guest memory laid out by hand, a control
 * QP, and commands one by one. Used by the test programs.
 */
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>

#include "host.h"
#include "irdma/hw/cqe.h"
#include "irdma/hw/cqp.h"
#include "irdma/hw/eq.h"
#include "irdma/hw/hmc.h"
#include "irdma/hw/qp_context.h"

namespace hw = irdma::hw;

/* Where things lie in guest memory. */
namespace place {
constexpr uint64_t cqp_context = 0x1000;
constexpr uint64_t buffer = 0x2000;  /* FPM, features, QP context */
constexpr uint64_t shadows = 0x4000; /* of CQ n at + 64 * n */
constexpr uint64_t cqp_ring = 0x20000;
constexpr uint64_t ccq = 0x40000;
constexpr uint64_t ceq = 0x60000;
constexpr uint64_t aeq = 0x68000;
constexpr uint64_t queues = 0x80000; /* SQ and RQ */
constexpr uint64_t cq = 0x90000;
constexpr uint64_t segments = 16 << 20; /* 2 MiB pages for SDs */
} // namespace place

/** How a command ended. */
struct Done {
	bool error;
	uint16_t major;
	uint16_t minor;
	uint32_t value;
};

class RdmaDriver {
public:
	/** Makes a device; @p fail and @p fault are its properties, @p number ends its MAC. */
	explicit RdmaDriver(const char *fail = "", uint8_t number = 1, const char *fault = "");
	~RdmaDriver();

	uint32_t read(uint32_t reg) { return e810_device_read(host.device, reg); }
	void write(uint32_t reg, uint32_t value) { e810_device_write(host.device, reg, value); }

	template <class T> T get(uint64_t addr) const
	{
		T value;
		std::memcpy(&value, host.memory.data() + addr, sizeof(value));
		return value;
	}
	template <class T> void put(uint64_t addr, const T &value)
	{
		std::memcpy(host.memory.data() + addr, &value, sizeof(value));
	}

	/** Creates the CQP. Returns PFPE_CCQPSTATUS. */
	uint32_t create_cqp(uint64_t size_code = 10);
	void destroy_cqp();

	/** Posts one command and returns its CCQ entry; nullopt if there was none, or another's. */
	std::optional<Done> post(hw::CqpOp op, hw::CqpWqe wqe);
	/** The same, for a command that must succeed; exits if not. Without CCQ only CQPTAIL is
	 * looked at. */
	uint32_t must(hw::CqpOp op, const hw::CqpWqe &wqe);

	/** CQP, HMC of 4 direct segments, CCQ, one CEQ of 16 entries, an AEQ of 4 entries. */
	void bring_up();

	/* Commands with usual operands. */
	hw::CqpWqe cq_wqe(uint32_t cq, uint32_t entries);
	hw::CqpWqe qp_wqe(uint32_t qp, hw::QpState next);

	/** Tells the device that the host has consumed all of CQ @p cq, and arms it. */
	void arm(uint32_t cq, uint32_t consumer, bool next = true);

	e810_host host;
	uint32_t posted = 0; /* commands so far */
	bool has_ccq = false;

private:
	uint32_t ccq_seen_ = 0;
};
