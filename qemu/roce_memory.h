// SPDX-License-Identifier: GPL-2.0
/*
 * Memory as the transport reaches it: through STags, checked for every packet.
 *
 * An access names an STag, an address within it and what it wants to do. It is checked against the
 * region or window that the driver made, then translated by the page list of the region: one run,
 * or PBLEs in one or two levels, of pages of 4 KiB, 2 MiB or 1 GiB. A window has bounds and rights of
 * its own and the pages of its parent. What is refused is told by the code of the asynchronous event
 * that the driver will get. Work requests that change STags (fast register, invalidate, bind) are here too.
 */
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "irdma/hw/ae_codes.h"
#include "irdma/hw/limits.h"
#include "irdma/hw/wqe.h"

namespace e810 {

namespace hw = irdma::hw;

class Rdma;
struct MemoryRegion;
struct QueuePair;

/** nullopt: no fault. */
using RoceFault = std::optional<hw::AeCode>;

/** A piece of local memory that a work request names. */
struct Fragment {
	uint64_t address = 0;
	uint32_t stag = 0;
	uint32_t length = 0;
};

/** All pieces of a work request, as one run of bytes. */
struct FragmentList {
	static constexpr size_t most = 2 * hw::max_quanta_per_wqe - 1;

	std::array<Fragment, most> fragments;
	size_t count = 0;
	uint64_t length = 0;

	/** Appends a piece; one without length, padding, is left out. */
	void add(const Fragment &fragment);
};

class RoceMemory {
public:
	explicit RoceMemory(Rdma &rdma) : rdma_(rdma) {}

	/** May the peer of @p qp do @p right (hw::access) to all of this? */
	RoceFault check_remote(const QueuePair &qp, const Fragment &what, uint32_t right) const;

	/** Accesses of the peer. */
	RoceFault read_remote(const QueuePair &qp, const Fragment &from,
			      std::span<uint8_t> out) const;
	RoceFault write_remote(const QueuePair &qp, const Fragment &to,
			       std::span<const uint8_t> in) const;

	/** Copies out.size() bytes from @p offset of the list, which is at least that long. */
	RoceFault gather(const QueuePair &qp, const FragmentList &from, uint64_t offset,
			 std::span<uint8_t> out) const;
	/** Copies to @p offset of the list. */
	RoceFault scatter(const QueuePair &qp, const FragmentList &to, uint64_t offset,
			  std::span<const uint8_t> in) const;

	/** Carries out a work request of that kind. */
	RoceFault fast_register(const QueuePair &qp, const hw::Quantum &wqe);
	RoceFault bind(const QueuePair &qp, const hw::Quantum &wqe);
	/** Makes an STag invalid, for a work request or, if @p remote, for the peer. */
	RoceFault invalidate(const QueuePair &qp, uint32_t stag, bool remote);

private:
	enum class Direction { read, write };

	RoceFault find(const QueuePair &qp, uint32_t stag, MemoryRegion *&region) const;
	RoceFault check(const QueuePair &qp, const Fragment &what, uint32_t right,
			const MemoryRegion *&region) const;
	RoceFault copy(const MemoryRegion *region, uint64_t address, std::span<uint8_t> bytes,
		       Direction direction) const;
	RoceFault copy_list(const QueuePair &qp, const FragmentList &list, uint64_t offset,
			    std::span<uint8_t> bytes, Direction direction) const;
	bool transfer(uint64_t bus, std::span<uint8_t> bytes, Direction direction) const;
	RoceFault bind_to(const QueuePair &qp, const hw::Quantum &wqe, MemoryRegion &window);

	Rdma &rdma_;
};

} // namespace e810
