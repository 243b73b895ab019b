// SPDX-License-Identifier: GPL-2.0
/* Queue pairs as administrators see them; see qp.h. */
#include "../device.h"
#include "qp.h"

namespace irdma {

static const char *hw_state_name(hw::QpState state)
{
	switch (state) {
	case hw::QpState::invalid:
		return "none";
	case hw::QpState::idle:
		return "idle";
	case hw::QpState::rtr:
		return "RTR";
	case hw::QpState::rts:
		return "RTS";
	case hw::QpState::sqd:
		return "SQD";
	case hw::QpState::terminate:
		return "terminate";
	case hw::QpState::error:
		return "error";
	}
	return "unknown";
}

void Qp::details(irdma_qp_details &details)
{
	MutexGuard guard(mutex_);

	details = {
		.hw_state = hw_state_name(hw_state_),
		.sq_quanta = sizes_.sq_quanta,
		.rq_quanta = sizes_.rq_quanta,
		.qs_handle = placement_.qs_handle(),
		.priority = placement_.priority(),
		.arp_index = arp_ ? arp_.index() : u32{0},
		.src_port = static_cast<u32>(context().get(hw::qpc::src_port)),
	};
}

Status Qp::upload(hw::QpContext &to)
{
	MutexGuard guard(mutex_);
	auto buffer = DmaBuffer::create(device_.shim, sizeof(hw::QpContext));

	IRDMA_TRY(buffer);
	if (hw_state_ == hw::QpState::invalid)
		return Error::no_entry;
	auto uploaded = device_.cqp.run(cmd::UploadContext{
		.buffer = buffer.value().bus(),
		.qp = number_,
		.type = hw_type(),
	});
	if (!uploaded.ok()) {
		if (device_.dead())
			device_.graveyard.bury(buffer.take());
		return uploaded.status();
	}
	to = *buffer.value().as<hw::QpContext>();
	return {};
}

} // namespace irdma

using namespace irdma;

/**
 * irdma_qp_describe() - what the driver and the device have of a queue pair
 * @qp: the queue pair
 * @details: gets it
 *
 * May sleep.
 */
void irdma_qp_describe(irdma_qp *qp, irdma_qp_details *details)
{
	from_c(qp)->details(*details);
}

/**
 * irdma_qp_upload() - the context of a queue pair, as the device has it
 * @qp: the queue pair
 * @context: gets it
 *
 * May sleep. Return: 0, or a negative errno if the device does not tell.
 */
int irdma_qp_upload(irdma_qp *qp, u8 context[IRDMA_QP_CONTEXT_BYTES])
{
	static_assert(sizeof(hw::QpContext) == IRDMA_QP_CONTEXT_BYTES);
	hw::QpContext uploaded;
	Status status = from_c(qp)->upload(uploaded);

	if (status.ok())
		shim_memcpy(context, &uploaded, sizeof(uploaded));
	return status.code();
}
