// SPDX-License-Identifier: GPL-2.0
/* Send and receive queues; see work_queue.h. */
#include "work_queue.h"

#include <atomic>

#include "device.h"
#include "irdma/hw/limits.h"
#include "rdma.h"

namespace e810 {

uint32_t send_wqe_quanta(const hw::Quantum &quantum)
{
	uint64_t quanta = 1;

	if (quantum.get(hw::sq::inline_data)) {
		uint64_t length = quantum.get(hw::sq::inline_length);

		if (length > hw::inline_first_bytes)
			quanta += irdma::div_round_up(length - hw::inline_first_bytes,
						      hw::inline_quantum_bytes);
	} else {
		quanta += irdma::div_round_up(quantum.get(hw::sq::more_fragments), 2);
	}
	return static_cast<uint32_t>(irdma::min<uint64_t>(quanta, hw::max_quanta_per_wqe));
}

void WorkQueue::set_up(const PageList &pages, uint32_t quanta)
{
	pages_ = pages;
	quanta_ = quanta;
	index_ = 0;
	polarity_ = true;
}

/*
 * The host writes the word with the valid bit last, maybe at this moment: the rest is worth reading
 * only after it.
 */
std::optional<hw::Quantum> WorkQueue::next(const Rdma &rdma) const
{
	constexpr size_t word = hw::sq::valid.word;
	auto address = rdma.hmc.address(pages_, uint64_t{index_} * hw::quantum_bytes);
	auto header =
		address ? rdma.dev.memory.read64(*address + word * sizeof(uint64_t)) : std::nullopt;

	if (!header || hw::sq::valid.take(*header) != polarity_)
		return std::nullopt;
	std::atomic_thread_fence(std::memory_order_acquire);
	return quantum(rdma, 0);
}

std::optional<hw::Quantum> WorkQueue::quantum(const Rdma &rdma, uint32_t offset) const
{
	uint64_t place = (index_ + offset) % quanta_;
	auto address = rdma.hmc.address(pages_, place * hw::quantum_bytes);

	return address ? rdma.dev.memory.load<hw::Quantum>(*address) : std::nullopt;
}

void WorkQueue::advance(uint32_t quanta)
{
	index_ += quanta;
	/* More than once, if the ring is smaller than a WQE. */
	for (; index_ >= quanta_; index_ -= quanta_)
		polarity_ = !polarity_;
}

} // namespace e810
