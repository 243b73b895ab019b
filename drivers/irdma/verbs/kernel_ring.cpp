// SPDX-License-Identifier: GPL-2.0
/* Ring memory of the kernel; see kernel_ring.h. */
#include "kernel_ring.h"

#include "../device.h"

namespace irdma {

Status KernelRing::make_pieces(Device &device, u64 bytes)
{
	bool whole = alignment(bytes) == 1;
	u64 size = whole ? bytes : piece_bytes;
	u64 pieces = div_round_up(bytes, size);
	auto dma = Array<DmaBuffer>::create(pieces);
	auto cpu = Array<u8 *>::create(pieces);

	IRDMA_TRY(dma);
	IRDMA_TRY(cpu);
	dma_ = dma.take();
	cpu_ = cpu.take();
	shift_ = whole ? whole_shift : piece_shift;
	for (u64 i = 0; i < pieces; i++) {
		auto piece = DmaBuffer::create(device.shim, size);

		IRDMA_TRY(piece);
		dma_[i] = piece.take();
		cpu_[i] = dma_[i].as<u8>();
	}
	return {};
}

Result<KernelRing> KernelRing::create(Device &device, u64 bytes)
{
	constexpr u32 pages_per_piece = piece_bytes / hw::page_size;
	KernelRing ring;

	IRDMA_TRY(ring.make_pieces(device, bytes));
	if (ring.shift_ == whole_shift)
		return move(ring);

	u32 pages = static_cast<u32>(ring.dma_.count()) * pages_per_piece;
	auto pbles = device.pbles.alloc(pages);
	IRDMA_TRY(pbles);
	ring.pbles_ = pbles.take();
	for (u32 i = 0; i < pages; i++)
		ring.pbles_.entries()[i].set(ring.bus(u64{i} * hw::page_size));
	return move(ring);
}

KernelRing &KernelRing::operator=(KernelRing &&other)
{
	if (this != &other) {
		reset();
		dma_ = move(other.dma_);
		cpu_ = move(other.cpu_);
		pbles_ = move(other.pbles_);
		shift_ = other.shift_;
	}
	return *this;
}

/* Not the list before the pages, though nobody should look at it any more. */
void KernelRing::reset()
{
	for (usize i = 0; i < dma_.count(); i++)
		dma_[i].reset();
	dma_ = Array<DmaBuffer>();
	pbles_ = PbleRun();
}

cmd::QueueMemory KernelRing::memory(u64 offset) const
{
	if (!pbles_)
		return {false, bus(offset), 0};
	return {true, 0, pbles_.first() + static_cast<u32>(offset / hw::page_size)};
}

u64 KernelRing::bus(u64 offset) const
{
	return dma_[offset >> shift_].bus() + (offset & ((1ULL << shift_) - 1));
}

void KernelRing::bury(Device &device)
{
	for (usize i = 0; i < dma_.count(); i++)
		device.graveyard.bury(move(dma_[i]));
	pbles_.abandon();
	dma_ = Array<DmaBuffer>();
}

} // namespace irdma
