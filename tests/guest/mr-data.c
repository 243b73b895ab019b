// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions of all kinds, judged by the data that goes through them: RDMA
 * WRITE and READ between two queue pairs of this process, at the edges of
 * regions, pages and page lists, and beyond, where it must be refused.
 */
#define _GNU_SOURCE
#include "lib/loop.h"
#include "lib/raw_mr.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/memfd.h>
#include <linux/udmabuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ul
#define MIB (1ul << 20)
#define GIB (1ul << 30)
#define LEAF_PAGES 512		/* of a page list of two levels */
#define PROBE_BYTES (64 * 1024)
#define AGE_SECONDS 15		/* the kernel frees what was in use by RCU every five */
#define GUARD 32		/* bytes beside a write that must stay */
#define ALL (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

static struct {
	const char *device;
	unsigned long count;
	unsigned long gib;
} opt = { .count = 1000, .gib = 64 };

static struct vu_device dev;
static struct ibv_pd *pd, *other_pd;
static struct loop loop;
static char *probe;		/* the other end of each transfer */
static struct ibv_mr *probe_mr;
static uint64_t seed = 1;
static int failures, checks;

/** struct region - a region, or a part of one, and the memory that is in it
 * @cpu: its first byte for this process
 * @iova: its first byte for the device
 * @length: bytes
 * @lkey: key for the device's own side
 * @rkey: key for the peer
 */
struct region {
	char *cpu;
	uint64_t iova;
	uint64_t length;
	uint32_t lkey, rkey;
};

static bool check(bool ok, const char *what, unsigned long value)
{
	checks++;
	if (!ok) {
		failures++;
		printf("not so: %s (%lu, 0x%lx)\n", what, value, value);
	}
	return ok;
}

static uint64_t below(uint64_t n)
{
	return vu_random(&seed) % n;
}

static void fill(char *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		at[i] = (char)vu_random(&seed);
}

static struct region whole(char *cpu, uint64_t length, const struct ibv_mr *mr)
{
	return (struct region){ cpu, (uintptr_t)cpu, length, mr->lkey, mr->rkey };
}

/* ---- Data through a region ---- */

static int write_to(const struct region *r, uint64_t at, uint32_t n)
{
	return loop_rdma(&loop, IBV_WR_RDMA_WRITE, probe, probe_mr->lkey, r->iova + at,
			 r->rkey, n);
}

static int read_from(const struct region *r, uint64_t at, uint32_t n)
{
	return loop_rdma(&loop, IBV_WR_RDMA_READ, probe, probe_mr->lkey, r->iova + at,
			 r->rkey, n);
}

/* The region is the device's own side. */
static int write_by(const struct region *r, uint64_t at, uint32_t n)
{
	return loop_rdma(&loop, IBV_WR_RDMA_WRITE, (char *)(r->iova + at), r->lkey,
			 (uintptr_t)probe, probe_mr->rkey, n);
}

static int read_by(const struct region *r, uint64_t at, uint32_t n)
{
	return loop_rdma(&loop, IBV_WR_RDMA_READ, (char *)(r->iova + at), r->lkey,
			 (uintptr_t)probe, probe_mr->rkey, n);
}

/* Something new goes to the region, there, and nothing beside it. */
static void check_written(int (*move)(const struct region *, uint64_t, uint32_t),
			  const struct region *r, uint64_t at, uint32_t n)
{
	uint64_t before = at < GUARD ? at : GUARD;
	uint64_t left = r->length - at - n, after = left < GUARD ? left : GUARD;
	char guards[2][GUARD];

	memcpy(guards[0], r->cpu + at - before, before);
	memcpy(guards[1], r->cpu + at + n, after);
	fill(probe, n);
	if (!check(move(r, at, n) == IBV_WC_SUCCESS, "it is written, at", at))
		return;
	check(!memcmp(r->cpu + at, probe, n), "the bytes are there, at", at);
	check(!memcmp(guards[0], r->cpu + at - before, before) &&
	      !memcmp(guards[1], r->cpu + at + n, after), "nothing beside is written, at", at);
}

static void check_read(int (*move)(const struct region *, uint64_t, uint32_t),
		       const struct region *r, uint64_t at, uint32_t n)
{
	fill(r->cpu + at, n);
	memset(probe, 0, n);
	if (check(move(r, at, n) == IBV_WC_SUCCESS, "it is read, at", at))
		check(!memcmp(r->cpu + at, probe, n), "the bytes are right, at", at);
}

static void check_at(const struct region *r, uint64_t at, uint32_t n)
{
	check_written(write_to, r, at, n);
	check_written(read_by, r, at, n);
	check_read(read_from, r, at, n);
	check_read(write_by, r, at, n);
}

static void check_beyond(const struct region *r)
{
	check(write_to(r, r->length, 1) == IBV_WC_REM_ACCESS_ERR, "beyond the end", r->length);
	check(read_from(r, r->length - 1, 2) == IBV_WC_REM_ACCESS_ERR, "over the end", r->length);
	check(write_to(r, -1ul, 1) == IBV_WC_REM_ACCESS_ERR, "before the begin", r->length);
	check(write_by(r, r->length, 1) == IBV_WC_LOC_PROT_ERR, "beyond the end, local",
	      r->length);
}

/* Ends, each kind of border, and @count places at random. */
static void check_region(const struct region *r, unsigned int count)
{
	static const uint64_t borders[] = { PAGE, LEAF_PAGES * PAGE, 512 * LEAF_PAGES * PAGE,
					    LEAF_PAGES * 2 * MIB, 2 * GIB, 4 * GIB };
	uint32_t n = r->length < 200 ? (uint32_t)r->length : 200;

	check_at(r, 0, n);
	check_at(r, r->length - n, n);
	for (size_t i = 0; i < ARRAY_SIZE(borders); i++) {
		/* Counted from the page in which the region begins. */
		uint64_t at = borders[i] - r->iova % PAGE;

		if (at >= 100 && r->length > at + 100)
			check_at(r, at - 100, 200);
	}
	while (count--) {
		n = 1 + (uint32_t)below(r->length < 9000 ? r->length : 9000);
		check_at(r, below(r->length - n + 1), n);
	}
}

static struct ibv_mr *reg(char *at, uint64_t length, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, at, length, access);

	check(mr != NULL, "registered, length", length);
	if (!mr)
		printf("error %s\n", vu_errno_name(errno));
	return mr;
}

static void register_and_check(char *at, uint64_t length, unsigned int count)
{
	struct ibv_mr *mr = reg(at, length, ALL);
	struct region r;

	if (!mr)
		return;
	r = whole(at, length, mr);
	check_region(&r, count);
	check_beyond(&r);
	check(!ibv_dereg_mr(mr), "deregistered", length);
	check(write_to(&r, 0, 1) == IBV_WC_REM_ACCESS_ERR, "a key that is no more", length);
}

/* ---- Memory ---- */

/* @flags: of memfd_create(). */
static int file(size_t bytes, unsigned int flags)
{
	int fd = memfd_create("mr-data", flags);

	if (fd < 0 || ftruncate(fd, (off_t)bytes)) {
		perror("memory file");
		exit(2);
	}
	return fd;
}

static char *map(size_t bytes, int flags, int fd)
{
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (at == MAP_FAILED) {
		perror("memory");
		exit(2);
	}
	return at;
}

static char *anonymous(size_t bytes)
{
	return map(bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1);
}

/*
 * @bytes of address space in which a file of @file_bytes lies again and again: so a region can be
 * larger than the machine's memory. @align: of the address, at least that of the file's pages.
 */
static char *repeated(size_t bytes, int fd, size_t file_bytes, size_t align)
{
	char *space = mmap(NULL, bytes + align, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *at = (char *)(((uintptr_t)space + align - 1) & ~(align - 1));

	for (size_t done = 0; space != MAP_FAILED && done < bytes; done += file_bytes) {
		size_t part = bytes - done < file_bytes ? bytes - done : file_bytes;

		if (mmap(at + done, part, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			 0) == MAP_FAILED)
			space = MAP_FAILED;
	}
	if (space == MAP_FAILED) {
		perror("address space");
		exit(2);
	}
	return at;
}

/* A file whose pages lie scattered: they are first touched in random order. */
static int scattered_file(size_t pages)
{
	int fd = file(pages * PAGE, 0);
	char *at = map(pages * PAGE, MAP_SHARED, fd);
	size_t *order = malloc(pages * sizeof(*order));

	for (size_t i = 0; i < pages; i++) {
		size_t with = below(i + 1);

		order[i] = order[with];
		order[with] = i;
	}
	for (size_t i = 0; i < pages; i++)
		fill(at + order[i] * PAGE, 64);
	free(order);
	munmap(at, pages * PAGE);
	return fd;
}

/* ---- The tests ---- */

static void test_sizes(void)
{
	static const uint64_t sizes[] = { 1, 2, 7, 64, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE,
					  8 * PAGE - 1, 65 * PAGE, MIB + 1 };
	static const uint64_t offsets[] = { 0, 1, 100, PAGE - 1 };
	char *area = anonymous(4 * MIB);

	for (size_t s = 0; s < ARRAY_SIZE(sizes); s++)
		for (size_t o = 0; o < ARRAY_SIZE(offsets); o++)
			register_and_check(area + PAGE + offsets[o], sizes[s], 2);
	munmap(area, 4 * MIB);
}

/* Whole and in part, as pages of that size: the trace tells. */
static void huge_pages(size_t page, unsigned int flags, size_t pages)
{
	int fd = file(page, MFD_HUGETLB | flags);
	char *at = repeated(pages * page, fd, page, page);

	at[0] = 1;
	register_and_check(at, page, 4);
	register_and_check(at + 12345, page - 20000, 2);
	register_and_check(at, pages * page, 10);
	register_and_check(at + page / 2 + 1, (pages - 1) * page, 10);
	munmap(at, pages * page);
	close(fd);
}

static void test_huge(void)
{
	huge_pages(2 * MIB, MFD_HUGE_2MB, 700);
}

static void test_gigantic(void)
{
	huge_pages(GIB, MFD_HUGE_1GB, 8);
}

/* As much address space as an E810 is asked for, by a few huge pages. */
static void test_space(void)
{
	int fd = file(7 * 2 * MIB, MFD_HUGETLB | MFD_HUGE_2MB);
	char *at = repeated(opt.gib * GIB, fd, 7 * 2 * MIB, 2 * MIB);

	register_and_check(at, opt.gib * GIB, 40);
	register_and_check(at + 4097, opt.gib * GIB - 5000, 10);
	close(fd);
}

/* More than a page list of one level can have. */
static void test_scattered(void)
{
	const size_t pages = 16381;	/* a prime: no leaf is like another */
	int fd = scattered_file(pages);
	char *at = repeated(GIB + 100 * MIB, fd, pages * PAGE, PAGE);

	register_and_check(at, GIB + 100 * MIB, 60);
	register_and_check(at + 4000, GIB + 99 * MIB, 10);
	register_and_check(at, GIB / 2 + 123, 10);
	munmap(at, GIB + 100 * MIB);
	close(fd);
}

/* ---- Exhaustion ---- */

#define MOST 64

static int register_until_full(char *at, uint64_t bytes, struct ibv_mr *mr[MOST])
{
	int n = 0;

	while (n < MOST && (mr[n] = ibv_reg_mr(pd, at, bytes, ALL)))
		n++;
	check(n < MOST && errno == ENOMEM, "ENOMEM when the page lists are used up", errno);
	return n;
}

static void test_exhaust(void)
{
	const size_t pages = 8191;
	const uint64_t bytes = 300 * MIB;
	int fd = scattered_file(pages), first = 0, n;
	char *at = repeated(bytes, fd, pages * PAGE, PAGE);
	struct ibv_mr *mr[MOST];
	struct region r;

	for (int round = 0; round < 3; round++) {
		n = register_until_full(at, bytes, mr);
		if (!round)
			first = n;
		check(n == first && n > 4, "as many as before", n);
		if (!n)
			return;
		/* What is there works, and what is small is still to be had. */
		r = whole(at, bytes, mr[n - 1]);
		check_region(&r, 3);
		register_and_check(at + 10, 5000, 2);
		while (n--)
			check(!ibv_dereg_mr(mr[n]), "deregistered", n);
	}
	munmap(at, bytes);
	close(fd);
}

/* ---- Churn ---- */

#define HELD 200

/* Most regions are short, a few are long; some of them are looked at. */
static void test_churn(void)
{
	const size_t pages = 8191;
	int fd = scattered_file(pages);
	char *at = map(pages * PAGE, MAP_SHARED, fd);
	struct { struct ibv_mr *mr; struct region r; } held[HELD] = {};

	for (unsigned long i = 0; i < opt.count; i++) {
		size_t h = below(HELD);
		uint64_t most = below(16) ? 1 + below(64) : 1 + below(pages - 1);
		uint64_t offset = below((pages - most) * PAGE), length = 1 + below(most * PAGE);

		if (held[h].mr) {
			if (!below(20))
				check_region(&held[h].r, 1);
			if (!check(!ibv_dereg_mr(held[h].mr), "deregistered", i))
				return;
		}
		held[h].mr = reg(at + offset, length, ALL);
		if (!held[h].mr)
			return;
		held[h].r = whole(at + offset, length, held[h].mr);
	}
	for (size_t h = 0; h < HELD; h++)
		if (held[h].mr)
			check(!ibv_dereg_mr(held[h].mr), "deregistered", h);
	munmap(at, pages * PAGE);
	close(fd);
}

/* ---- Rights ---- */

static void check_rights(char *at, int access)
{
	struct ibv_mr *mr = reg(at, 2 * PAGE, access);
	struct region r;

	if (!mr)
		return;
	r = whole(at, 2 * PAGE, mr);
	if (access & IBV_ACCESS_ZERO_BASED)
		r.iova = 0;
	check(write_to(&r, 50, 100) == (access & IBV_ACCESS_REMOTE_WRITE ?
		IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR), "remote write as allowed, access", access);
	check(read_from(&r, 50, 100) == (access & IBV_ACCESS_REMOTE_READ ?
		IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR), "remote read as allowed, access", access);
	check(read_by(&r, 50, 100) == (access & IBV_ACCESS_LOCAL_WRITE ?
		IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR), "local write as allowed, access", access);
	check(write_by(&r, 50, 100) == IBV_WC_SUCCESS, "local read, access", access);
	if ((access & ALL) == ALL) {
		check_region(&r, 2);
		check_beyond(&r);
	}
	check(!ibv_dereg_mr(mr), "deregistered, access", access);
}

static void test_rights(void)
{
	static const int rights[] = {
		0, IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_READ,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ, ALL,
		ALL | IBV_ACCESS_MW_BIND, ALL | IBV_ACCESS_RELAXED_ORDERING,
		ALL | IBV_ACCESS_ZERO_BASED, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED,
		ALL | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_RELAXED_ORDERING,
	};
	char *area = anonymous(4 * PAGE);
	struct ibv_mr *mr;
	struct region r;

	for (size_t i = 0; i < ARRAY_SIZE(rights); i++) {
		check_rights(area, rights[i]);
		check_rights(area + 1000, rights[i]);
	}
	/* A key of another protection domain, and one with another key byte. */
	mr = ibv_reg_mr(other_pd, area, PAGE, ALL);
	if (check(mr != NULL, "registered in another PD", 0)) {
		r = whole(area, PAGE, mr);
		check(write_to(&r, 0, 8) == IBV_WC_REM_ACCESS_ERR, "another PD's key, remote", 0);
		check(write_by(&r, 0, 8) == IBV_WC_LOC_PROT_ERR, "another PD's key, local", 0);
		ibv_dereg_mr(mr);
	}
	mr = reg(area, PAGE, ALL);
	if (mr) {
		r = whole(area, PAGE, mr);
		r.rkey ^= 1;
		check(write_to(&r, 0, 8) == IBV_WC_REM_ACCESS_ERR, "a key that is not quite right",
		      0);
		ibv_dereg_mr(mr);
	}
	munmap(area, 4 * PAGE);
}

/* ---- Change ---- */

static void rereg(struct ibv_mr *mr, struct region *r, int flags, struct ibv_pd *to,
		  char *at, uint64_t length, int access, int want)
{
	int err = raw_rereg_mr(mr, flags, to, at, length, (uintptr_t)at, access);

	if (!check(err == want, "changed: error", err) || err)
		return;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION)
		*r = whole(at, length, mr);
	r->lkey = mr->lkey;
	r->rkey = mr->rkey;
}

static void test_rereg(void)
{
	enum {
		RANGE = IBV_REREG_MR_CHANGE_TRANSLATION,
		PD = IBV_REREG_MR_CHANGE_PD,
		ACCESS = IBV_REREG_MR_CHANGE_ACCESS,
	};
	char *area = anonymous(64 * PAGE);
	struct ibv_mr *mr = reg(area + 100, 3 * PAGE, ALL);
	struct region r, old;

	if (!mr)
		return;
	old = r = whole(area + 100, 3 * PAGE, mr);
	rereg(mr, &r, RANGE, NULL, area + 20 * PAGE + 5, 30 * PAGE, 0, 0);
	check_region(&r, 3);
	check(write_to(&old, 0, 8) == IBV_WC_REM_ACCESS_ERR, "the memory before", 0);

	old = r;
	rereg(mr, &r, ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_READ, 0);
	check(read_from(&r, 10, 100) == IBV_WC_SUCCESS, "the right to read", 0);
	check(write_to(&r, 10, 100) == IBV_WC_REM_ACCESS_ERR, "no right to write", 0);
	check(read_by(&r, 10, 100) == IBV_WC_LOC_PROT_ERR, "nor to write locally", 0);
	check(write_to(&old, 0, 8) == IBV_WC_REM_ACCESS_ERR || r.rkey == old.rkey, "the old key", 0);

	rereg(mr, &r, PD, other_pd, NULL, 0, 0, 0);
	check(read_from(&r, 10, 100) == IBV_WC_REM_ACCESS_ERR, "in another PD", 0);
	rereg(mr, &r, PD | ACCESS, pd, NULL, 0, ALL, 0);
	check_region(&r, 3);

	/* What is refused changes nothing. */
	rereg(mr, &r, RANGE, NULL, area, 0, 0, EINVAL);
	rereg(mr, &r, RANGE, NULL, (char *)PAGE, PAGE, 0, EFAULT);
	rereg(mr, &r, RANGE, NULL, (char *)-PAGE, 2 * PAGE, 0, EINVAL);
	rereg(mr, &r, ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_WRITE, EINVAL);
	check_region(&r, 1);
	rereg(mr, &r, RANGE | PD | ACCESS, other_pd, area, 10 * PAGE, IBV_ACCESS_LOCAL_WRITE, 0);
	rereg(mr, &r, PD, pd, NULL, 0, 0, 0);
	check(read_by(&r, 0, 100) == IBV_WC_SUCCESS, "local", 0);
	check(!ibv_dereg_mr(mr), "deregistered", 0);

	/* Pinned for reading, then for writing. */
	mr = reg(area, PAGE, 0);
	if (!mr)
		return;
	r = whole(area, PAGE, mr);
	rereg(mr, &r, ACCESS, NULL, NULL, 0, ALL, 0);
	check_region(&r, 1);
	check(!ibv_dereg_mr(mr), "deregistered", 0);
	munmap(area, 64 * PAGE);
}

/*
 * The kernel replaces its object of a changed region, and frees the old one some seconds later.
 * Only 6.12-san sees whether the driver looks at that one when the region ends.
 */
static void test_rereg_ages(void)
{
	char *area = anonymous(PAGE);
	struct ibv_mr *mr = reg(area, PAGE, ALL);
	struct region r;

	if (!mr)
		return;
	r = whole(area, PAGE, mr);
	rereg(mr, &r, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE, 0);
	sleep(AGE_SECONDS);
	check(!ibv_dereg_mr(mr), "deregistered", 0);
	munmap(area, PAGE);
}

/* ---- Windows of type 1; the provider library has no others ---- */

static int bind_window(struct ibv_mw *mw, struct ibv_mr *mr, char *at, uint64_t length, int access)
{
	struct ibv_mw_bind bind = {
		.bind_info = { mr, (uintptr_t)at, length, (unsigned int)access },
	};

	return loop_bind(&loop, mw, &bind);
}

static void test_windows(void)
{
	char *area = anonymous(16 * PAGE);
	struct ibv_mr *mr = reg(area, 16 * PAGE, ALL | IBV_ACCESS_MW_BIND);
	struct ibv_mr *plain = reg(area, PAGE, ALL);
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	struct region r;

	if (!check(mw != NULL, "a window", errno) || !mr || !plain)
		return;
	check(bind_window(mw, mr, area + 5000, 9000, IBV_ACCESS_REMOTE_READ |
			  IBV_ACCESS_REMOTE_WRITE) == IBV_WC_SUCCESS, "bound", 0);
	r = (struct region){ area + 5000, (uintptr_t)area + 5000, 9000, mr->lkey, mw->rkey };
	check_region(&r, 4);
	check(write_to(&r, 9000, 1) == IBV_WC_REM_ACCESS_ERR, "beyond the window", 0);
	check(write_to(&r, -1ul, 1) == IBV_WC_REM_ACCESS_ERR, "before the window", 0);

	check(bind_window(mw, mr, area, PAGE, IBV_ACCESS_REMOTE_READ) == IBV_WC_SUCCESS,
	      "bound anew", 0);
	check(write_to(&r, 0, 8) == IBV_WC_REM_ACCESS_ERR, "the key before", 0);
	r = (struct region){ area, (uintptr_t)area, PAGE, mr->lkey, mw->rkey };
	check_read(read_from, &r, 100, 200);
	check(write_to(&r, 0, 8) == IBV_WC_REM_ACCESS_ERR, "a window for reading", 0);

	check(bind_window(mw, mr, area, 0, 0) == IBV_WC_SUCCESS, "unbound", 0);
	check(read_from(&r, 0, 8) == IBV_WC_REM_ACCESS_ERR, "the key of a window that is not bound",
	      0);
	check(bind_window(mw, plain, area, 100, IBV_ACCESS_REMOTE_READ) != IBV_WC_SUCCESS,
	      "not to a region without the right", 0);
	check(!ibv_dealloc_mw(mw), "the window is given back", 0);
	ibv_dereg_mr(plain);
	ibv_dereg_mr(mr);
	munmap(area, 16 * PAGE);
}

/* ---- DMA-BUF ---- */

static void test_dmabuf(void)
{
	const size_t bytes = 3 * MIB;
	int memory = file(bytes, MFD_ALLOW_SEALING), udmabuf = open("/dev/udmabuf", O_RDWR);
	struct udmabuf_create create = { .memfd = (uint32_t)memory, .size = bytes };
	char *at = map(bytes, MAP_SHARED, memory);
	struct ibv_mr mr = {};
	struct region r;
	int fd, err;

	fill(at, bytes / 64);
	if (udmabuf < 0 || fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK) ||
	    (fd = ioctl(udmabuf, UDMABUF_CREATE, &create)) < 0) {
		perror("udmabuf");
		exit(2);
	}
	err = raw_reg_dmabuf_mr(&mr, pd, 8192, bytes - 8192, 0x700002000, fd, ALL);
	if (!check(!err, "registered: error", err))
		return;
	r = (struct region){ at + 8192, 0x700002000, bytes - 8192, mr.lkey, mr.rkey };
	check_region(&r, 5);
	check_beyond(&r);
	check(!raw_rereg_mr(&mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0,
			    IBV_ACCESS_REMOTE_READ), "other rights", 0);
	r.lkey = mr.lkey;
	r.rkey = mr.rkey;
	check_read(read_from, &r, 5000, 100);
	check(write_to(&r, 5000, 100) == IBV_WC_REM_ACCESS_ERR, "no right to write", 0);
	check(!raw_dereg_mr(&mr), "deregistered", 0);

	err = raw_reg_dmabuf_mr(&mr, pd, 0, PAGE, 0, fd, IBV_ACCESS_REMOTE_READ);
	if (check(!err, "for reading: error", err)) {
		err = raw_rereg_mr(&mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0, ALL);
		check(err == EACCES, "then for writing: error", err);
		raw_dereg_mr(&mr);
	}
	check(raw_reg_dmabuf_mr(&mr, pd, 0, bytes + 1, 0, fd, ALL) == EINVAL, "beyond its end", 0);
	check(raw_reg_dmabuf_mr(&mr, pd, 0, 0, 0, fd, ALL) == EINVAL, "nothing of it", 0);
	check(raw_reg_dmabuf_mr(&mr, pd, 0, PAGE, 0, memory, ALL) == EINVAL, "no DMA-BUF", 0);
	check(raw_reg_dmabuf_mr(&mr, pd, 0, PAGE, 0, -1, ALL) == EBADF, "no file", 0);
	close(fd);
	close(udmabuf);
	munmap(at, bytes);
	close(memory);
}

/* ---- Running ---- */

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "sizes", test_sizes },
	{ "rights", test_rights },
	{ "rereg", test_rereg },
	{ "rereg-ages", test_rereg_ages },
	{ "windows", test_windows },
	{ "churn", test_churn },
	{ "scattered", test_scattered },
	{ "exhaust", test_exhaust },
	{ "huge", test_huge },
	{ "space", test_space },
	{ "gigantic", test_gigantic },
	{ "dmabuf", test_dmabuf },
};

static bool run_test(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		int before = checks, failed = failures;

		if (strcmp(name, tests[i].name))
			continue;
		tests[i].run();
		printf("%s: %d checks, %d failed\n", name, checks - before, failures - failed);
		return true;
	}
	fprintf(stderr, "mr-data: no test %s\n", name);
	return false;
}

static int parse(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "d:n:g:s:")) != -1) {
		switch (c) {
		case 'd':
			opt.device = optarg;
			break;
		case 'n':
			opt.count = strtoul(optarg, NULL, 0);
			break;
		case 'g':
			opt.gib = strtoul(optarg, NULL, 0);
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		default:
			return -1;
		}
	}
	return optind < argc && seed ? 0 : -1;
}

int main(int argc, char **argv)
{
	bool known = true;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (parse(argc, argv)) {
		fprintf(stderr, "usage: mr-data [-d DEVICE] [-n COUNT] [-g GIB] [-s SEED] TEST...\n");
		return 2;
	}
	if (vu_open(&dev, opt.device, -1, NULL))
		return 2;
	pd = ibv_alloc_pd(dev.ctx);
	other_pd = ibv_alloc_pd(dev.ctx);
	probe = anonymous(PROBE_BYTES);
	probe_mr = pd ? ibv_reg_mr(pd, probe, PROBE_BYTES, ALL) : NULL;
	if (!other_pd || !probe_mr || loop_open(&loop, &dev, pd, pd))
		return 2;
	for (int i = optind; i < argc && known; i++)
		known = run_test(argv[i]);
	loop_close(&loop);
	check(!ibv_dereg_mr(probe_mr) && !ibv_dealloc_pd(pd) && !ibv_dealloc_pd(other_pd),
	      "all is given back", 0);
	vu_close(&dev);
	if (!known)
		return 2;
	printf(failures ? "mr-data: FAIL %d\n" : "mr-data: PASS\n", failures);
	return failures ? 1 : 0;
}
