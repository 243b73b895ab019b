// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions: what is refused, which page size and which kind of list a
 * range gets (ib_core's ib_umem_find_best_pgsz() rules: the largest size with
 * which address and VA agree), what the device is told, and what happens when
 * it refuses; rings of processes, and the QPs and CQs made in them.
 */
#include "fake/rig.h"
#include "hw/limits.h"

using namespace irdma;
using namespace irdma::fake;
using namespace irdma::test;

namespace {

constexpr u64 kib = 1024, mib = 1024 * kib, gib = 1024 * mib;

struct MemoryScene : Scene {
	irdma_pd *pd = nullptr;
	irdma_ucontext *uctx = nullptr;
	u32 pd_number = 0;

	MemoryScene()
	{
		ready = ready && !irdma_pd_create(rig->c(), &pd, &pd_number) &&
			!irdma_ucontext_create(rig->c(), true, &uctx);
	}
	~MemoryScene()
	{
		if (uctx)
			irdma_ucontext_destroy(uctx);
		if (pd)
			irdma_pd_destroy(pd);
	}

	irdma_mr_params params(u64 start, u64 length, u64 va, u32 access = SHIM_ACCESS_LOCAL_WRITE)
	{
		irdma_mr_params p = {};

		p.kind = IRDMA_MR_MEMORY;
		p.start = start;
		p.length = length;
		p.va = va;
		p.access = access;
		p.pd = pd;
		p.uctx = uctx;
		p.dmabuf = -1;
		return p;
	}
	int make(const irdma_mr_params &p, irdma_mr *&mr, u32 *lkey = nullptr)
	{
		u32 l = 0, r = 0;
		int err = irdma_mr_register(rig->c(), &p, &mr, &l, &r);

		if (!err)
			EXPECT_EQ(l, r);
		if (lkey)
			*lkey = l;
		return err;
	}
	const Command &told() { return *engine().last_of(hw::CqpOp::reg_mr); }
};

/* Bus addresses of pages: as the process has them, or each far from the next. */
u64 straight(u64 page)
{
	return (page << 12) + 0x100000000;
}
u64 scattered(u64 page)
{
	return (page * 2 << 12) + 0x100000000;
}
u64 huge_scattered(u64 page)
{
	return (page % 512 << 12) + (page / 512 * 2) * 2 * mib + 0x100000000;
}
u64 gigantic_scattered(u64 page)
{
	constexpr u64 pages = gib >> 12;

	return (page % pages << 12) + (page / pages * 2) * gib + 4 * gib;
}

/* ---- What is refused ---- */

void ranges_that_are_refused()
{
	MemoryScene s;
	REQUIRE(s.ready);
	irdma_mr *mr = nullptr;
	constexpr struct {
		u64 start, length, va;
	} bad[] = {
		{0x1000, 0, 0x1000},
		{0x1000, 0x200000000001ULL, 0x1000},
		{~0ULL - 100, 200, ~0ULL - 100},
		{0x1000, 0x2000, ~0ULL - 0xfff},
		{0x1000, 100, 0x1001},
		{0x1800, 100, 0x2000},
	};

	for (const auto &b : bad)
		EXPECT_EQ(s.make(s.params(b.start, b.length, b.va), mr), -SHIM_EINVAL);
	EXPECT_EQ(s.engine().count(hw::CqpOp::reg_mr), 0);
	EXPECT_EQ(s.world().umems, 0);
	s.world().umem_error = -SHIM_EFAULT;
	EXPECT_EQ(s.make(s.params(0x1000, 100, 0x1000), mr), -SHIM_EFAULT);
}

/* Each set of rights: those of ib_core, remote writing needs local writing. */
void rights()
{
	MemoryScene s;
	REQUIRE(s.ready);

	for (u32 access = 0; access < 256; access++) {
		irdma_mr *mr = nullptr;
		bool remote_write = access & (SHIM_ACCESS_REMOTE_WRITE | SHIM_ACCESS_REMOTE_ATOMIC);
		int wanted = access & SHIM_ACCESS_ON_DEMAND ? -SHIM_EOPNOTSUPP
			     : remote_write && !(access & SHIM_ACCESS_LOCAL_WRITE) ? -SHIM_EINVAL
										   : 0;
		int err = s.make(s.params(0x1000, 100, 0x1000, access), mr);

		if (err != wanted) {
			FAIL("access 0x%x: %d, not %d", access, err, wanted);
			continue;
		}
		if (err)
			continue;
		u32 given = 1 | (access & SHIM_ACCESS_LOCAL_WRITE ? 2 : 0) |
			    (access & SHIM_ACCESS_REMOTE_READ ? 4 : 0) |
			    (access & SHIM_ACCESS_REMOTE_WRITE ? 8 : 0) |
			    (access & SHIM_ACCESS_MW_BIND ? 16 : 0);
		EXPECT_EQ(s.told().get(hw::cqp_stag::access), given);
		EXPECT_EQ(s.told().get(hw::cqp_stag::remote_access), (given & 12) != 0);
		EXPECT_EQ(s.told().get(hw::cqp_stag::va_based), !(access & SHIM_ACCESS_ZERO_BASED));
		irdma_mr_deregister(mr, false);
	}
	irdma_mr *mr = nullptr;
	EXPECT_EQ(s.make(s.params(0x1000, 100, 0x1000, 1u << 20), mr), 0); /* relaxed ordering */
	irdma_mr_deregister(mr, false);
	EXPECT_EQ(s.make(s.params(0x1000, 100, 0x1000, 1u << 30), mr), -SHIM_EINVAL);
	EXPECT_EQ(s.make(s.params(0x1000, 100, 0x1000, 1u << 10), mr), -SHIM_EINVAL);
}

/* ---- Page sizes and lists ---- */

struct Choice {
	const char *what;
	u64 (*page_of)(u64);
	u64 start, length, va;
	u32 page_size; /**< code: 0: 4 KiB, 1: 2 MiB, 2: 1 GiB */
	bool listed;
};

constexpr Choice choices[] = {
	{"one page, in one of 1 GiB", straight, 0x1000, 100, 0x1000, 2, false},
	{"offset in a page", straight, 0x1234, 100, 0x1234, 2, false},
	{"a run of small pages", straight, 0x1000, 64 * kib, 0x1000, 2, false},
	{"a run, VA elsewhere", straight, 0x1000, 64 * kib, 0x2000, 0, false},
	{"scattered", scattered, 0x1000, 64 * kib, 0x1000, 0, true},
	{"two scattered, unaligned", scattered, 0x1800, 0x1000, 0x1800, 0, true},
	{"scattered but one page", scattered, 0x1000, 4 * kib, 0x1000, 0, false},
	{"large pages apart", huge_scattered, 0x200000, 8 * mib, 0x200000, 1, true},
	{"large pages, VA elsewhere", huge_scattered, 0x200000, 8 * mib, 0x201000, 0, true},
	{"a large page", huge_scattered, 0x200000, 2 * mib, 0x200000, 1, false},
	{"a part of a large page", huge_scattered, 0x210000, mib, 0x7f0000210000, 1, false},
	{"pages of 1 GiB apart", gigantic_scattered, gib, 3 * gib, gib, 2, true},
	{"a part of them", gigantic_scattered, gib + 0x1234, gib, 5 * gib + 0x1234, 2, true},
	{"of 1 GiB, VA elsewhere", gigantic_scattered, gib, 2 * gib, gib + 2 * mib, 1, true},
	{"a page of 1 GiB", gigantic_scattered, gib, gib, 3 * gib, 2, false},
};

void page_sizes_and_lists()
{
	for (const Choice &c : choices) {
		MemoryScene s;
		REQUIRE(s.ready);
		irdma_mr *mr = nullptr;
		u32 lkey = 0;
		u64 (*page_of)(u64) = c.page_of;
		auto pages = [page_of](u64 page) { return page_of(page); };

		s.world().user_page = pages;
		if (!EXPECT_EQ(s.make(s.params(c.start, c.length, c.va), mr, &lkey), 0))
			continue;
		const Command &told = s.told();
		bool listed = told.get(hw::cqp_stag::pbl_level) != 0;
		u32 code = static_cast<u32>(told.get(hw::cqp_stag::page_size));
		constexpr u64 sizes[] = {4 * kib, 2 * mib, gib};
		u64 size = sizes[code % 3];

		if (listed != c.listed)
			FAIL("%s: listed %u", c.what, static_cast<u32>(listed));
		if (code != c.page_size)
			FAIL("%s: page size %u", c.what, code);
		EXPECT_EQ(told.get(hw::cqp_stag::va), c.va);
		EXPECT_EQ(told.get(hw::cqp_stag::length), c.length);
		EXPECT_EQ(told.get(hw::cqp_stag::pd), s.pd_number);
		EXPECT_EQ(told.get(hw::cqp_stag::key), lkey & 0xff);
		EXPECT_EQ(told.get(hw::cqp_stag::index), lkey >> 8);
		/* The device finds each 4 KiB page of the process where it is. */
		for (u64 at = c.start; at < c.start + c.length; at += 4 * kib) {
			u64 in = c.va - c.va % size, offset = c.va + (at - c.start) - in;
			u64 found;

			if (listed) {
				u64 fpm = s.rig->device().hmc.base(hw::HmcObject::pble) +
					  8 * (told.get(hw::cqp_stag::first_pble) + offset / size);
				u64 segment =
					s.engine().segment(static_cast<u32>(fpm / hw::sd_bytes));
				auto *entry =
					s.world().dma_as<hw::Le64>(segment + fpm % hw::sd_bytes);
				if (!entry)
					break;
				found = entry->get() + offset % size;
			} else {
				found = told.get(hw::cqp_stag::addr) + offset;
			}
			if (found != page_of(at >> 12) + at % (4 * kib)) {
				FAIL("%s: 0x%llx is looked for at 0x%llx, not 0x%llx", c.what, at,
				     found, page_of(at >> 12) + at % (4 * kib));
				break;
			}
		}
		irdma_mr_details details;
		irdma_mr_describe(mr, &details);
		EXPECT(same_text(details.list, listed ? "pbl" : "run"));
		irdma_mr_deregister(mr, false);
	}
}

/* More pages than a segment has PBLEs for. */
void long_lists()
{
	MemoryScene s;
	REQUIRE(s.ready);
	irdma_mr *mr = nullptr;
	constexpr u64 pages = 262144 + 600;
	auto scatter = [](u64 page) { return scattered(page); };

	s.world().user_page = scatter;
	REQUIRE(!s.make(s.params(0x1000, pages * 4 * kib, 0x1000), mr));
	const Command &told = s.told();
	EXPECT_EQ(told.get(hw::cqp_stag::pbl_level), 3);
	u64 root = told.get(hw::cqp_stag::first_pble);
	constexpr u64 at[] = {0, 511, 512, 262143, 262144, pages - 1};
	for (u64 i : at)
		EXPECT_EQ(s.engine().pble(s.engine().pble(root + i / 512) + i % 512),
			  scattered(1 + i));
	irdma_mr_details details;
	irdma_mr_describe(mr, &details);
	EXPECT(same_text(details.list, "pbl2"));
	EXPECT_EQ(details.pages, pages);
	irdma_mr_deregister(mr, false);
	/* Rings may not have such lists. */
	irdma_mr_params p = s.params(0x1000, pages * 4 * kib, 0x1000);
	p.kind = IRDMA_MR_CQ;
	p.cq_pages = static_cast<u32>(pages);
	EXPECT_EQ(s.make(p, mr), -SHIM_ENOMEM);
}

/* ---- Another in its place ---- */

/** A change of a scene's MR, and what came of it. */
struct Changed {
	irdma_mr *mr = nullptr;
	u32 lkey = 0, rkey = 0;
	int err;

	Changed(irdma_mr *old, const irdma_mr_change &change)
		: err(irdma_mr_reregister(old, &change, &mr, &lkey, &rkey))
	{
	}
	~Changed()
	{
		if (!err)
			irdma_mr_deregister(mr, false);
	}
};

void registered_anew()
{
	MemoryScene s;
	REQUIRE(s.ready);
	irdma_mr *mr = nullptr;
	irdma_pd *other_pd = nullptr;
	u32 lkey = 0, pd_number = 0;
	auto scatter = [](u64 page) { return scattered(page); };

	s.world().user_page = scatter;
	REQUIRE(!irdma_pd_create(s.rig->c(), &other_pd, &pd_number));
	REQUIRE(!s.make(s.params(0x1234, 0x3000, 0x5234, 0), mr, &lkey)); /* for reading */
	irdma_mr_change change = {};
	change.pd = other_pd;
	{
		Changed c(mr, change); /* another PD: the same pages, another STag */

		EXPECT_EQ(c.err, 0);
		EXPECT(c.lkey != lkey && c.rkey == c.lkey);
		EXPECT_EQ(s.world().umems, 1);
		EXPECT_EQ(s.told().get(hw::cqp_stag::pd), pd_number);
		EXPECT_EQ(s.told().get(hw::cqp_stag::va), 0x5234);
		EXPECT_EQ(s.told().get(hw::cqp_stag::length), 0x3000);
		EXPECT_EQ(s.told().get(hw::cqp_stag::access), 1);
		EXPECT_EQ(s.told().get(hw::cqp_stag::pbl_level), 1);
	}
	EXPECT_EQ(s.world().umems, 1);
	change.pd = s.pd;
	change.access_given = true;
	change.access = SHIM_ACCESS_REMOTE_READ;
	{
		Changed c(mr, change); /* still for reading */

		EXPECT_EQ(c.err, 0);
		EXPECT_EQ(s.world().umems, 1);
		EXPECT_EQ(s.told().get(hw::cqp_stag::access), 5);
	}
	change.access = SHIM_ACCESS_LOCAL_WRITE;
	{
		Changed c(mr, change); /* pinned for writing */

		EXPECT_EQ(c.err, 0);
		EXPECT_EQ(s.world().umems, 2);
		EXPECT_EQ(s.told().get(hw::cqp_stag::va), 0x5234);
	}
	change.range = true;
	change.start = 0x10000;
	change.length = 0x800;
	change.va = 0x31000;
	{
		Changed c(mr, change);

		EXPECT_EQ(c.err, 0);
		EXPECT_EQ(s.told().get(hw::cqp_stag::va), 0x31000);
		EXPECT_EQ(s.told().get(hw::cqp_stag::length), 0x800);
		EXPECT_EQ(s.told().get(hw::cqp_stag::addr), scattered(0x10));
		EXPECT_EQ(s.told().get(hw::cqp_stag::pbl_level), 0);
	}
	irdma_mr_deregister(mr, false);
	irdma_pd_destroy(other_pd);
}

void registered_anew_refused()
{
	MemoryScene s;
	REQUIRE(s.ready);
	irdma_mr *mr = nullptr, *buffer = nullptr, *ring = nullptr;
	irdma_mr_change change = {};
	irdma_mr_params p = s.params(0x1000, 0x3000, 0x1000, 0);

	REQUIRE(!s.make(p, mr));
	p.dmabuf = 5;
	REQUIRE(!s.make(p, buffer));
	p.dmabuf = -1;
	p.kind = IRDMA_MR_CQ;
	p.cq_pages = 1;
	REQUIRE(!s.make(p, ring));
	u32 registered = s.engine().count(hw::CqpOp::reg_mr);

	change.pd = s.pd;
	EXPECT_EQ(Changed(ring, change).err, -SHIM_EINVAL);
	change.access_given = true;
	change.access = SHIM_ACCESS_ON_DEMAND;
	EXPECT_EQ(Changed(mr, change).err, -SHIM_EOPNOTSUPP);
	change.access = SHIM_ACCESS_REMOTE_WRITE;
	EXPECT_EQ(Changed(mr, change).err, -SHIM_EINVAL);
	change.access = SHIM_ACCESS_LOCAL_WRITE;
	EXPECT_EQ(Changed(buffer, change).err, -SHIM_EACCES);
	s.world().umem_error = -SHIM_EFAULT;
	EXPECT_EQ(Changed(mr, change).err, -SHIM_EFAULT);
	s.world().umem_error = 0;
	change.range = true; /* of no bytes */
	EXPECT_EQ(Changed(mr, change).err, -SHIM_EINVAL);
	EXPECT_EQ(s.engine().count(hw::CqpOp::reg_mr), registered);
	EXPECT_EQ(s.world().umems, 3);
	/* Memory is short, or the device refuses: the old one is as it was. */
	change.range = false;
	for (u32 nth = 1; nth <= 3; nth++) {
		s.world().fail_allocation(nth);
		Changed c(mr, change);
		EXPECT(c.err == 0 || c.err == -SHIM_ENOMEM);
		s.world().fail_allocation(0);
	}
	auto failing = [](const Command &c, Answer &a) {
		if (c.op == hw::CqpOp::reg_mr)
			a.fail(0xffff, 1);
	};
	s.engine().on_command = failing;
	EXPECT_EQ(Changed(mr, change).err, -SHIM_EIO);
	s.engine().on_command = {};
	EXPECT_EQ(s.world().umems, 3);
	irdma_mr_deregister(mr, false);
	irdma_mr_deregister(buffer, false);
	irdma_mr_deregister(ring, false);
}

void zero_based()
{
	MemoryScene s;
	REQUIRE(s.ready);
	irdma_mr *mr = nullptr;
	auto pages = [](u64 page) { return scattered(page); };

	s.world().user_page = pages; /* of 4 KiB, then */
	EXPECT_EQ(s.make(s.params(0x1234, 100, 0x1234,
				  SHIM_ACCESS_LOCAL_WRITE | SHIM_ACCESS_ZERO_BASED),
			 mr),
		  0);
	EXPECT_EQ(s.told().get(hw::cqp_stag::va), 0x234);
	EXPECT_EQ(s.told().get(hw::cqp_stag::va_based), 0);
	irdma_mr_deregister(mr, false);
}

void dmabuf()
{
	MemoryScene s;
	REQUIRE(s.ready);
	irdma_mr *mr = nullptr;
	irdma_mr_params p = s.params(0x1000, 0x3000, 0x1000);

	p.dmabuf = 5;
	EXPECT_EQ(s.make(p, mr), 0);
	irdma_mr_deregister(mr, false);
	p.kind = IRDMA_MR_CQ;
	p.cq_pages = 1;
	EXPECT_EQ(s.make(p, mr), -SHIM_EOPNOTSUPP);
}

/* ---- The device refuses, or does not answer ---- */

void commands_that_fail()
{
	MemoryScene s;
	REQUIRE(s.ready);
	irdma_mr *mr = nullptr;
	irdma_mw *mw = nullptr;
	u32 lkey, rkey;
	auto failing = [](const Command &c, Answer &a) {
		if (c.op == hw::CqpOp::reg_mr || c.op == hw::CqpOp::alloc_stag)
			a.fail(0xffff, 1);
	};

	s.engine().on_command = failing;
	EXPECT_EQ(s.make(s.params(0x1000, 100, 0x1000), mr), -SHIM_EIO);
	EXPECT_EQ(irdma_mr_dma(s.rig->c(), s.pd, 1, &mr, &lkey, &rkey), -SHIM_EIO);
	EXPECT_EQ(irdma_mr_alloc(s.rig->c(), s.pd, 4, &mr, &lkey, &rkey), -SHIM_EIO);
	EXPECT_EQ(irdma_mw_create(s.rig->c(), s.pd, 1, &mw, &rkey), -SHIM_EIO);
	EXPECT_EQ(s.world().umems, 0);
	s.engine().on_command = {};
	/* Refused to let go: pages stay pinned, the number is not used again. */
	EXPECT_EQ(s.make(s.params(0x1000, 100, 0x1000), mr, &lkey), 0);
	EXPECT_EQ(irdma_mw_create(s.rig->c(), s.pd, 2, &mw, &rkey), 0);
	auto staying = [](const Command &c, Answer &a) {
		if (c.op == hw::CqpOp::dealloc_stag)
			a.fail(0xffff, 1);
	};
	s.engine().on_command = staying;
	/* A process is told, and may try again: nothing has changed. */
	EXPECT_EQ(irdma_mr_deregister(mr, true), -SHIM_EIO);
	EXPECT_EQ(irdma_mw_destroy(mw, true), -SHIM_EIO);
	EXPECT_EQ(irdma_mw_destroy(mw, false), 0);
	EXPECT_EQ(irdma_mr_deregister(mr, false), 0);
	EXPECT_EQ(s.world().umems, 1);
	s.engine().on_command = {};
	for (u32 i = 0; i < 1200; i++) {
		u32 other;

		if (irdma_mw_create(s.rig->c(), s.pd, 1, &mw, &other))
			return FAIL("no window");
		if ((other >> 8 & 0x3fff) == (lkey >> 8 & 0x3fff) ||
		    (other >> 8 & 0x3fff) == (rkey >> 8 & 0x3fff))
			return FAIL("STag 0x%x is given out again", other);
		irdma_mw_destroy(mw, false);
	}
	s.engine().forget_stag(lkey >> 8 & 0x3fff);
	s.engine().forget_stag(rkey >> 8 & 0x3fff);
}

void commands_that_are_never_answered()
{
	for (u32 how = 0; how < 3; how++) {
		MemoryScene s;
		REQUIRE(s.ready);
		irdma_mr *mr = nullptr;
		irdma_mw *mw = nullptr;
		u32 lkey, rkey;
		auto silent = [](const Command &, Answer &a) { a.silent = true; };

		s.engine().on_command = silent;
		if (how == 0) {
			EXPECT_EQ(s.make(s.params(0x1000, 100, 0x1000), mr), -SHIM_ENODEV);
			EXPECT_EQ(s.world().umems, 1); /* the device may know it */
		} else if (how == 1) {
			EXPECT_EQ(irdma_mr_alloc(s.rig->c(), s.pd, 4, &mr, &lkey, &rkey),
				  -SHIM_ENODEV);
		} else {
			EXPECT_EQ(irdma_mw_create(s.rig->c(), s.pd, 1, &mw, &rkey), -SHIM_ENODEV);
		}
	}
}

/* ---- The kernel's MRs, windows ---- */

void kernel_regions()
{
	MemoryScene s;
	REQUIRE(s.ready);
	irdma_mr *mr = nullptr;
	irdma_mr_details details;
	u32 lkey = 0, rkey = 0;

	EXPECT_EQ(irdma_mr_dma(s.rig->c(), s.pd, SHIM_ACCESS_REMOTE_WRITE, &mr, &lkey, &rkey), 0);
	EXPECT_EQ(s.told().get(hw::cqp_stag::length), 0); /* all of memory */
	irdma_mr_describe(mr, &details);
	EXPECT(same_text(details.list, "all"));
	irdma_mr_deregister(mr, false);
	EXPECT_EQ(irdma_mr_dma(s.rig->c(), s.pd, SHIM_ACCESS_ON_DEMAND, &mr, &lkey, &rkey),
		  -SHIM_EOPNOTSUPP);
	EXPECT_EQ(irdma_mr_alloc(s.rig->c(), s.pd, 0, &mr, &lkey, &rkey), -SHIM_EINVAL);
	EXPECT_EQ(irdma_mr_alloc(s.rig->c(), s.pd, 262145, &mr, &lkey, &rkey), -SHIM_EINVAL);
	EXPECT_EQ(irdma_mr_alloc(s.rig->c(), s.pd, 3, &mr, &lkey, &rkey), 0);
	EXPECT_EQ(s.engine().last_of(hw::CqpOp::alloc_stag)->get(hw::cqp_stag::is_mr), 1);
	irdma_mr_begin_pages(mr);
	for (u32 i = 0; i < 3; i++)
		EXPECT_EQ(irdma_mr_set_page(mr, 0x1000 * i), 0);
	EXPECT_EQ(irdma_mr_set_page(mr, 0x9000), -SHIM_ENOMEM);
	constexpr u32 sizes[] = {0, 1, 2048, 8192, 0x201000, 0x80000000};
	for (u32 size : sizes)
		EXPECT_EQ(irdma_mr_end_pages(mr, 0, 100, size), -SHIM_EINVAL);
	irdma_mr_describe(mr, &details);
	EXPECT(same_text(details.list, "fast"));
	irdma_mr_deregister(mr, false);
}

void windows()
{
	MemoryScene s;
	REQUIRE(s.ready);
	irdma_mw *mw = nullptr;
	u32 rkey = 0;

	for (u32 type = 0; type < 4; type++) {
		int err = irdma_mw_create(s.rig->c(), s.pd, type, &mw, &rkey);

		EXPECT_EQ(err, type == 1 || type == 2 ? 0 : -SHIM_EINVAL);
		if (err)
			continue;
		const Command &c = *s.engine().last_of(hw::CqpOp::alloc_stag);
		EXPECT_EQ(c.get(hw::cqp_stag::is_mr), 0);
		EXPECT_EQ(c.get(hw::cqp_stag::mw_wide), type == 1);
		irdma_mw_destroy(mw, false);
		EXPECT_EQ(s.engine().last_of(hw::CqpOp::dealloc_stag)->get(hw::cqp_stag::is_mr), 0);
	}
}

/* Keys are not to be guessed: the bits that do not number MRs differ. */
void keys_are_random()
{
	MemoryScene s;
	REQUIRE(s.ready);
	u32 seen = 0, last = 0;

	for (u32 i = 0; i < 20; i++) {
		irdma_mw *mw = nullptr;
		u32 rkey = 0;

		REQUIRE(!irdma_mw_create(s.rig->c(), s.pd, 1, &mw, &rkey));
		seen |= (rkey ^ last) & ~(0x3fffu << 8);
		last = rkey;
		irdma_mw_destroy(mw, false);
	}
	EXPECT_EQ(seen, ~(0x3fffu << 8));
}

/* ---- Rings of processes ---- */

void rings_that_are_refused()
{
	MemoryScene s;
	REQUIRE(s.ready);
	irdma_mr *mr = nullptr;
	constexpr struct {
		irdma_mr_kind kind;
		u64 start, length;
		u32 sq, rq, cq;
	} bad[] = {
		{IRDMA_MR_QP, 0x1000, 0x3000, 0, 1, 0}, {IRDMA_MR_QP, 0x1000, 0x3000, 1, 0, 0},
		{IRDMA_MR_QP, 0x1000, 0x2000, 1, 1, 0}, {IRDMA_MR_QP, 0x1000, 0x3000, ~0u, 1, 0},
		{IRDMA_MR_QP, 0x1800, 0x4000, 1, 1, 0}, {IRDMA_MR_CQ, 0x1000, 0x1000, 0, 0, 0},
		{IRDMA_MR_CQ, 0x1000, 0x1000, 0, 0, 2}, {IRDMA_MR_CQ, 0x1000, 0x1000, 0, 0, ~0u},
	};

	for (const auto &b : bad) {
		irdma_mr_params p = s.params(b.start, b.length, b.start);

		p.kind = b.kind;
		p.sq_pages = b.sq;
		p.rq_pages = b.rq;
		p.cq_pages = b.cq;
		EXPECT_EQ(s.make(p, mr), -SHIM_EINVAL);
	}
	irdma_mr_params p = s.params(0x1000, 0x1000, 0x1000);
	p.kind = IRDMA_MR_CQ;
	p.cq_pages = 1;
	p.uctx = nullptr;
	EXPECT_EQ(s.make(p, mr), -SHIM_EOPNOTSUPP);
}

/** A CQ and a QP of a process, in rings at known addresses. */
struct UserQp {
	MemoryScene &s;
	irdma_mr *cq_ring = nullptr, *cq_shadow = nullptr, *qp_ring = nullptr;
	irdma_cq *cq = nullptr;
	irdma_qp *qp = nullptr;
	irdma_cq_result cq_result = {};
	irdma_qp_result qp_result = {};
	int ib = 0;
	int err;

	explicit UserQp(MemoryScene &scene, u32 sq_pages = 4, u32 rq_pages = 1) : s(scene)
	{
		err = ring(IRDMA_MR_CQ, 0x10000, 0, 0, 1, cq_ring);
		if (!err)
			err = ring(IRDMA_MR_CQ, 0x20000, 0, 0, 1, cq_shadow);
		if (!err)
			err = ring(IRDMA_MR_QP, 0x30000, sq_pages, rq_pages, 0, qp_ring);
		if (!err)
			err = make_cq(100);
		if (!err)
			err = make_qp();
	}
	~UserQp()
	{
		if (qp)
			irdma_qp_destroy(qp, false);
		if (cq)
			irdma_cq_destroy(cq, false);
		irdma_mr *const rings[] = {cq_ring, cq_shadow, qp_ring};

		for (irdma_mr *mr : rings)
			if (mr)
				irdma_mr_deregister(mr, false);
	}
	int ring(irdma_mr_kind kind, u64 at, u32 sq, u32 rq, u32 cq_pages, irdma_mr *&mr)
	{
		u32 pages = kind == IRDMA_MR_QP ? sq + rq + 1 : cq_pages;
		irdma_mr_params p = s.params(at, pages * 4096, at);

		p.kind = kind;
		p.sq_pages = sq;
		p.rq_pages = rq;
		p.cq_pages = cq_pages;
		return s.make(p, mr);
	}
	int make_cq(u32 entries)
	{
		irdma_cq_params p = {};

		p.entries = entries;
		p.ib = &ib;
		p.uctx = s.uctx;
		p.user_buffer = 0x10000;
		p.user_shadow = 0x20000;
		return irdma_cq_create(s.rig->c(), &p, &cq, &cq_result);
	}
	int make_qp(u32 wrs = 16)
	{
		irdma_qp_params p = {};

		p.type = SHIM_QPT_RC;
		p.max_send_wr = p.max_recv_wr = wrs;
		p.max_send_sge = p.max_recv_sge = 1;
		p.ib = &ib;
		p.pd = s.pd;
		p.send_cq = p.recv_cq = cq;
		p.uctx = s.uctx;
		p.user_queues = 0x30000;
		p.user_completion_ctx = 0xabcdef12345678;
		return irdma_qp_create(s.rig->c(), &p, &qp, &qp_result);
	}
};

void objects_of_processes()
{
	for (u32 far = 0; far < 2; far++) {
		MemoryScene s;
		REQUIRE(s.ready);
		auto pages = [far](u64 page) { return far ? scattered(page) : straight(page); };

		s.world().user_page = pages;
		s.engine().strict_memory = false; /* rings are a process's */
		UserQp user(s);
		if (!EXPECT_EQ(user.err, 0))
			continue;
		auto &qp = s.engine().qp(user.qp_result.number);
		const Command &c = *s.engine().last_of(hw::CqpOp::create_qp);

		EXPECT_EQ(c.get(hw::cqp_qp::virtual_queues), far);
		if (!far) {
			EXPECT_EQ(qp.context.get(hw::qpc::sq_addr), straight(0x30));
			EXPECT_EQ(qp.context.get(hw::qpc::rq_addr), straight(0x34));
		}
		EXPECT_EQ(qp.shadow_bus, far ? scattered(0x35) : straight(0x35));
		EXPECT_EQ(qp.context.get(hw::qpc::completion_ctx), 0xabcdef12345678);
		EXPECT_EQ(qp.context.get(hw::qpc::priv_enable), 0);
		EXPECT_EQ(qp.context.get(hw::qpc::fastreg_enable), 0);
		EXPECT_EQ(s.engine().cq(user.cq_result.number).ring.bus,
			  far ? scattered(0x10) : straight(0x10));
		/* The kernel does not post, poll or arm for it. */
		const shim_send_wr *bad = nullptr;
		const shim_recv_wr *bad_receive = nullptr;
		EXPECT_EQ(irdma_post_send(user.qp, nullptr, &bad), -SHIM_EINVAL);
		EXPECT_EQ(irdma_post_recv(user.qp, nullptr, &bad_receive), -SHIM_EINVAL);
		EXPECT_EQ(irdma_cq_notify(user.cq, SHIM_CQ_NEXT_COMP), 0);
		/* Its CQ is armed behind our back: each event is told. */
		s.engine().completion_event(0, user.cq_result.number);
		s.world().settle();
		EXPECT_EQ(s.world().completions, 1);
		/* An MR may go before what was made in it: the pages stay. */
		irdma_mr_deregister(user.qp_ring, false);
		user.qp_ring = nullptr;
		EXPECT_EQ(s.world().umems, 3);
		irdma_qp_destroy(user.qp, false);
		user.qp = nullptr;
		EXPECT_EQ(s.world().umems, 2);
	}
}

/* Rings that are too short, used already, or not there. */
void rings_that_do_not_fit()
{
	MemoryScene s;
	REQUIRE(s.ready);
	s.engine().strict_memory = false;
	{
		UserQp user(s, 1, 1); /* the SQ needs four pages */

		EXPECT_EQ(user.err, -SHIM_EINVAL);
	}
	UserQp user(s);
	REQUIRE(!user.err);
	irdma_qp *first = user.qp;
	EXPECT_EQ(user.make_qp(), -SHIM_ENOENT); /* a ring serves one QP */
	user.qp = first;
	irdma_cq *cq = user.cq;
	EXPECT_EQ(user.make_cq(100), -SHIM_ENOENT);
	user.cq = cq;
	/* Entries beyond what is registered. */
	irdma_mr *ring = nullptr;
	EXPECT_EQ(user.ring(IRDMA_MR_CQ, 0x10000, 0, 0, 1, ring), 0);
	EXPECT_EQ(user.make_cq(129), -SHIM_EINVAL);
	user.cq = cq;
	irdma_mr_deregister(ring, false);
	constexpr u32 entries[] = {0, 0x100000, ~0u};
	for (u32 n : entries) {
		EXPECT_EQ(user.ring(IRDMA_MR_CQ, 0x10000, 0, 0, 1, ring), 0);
		EXPECT_EQ(user.make_cq(n), -SHIM_EINVAL);
		user.cq = cq;
		irdma_mr_deregister(ring, false);
	}
	/* A ring without its shadow area. */
	EXPECT_EQ(user.ring(IRDMA_MR_CQ, 0x10000, 0, 0, 1, ring), 0);
	EXPECT_EQ(user.make_cq(100), -SHIM_ENOENT);
	user.cq = cq;
	irdma_mr_deregister(ring, false);
}

void resize()
{
	MemoryScene s;
	REQUIRE(s.ready);
	s.engine().strict_memory = false;
	UserQp user(s);
	REQUIRE(!user.err);
	irdma_mr *ring = nullptr;
	u32 size = 0;

	EXPECT_EQ(irdma_cq_resize(user.cq, 200, s.uctx, 0x50000, &size), -SHIM_ENOENT);
	EXPECT_EQ(user.ring(IRDMA_MR_CQ, 0x50000, 0, 0, 2, ring), 0);
	EXPECT_EQ(irdma_cq_resize(user.cq, 257, s.uctx, 0x50000, &size), -SHIM_EINVAL);
	irdma_mr_deregister(ring, false);
	EXPECT_EQ(user.ring(IRDMA_MR_CQ, 0x50000, 0, 0, 2, ring), 0);
	EXPECT_EQ(irdma_cq_resize(user.cq, 200, s.uctx, 0x50000, &size), 0);
	EXPECT_EQ(size, 200);
	EXPECT_EQ(s.engine().cq(user.cq_result.number).size, 200);
	EXPECT_EQ(s.engine().last_of(hw::CqpOp::modify_cq)->get(hw::cqp_cq::resize), 1);
	/* The old ring's pages are let go with its MR. */
	u32 umems = s.world().umems;
	irdma_mr_deregister(user.cq_ring, false);
	user.cq_ring = nullptr;
	EXPECT_EQ(s.world().umems, umems - 1);
	irdma_mr *other = nullptr;
	EXPECT_EQ(user.ring(IRDMA_MR_CQ, 0x60000, 0, 0, 1, other), 0);
	auto failing = [](const Command &c, Answer &a) {
		if (c.op == hw::CqpOp::modify_cq)
			a.fail(0xffff, 0x1111);
	};
	s.engine().on_command = failing;
	EXPECT_EQ(irdma_cq_resize(user.cq, 100, s.uctx, 0x60000, &size), -SHIM_EIO);
	EXPECT_EQ(size, 200);
	s.engine().on_command = {};
	irdma_mr_deregister(other, false);
	irdma_mr_deregister(ring, false);
	/* Not of the kernel. */
	KernelQp kernel(*s.rig);
	EXPECT_EQ(irdma_cq_resize(kernel.cq, 100, nullptr, 0, &size), -SHIM_EOPNOTSUPP);
}

/* Not to fewer entries than wait to be polled, on laps of either valid bit. */
void resize_with_completions_waiting()
{
	constexpr u32 head = 20, size = 50;

	for (u32 n = 0; n < 4; n++) {
		MemoryScene s;
		REQUIRE(s.ready);
		bool valid = n & 1, too_many = n & 2;
		u64 end = head + size - !too_many;
		auto data = [valid, end](u64 offset, u8 *to, u64 bytes) {
			if (bytes == sizeof(hw::CqShadow)) {
				to[0] = head;
				return;
			}
			for (u64 i = 0; i < bytes / sizeof(hw::Cqe); i++)
				to[i * 32 + 31] = (offset / 32 + i < end) == valid ? 0x80 : 0;
		};

		s.engine().strict_memory = false;
		UserQp user(s);
		irdma_mr *ring = nullptr;
		u32 entries = 0;
		REQUIRE(!user.err && !user.ring(IRDMA_MR_CQ, 0x50000, 0, 0, 1, ring));
		s.world().user_data = data;
		int err = irdma_cq_resize(user.cq, size, s.uctx, 0x50000, &entries);
		if (err != (too_many ? -SHIM_EINVAL : 0))
			FAIL("valid bit %u, %llu entries wait: error %d", valid, end - head, err);
		irdma_mr_deregister(ring, false);
	}
}

/* RESET and on of a process's QP: only while nothing was posted to its rings. */
void use_after_reset()
{
	for (u32 posted = 0; posted < 3; posted++) {
		MemoryScene s;
		REQUIRE(s.ready);
		auto data = [posted](u64 offset, u8 *to, u64 bytes) {
			/* A header in the first request of the SQ, or of the RQ. */
			if ((posted == 1 && offset == 0) || (posted == 2 && offset == 4 * 4096))
				to[bytes - 1] = 0x80;
		};

		s.engine().strict_memory = false;
		s.world().user_data = data;
		UserQp user(s);
		REQUIRE(!user.err);
		irdma_qp_change c = {};

		c.mask = SHIM_QP_STATE | SHIM_QP_PKEY_INDEX | SHIM_QP_PORT | SHIM_QP_ACCESS_FLAGS;
		c.state = SHIM_QPS_INIT;
		c.port = 1;
		EXPECT_EQ(irdma_qp_modify(user.qp, &c), 0);
		irdma_qp_change err = {};
		err.mask = SHIM_QP_STATE;
		err.state = SHIM_QPS_ERR;
		EXPECT_EQ(irdma_qp_modify(user.qp, &err), 0);
		err.flush_sq = true;
		EXPECT_EQ(irdma_qp_modify(user.qp, &err), 0);
		EXPECT_EQ(s.engine().count(hw::CqpOp::flush_wqes), 2);
		err.state = SHIM_QPS_RESET;
		EXPECT_EQ(irdma_qp_modify(user.qp, &err), 0);
		EXPECT_EQ(irdma_qp_modify(user.qp, &c), posted ? -SHIM_EOPNOTSUPP : 0);
	}
}

/* A dead device keeps what it may still write to until it is stopped. */
void rings_of_a_dead_device()
{
	MemoryScene s;
	REQUIRE(s.ready);
	s.engine().strict_memory = false;
	{
		UserQp user(s);
		REQUIRE(!user.err);
		s.rig->device().declare_dead("for a test");
	}
	EXPECT_EQ(s.world().umems, 3);
}

void allocations_that_fail()
{
	bool any = true;

	for (u32 nth = 1; any && nth < 100; nth++) {
		MemoryScene s;
		REQUIRE(s.ready);
		s.engine().strict_memory = false;
		auto pages = [](u64 page) { return scattered(page); };
		s.world().user_page = pages;
		s.world().fail_allocation(nth);
		{
			UserQp user(s);
			irdma_mr *mr = nullptr;

			if (!s.make(s.params(0x100000, 0x5000, 0x100000), mr))
				irdma_mr_deregister(mr, false);
		}
		any = s.world().allocation_failed();
		s.world().fail_allocation(0);
	}
	EXPECT(!any);
}

constexpr bridge_case cases[] = {
	TEST(ranges_that_are_refused),
	TEST(rights),
	TEST(page_sizes_and_lists),
	TEST(long_lists),
	TEST(registered_anew),
	TEST(registered_anew_refused),
	TEST(zero_based),
	TEST(dmabuf),
	TEST(commands_that_fail),
	TEST(commands_that_are_never_answered),
	TEST(kernel_regions),
	TEST(windows),
	TEST(keys_are_random),
	TEST(rings_that_are_refused),
	TEST(objects_of_processes),
	TEST(rings_that_do_not_fit),
	TEST(resize),
	TEST(resize_with_completions_waiting),
	TEST(use_after_reset),
	TEST(rings_of_a_dead_device),
	TEST(allocations_that_fail),
};

} // namespace

SUITE(memory, cases)
