// SPDX-License-Identifier: GPL-2.0
/* Queue pairs as administrators see them, by rdma and by tracepoints; see qp.h. */
#include "../base/trace.h"
#include "../device.h"
#include "qp.h"

namespace irdma {

const char *state_name(u32 state)
{
	static constexpr const char *names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

	return state < array_size(names) ? names[state] : "unknown state";
}

static const char *type_name(u32 type)
{
	switch (type) {
	case SHIM_QPT_GSI:
		return "GSI";
	case SHIM_QPT_RC:
		return "RC";
	}
	return "UD";
}

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

/* ---- Tracepoints; but at the QP's beginning and end the mutex is held ---- */

void Qp::trace_state(u32 from, u32 to, const char *cause, Status status) const
{
	if (!tracing(SHIM_TRACE_QP_STATE))
		return;
	const shim_traced_qp traced = {.qp = number_,
				       .type = type_name(params_.type),
				       .from = state_name(from),
				       .to = state_name(to),
				       .hw_state = hw_state_name(hw_state_),
				       .cause = cause,
				       .error = status.code()};

	shim_trace_qp_state(device_.shim, &traced);
}

void Qp::trace_refused(const QpRefusal &refusal, u32 to, Status why) const
{
	if (!tracing(SHIM_TRACE_QP_REFUSED))
		return;
	const shim_traced_qp traced = {.qp = number_,
				       .from = state_name(attr_.state),
				       .to = state_name(to),
				       .error = why.code(),
				       .attribute = refusal.attribute,
				       .value = refusal.value};

	shim_trace_qp_refused(device_.shim, &traced);
}

void Qp::trace_path()
{
	if (!tracing(SHIM_TRACE_QP_PATH))
		return;
	const irdma_path &path = attr_.path;
	shim_traced_path traced = {
		.qp = number_,
		.dest_qp = attr_.dest_qp,
		.ipv4 = path.ipv4,
		.next_hop_ipv4 = path.next_hop_ipv4,
		.vlan = path.vlan,
		.arp_index = arp_.index(),
		.src_port = static_cast<u16>(context().get(hw::qpc::src_port)),
		.qs_handle = static_cast<u16>(context().get(hw::qpc::qs_handle)),
		.priority = placement_.priority(),
		.path_mtu = attr_.path_mtu,
		.rq_psn = attr_.rq_psn,
	};

	for (u32 i = 0; i < array_size(traced.source); i++) {
		traced.source[i] = path.src_ip[i];
		traced.destination[i] = path.dest_ip[i];
		traced.next_hop[i] = path.next_hop[i];
	}
	shim_trace_qp_path(device_.shim, &traced);
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
