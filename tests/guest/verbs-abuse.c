// SPDX-License-Identifier: GPL-2.0
/*
 * What no sane program does with verbs, but may: contexts that are shared by
 * processes, rings and doorbells that are unmapped or mapped over while queue
 * pairs use them, memory that is no memory, everything the device has of one
 * kind, members of a group many times over, and system calls of uverbs with any
 * objects, methods and attributes.
 *
 * Each of it must end in success or in an errno, and the device must work as
 * before. What it does to the kernel is to be seen in dmesg. Called by
 * tests/test_abuse.py, and by hand.
 */
#define _GNU_SOURCE
#include "lib/profiles.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096UL
#define MR_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
		   IBV_ACCESS_REMOTE_READ)
#define MEMBERS 8	/* that a multicast group has room for */

static int failures;
static struct vu_device dev;

/* @err, or a status of a process, must be among the values, which a negative one ends. */
static void expect_list(const char *what, int err, const int *among)
{
	for (const int *e = among; *e >= 0; e++)
		if (err == *e)
			return;
	printf("FAIL %s: %s (%#x)\n", what, vu_errno_name(err), (unsigned int)err);
	failures++;
}

#define EXPECT(what, err, ...) \
	expect_list(what, err, (const int[]){ __VA_ARGS__, -1 })
#define ERRNO(ok) ((ok) ? 0 : errno ? errno : EIO)

/* ---- a queue pair with its surroundings ---- */

/** struct set - objects that belong together, in the order they are made */
struct set {
	struct ibv_pd *pd;
	struct ibv_cq *cq[2];
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char *area;
	size_t bytes;
};

static int set_close(struct set *s)
{
	int err = 0;

	if (s->qp)
		err = err ?: ibv_destroy_qp(s->qp);
	for (int i = 0; i < 2; i++)
		if (s->cq[i])
			err = err ?: ibv_destroy_cq(s->cq[i]);
	if (s->mr)
		err = err ?: ibv_dereg_mr(s->mr);
	if (s->pd)
		err = err ?: ibv_dealloc_pd(s->pd);
	if (s->area)
		munmap(s->area, s->bytes);
	memset(s, 0, sizeof(*s));
	return err;
}

/* A queue pair in RTS with a receive posted. Return: errno, 0 on success. */
static int set_open(struct set *s, enum ibv_qp_type type)
{
	struct qp_plan plans[PROFILE_MAX_PLANS];
	const struct qp_plan *plan = &plans[type == IBV_QPT_UD];
	struct ibv_qp_init_attr init = { .qp_type = type };
	struct ibv_recv_wr wr = { .num_sge = 1 }, *bad;
	struct ibv_sge sge;
	int err = 0;

	memset(s, 0, sizeof(*s));
	profile_plans("generic", &dev, plans);
	s->bytes = 16 * PAGE;
	s->area = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	errno = 0;
	s->pd = ibv_alloc_pd(dev.ctx);
	for (int i = 0; i < 2; i++)
		s->cq[i] = ibv_create_cq(dev.ctx, 64, NULL, NULL, 0);
	if (!s->pd || !s->cq[0] || !s->cq[1])
		return errno ?: EIO;
	s->mr = ibv_reg_mr(s->pd, s->area, s->bytes, MR_ACCESS);
	init.cap = plan->cap;
	init.send_cq = s->cq[0];
	init.recv_cq = s->cq[1];
	s->qp = s->mr ? ibv_create_qp(s->pd, &init) : NULL;
	if (!s->qp)
		return errno ?: EIO;
	for (int i = 0; i < 3 && !err; i++) {
		struct qp_step step = plan->steps[i];

		step.attr.dest_qp_num = s->qp->qp_num;
		err = ibv_modify_qp(s->qp, &step.attr, step.mask);
	}
	sge = (struct ibv_sge){ (uintptr_t)s->area, 64, s->mr->lkey };
	wr.sg_list = &sge;
	return err ?: ibv_post_recv(s->qp, &wr, &bad);
}

/* The device works: a queue pair comes up and goes. */
static void still_works(const char *after)
{
	struct set s;
	int err = set_open(&s, IBV_QPT_RC);

	err = err ?: set_close(&s);
	if (err)
		set_close(&s);
	EXPECT(after, err, 0);
}

/* ---- mappings of the device ---- */

/** struct mapping - the doorbell page of this process */
struct mapping {
	char *start;
	off_t offset;
};

static struct mapping doorbell(void)
{
	struct mapping found = { 0 };
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long start;
		long long offset;

		if (strstr(line, "uverbs") &&
		    sscanf(line, "%lx-%*x %*s %llx", &start, &offset) == 2)
			found = (struct mapping){ (char *)start, offset };
	}
	if (maps)
		fclose(maps);
	return found;
}

static void abuse_mappings(void)
{
	struct mapping bell = doorbell();
	struct set s = { 0 };
	void *copy, *moved, *room;
	int err = set_open(&s, IBV_QPT_RC);

	EXPECT("queue pair before mappings", err, 0);
	if (!bell.start || err) {
		printf("FAIL no doorbell page\n");
		failures++;
		return;
	}
	copy = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
		    dev.ctx->cmd_fd, bell.offset);
	EXPECT("doorbell mapped again", ERRNO(copy != MAP_FAILED), 0);
	EXPECT("doorbell made executable",
	       ERRNO(!mprotect(copy, PAGE, PROT_READ | PROT_EXEC)), 0, EACCES, EPERM);
	mprotect(copy, PAGE, PROT_READ | PROT_WRITE);
	EXPECT("doorbell as memory of an MR",
	       ERRNO(ibv_reg_mr(s.pd, copy, PAGE, MR_ACCESS)), EFAULT);
	/* One page of the device is no two. */
	moved = mremap(copy, PAGE, 2 * PAGE, MREMAP_MAYMOVE);
	EXPECT("doorbell made larger", ERRNO(moved != MAP_FAILED), EFAULT, EINVAL);
	room = mmap(NULL, 4 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	moved = mremap(copy, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, room);
	EXPECT("doorbell moved", ERRNO(moved != MAP_FAILED), 0, EINVAL);
	if (moved != MAP_FAILED) {
		(void)*(volatile uint32_t *)moved;
		munmap(moved, PAGE);
	}
	/* Over the library's own: what it writes goes nowhere from then on. */
	EXPECT("mapping over the doorbell",
	       ERRNO(mmap(bell.start, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
		     MAP_FAILED), 0);
	EXPECT("doorbell back over it",
	       ERRNO(mmap(bell.start, PAGE, PROT_WRITE | PROT_READ,
			  MAP_SHARED | MAP_FIXED, dev.ctx->cmd_fd, bell.offset) !=
		     MAP_FAILED), 0);
	/* Memory that goes while it is registered stays the device's. */
	munmap(s.area, s.bytes / 2);
	mmap(s.area, s.bytes / 2, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
	     -1, 0);
	madvise(s.area + s.bytes / 2, s.bytes / 2, MADV_DONTNEED);
	EXPECT("destroying all of it", set_close(&s), 0);
}

/** struct ranges - anonymous memory of this process */
struct ranges {
	unsigned long from[256], to[256];
	int n;
};

static void anonymous(struct ranges *r)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];

	r->n = 0;
	while (maps && fgets(line, sizeof(line), maps)) {
		int end = 0;

		if (r->n < 256 &&
		    sscanf(line, "%lx-%lx rw-p %*x 00:00 0 %n", &r->from[r->n],
			   &r->to[r->n], &end) == 2 && end && !strchr(line, '['))
			r->n++;
	}
	if (maps)
		fclose(maps);
}

static bool has(const struct ranges *r, unsigned long page)
{
	for (int i = 0; i < r->n; i++)
		if (r->from[i] <= page && page < r->to[i])
			return true;
	return false;
}

/* The rings, and all else that came with it, are unmapped below a queue pair. */
static void abuse_rings(void)
{
	static struct ranges before, after;
	int status, gone = 0;
	struct set s;
	pid_t pid = fork();

	if (!pid) {
		/* The library's rings are not to lie in the heap, where free places come first. */
		mallopt(M_MMAP_THRESHOLD, 1);
		while (memalign(PAGE, PAGE) < sbrk(0))
			;
		if (vu_open(&dev, NULL, -1, NULL))
			_exit(1);
		anonymous(&before);
		if (set_open(&s, IBV_QPT_RC))
			_exit(1);
		anonymous(&after);
		for (int i = 0; i < after.n; i++)
			for (unsigned long at = after.from[i]; at < after.to[i]; at += PAGE)
				gone += !has(&before, at) && !munmap((void *)at, PAGE);
		/* No library any more: the kernel destroys. Rings, a shadow page each, memory. */
		_exit(gone >= 16 + 4 ? 0 : gone);
	}
	waitpid(pid, &status, 0);
	EXPECT("process whose rings are unmapped", status, 0);
}

/* ---- one context, several processes ---- */

/* A child with the context of its parent makes objects of its own memory and goes. */
static void abuse_sharing(void)
{
	struct set parents, childs;
	struct mapping bell = doorbell();
	int status, go[2];
	pid_t pid;

	EXPECT("parent's queue pair", set_open(&parents, IBV_QPT_UD), 0);
	for (int round = 0; round < 4; round++) {
		pid = fork();
		if (!pid) {
			int err = set_open(&childs, IBV_QPT_RC);
			void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				       MAP_SHARED, dev.ctx->cmd_fd, bell.offset);

			if (p != MAP_FAILED)
				*(volatile uint32_t *)p = 0;
			/* It destroys what is its parent's, or leaves its own behind. */
			if (round == 1)
				err = err ?: ibv_destroy_qp(parents.qp);
			if (round == 2)
				raise(SIGKILL);
			if (round == 3)
				err = err ?: set_close(&childs);
			_exit(err ? 1 : 0);
		}
		waitpid(pid, &status, 0);
		EXPECT("child with a context that it shares", status,
		       round == 2 ? SIGKILL : 0);
	}
	EXPECT("the QP that a child has destroyed", ibv_destroy_qp(parents.qp),
	       EINVAL, ENOENT);
	parents.qp = NULL;
	EXPECT("the parent's other objects", set_close(&parents), 0);

	/* The child lives longer, with rings in memory that is nobody's any more. */
	if (pipe(go))
		return;
	pid = fork();
	if (!pid) {
		pid_t parent = getpid();

		close(go[0]);
		if (vu_open(&dev, NULL, -1, NULL) || set_open(&parents, IBV_QPT_RC))
			_exit(1);
		if (!fork()) {
			char result;

			while (getppid() == parent)
				usleep(1000);
			result = set_open(&childs, IBV_QPT_RC) ? 'a' :
				 ibv_destroy_qp(parents.qp) ? 'b' :
				 ibv_dereg_mr(parents.mr) ? 'c' : '0';
			if (write(go[1], &result, 1) != 1)
				_exit(1);
			_exit(0);
		}
		_exit(0);
	}
	close(go[1]);
	waitpid(pid, &status, 0);
	char result = '?';
	if (read(go[0], &result, 1) != 1)
		result = '-';
	close(go[0]);
	EXPECT("parent that goes first", status, 0);
	if (result != '0') {
		printf("FAIL child that outlives its parent: step %c\n", result);
		failures++;
	}
}

/* ---- file descriptors ---- */

static volatile int stop;

static void *churn(void *arg)
{
	struct set s;

	(void)arg;
	while (!stop) {
		set_open(&s, IBV_QPT_RC);	/* EBADF in the end */
		if (set_close(&s))
			memset(&s, 0, sizeof(s));
	}
	return NULL;
}

/* The context's descriptors are closed while threads are in calls, behind the library's back. */
static void abuse_descriptors(void)
{
	for (int round = 0; round < 8; round++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			pthread_t thread[3];
			struct set s;

			if (vu_open(&dev, NULL, -1, NULL) || set_open(&s, IBV_QPT_RC))
				_exit(1);
			if (round & 1)
				close(dev.ctx->async_fd);
			for (int i = 0; i < 3; i++)
				pthread_create(&thread[i], NULL, churn, NULL);
			usleep(20000 * (useconds_t)(round + 1));
			close(dev.ctx->cmd_fd);
			stop = 1;
			if (round & 2)
				_exit(0);
			/* The doorbell page is still mapped, the file thus open. */
			usleep(20000);
			*(volatile uint32_t *)doorbell().start = 0;
			_exit(0);
		}
		waitpid(pid, &status, 0);
		EXPECT("descriptors closed below threads", status, 0);
	}
}

/* Completion channels: closed before their CQ, and read after. */
static void abuse_channels(void)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(dev.ctx);
	struct ibv_cq *cq, *of;
	struct pollfd ready;
	void *context;
	int fd;

	EXPECT("channel", ERRNO(channel), 0);
	if (!channel)
		return;
	cq = ibv_create_cq(dev.ctx, 16, NULL, channel, 0);
	EXPECT("CQ of a channel", ERRNO(cq), 0);
	fd = dup(channel->fd);
	close(channel->fd);
	ready = (struct pollfd){ .fd = fd, .events = POLLIN };
	EXPECT("arming without a channel", ibv_req_notify_cq(cq, 0), 0);
	EXPECT("destroying the CQ", ibv_destroy_cq(cq), 0);
	EXPECT("events after that", poll(&ready, 1, 0), 0);
	channel->fd = fd;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	EXPECT("reading after that", ERRNO(!ibv_get_cq_event(channel, &of, &context)),
	       EAGAIN);
	EXPECT("destroying the channel", ibv_destroy_comp_channel(channel), 0);
}

/* ---- everything the device has ---- */

#define MOST 300000

/** struct kind - objects of which as many are made as there are */
struct kind {
	const char *name;
	void *(*make)(struct set *s);
	int (*unmake)(void *object);
	int limit;		/* that the device reports */
};

static void *make_pd(struct set *s)
{
	(void)s;
	return ibv_alloc_pd(dev.ctx);
}

static void *make_mw(struct set *s)
{
	return ibv_alloc_mw(s->pd, IBV_MW_TYPE_1); /* all that libirdma lets through */
}

static void *make_mr(struct set *s)
{
	return ibv_reg_mr(s->pd, s->area + PAGE, PAGE, MR_ACCESS);
}

static void *make_cq(struct set *s)
{
	(void)s;
	return ibv_create_cq(dev.ctx, 4, NULL, NULL, 0);
}

static void *make_qp(struct set *s)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD, .send_cq = s->cq[0], .recv_cq = s->cq[1],
		.cap = { 8, 8, 1, 1, 0 },
	};

	return ibv_create_qp(s->pd, &init);
}

/* Equal ones would share a handle of the device. */
static void *make_ah(struct set *s)
{
	static uint32_t flow;
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .sgid_index = (uint8_t)dev.gid_index, .dgid = dev.gid,
			 .hop_limit = 1, .flow_label = ++flow & 0xfffff },
	};

	return ibv_create_ah(s->pd, &attr);
}

static int unmake_pd(void *o) { return ibv_dealloc_pd(o); }
static int unmake_mw(void *o) { return ibv_dealloc_mw(o); }
static int unmake_mr(void *o) { return ibv_dereg_mr(o); }
static int unmake_cq(void *o) { return ibv_destroy_cq(o); }
static int unmake_qp(void *o) { return ibv_destroy_qp(o); }
static int unmake_ah(void *o) { return ibv_destroy_ah(o); }

/* Make up to @most; returns how many, and why there are no more. */
static int fill(const struct kind *kind, struct set *s, void **made, int most,
		int *err)
{
	int n = 0;

	*err = 0;
	while (n < most) {
		errno = 0;
		made[n] = kind->make(s);
		if (!made[n]) {
			*err = errno ?: EIO;
			break;
		}
		n++;
	}
	return n;
}

static void one_of_each(const struct kind *kinds, size_t count,
			const struct kind *but, struct set *s)
{
	for (size_t i = 0; i < count; i++) {
		void *object;

		if (&kinds[i] == but || (kinds[i].limit == but->limit &&
					 but->limit == dev.attr.max_mr))
			continue;
		errno = 0;
		object = kinds[i].make(s);
		EXPECT(kinds[i].name, ERRNO(object), 0);
		if (object)
			EXPECT(kinds[i].name, kinds[i].unmake(object), 0);
	}
}

static void abuse_limits(int most)
{
	const struct kind kinds[] = {
		{ "PD", make_pd, unmake_pd, dev.attr.max_pd },
		{ "MW", make_mw, unmake_mw, dev.attr.max_mw },
		{ "MR", make_mr, unmake_mr, dev.attr.max_mr },
		{ "CQ", make_cq, unmake_cq, dev.attr.max_cq },
		{ "QP", make_qp, unmake_qp, dev.attr.max_qp },
		{ "AH", make_ah, unmake_ah, dev.attr.max_ah },
	};
	void **made = calloc(MOST, sizeof(*made));
	struct set s;

	EXPECT("queue pair before limits", set_open(&s, IBV_QPT_RC), 0);
	for (size_t k = 0; made && k < ARRAY_SIZE(kinds); k++) {
		const struct kind *kind = &kinds[k];
		int err, again, n = fill(kind, &s, made, most, &err);

		printf("%s: %d, reported %d, then %s\n", kind->name, n,
		       kind->limit, vu_errno_name(err));
		EXPECT(kind->name, err, 0, ENOMEM, ENOSPC);
		if (err && n) {
			one_of_each(kinds, ARRAY_SIZE(kinds), kind, &s);
			/* One back, one more. */
			EXPECT(kind->name, kind->unmake(made[n / 2]), 0);
			errno = 0;
			made[n / 2] = kind->make(&s);
			EXPECT("one more after one less", ERRNO(made[n / 2]), 0);
		}
		for (int i = 0; i < n; i++)
			if (made[i])
				EXPECT(kind->name, kind->unmake(made[i]), 0);
		if (!err)
			continue;
		again = fill(kind, &s, made, most, &err);
		if (again < n) {
			printf("FAIL %s: %d the second time\n", kind->name, again);
			failures++;
		}
		for (int i = 0; i < again; i++)
			kind->unmake(made[i]);
	}
	free(made);
	EXPECT("destroying after limits", set_close(&s), 0);
}

/* ---- multicast groups ---- */

static void *join_and_leave(void *arg)
{
	struct set *s = arg;
	union ibv_gid group;
	char ip[32];

	for (int i = 0; i < 200; i++) {
		snprintf(ip, sizeof(ip), "239.9.%d.1", i % 3);
		vu_gid_from_ip(ip, &group);
		ibv_attach_mcast(s->qp, &group, 0);
		ibv_attach_mcast(s->qp, &group, 0);
		if (i % 5)
			ibv_detach_mcast(s->qp, &group, 0);
	}
	return NULL;
}

static void abuse_groups(void)
{
	struct set s[MEMBERS + 2];
	pthread_t thread[MEMBERS + 2];
	union ibv_gid group;

	vu_gid_from_ip("239.8.0.1", &group);
	for (int i = 0; i < MEMBERS + 2; i++)
		EXPECT("UD queue pair", set_open(&s[i], IBV_QPT_UD), 0);
	for (int i = 0; i < MEMBERS + 2; i++) {
		EXPECT("attach", ibv_attach_mcast(s[i].qp, &group, 0),
		       i < MEMBERS ? 0 : ENOSPC, i < MEMBERS ? 0 : ENOMEM);
		EXPECT("attach again", ibv_attach_mcast(s[i].qp, &group, 0),
		       i < MEMBERS ? 0 : ENOSPC, i < MEMBERS ? 0 : ENOMEM);
	}
	EXPECT("destroy a member", ibv_destroy_qp(s[0].qp), EBUSY);
	EXPECT("detach", ibv_detach_mcast(s[0].qp, &group, 0), 0);
	EXPECT("detach again", ibv_detach_mcast(s[0].qp, &group, 0), EINVAL);
	EXPECT("attach to the free place",
	       ibv_attach_mcast(s[MEMBERS].qp, &group, 0), 0);
	EXPECT("attach to none", ibv_attach_mcast(s[0].qp, &group, 0), ENOSPC, ENOMEM);
	for (int i = 1; i <= MEMBERS; i++)
		EXPECT("detach", ibv_detach_mcast(s[i].qp, &group, 0), 0);
	for (int i = 0; i < MEMBERS + 2; i++)
		pthread_create(&thread[i], NULL, join_and_leave, &s[i]);
	for (int i = 0; i < MEMBERS + 2; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < MEMBERS + 2; i++) {
		for (int g = 0; g < 3; g++) {
			char ip[32];

			snprintf(ip, sizeof(ip), "239.9.%d.1", g);
			vu_gid_from_ip(ip, &group);
			ibv_detach_mcast(s[i].qp, &group, 0);
		}
		EXPECT("destroy what was a member", set_close(&s[i]), 0);
	}
}

/* ---- system calls with anything ---- */

static uint32_t below(uint64_t *random, uint32_t limit)
{
	return (uint32_t)(vu_random(random) >> 33) % limit;
}

static void random_ioctl(uint64_t *random, int fd, char *arena, size_t bytes)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[16];
	} call;
	uint32_t n = below(random, 12);

	memset(&call, 0, sizeof(call));
	call.hdr.object_id = (uint16_t)below(random, UVERBS_OBJECT_ASYNC_EVENT + 3);
	call.hdr.method_id = (uint16_t)below(random, 12);
	call.hdr.num_attrs = (uint16_t)(below(random, 16) ? n : below(random, 65536));
	call.hdr.driver_id = below(random, 32) ? RDMA_DRIVER_IRDMA : below(random, 32);
	if (!below(random, 64))
		call.hdr.object_id |= (uint16_t)(1 << UVERBS_ID_NS_SHIFT);
	call.hdr.length = (uint16_t)(sizeof(call.hdr) + n * sizeof(call.attr[0]));
	for (uint32_t i = 0; i < n; i++) {
		struct ib_uverbs_attr *a = &call.attr[i];
		static const uint16_t lengths[] = {
			0, 1, 4, 8, 12, 16, 24, 32, 40, 48, 64, 72, 128, 256, 4096, 65535,
		};

		a->attr_id = (uint16_t)(below(random, 8) ? i :
					below(random, 2) ? below(random, 20) :
					UVERBS_ATTR_UHW_IN + below(random, 2));
		a->flags = (uint16_t)(below(random, 4) ? UVERBS_ATTR_F_MANDATORY : 0);
		a->len = below(random, 2) ? 0 : lengths[below(random, ARRAY_SIZE(lengths))];
		switch (below(random, 4)) {
		case 0:
			a->data = (uintptr_t)arena + below(random, (uint32_t)bytes);
			break;
		case 1:
			a->data = vu_random(random);
			break;
		default:	/* a handle, a number */
			a->data = below(random, 40);
		}
	}
	ioctl(fd, RDMA_VERBS_IOCTL, &call);
}

/* In a process with objects of each kind, so that small handles are some of theirs. */
static void abuse_calls(int count, uint64_t seed)
{
	size_t bytes = 64 * PAGE;
	pid_t pid = fork();
	int status;

	if (!pid) {
		struct rlimit files = { 256, 256 };
		uint64_t random = seed;
		struct set s;
		char *arena = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (vu_open(&dev, NULL, -1, NULL) || set_open(&s, IBV_QPT_RC))
			_exit(1);
		setrlimit(RLIMIT_NOFILE, &files);
		for (int i = 0; i < count; i++) {
			if (!below(&random, 8))
				arena[below(&random, (uint32_t)bytes)] =
					(char)vu_random(&random);
			random_ioctl(&random, dev.ctx->cmd_fd, arena, bytes - PAGE);
			/* Descriptors of events and channels pile up. */
			if (i % 512 == 511)
				close_range(32, ~0U, 0);
		}
		_exit(0);
	}
	waitpid(pid, &status, 0);
	EXPECT("random ioctls", status, 0);
}

/* ---- wait for something to happen, with the doorbell mapped by two processes ---- */

static void hold(const char *until)
{
	struct set s;
	struct mapping bell = doorbell();
	pid_t pid;
	int status;

	EXPECT("queue pair to hold", set_open(&s, IBV_QPT_RC), 0);
	pid = fork();
	printf("holding\n");
	for (int i = 0; access(until, F_OK) && i < 6000; i++) {
		*(volatile uint32_t *)bell.start = 0;
		usleep(10000);
	}
	/* Reads what there is, or nothing; writes to nowhere. */
	for (int i = 0; i < 100; i++)
		*(volatile uint32_t *)(bell.start + i * 4) = 0;
	if (!pid)
		_exit(0);
	waitpid(pid, &status, 0);
	EXPECT("child with the doorbell of a device that went", status, 0);
}

int main(int argc, char **argv)
{
	static const char usage[] =
		"usage: verbs-abuse [options] [mappings|rings|sharing|descriptors|"
		"channels|limits|groups|calls]...\n"
		"  -n COUNT  random calls (default 20000)\n"
		"  -m MOST   objects of a kind (default 5000)\n"
		"  -s SEED   of the random calls, not 0 (default 1)\n"
		"  -u FILE   only wait until it is there, with the device in use\n";
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	static const char *const all[] = {
		"mappings", "rings", "sharing", "descriptors", "channels", "groups",
		"calls", "limits",
	};
	const char *const *what = all, *until = NULL;
	int c, count = 20000, most = 5000, n = ARRAY_SIZE(all);
	uint64_t seed = 1;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((c = getopt(argc, argv, "n:m:s:u:h")) >= 0) {
		switch (c) {
		case 'n':
			count = atoi(optarg);
			break;
		case 'm':
			most = atoi(optarg);
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'u':
			until = optarg;
			break;
		default:
			fputs(usage, c == 'h' ? stdout : stderr);
			return c == 'h' ? 0 : 2;
		}
	}
	if (!seed || most < 1 || most > MOST)
		return 2;
	setrlimit(RLIMIT_MEMLOCK, &limit);
	if (vu_open(&dev, NULL, -1, NULL))
		return 2;
	if (until) {
		hold(until);
		n = 0;
	} else if (optind < argc) {
		what = (const char *const *)argv + optind;
		n = argc - optind;
	}
	for (int i = 0; i < n; i++) {
		printf("--- %s\n", what[i]);
		if (!strcmp(what[i], "mappings"))
			abuse_mappings();
		else if (!strcmp(what[i], "rings"))
			abuse_rings();
		else if (!strcmp(what[i], "sharing"))
			abuse_sharing();
		else if (!strcmp(what[i], "descriptors"))
			abuse_descriptors();
		else if (!strcmp(what[i], "channels"))
			abuse_channels();
		else if (!strcmp(what[i], "limits"))
			abuse_limits(most);
		else if (!strcmp(what[i], "groups"))
			abuse_groups();
		else if (!strcmp(what[i], "calls"))
			abuse_calls(count, seed);
		else
			return 2;
		still_works(what[i]);
	}
	if (failures)
		printf("verbs-abuse: FAIL %d\n", failures);
	else
		printf("verbs-abuse: PASS\n");
	return failures ? 1 : 0;
}
