// SPDX-License-Identifier: GPL-2.0
/*
 * What operations on an RDMA device cost, in executed instructions, for
 * scripts/bench: needs the model's device "instruction-counter", one CPU, and
 * root. It judges nothing. Lines that it prints:
 *
 *   cost NAME INSTRUCTIONS         of one operation
 *   span NAME OPERATIONS T0 T1     between these virtual times, in ns
 *   memory NAME BYTES              that the kernel took for one object
 *
 * Usage: verbs-bench load FILE | unload | qp N | cq N | mr SIZE PAGE N |
 *                    cm N | hold qp|cq|mr N | read DISK DEPTH N
 */
#define _GNU_SOURCE
#include "lib/meter.h"
#include "lib/profiles.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <rdma/rdma_cma.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PORT_OF_CM 7471
#define CQ_ENTRIES 64
#define WARM_UP 2		/* operations that are not counted */
#define SETTLE_US 1200000	/* work put off has been done */

static struct vu_device dev;
static struct ibv_pd *pd;

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void *must(void *p, const char *what)
{
	if (!p)
		die(what);
	return p;
}

static void check(int err, const char *what)
{
	if (!err)
		return;
	if (err > 0)
		errno = err;
	die(what);
}

static void cost(const char *name, struct meter *meter)
{
	printf("cost %s %u\n", name, meter_mean(meter));
}

/* Begins a span; ends it with its line. */
static uint64_t span_begin(void)
{
	usleep(SETTLE_US);
	return meter_time();
}

static void span_end(const char *name, int count, uint64_t begin)
{
	usleep(SETTLE_US);
	printf("span %s %d %llu %llu\n", name, count, (unsigned long long)begin,
	       (unsigned long long)meter_time());
}

/* Sum of the numbers behind a name in a file of /proc. */
static long field(const char *file, const char *name)
{
	FILE *in = fopen(file, "r");
	char line[256];
	long value = 0;

	check(in ? 0 : errno, file);
	while (fgets(line, sizeof(line), in)) {
		const char *at = line + strspn(line, " ");

		if (!strncmp(at, name, strlen(name)))
			value += atol(at + strlen(name));
	}
	fclose(in);
	return value;
}

/* What the kernel has taken and this process has not, in KiB; pages that a CPU keeps are free. */
static long kernel_memory(void)
{
	usleep(SETTLE_US);
	return -field("/proc/meminfo", "MemFree:") - 4 * field("/proc/zoneinfo", "count:") -
	       field("/proc/self/status", "VmRSS:");
}

/* ---- the module ---- */

static int have_device(void)
{
	DIR *dir = opendir("/sys/class/infiniband");
	struct dirent *entry;
	int found = 0;

	while (dir && (entry = readdir(dir)))
		found += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return found;
}

static void bench_load(const char *file)
{
	int fd = open(file, O_RDONLY);
	static struct meter meter;
	uint64_t begin;
	uint32_t since;
	long before;

	check(fd < 0 ? errno : 0, file);
	before = kernel_memory();
	begin = span_begin();
	since = meter_now();
	check(syscall(SYS_finit_module, fd, "", 0) ? errno : 0, "finit_module");
	while (!have_device())
		usleep(1000);
	meter_add(&meter, &since);
	span_end("load", 1, begin);
	cost("load", &meter);
	printf("memory load %ld\n", (kernel_memory() - before) * 1024);
}

static void bench_unload(void)
{
	static struct meter meter;
	uint64_t begin = span_begin();
	uint32_t since = meter_now();

	check(syscall(SYS_delete_module, "irdma", O_NONBLOCK) ? errno : 0, "delete_module");
	meter_add(&meter, &since);
	span_end("unload", 1, begin);
	cost("unload", &meter);
}

/* ---- objects ---- */

static struct qp_plan plan;
static struct ibv_cq *cq;

static void open_device(void)
{
	struct qp_plan plans[PROFILE_MAX_PLANS];

	check(vu_open(&dev, NULL, -1, NULL), "device");
	pd = must(ibv_alloc_pd(dev.ctx), "PD");
	cq = must(ibv_create_cq(dev.ctx, CQ_ENTRIES, NULL, NULL, 0), "CQ");
	if (profile_plans("generic", &dev, plans) < 1)
		die("plan");
	plan = plans[0];
}

static struct ibv_qp *create_qp(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	return must(ibv_create_qp(pd, &init), "QP");
}

static void bench_qp(int count)
{
	enum { CREATE, INIT, RTR, RTS, DESTROY, CYCLE, METERS };
	static const char *const names[] = {
		"qp-create", "qp-init", "qp-rtr", "qp-rts", "qp-destroy", "qp-cycle",
	};
	static struct meter meters[METERS];
	uint64_t begin = span_begin();

	for (int i = 0; i < count + WARM_UP; i++) {
		uint32_t whole = meter_now(), since = whole;
		struct ibv_qp *qp = create_qp();

		meter_add(&meters[CREATE], &since);
		plan.steps[1].attr.dest_qp_num = qp->qp_num;
		for (int step = 0; step < 3; step++) {
			check(ibv_modify_qp(qp, &plan.steps[step].attr, plan.steps[step].mask),
			      "modify");
			meter_add(&meters[INIT + step], &since);
		}
		check(ibv_destroy_qp(qp), "destroy");
		meter_add(&meters[DESTROY], &since);
		meter_add(&meters[CYCLE], &whole);
	}
	span_end("qp-cycle", count + WARM_UP, begin);
	for (int i = 0; i < METERS; i++)
		cost(names[i], &meters[i]);
}

static void bench_cq(int count)
{
	static struct meter create, destroy;
	uint64_t begin = span_begin();

	for (int i = 0; i < count + WARM_UP; i++) {
		uint32_t since = meter_now();
		struct ibv_cq *one = ibv_create_cq(dev.ctx, CQ_ENTRIES, NULL, NULL, 0);

		must(one, "CQ");
		meter_add(&create, &since);
		check(ibv_destroy_cq(one), "destroy");
		meter_add(&destroy, &since);
	}
	span_end("cq-create", count + WARM_UP, begin);
	cost("cq-create", &create);
	cost("cq-destroy", &destroy);
}

/* @size and @page as "4K", "1M", "1G", "2M" */
static size_t bytes(const char *text)
{
	char *end;
	size_t value = strtoul(text, &end, 10);

	return value << (*end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0);
}

static void bench_mr(const char *size, const char *page, int count)
{
	static struct meter reg, dereg;
	int huge = bytes(page) > 4096 ? MAP_HUGETLB : 0;
	char *at = mmap(NULL, bytes(size), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | huge, -1, 0);
	char name[64];
	uint64_t begin;

	check(at == MAP_FAILED ? errno : 0, "memory");
	begin = span_begin();
	for (int i = 0; i < count + WARM_UP; i++) {
		uint32_t since = meter_now();
		struct ibv_mr *mr = ibv_reg_mr(pd, at, bytes(size), IBV_ACCESS_LOCAL_WRITE |
					       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);

		must(mr, "MR");
		meter_add(&reg, &since);
		check(ibv_dereg_mr(mr), "deregister");
		meter_add(&dereg, &since);
	}
	snprintf(name, sizeof(name), "reg-%s/%s", size, page);
	span_end(name, count + WARM_UP, begin);
	cost(name, &reg);
	snprintf(name, sizeof(name), "dereg-%s/%s", size, page);
	cost(name, &dereg);
}

/* ---- connections ---- */

static struct rdma_event_channel *channel;

/* The next event, which is to be this one; its id. */
static struct rdma_cm_id *expect(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	check(rdma_get_cm_event(channel, &event) ? errno : 0, "event");
	if (event->event != type) {
		fprintf(stderr, "verbs-bench: %s (%d), not %s\n", rdma_event_str(event->event),
			event->status, rdma_event_str(type));
		exit(2);
	}
	id = event->id;
	rdma_ack_cm_event(event);
	return id;
}

static void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	check(rdma_create_qp(id, id->pd, &init) ? errno : 0, "rdma_create_qp");
}

static void drop(struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	check(rdma_destroy_id(id) ? errno : 0, "rdma_destroy_id");
}

/* One connection of the device to itself, made and taken away, both sides of it. */
static void connect_once(struct sockaddr_in *to)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1,
					 .retry_count = 7, .rnr_retry_count = 7 };
	struct rdma_cm_id *active, *passive;

	check(rdma_create_id(channel, &active, NULL, RDMA_PS_TCP) ? errno : 0, "rdma_create_id");
	check(rdma_resolve_addr(active, NULL, (struct sockaddr *)to, 2000) ? errno : 0, "address");
	expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	check(rdma_resolve_route(active, 2000) ? errno : 0, "route");
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	make_qp(active);
	check(rdma_connect(active, &param) ? errno : 0, "rdma_connect");
	passive = expect(RDMA_CM_EVENT_CONNECT_REQUEST);
	make_qp(passive);
	check(rdma_accept(passive, &param) ? errno : 0, "rdma_accept");
	expect(RDMA_CM_EVENT_ESTABLISHED);
	expect(RDMA_CM_EVENT_ESTABLISHED);
	check(rdma_disconnect(active) ? errno : 0, "rdma_disconnect");
	expect(RDMA_CM_EVENT_DISCONNECTED);
	check(rdma_disconnect(passive) ? errno : 0, "rdma_disconnect");
	expect(RDMA_CM_EVENT_DISCONNECTED);
	drop(active);
	drop(passive);
}

static void bench_cm(int count)
{
	const char *own = getenv("GUEST_ADDRESS");
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT_OF_CM) };
	static struct meter meter;
	struct rdma_cm_id *listener;
	uint64_t begin;

	inet_pton(AF_INET, own ? own : "10.0.0.1", &to.sin_addr);
	channel = must(rdma_create_event_channel(), "event channel");
	check(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) ? errno : 0, "rdma_create_id");
	check(rdma_bind_addr(listener, (struct sockaddr *)&to) ? errno : 0, "bind");
	check(rdma_listen(listener, 16) ? errno : 0, "listen");
	/* The library opens the device itself. */
	cq = must(ibv_create_cq(listener->verbs, CQ_ENTRIES, NULL, NULL, 0), "CQ");
	begin = span_begin();
	for (int i = 0; i < count + WARM_UP; i++) {
		uint32_t since = meter_now();

		connect_once(&to);
		meter_add(&meter, &since);
	}
	span_end("connection", count + WARM_UP, begin);
	cost("connection", &meter);
}

/* ---- memory ---- */

static void hold(const char *name, int count, void *(*make)(void))
{
	long before;

	/* The first use up what is free in the slabs. */
	for (int i = 0; i < count; i++)
		make();
	before = kernel_memory();
	for (int i = 0; i < count; i++)
		make();
	printf("memory %s %ld\n", name, (kernel_memory() - before) * 1024 / count);
}

static void *one_qp(void)
{
	return create_qp();
}

static void *one_cq(void)
{
	return must(ibv_create_cq(dev.ctx, CQ_ENTRIES, NULL, NULL, 0), "CQ");
}

static void *one_mr(void)
{
	static char memory[4096] __attribute__((aligned(4096)));

	return must(ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE), "MR");
}

static void bench_hold(const char *kind, int count)
{
	hold(kind, count, !strcmp(kind, "mr") ? one_mr : !strcmp(kind, "cq") ? one_cq : one_qp);
}

/* ---- a disk ---- */

/* Random reads of 4 KiB, @depth of them at a time, until there were @count. */
static void read_blocks(int fd, aio_context_t context, uint64_t blocks, int depth, int count)
{
	static char buffers[128][4096] __attribute__((aligned(4096)));
	struct io_event events[128];
	uint64_t seed = 1;
	int begun = 0, ended = 0;

	while (ended < count) {
		for (; begun < count && begun - ended < depth; begun++) {
			struct iocb request = {
				.aio_lio_opcode = IOCB_CMD_PREAD,
				.aio_fildes = (uint32_t)fd,
				.aio_buf = (uintptr_t)buffers[begun % 128],
				.aio_nbytes = 4096,
				.aio_offset = (int64_t)(vu_random(&seed) % blocks * 4096),
			}, *list = &request;

			check(syscall(SYS_io_submit, context, 1, &list) == 1 ? 0 : errno, "submit");
		}
		long n = syscall(SYS_io_getevents, context, 1, 128, events, NULL);

		check(n < 1 ? errno : 0, "events");
		for (long i = 0; i < n; i++)
			check(events[i].res == 4096 ? 0 : EIO, "read");
		ended += (int)n;
	}
}

static void bench_read(const char *disk, int depth, int count)
{
	int fd = open(disk, O_RDONLY | O_DIRECT);
	aio_context_t context = 0;
	char name[64];
	uint64_t begin;
	uint32_t since;

	check(fd < 0 ? errno : 0, disk);
	check(depth < 1 || depth > 128 ? EINVAL : 0, "depth");
	check(syscall(SYS_io_setup, 128, &context) ? errno : 0, "io_setup");
	uint64_t blocks = (uint64_t)lseek(fd, 0, SEEK_END) / 4096;

	read_blocks(fd, context, blocks, depth, 2 * depth);
	begin = meter_time();
	since = meter_now();
	read_blocks(fd, context, blocks, depth, count);
	since = meter_now() - since;
	snprintf(name, sizeof(name), "nvme-%d", depth);
	printf("span %s %d %llu %llu\ncost %s %u\n", name, count, (unsigned long long)begin,
	       (unsigned long long)meter_time(), name, since / (uint32_t)count);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (ioperm(METER_PORT, 8, 1))
		die("ioperm");
	if (!strcmp(what, "load") && argc == 3) {
		bench_load(argv[2]);
		return 0;
	}
	if (!strcmp(what, "unload")) {
		bench_unload();
		return 0;
	}
	if (!strcmp(what, "read") && argc == 5) {
		bench_read(argv[2], atoi(argv[3]), atoi(argv[4]));
		return 0;
	}
	if (!strcmp(what, "cm") && argc == 3) {
		bench_cm(atoi(argv[2]));
		return 0;
	}
	open_device();
	if (!strcmp(what, "qp") && argc == 3)
		bench_qp(atoi(argv[2]));
	else if (!strcmp(what, "cq") && argc == 3)
		bench_cq(atoi(argv[2]));
	else if (!strcmp(what, "hold") && argc == 4)
		bench_hold(argv[2], atoi(argv[3]));
	else if (!strcmp(what, "mr") && argc == 5)
		bench_mr(argv[2], argv[3], atoi(argv[4]));
	else
		return 2;
	return 0;
}
