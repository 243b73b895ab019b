// SPDX-License-Identifier: GPL-2.0
/*
 * Every allocation of the kernel fails once, in turn: of loading the driver, of bringing a
 * device up and taking it down, of each verb. A call must then succeed or fail with an
 * errno, and must work when it is made again. What it has left behind, and what it did to the
 * kernel, is for the kernel's own checks to find. For 6.12-san, which can fail allocations.
 *
 * A case is prepared; then its call is made with the 1st allocation failing, the 2nd,
 * and so on until none was left to fail. What a call has done is undone in between.
 */
#define _GNU_SOURCE
#include "lib/fault.h"
#include "lib/raw_mr.h"
#include "lib/verbs_util.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MODULE "/host/irdma.ko"
#define BUS "/sys/bus/auxiliary/"
#define PAGE 4096ul
#define SCATTERED (1200 * PAGE)	/* a page list of two levels */
#define TRIES 100000		/* more allocations than any call makes */

static unsigned int stride = 1;
static int failures;

/** struct trial - a call to be made again and again
 * @name: for the output
 * @call: 0 or an errno
 * @undo: undoes a call that has succeeded, or NULL
 * @same: whether all is as before after a call that has failed, or NULL
 */
struct trial {
	const char *name;
	int (*call)(void);
	void (*undo)(void);
	bool (*same)(void);
};

static void wrong(const char *what, const char *name, unsigned int n, int err)
{
	printf("WRONG: %s: %s, allocation %u, %s\n", name, what, n, vu_errno_name(err));
	failures++;
}

static void need(bool right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "cannot %s: %s\n", what, strerror(errno));
	exit(2);
}

/* One sweep. Errors other than ENOMEM are told, once each. */
static void sweep(const struct trial *trial)
{
	unsigned int n, refused = 0;
	int err, other = 0;
	bool failed = true;

	for (n = 1; n < TRIES; n += stride) {
		fault_arm(n);
		err = trial->call();
		failed = fault_disarm();
		if (err && !failed) {
			wrong("fails by itself", trial->name, n, err);
			break;
		}
		if (err && err != ENOMEM && err != other) {
			printf("%s: allocation %u: %s\n", trial->name, n, vu_errno_name(err));
			other = err;
		}
		if (err && trial->same && !trial->same())
			wrong("has changed something", trial->name, n, err);
		refused += !!err;
		if (!err && trial->undo)
			trial->undo();
		if (!failed)
			break;
	}
	printf("%s: %u allocations, %u calls refused\n", trial->name, n - 1, refused);
}

/* ---- The module and its device ---- */

static int module_fd;
static char driver_folder[128], device_name[64];

static int write_file(const char *folder, const char *file, const char *text)
{
	char path[256];
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		err = errno;
	if (fd >= 0)
		close(fd);
	return err;
}

static int load(void)
{
	return syscall(SYS_finit_module, module_fd, "", 0) ? errno : 0;
}

static int unload(void)
{
	return syscall(SYS_delete_module, "irdma", O_NONBLOCK) ? errno : 0;
}

static void must_load(void)
{
	int err = load();

	if (err)
		wrong("cannot be undone", "unload", 0, err);
}

static void must_unload(void)
{
	int err = unload();

	if (err)
		wrong("cannot be undone", "load", 0, err);
}

/* A sysfs write stops at the errno of the probe. */
static int bind_device(void)
{
	return write_file(driver_folder, "bind", device_name);
}

static int unbind_device(void)
{
	return write_file(driver_folder, "unbind", device_name);
}

static void must_bind(void)
{
	int err = bind_device();

	if (err)
		wrong("cannot be undone", "unbind", 0, err);
}

static void must_unbind(void)
{
	int err = unbind_device();

	if (err)
		wrong("cannot be undone", "bind", 0, err);
}

static bool glob_last(const char *pattern, char *to, size_t room, bool name_only)
{
	const char *path;
	glob_t found;

	if (glob(pattern, 0, NULL, &found))
		return false;
	path = found.gl_pathv[0];
	snprintf(to, room, "%s", name_only ? strrchr(path, '/') + 1 : path);
	globfree(&found);
	return true;
}

/* The module by itself: there must be no device that it could serve. */
static void modules(void)
{
	static const struct trial trials[] = {
		{ "load", load, must_unload, NULL },
		{ "unload", unload, must_load, NULL },
	};

	module_fd = open(MODULE, O_RDONLY | O_CLOEXEC);
	if (module_fd < 0) {
		perror(MODULE);
		exit(2);
	}
	need(!fault_filter(NULL, NULL), "set the filter");
	sweep(&trials[0]);
	must_load();
	sweep(&trials[1]);
	must_unload();
}

/*
 * A device: first what the driver allocates itself, then what ib_core does for it. The
 * device is bound, before and after.
 */
static void devices(bool core)
{
	static const struct trial trials[] = {
		{ "bind", bind_device, must_unbind, NULL },
		{ "unbind", unbind_device, must_bind, NULL },
		{ "register", bind_device, must_unbind, NULL },
	};
	struct fault_range ours, registration;

	if (!glob_last(BUS "drivers/*irdma*", driver_folder, sizeof(driver_folder), false) ||
	    !glob_last(BUS "devices/ice.roce.*", device_name, sizeof(device_name), true)) {
		fprintf(stderr, "no driver or no device on the auxiliary bus\n");
		exit(2);
	}
	ours = fault_code("irdma", NULL);
	registration = fault_code("ib_core", "ib_register_device");
	if (core) {
		must_unbind();
		need(!fault_filter(&registration, NULL), "set the filter");
		sweep(&trials[2]);
		must_bind();
		return;
	}
	need(!fault_filter(&ours, &registration), "set the filter");
	must_unbind();
	sweep(&trials[0]);
	must_bind();
	sweep(&trials[1]);
}

/* ---- Verbs ---- */

static struct vu_device dev;
static char *memory;
static struct ibv_pd *pd, *new_pd;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq, *new_cq;
static struct ibv_qp *qp, *new_qp, *ud;
static struct ibv_mr *new_mr;
static struct ibv_mw *mw;
static struct ibv_ah *ah;
static enum ibv_qp_state before, after;
static enum ibv_qp_type new_type;
static size_t new_length;

/* 0 or the errno of a verb that returns a pointer. */
static int made(const void *object)
{
	return object ? 0 : errno ?: -1;
}

static int open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int err;

	if (!list)
		return errno;
	dev.ctx = list[0] ? ibv_open_device(list[0]) : NULL;
	err = made(dev.ctx);
	ibv_free_device_list(list);
	return err;
}

static void close_device(void)
{
	ibv_close_device(dev.ctx);
}

static int alloc_pd(void)
{
	new_pd = ibv_alloc_pd(dev.ctx);
	return made(new_pd);
}

static void must(int err, const char *what)
{
	if (err)
		wrong("cannot be undone", what, 0, err);
}

static int dealloc_pd(void) { return ibv_dealloc_pd(new_pd); }
static void undo_pd(void) { must(dealloc_pd(), "alloc_pd"); }
static void redo_pd(void) { must(alloc_pd(), "dealloc_pd"); }

static int reg_mr(void)
{
	new_mr = ibv_reg_mr(pd, memory, new_length,
			    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	return made(new_mr);
}

static int dereg_mr(void) { return ibv_dereg_mr(new_mr); }
static void undo_mr(void) { must(dereg_mr(), "reg_mr"); }
static void redo_mr(void) { must(reg_mr(), "dereg_mr"); }

static int rereg_mr(void)
{
	return raw_rereg_mr(new_mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, memory,
			    new_length, (uintptr_t)memory, 0);
}

static int alloc_mw(void)
{
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	return made(mw);
}

static int dealloc_mw(void) { return ibv_dealloc_mw(mw); }
static void undo_mw(void) { must(dealloc_mw(), "alloc_mw"); }
static void redo_mw(void) { must(alloc_mw(), "dealloc_mw"); }

static int create_cq(void)
{
	new_cq = ibv_create_cq(dev.ctx, 256, NULL, channel, 0);
	return made(new_cq);
}

static int destroy_cq(void) { return ibv_destroy_cq(new_cq); }
static void undo_cq(void) { must(destroy_cq(), "create_cq"); }
static void redo_cq(void) { must(create_cq(), "destroy_cq"); }

static int resize_cq(void)
{
	static int entries = 256;

	entries = entries == 256 ? 512 : 256;
	return ibv_resize_cq(new_cq, entries);
}

static struct ibv_qp *make_qp(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = type,
		.cap = { .max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 2,
			 .max_recv_sge = 2 },
	};

	return ibv_create_qp(pd, &init);
}

static int create_qp(void)
{
	new_qp = make_qp(new_type);
	return made(new_qp);
}

static int destroy_qp(void) { return ibv_destroy_qp(new_qp); }
static void undo_qp(void) { must(destroy_qp(), "create_qp"); }
static void redo_qp(void) { must(create_qp(), "destroy_qp"); }

static int go(struct ibv_qp *q, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {
		.qp_state = state, .port_num = 1, .qkey = 1, .dest_qp_num = q->qp_num,
		.path_mtu = IBV_MTU_1024, .max_rd_atomic = 4, .max_dest_rd_atomic = 4,
		.min_rnr_timer = 12, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = dev.gid, .hop_limit = 64,
				      .sgid_index = (uint8_t)dev.gid_index } },
	};
	int mask = IBV_QP_STATE;

	if (state == IBV_QPS_INIT)
		mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			(q->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
	if (state == IBV_QPS_RTR && q->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	if (state == IBV_QPS_RTS && before == IBV_QPS_RTR)
		mask |= IBV_QP_SQ_PSN | (q->qp_type == IBV_QPT_UD ? 0 :
			IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC);
	return ibv_modify_qp(q, &attr, mask);
}

static enum ibv_qp_state state_of(struct ibv_qp *q)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(q, &attr, IBV_QP_STATE, &init) ? IBV_QPS_UNKNOWN : attr.qp_state;
}

static int modify_qp(void) { return go(qp, after); }
static bool not_modified(void) { return state_of(qp) == before; }

/* A queue pair that is taken to a state on the regular way. */
static void bring(enum ibv_qp_state state)
{
	qp = make_qp(IBV_QPT_RC);
	need(qp, "make a queue pair");
	for (before = IBV_QPS_RESET; before < state; before++)
		need(!go(qp, before + 1), "bring a queue pair up");
}

static void undo_modify(void)
{
	enum ibv_qp_state state = before;

	must(ibv_destroy_qp(qp), "modify_qp");
	bring(state);
}

static int query_qp(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(ud, &attr, IBV_QP_STATE, &init);
}

static int create_ah(void)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = dev.gid, .hop_limit = 64, .sgid_index = (uint8_t)dev.gid_index },
	};

	ah = ibv_create_ah(pd, &attr);
	return made(ah);
}

static int destroy_ah(void) { return ibv_destroy_ah(ah); }
static void undo_ah(void) { must(destroy_ah(), "create_ah"); }
static void redo_ah(void) { must(create_ah(), "destroy_ah"); }

static union ibv_gid group(void)
{
	union ibv_gid gid;

	need(!vu_gid_from_ip("239.1.2.3", &gid), "name a group");
	return gid;
}

static int attach(void)
{
	union ibv_gid gid = group();

	return ibv_attach_mcast(ud, &gid, 0);
}

static int detach(void)
{
	union ibv_gid gid = group();

	return ibv_detach_mcast(ud, &gid, 0);
}

static void undo_attach(void) { must(detach(), "attach"); }
static void redo_attach(void) { must(attach(), "detach"); }

static int statistics(void)
{
	static const char *const files[] = {
		"/sys/class/infiniband/irdma0/ports/1/hw_counters/ip4InPkts",
		"/sys/class/infiniband/irdma0/ports/1/state",
	};
	char text[64];
	int fd, err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(files) && !err; i++) {
		fd = open(files[i], O_RDONLY);
		if (fd < 0 || read(fd, text, sizeof(text)) < 0)
			err = errno;
		if (fd >= 0)
			close(fd);
	}
	return err;
}

/* All that one process has, given back at once. */
static struct ibv_context *full;

static void fill(void)
{
	struct ibv_context *ctx = dev.ctx;
	struct ibv_pd *own = pd;
	struct ibv_cq *own_cq = cq;
	struct ibv_qp *own_qp = qp;

	need(!open_device(), "open the device again");
	pd = ibv_alloc_pd(dev.ctx);
	cq = ibv_create_cq(dev.ctx, 16, NULL, NULL, 0);
	need(pd && cq && ibv_reg_mr(pd, memory, SCATTERED, IBV_ACCESS_LOCAL_WRITE) &&
	     ibv_alloc_mw(pd, IBV_MW_TYPE_1), "fill a context");
	need(!create_ah(), "make an address handle");
	bring(IBV_QPS_RTS);
	full = dev.ctx;
	dev.ctx = ctx;
	pd = own;
	cq = own_cq;
	qp = own_qp;
}

static int close_full(void) { return close(full->cmd_fd) ? errno : 0; }

static void refill(void)
{
	close(full->async_fd);
	fill();
}

/* Makes something, sweeps over that, and over its end. */
static void pair(struct trial make, struct trial end)
{
	sweep(&make);
	must(make.call(), make.name);
	sweep(&end);
	/* The sweep over the end puts back what it has ended. */
	must(end.call(), end.name);
}

static void objects(void)
{
	static const struct { enum ibv_qp_type type; const char *make, *end; } types[] = {
		{ IBV_QPT_RC, "create_qp RC", "destroy_qp RC" },
		{ IBV_QPT_UD, "create_qp UD", "destroy_qp UD" },
	};

	pair((struct trial){ "alloc_pd", alloc_pd, undo_pd, NULL },
	     (struct trial){ "dealloc_pd", dealloc_pd, redo_pd, NULL });
	new_length = PAGE;
	pair((struct trial){ "reg_mr, a page", reg_mr, undo_mr, NULL },
	     (struct trial){ "dereg_mr, a page", dereg_mr, redo_mr, NULL });
	new_length = SCATTERED;
	pair((struct trial){ "reg_mr, scattered", reg_mr, undo_mr, NULL },
	     (struct trial){ "dereg_mr, scattered", dereg_mr, redo_mr, NULL });
	must(reg_mr(), "reg_mr");
	sweep(&(struct trial){ "rereg_mr", rereg_mr, NULL, NULL });
	must(dereg_mr(), "dereg_mr");
	pair((struct trial){ "alloc_mw", alloc_mw, undo_mw, NULL },
	     (struct trial){ "dealloc_mw", dealloc_mw, redo_mw, NULL });
	pair((struct trial){ "create_cq", create_cq, undo_cq, NULL },
	     (struct trial){ "destroy_cq", destroy_cq, redo_cq, NULL });
	must(create_cq(), "create_cq");
	sweep(&(struct trial){ "resize_cq", resize_cq, NULL, NULL });
	must(destroy_cq(), "destroy_cq");
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		new_type = types[i].type;
		pair((struct trial){ types[i].make, create_qp, undo_qp, NULL },
		     (struct trial){ types[i].end, destroy_qp, redo_qp, NULL });
	}
	pair((struct trial){ "create_ah", create_ah, undo_ah, NULL },
	     (struct trial){ "destroy_ah", destroy_ah, redo_ah, NULL });
}

static void modifications(void)
{
	static const struct { enum ibv_qp_state from, to; const char *name; } changes[] = {
		{ IBV_QPS_RESET, IBV_QPS_INIT, "modify_qp to INIT" },
		{ IBV_QPS_INIT, IBV_QPS_RTR, "modify_qp to RTR" },
		{ IBV_QPS_RTR, IBV_QPS_RTS, "modify_qp to RTS" },
		{ IBV_QPS_RTS, IBV_QPS_SQD, "modify_qp to SQD" },
		{ IBV_QPS_RTS, IBV_QPS_ERR, "modify_qp to ERR" },
		{ IBV_QPS_RTS, IBV_QPS_RESET, "modify_qp to RESET" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		bring(changes[i].from);
		after = changes[i].to;
		sweep(&(struct trial){ changes[i].name, modify_qp, undo_modify, not_modified });
		must(ibv_destroy_qp(qp), "modify_qp");
	}
}

static void verbs(void)
{
	memory = mmap(NULL, SCATTERED, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	need(memory != MAP_FAILED, "map memory");
	madvise(memory, SCATTERED, MADV_NOHUGEPAGE);
	need(!vu_open(&dev, NULL, -1, NULL), "open the device");
	sweep(&(struct trial){ "open", open_device, close_device, NULL });
	need(!open_device(), "open the device");
	pd = ibv_alloc_pd(dev.ctx);
	channel = ibv_create_comp_channel(dev.ctx);
	cq = channel ? ibv_create_cq(dev.ctx, 256, NULL, channel, 0) : NULL;
	need(pd && cq && (ud = make_qp(IBV_QPT_UD)), "make the objects");
	for (before = IBV_QPS_RESET; before < IBV_QPS_RTS; before++)
		need(!go(ud, before + 1), "bring a queue pair up");
	objects();
	modifications();
	sweep(&(struct trial){ "query_qp", query_qp, NULL, NULL });
	pair((struct trial){ "attach_mcast", attach, undo_attach, NULL },
	     (struct trial){ "detach_mcast", detach, redo_attach, NULL });
	sweep(&(struct trial){ "statistics", statistics, NULL, NULL });
	fill();
	sweep(&(struct trial){ "close", close_full, refill, NULL });
}

/* ---- Start ---- */

static void run(const char *part)
{
	struct fault_range ours, books;

	printf("--- %s\n", part);
	if (!strcmp(part, "module")) {
		modules();
	} else if (!strcmp(part, "device") || !strcmp(part, "registration")) {
		devices(*part == 'r');
	} else {
		ours = fault_code("irdma", NULL);
		/* Without memory for them the kernel no longer checks DMA mappings. */
		books = fault_code(NULL, "add_dma_entry");
		need(!fault_filter(strcmp(part, "core") ? &ours : NULL, &books), "set the filter");
		verbs();
	}
}

/* A command while allocations below the driver fail by chance, of whatever task. */
static void by_chance(unsigned int percent, char **command)
{
	struct fault_range ours = fault_code("irdma", NULL), books = fault_code(NULL, "add_dma_entry");
	pid_t child;
	int status;

	need(!fault_filter(&ours, &books) && !fault_chance(percent), "set the filter");
	child = fork();
	if (!child) {
		execvp(command[0], command);
		perror(command[0]);
		_exit(127);
	}
	need(child > 0 && waitpid(child, &status, 0) == child, "run a command");
	need(!fault_chance(0), "end it");
	if (WIFSIGNALED(status) || WEXITSTATUS(status) == 127)
		wrong("has not ended by itself", command[0], 0, 0);
	printf("%s: status %d\n", command[0], WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
	unsigned int percent = 0;
	int c;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((c = getopt(argc, argv, "+p:s:")) != -1) {
		if (c == 'p')
			percent = strtoul(optarg, NULL, 0);
		else if (c != 's' || (stride = strtoul(optarg, NULL, 0)) < 1)
			optind = argc + 1;
	}
	if (optind >= argc) {
		fputs("usage: allocation-failures [-s STRIDE] module|device|registration|verbs|core...\n"
		      "       allocation-failures -p PERCENT COMMAND...\n", stderr);
		return 2;
	}
	if (fault_setup())
		return 2;
	if (percent)
		by_chance(percent, argv + optind);
	for (; !percent && optind < argc; optind++)
		run(argv[optind]);
	printf("allocation-failures: %s\n", failures ? "FAIL" : "PASS");
	return failures ? 1 : 0;
}
