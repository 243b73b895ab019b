// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions: checks, registration with the device, and ring memory, which
 * the device does not hear of.
 */
#include "mr.h"

#include "../base/trace.h"
#include "../hw/limits.h"

namespace irdma {

static constexpr u64 page_sizes = hw::page_size | hw::large_page_size | hw::huge_page_size;

static hw::HostPage host_page(u64 bytes)
{
	if (bytes == hw::huge_page_size)
		return hw::HostPage::size_1g;
	return bytes == hw::large_page_size ? hw::HostPage::size_2m : hw::HostPage::size_4k;
}

/* ---- What processes hand in ---- */

static Status refuse(Device &device, const char *what, u64 value)
{
	shim_log_limited(device.shim, SHIM_DBG, "register MR: %s 0x%llx", what, value);
	return Error::invalid;
}

/*
 * Atomic rights are granted to nobody, since the device has no atomics, but they are not refused
 * either: UCX always asks for them. Optional rights (bits 20 to 29) may be ignored by definition.
 */
static Status check_access(Device &device, u32 access)
{
	constexpr u32 known = SHIM_ACCESS_LOCAL_WRITE | SHIM_ACCESS_REMOTE_WRITE |
			      SHIM_ACCESS_REMOTE_READ | SHIM_ACCESS_REMOTE_ATOMIC |
			      SHIM_ACCESS_MW_BIND | SHIM_ACCESS_ZERO_BASED | SHIM_ACCESS_HUGETLB |
			      SHIM_ACCESS_OPTIONAL;
	constexpr u32 need_local_write = SHIM_ACCESS_REMOTE_WRITE | SHIM_ACCESS_REMOTE_ATOMIC;

	if (access & SHIM_ACCESS_ON_DEMAND)
		return Error::not_supported;
	if (access & ~known)
		return refuse(device, "unknown access flags", access & ~known);
	if ((access & need_local_write) && !(access & SHIM_ACCESS_LOCAL_WRITE))
		return refuse(device, "remote without local write, access flags", access);
	return {};
}

/* Length 0 would be all of memory to the device. */
static Status check_range(Device &device, const UserRange &range)
{
	if (!range.length || range.length > hw::max_mr_bytes)
		return refuse(device, "length", range.length);
	if (range.start + range.length - 1 < range.start)
		return refuse(device, "range wraps around, start", range.start);
	if (range.va + range.length - 1 < range.va)
		return refuse(device, "range wraps around, IOVA", range.va);
	if ((range.start ^ range.va) & (hw::page_size - 1))
		return refuse(device, "IOVA whose offset in its page is not the memory's",
			      range.va);
	return {};
}

/* Pages that others may write to by these rights are pinned as such, as ib_core has it. */
static bool writable(u32 access)
{
	return access & (SHIM_ACCESS_LOCAL_WRITE | SHIM_ACCESS_REMOTE_WRITE |
			 SHIM_ACCESS_REMOTE_ATOMIC | SHIM_ACCESS_MW_BIND);
}

static Result<UserMemoryRef> pin(Device &device, const UserRange &range)
{
	return UserMemory::pin(device, range, page_sizes, UserMemory::Levels::two);
}

Result<Owner<Mr>> Mr::register_user(Device &device, const irdma_mr_params &params)
{
	UserRange range = {params.start, params.length, params.va, params.access, params.dmabuf};

	IRDMA_TRY(check_access(device, range.access));
	IRDMA_TRY(check_range(device, range));

	auto mr = make<Mr>(device);
	if (!mr)
		return Error::no_memory;
	if (params.kind != IRDMA_MR_MEMORY) {
		IRDMA_TRY(mr->register_ring(params));
		return move(mr);
	}
	auto memory = pin(device, range);
	IRDMA_TRY(memory);
	IRDMA_TRY(mr->register_memory(*from_c(params.pd), memory.take(), range.access));
	return move(mr);
}

/*
 * The pages stay if they can: only a process knows whether it still has that memory. Those that
 * were pinned for reading must be pinned anew for writing, and may be copied by that.
 */
Result<Owner<Mr>> Mr::reregister(const irdma_mr_change &change) const
{
	u32 access = change.access_given ? change.access : access_;
	UserMemoryRef memory;

	if (!memory_)
		return refuse(device_, "a ring anew, STag", stag());
	IRDMA_TRY(check_access(device_, access));

	UserRange range = memory_->range();
	if (change.range)
		range = {change.start, change.length, change.va, access, -1};
	bool pin_anew = change.range || (writable(access) && !writable(range.access));
	range.access = access;
	if (pin_anew) {
		if (range.dmabuf >= 0) {
			(void)refuse(device_, "DMA-BUF mapped for reading, access", access);
			return Error::access;
		}
		IRDMA_TRY(check_range(device_, range));
		auto pinned = pin(device_, range);
		IRDMA_TRY(pinned);
		memory = pinned.take();
	} else {
		memory = memory_.share();
	}
	auto mr = make<Mr>(device_);
	if (!mr)
		return Error::no_memory;
	IRDMA_TRY(mr->register_memory(*from_c(change.pd), move(memory), access));
	return move(mr);
}

Status Mr::register_memory(Pd &pd, UserMemoryRef memory, u32 access)
{
	bool zero_based = access & SHIM_ACCESS_ZERO_BASED;
	cmd::RegMr command = {};

	memory_ = move(memory);
	access_ = access;

	u64 va = memory_->range().va;
	command.va = zero_based ? va & (memory_->page_size() - 1) : va;
	command.length = memory_->range().length;
	command.access = stag_access(access);
	command.zero_based = zero_based;
	command.pages.page_size = host_page(memory_->page_size());
	if (memory_->contiguous()) {
		command.pages.level = hw::PblLevel::contiguous;
		command.pages.addr = memory_->page(0);
	} else {
		command.pages.level = memory_->list().level();
		command.pages.first_pble = memory_->list().first();
	}
	return register_stag(pd, command);
}

/* @command: all but STag and PD. */
Status Mr::register_stag(Pd &pd, cmd::RegMr command)
{
	auto stag = Stag::alloc(device_);

	IRDMA_TRY(stag);
	stag_ = stag.take();
	pd_ = &pd;
	command.stag = stag_.value();
	command.pd = pd.number();
	return run(command);
}

/* A command that makes the STag known to the device. */
template <class Command> Status Mr::run(const Command &command)
{
	auto done = device_.cqp.run(command);

	if (done.ok()) {
		in_device_ = true;
	} else if (device_.dead()) {
		bury(); /* it may have been made all the same */
	}
	return status_of(done);
}

/* ---- Rings ---- */

Status Mr::register_ring(const irdma_mr_params &params)
{
	bool qp = params.kind == IRDMA_MR_QP;
	u64 needed = qp ? u64{params.sq_pages} + params.rq_pages + 1 : params.cq_pages;

	if (params.dmabuf >= 0 || !params.uctx)
		return Error::not_supported;
	if (params.start & (hw::page_size - 1))
		return refuse(device_, "ring that is not page aligned, start", params.start);
	if (qp && (!params.sq_pages || !params.rq_pages))
		return refuse(device_, "QP without pages for SQ or RQ, pages of both",
			      params.sq_pages + params.rq_pages);
	if (!qp && !params.cq_pages)
		return refuse(device_, "CQ without pages, cq_pages", params.cq_pages);
	if (needed > div_round_up(params.length, hw::page_size))
		return refuse(device_, "ring of more pages than the memory has, pages", needed);

	/*
	 * The device writes to rings and shadow areas whatever rights were asked for, so the process
	 * must be allowed to write to them. Else it could have read-only memory written: a file's.
	 */
	UserRange range = {params.start, params.length, params.start, SHIM_ACCESS_LOCAL_WRITE, -1};
	auto ring = make<Ring>();
	if (!ring)
		return Error::no_memory;
	auto memory = UserMemory::pin(device_, range, hw::page_size, UserMemory::Levels::one);
	IRDMA_TRY(memory);
	ring_ = move(ring);
	ring_->kind = qp ? RingKind::qp : RingKind::cq;
	ring_->va = params.start;
	ring_->pages = {params.sq_pages, params.rq_pages, params.cq_pages};
	ring_->memory = memory.take();
	uctx_ = from_c(params.uctx);
	uctx_->add(*ring_);
	return {};
}

/* ---- The kernel's ---- */

/* A length of 0 stands for all of memory, addressed by bus address. */
Result<Owner<Mr>> Mr::register_dma(Device &device, Pd &pd, u32 access)
{
	/* ib_core asks for remote rights alone; the memory is the kernel's in any case. */
	IRDMA_TRY(check_access(device, access | SHIM_ACCESS_LOCAL_WRITE));

	auto mr = make<Mr>(device);
	if (!mr)
		return Error::no_memory;
	IRDMA_TRY(mr->register_stag(pd, {.access = stag_access(access)}));
	return move(mr);
}

Result<Owner<Mr>> Mr::alloc_fast(Device &device, Pd &pd, u32 pages)
{
	if (!pages || pages > max_fast_pages) {
		shim_log_limited(device.shim, SHIM_DBG, "allocate MR: %u pages, the limit is %u",
				 pages, max_fast_pages);
		return Error::invalid;
	}

	auto mr = make<Mr>(device);
	if (!mr)
		return Error::no_memory;
	mr->fast_ = make<FastPages>();
	if (!mr->fast_)
		return Error::no_memory;
	auto pbles = device.pbles.alloc(pages);
	IRDMA_TRY(pbles);
	mr->fast_->list = pbles.take();
	auto stag = Stag::alloc(device);
	IRDMA_TRY(stag);
	mr->stag_ = stag.take();
	mr->pd_ = &pd;

	/* The list is named when it is filled, by the work request. */
	cmd::AllocMrStag command = {};
	command.stag = mr->stag_.value();
	command.pd = pd.number();
	command.length = u64{pages} * hw::page_size;
	IRDMA_TRY(mr->run(command));
	return move(mr);
}

void Mr::begin_pages()
{
	if (fast_)
		fast_->count = 0;
}

Status Mr::add_page(u64 bus)
{
	if (!fast_ || fast_->count == fast_->list.count())
		return Error::no_memory;
	fast_->list.entries()[fast_->count++].set(bus);
	return {};
}

Status Mr::end_pages(u64 va, u64 length, u32 page_size)
{
	if (!(page_sizes & page_size) || !is_power_of_two(page_size)) {
		shim_log_limited(device_.shim, SHIM_DBG, "map MR: page size %u", page_size);
		begin_pages();
		return Error::invalid;
	}
	if (!fast_)
		return Error::invalid;
	fast_->va = va;
	fast_->length = length;
	fast_->page_size = host_page(page_size);
	return {};
}

/* ---- What administrators see ---- */

static const char *list_name(const UserMemory &memory)
{
	if (memory.contiguous())
		return "run";
	return memory.list().level() == hw::PblLevel::two ? "pbl2" : "pbl";
}

irdma_mr_details Mr::details() const
{
	const UserMemory *memory = memory_ ? &*memory_ : ring_ ? &*ring_->memory : nullptr;

	if (memory)
		return {memory->page_size(), memory->pages(), list_name(*memory)};
	if (fast_)
		return {bytes_of(fast_->page_size), fast_->count, "fast"};
	return {0, 0, "all"};
}

/* ---- The end ---- */

Mr::~Mr()
{
	if (uctx_)
		uctx_->remove(*ring_);
}

/*
 * While there are windows, which a device may want to see go first, ib_core comes again for what a
 * process has left, since it gets on with those.
 */
Status Mr::deregister(bool may_fail)
{
	if (!in_device_)
		return {};

	auto done = device_.cqp.run(
		cmd::DeallocStag{.stag = stag_.value(), .pd = pd_->number(), .is_mr = true});
	if (!done.ok()) {
		if ((may_fail || pd_->windows.load()) && device_.can_try_again())
			return done.status();
		bury();
	}
	in_device_ = false;
	return {};
}

/* The device may still use it. */
void Mr::bury()
{
	pd_->keep_number();
	stag_.abandon();
	if (fast_)
		fast_->list.abandon();
	memory_.bury();
}

} // namespace irdma

using namespace irdma;

/* Tell listeners of an MR, or that there is none: @traced is what was asked for. */
static void trace_made(Device &device, shim_traced_mr traced, const Result<Owner<Mr>> &mr)
{
	if (!tracing(SHIM_TRACE_MR_REGISTER))
		return;
	traced.list = "-";
	traced.error = mr.code();
	if (mr.ok()) {
		const irdma_mr_details details = mr.value()->details();

		traced.stag = mr.value()->stag();
		traced.page_size = details.page_size;
		traced.pages = details.pages;
		traced.list = details.list;
	}
	shim_trace_mr_register(device.shim, &traced);
}

static const char *kind_name(irdma_mr_kind kind)
{
	switch (kind) {
	case IRDMA_MR_MEMORY:
		return "memory";
	case IRDMA_MR_QP:
		return "qp_ring";
	case IRDMA_MR_CQ:
		return "cq_ring";
	}
	return "unknown";
}

/* Hand a new MR over to the shim. */
static int give(Result<Owner<Mr>> mr, irdma_mr **out, u32 *lkey, u32 *rkey)
{
	if (!mr.ok())
		return mr.code();
	*lkey = *rkey = mr.value()->stag();
	*out = to_c(mr.value().release());
	return 0;
}

/**
 * irdma_mr_register() - register memory of a process
 * @device: the device
 * @params: what, and how it may be used
 * @out: gets the MR
 * @lkey: gets its STag; 0 for rings
 * @rkey: the same
 *
 * May sleep. Return: 0; -EINVAL for a range, right or page count that cannot be; -EFAULT or what
 * else pinning gives; -ENOMEM, also when the page list is too long; -ENOSPC; -EOPNOTSUPP; -ENODEV
 * if the device does not answer.
 */
int irdma_mr_register(irdma_device *device, const irdma_mr_params *params, irdma_mr **out,
		      u32 *lkey, u32 *rkey)
{
	auto mr = Mr::register_user(*from_c(device), *params);

	trace_made(*from_c(device),
		   {.kind = kind_name(params->kind),
		    .va = params->va,
		    .length = params->length,
		    .access = params->access},
		   mr);
	return give(move(mr), out, lkey, rkey);
}

/**
 * irdma_mr_reregister() - an MR that takes the place of another
 * @mr: the other, which is left as it is
 * @change: what shall be different
 * @out: gets the MR
 * @lkey: gets its STag
 * @rkey: the same
 *
 * May sleep. Return: as irdma_mr_register(); -EACCES if a DMA-BUF mapped for reading shall be
 * written to.
 */
int irdma_mr_reregister(irdma_mr *mr, const irdma_mr_change *change, irdma_mr **out, u32 *lkey,
			u32 *rkey)
{
	auto other = from_c(mr)->reregister(*change);

	trace_made(from_c(mr)->device(),
		   {.kind = "anew",
		    .va = change->va,
		    .length = change->length,
		    .access = change->access},
		   other);
	return give(move(other), out, lkey, rkey);
}

/**
 * irdma_mr_dma() - an MR of all memory, for the kernel
 * @device: the device
 * @pd: its protection domain
 * @access: SHIM_ACCESS_*
 * @out: gets it
 * @lkey: gets its STag
 * @rkey: the same
 *
 * May sleep. Return: as irdma_mr_register().
 */
int irdma_mr_dma(irdma_device *device, irdma_pd *pd, u32 access, irdma_mr **out, u32 *lkey,
		 u32 *rkey)
{
	auto mr = Mr::register_dma(*from_c(device), *from_c(pd), access);

	trace_made(*from_c(device), {.kind = "dma", .access = access}, mr);
	return give(move(mr), out, lkey, rkey);
}

/**
 * irdma_mr_alloc() - an MR for fast registration
 * @device: the device
 * @pd: its protection domain
 * @pages: most pages that it shall map
 * @out: gets it
 * @lkey: gets its STag
 * @rkey: the same
 *
 * May sleep. Return: as irdma_mr_register().
 */
int irdma_mr_alloc(irdma_device *device, irdma_pd *pd, u32 pages, irdma_mr **out, u32 *lkey,
		   u32 *rkey)
{
	auto mr = Mr::alloc_fast(*from_c(device), *from_c(pd), pages);

	trace_made(*from_c(device), {.kind = "fast", .length = u64{pages} * hw::page_size}, mr);
	return give(move(mr), out, lkey, rkey);
}

/**
 * irdma_mr_begin_pages() - begin what the next REG_MR shall map
 * @mr: an MR of irdma_mr_alloc()
 */
void irdma_mr_begin_pages(irdma_mr *mr)
{
	from_c(mr)->begin_pages();
}

/**
 * irdma_mr_set_page() - add a page
 * @mr: the MR
 * @bus: its bus address
 *
 * Any context. Return: 0, or -ENOMEM if the MR was made for fewer.
 */
int irdma_mr_set_page(irdma_mr *mr, u64 bus)
{
	return from_c(mr)->add_page(bus).code();
}

/**
 * irdma_mr_end_pages() - end it
 * @mr: the MR
 * @va: address of the first byte
 * @length: bytes
 * @page_size: of the pages, bytes
 *
 * Any context. Return: 0, or -EINVAL if the device has no such pages.
 */
int irdma_mr_end_pages(irdma_mr *mr, u64 va, u64 length, u32 page_size)
{
	return from_c(mr)->end_pages(va, length, page_size).code();
}

/**
 * irdma_mr_describe() - how the memory of an MR is listed
 * @mr: the MR
 * @details: gets it
 *
 * Any context.
 */
void irdma_mr_describe(irdma_mr *mr, irdma_mr_details *details)
{
	*details = from_c(mr)->details();
}

/**
 * irdma_mr_deregister() - undo what made the MR
 * @mr: the MR
 * @may_fail: the caller can be told of a failure, and try again
 *
 * May sleep. Return: 0; or the error of a device that refuses: the MR is as it was. Otherwise
 * memory that the device does not give back is kept until it is stopped.
 */
int irdma_mr_deregister(irdma_mr *mr, bool may_fail)
{
	Status done = from_c(mr)->deregister(may_fail);

	if (tracing(SHIM_TRACE_MR_DEREGISTER))
		shim_trace_mr_deregister(from_c(mr)->device().shim, from_c(mr)->stag(),
					 done.code());
	if (done.ok())
		destroy(from_c(mr));
	return done.code();
}
