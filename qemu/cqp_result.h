// SPDX-License-Identifier: GPL-2.0
/*
 * How a command of the control QP ends. Every handler returns one.
 */
#pragma once

#include <cstdint>

#include "irdma/hw/cqp.h"

namespace e810 {

namespace hw = irdma::hw;

/**
 * Minor codes of refusals for which no code of the hardware is known: a range of the model's own.
 * Major code is hw::cqp_error::command.
 */
namespace refusal {
constexpr uint16_t unknown_opcode = 0x0f01;
constexpr uint16_t bad_index = 0x0f02; /* number beyond what COMMIT_FPM or the hardware allows */
constexpr uint16_t bad_parameter = 0x0f03;
constexpr uint16_t memory_fault = 0x0f04; /* DMA to an address of the command failed */
constexpr uint16_t exhausted = 0x0f05;	  /* no free page, handle, instance */
constexpr uint16_t unsupported = 0x0f06;
} // namespace refusal

struct CqpResult {
	bool error = false;
	uint16_t major = 0;
	uint16_t minor = 0;
	uint32_t value = 0;

	static CqpResult ok(uint32_t value = 0) { return {false, 0, 0, value}; }
	static CqpResult fail(uint16_t minor) { return {true, hw::cqp_error::command, minor, 0}; }
	/** The object's place in the host memory cache has no memory behind it. */
	static CqpResult unbacked() { return {true, hw::cqp_error::object_cache, 0, 0}; }
};

} // namespace e810
