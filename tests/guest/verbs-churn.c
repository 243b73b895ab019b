// SPDX-License-Identifier: GPL-2.0
/*
 * Many processes and threads make, change, query and destroy PDs, CQs, QPs and
 * MRs at once, in an order that depends on the seed. With --kill, processes die
 * of SIGKILL at random moments and others take their place: the kernel must then
 * clean up whatever was half done. At the end a queue pair must still come up.
 * Runs on any RoCE device.
 */
#define _GNU_SOURCE
#include "lib/profiles.h"

#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PROCESSES 64
#define MAX_THREADS 16
#define PDS 3
#define CQS 6
#define QPS 12
#define MRS 12
#define MR_AREA (2UL << 20)
#define MR_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
		   IBV_ACCESS_REMOTE_READ)

static struct options {
	const char *device;
	const char *peer;
	uint64_t seed;
	int processes;
	int threads;
	int operations;
	int kills;
	bool events;
	bool flaps;
} opt = { .seed = 1, .processes = 4, .threads = 2, .operations = 400 };

/** struct worker - one thread's objects; nothing is shared but the context */
struct worker {
	const struct vu_device *dev;
	struct qp_plan plans[PROFILE_MAX_PLANS];
	uint64_t random;
	int errors;
	char *area;
	struct ibv_pd *pd[PDS];
	struct ibv_cq *cq[CQS];
	struct ibv_mr *mr[MRS];
	struct ibv_qp *qp[QPS];
	const struct qp_plan *plan[QPS];
	enum ibv_qp_state state[QPS];
};

static uint32_t below(struct worker *w, uint32_t limit)
{
	return (uint32_t)(vu_random(&w->random) >> 33) % limit;
}

/* An operation failed: right only if out of something or still in use. */
static void judge(struct worker *w, const char *what, int err, int allowed)
{
	if (!err || err == allowed)
		return;
	printf("%s: %s\n", what, vu_errno_name(err));
	w->errors++;
}

/* Not every library sets errno each time; a stale one would mislead. */
#define CREATE(w, what, object, call, allowed)				\
	do {								\
		errno = 0;						\
		(object) = call;					\
		judge(w, what, (object) ? 0 : errno ? errno : EIO,	\
		      allowed);						\
	} while (0)

static void churn_pd(struct worker *w)
{
	uint32_t i = below(w, PDS);

	if (!w->pd[i]) {
		CREATE(w, "ibv_alloc_pd", w->pd[i], ibv_alloc_pd(w->dev->ctx),
		       ENOMEM);
	} else {
		int err = ibv_dealloc_pd(w->pd[i]);

		judge(w, "ibv_dealloc_pd", err, EBUSY);
		if (!err)
			w->pd[i] = NULL;
	}
}

static void churn_cq(struct worker *w)
{
	struct ibv_context *ctx = w->dev->ctx;
	uint32_t vectors = (uint32_t)ctx->num_comp_vectors;
	uint32_t i = below(w, CQS);

	if (!w->cq[i]) {
		CREATE(w, "ibv_create_cq", w->cq[i],
		       ibv_create_cq(ctx, 1 + (int)below(w, 2000), NULL, NULL,
				     (int)below(w, vectors)), ENOMEM);
	} else {
		int err = ibv_destroy_cq(w->cq[i]);

		judge(w, "ibv_destroy_cq", err, EBUSY);
		if (!err)
			w->cq[i] = NULL;
	}
}

static void churn_mr(struct worker *w)
{
	uint32_t i = below(w, MRS), offset, size;
	struct ibv_pd *pd = w->pd[below(w, PDS)];

	if (w->mr[i]) {
		judge(w, "ibv_dereg_mr", ibv_dereg_mr(w->mr[i]), 0);
		w->mr[i] = NULL;
		return;
	}
	if (!pd)
		return;
	offset = below(w, MR_AREA / 2);
	size = 1 + below(w, MR_AREA / 2);
	CREATE(w, "ibv_reg_mr", w->mr[i],
	       ibv_reg_mr(pd, w->area + offset, size, MR_ACCESS), ENOMEM);
}

static void create_qp(struct worker *w, uint32_t i)
{
	struct ibv_pd *pd = w->pd[below(w, PDS)];
	struct ibv_qp_init_attr init;

	w->plan[i] = &w->plans[below(w, 2)];
	memset(&init, 0, sizeof(init));
	init.send_cq = w->cq[below(w, CQS)];
	init.recv_cq = w->cq[below(w, CQS)];
	init.cap = w->plan[i]->cap;
	init.cap.max_send_wr = 1 + below(w, 300);
	init.cap.max_recv_wr = 1 + below(w, 300);
	init.qp_type = w->plan[i]->type;
	if (!pd || !init.send_cq || !init.recv_cq)
		return;
	CREATE(w, "ibv_create_qp", w->qp[i], ibv_create_qp(pd, &init), ENOMEM);
	w->state[i] = IBV_QPS_RESET;
}

static void churn_qp(struct worker *w)
{
	uint32_t i = below(w, QPS);

	if (!w->qp[i]) {
		create_qp(w, i);
		return;
	}
	if (below(w, 3))	/* let most live long enough to reach RTS */
		return;
	judge(w, "ibv_destroy_qp", ibv_destroy_qp(w->qp[i]), 0);
	w->qp[i] = NULL;
}

/* With events a queue pair may be in ERR without having been put there. */
static bool went_to_error(struct worker *w, uint32_t i)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (!opt.events || ibv_query_qp(w->qp[i], &attr, IBV_QP_STATE, &init) ||
	    attr.qp_state != IBV_QPS_ERR)
		return false;
	w->state[i] = IBV_QPS_ERR;
	return true;
}

/* The netdev may be down at the moment, and the destination without a route. */
static bool is_flap(int err)
{
	return opt.flaps && err == ENETUNREACH;
}

/* One step further, or to ERR. A queue pair in ERR stays there. */
static void churn_state(struct worker *w)
{
	uint32_t i = below(w, QPS);
	struct qp_step step = { .attr.qp_state = IBV_QPS_ERR,
				.mask = IBV_QP_STATE };
	int err;

	if (!w->qp[i])
		return;
	if (w->state[i] < IBV_QPS_RTS && below(w, 8)) {
		step = w->plan[i]->steps[w->state[i]];
		step.attr.dest_qp_num = w->qp[i]->qp_num;
	} else if (w->state[i] == IBV_QPS_RESET) {
		return;
	}
	err = ibv_modify_qp(w->qp[i], &step.attr, step.mask);
	if (is_flap(err) || (err && went_to_error(w, i)))
		return;
	judge(w, "ibv_modify_qp", err, 0);
	if (!err)
		w->state[i] = step.attr.qp_state;
}

static void churn_query(struct worker *w)
{
	uint32_t i = below(w, QPS);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int err;

	if (!w->qp[i])
		return;
	err = ibv_query_qp(w->qp[i], &attr, IBV_QP_STATE, &init);
	judge(w, "ibv_query_qp", err, 0);
	if (!err && attr.qp_state != w->state[i] && !went_to_error(w, i)) {
		printf("QP %u is in %s, was put in %s\n", w->qp[i]->qp_num,
		       vu_state_name((int)attr.qp_state),
		       vu_state_name((int)w->state[i]));
		w->errors++;
	}
}

static void churn_data(struct worker *w)
{
	uint32_t i = below(w, QPS), m = below(w, MRS), c = below(w, CQS);
	struct ibv_wc wc[16];
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad;
	struct ibv_sge sge;

	if (w->cq[c] && ibv_poll_cq(w->cq[c], ARRAY_SIZE(wc), wc) < 0)
		judge(w, "ibv_poll_cq", EIO, 0);
	if (w->cq[c])
		ibv_req_notify_cq(w->cq[c], 0);
	if (!w->qp[i] || !w->mr[m] || w->state[i] == IBV_QPS_RESET)
		return;
	sge = (struct ibv_sge){ .addr = (uintptr_t)w->mr[m]->addr, .length = 1,
				.lkey = w->mr[m]->lkey };
	wr.sg_list = &sge;
	wr.num_sge = 1;
	judge(w, "ibv_post_recv", ibv_post_recv(w->qp[i], &wr, &bad), ENOMEM);
}

static void destroy_all(struct worker *w)
{
	for (int i = 0; i < QPS; i++)
		if (w->qp[i])
			judge(w, "ibv_destroy_qp", ibv_destroy_qp(w->qp[i]), 0);
	for (int i = 0; i < CQS; i++)
		if (w->cq[i])
			judge(w, "ibv_destroy_cq", ibv_destroy_cq(w->cq[i]), 0);
	for (int i = 0; i < MRS; i++)
		if (w->mr[i])
			judge(w, "ibv_dereg_mr", ibv_dereg_mr(w->mr[i]), 0);
	for (int i = 0; i < PDS; i++)
		if (w->pd[i])
			judge(w, "ibv_dealloc_pd", ibv_dealloc_pd(w->pd[i]), 0);
}

static void *work(void *arg)
{
	static void (*const operations[])(struct worker *w) = {
		churn_pd, churn_cq, churn_mr, churn_mr, churn_qp, churn_qp,
		churn_state, churn_state, churn_state, churn_query, churn_data,
	};
	struct worker *w = arg;

	profile_plans("generic", w->dev, w->plans);
	w->area = mmap(NULL, MR_AREA, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (w->area == MAP_FAILED) {
		judge(w, "mmap", errno, 0);
		return NULL;
	}
	for (int i = 0; i < opt.operations; i++)
		operations[below(w, ARRAY_SIZE(operations))](w);
	/* Half of the threads leave their objects to the kernel. */
	if (below(w, 2))
		destroy_all(w);
	return NULL;
}

/* Takes asynchronous events until the process ends. */
static void *take_events(void *arg)
{
	const struct vu_device *dev = arg;
	struct ibv_async_event event;

	while (!ibv_get_async_event(dev->ctx, &event))
		ibv_ack_async_event(&event);
	return NULL;
}

/* A child: its own context, some threads on it. */
static int child(uint64_t seed)
{
	struct worker *workers = calloc((size_t)opt.threads, sizeof(*workers));
	pthread_t threads[MAX_THREADS], reader;
	struct vu_device dev;
	int errors = 0;

	if (!workers || vu_open(&dev, opt.device, -1, opt.peer))
		return 1;
	if (opt.events && pthread_create(&reader, NULL, take_events, &dev))
		return 1;
	for (int i = 0; i < opt.threads; i++) {
		workers[i].dev = &dev;
		workers[i].random = seed * MAX_THREADS + (uint64_t)i + 1;
		if (pthread_create(&threads[i], NULL, work, &workers[i]))
			return 1;
	}
	for (int i = 0; i < opt.threads; i++) {
		pthread_join(threads[i], NULL);
		errors += workers[i].errors;
	}
	return errors ? 1 : 0;
}

static pid_t start(uint64_t seed)
{
	pid_t pid = fork();

	if (!pid)
		_exit(child(seed));
	if (pid < 0)
		perror("fork");
	return pid;
}

/** struct tally - how the processes ended */
struct tally {
	int finished;
	int failed;
	int killed;
};

static void reap(pid_t pid, struct tally *tally)
{
	int status;

	if (pid <= 0 || waitpid(pid, &status, 0) != pid) {
		tally->failed++;
	} else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
		tally->killed++;
	} else if (WIFEXITED(status) && !WEXITSTATUS(status)) {
		tally->finished++;
	} else {
		printf("process %d ended with status 0x%x\n", (int)pid, status);
		tally->failed++;
	}
}

static struct tally run(void)
{
	struct tally tally = { 0 };
	pid_t pids[MAX_PROCESSES];
	uint64_t random = opt.seed;

	for (int i = 0; i < opt.processes; i++)
		pids[i] = start(vu_random(&random));
	for (int k = 0; k < opt.kills; k++) {
		int i = (int)(vu_random(&random) % (unsigned int)opt.processes);

		usleep((useconds_t)(vu_random(&random) % 200000));
		if (pids[i] > 0)
			kill(pids[i], SIGKILL);
		reap(pids[i], &tally);
		pids[i] = start(vu_random(&random));
	}
	for (int i = 0; i < opt.processes; i++)
		reap(pids[i], &tally);
	return tally;
}

/* Bring an RC and a UD queue pair to RTS: does the device still work? */
static int final_check(void)
{
	struct qp_plan plans[PROFILE_MAX_PLANS];
	struct vu_device dev;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	int n, err = 0;

	if (vu_open(&dev, opt.device, -1, opt.peer))
		return -1;
	n = profile_plans("generic", &dev, plans);
	pd = ibv_alloc_pd(dev.ctx);
	cq = ibv_create_cq(dev.ctx, 128, NULL, NULL, 0);
	for (int p = 0; p < n && pd && cq && !err; p++) {
		struct ibv_qp_init_attr init = {
			.send_cq = cq, .recv_cq = cq, .cap = plans[p].cap,
			.qp_type = plans[p].type,
		};
		struct ibv_qp *qp = ibv_create_qp(pd, &init);

		err = qp ? 0 : errno;
		for (int s = 0; s < 3 && !err; s++) {
			plans[p].steps[s].attr.dest_qp_num = qp->qp_num;
			do {
				err = ibv_modify_qp(qp, &plans[p].steps[s].attr,
						    plans[p].steps[s].mask);
			} while (is_flap(err) && !usleep(10000));
		}
		if (qp && ibv_destroy_qp(qp))
			err = EBUSY;
	}
	if (!pd || !cq || err || ibv_destroy_cq(cq) || ibv_dealloc_pd(pd)) {
		printf("afterwards no queue pair comes up: %s\n",
		       vu_errno_name(err ? err : errno));
		return -1;
	}
	vu_close(&dev);
	return 0;
}

static int parse(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "peer", required_argument, NULL, 'p' },
		{ "seed", required_argument, NULL, 's' },
		{ "processes", required_argument, NULL, 'P' },
		{ "threads", required_argument, NULL, 'T' },
		{ "count", required_argument, NULL, 'n' },
		{ "kill", required_argument, NULL, 'k' },
		{ "events", no_argument, NULL, 'e' },
		{ "flaps", no_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "d:p:s:P:T:n:k:efh", longs,
				NULL)) >= 0) {
		switch (c) {
		case 'd':
			opt.device = optarg;
			break;
		case 'p':
			opt.peer = optarg;
			break;
		case 's':
			opt.seed = strtoull(optarg, NULL, 0);
			break;
		case 'P':
			opt.processes = atoi(optarg);
			break;
		case 'T':
			opt.threads = atoi(optarg);
			break;
		case 'n':
			opt.operations = atoi(optarg);
			break;
		case 'k':
			opt.kills = atoi(optarg);
			break;
		case 'e':
			opt.events = true;
			break;
		case 'f':
			opt.flaps = true;
			break;
		default:
			return -1;
		}
	}
	return opt.seed && opt.processes > 0 && opt.threads > 0 &&
	       opt.processes <= MAX_PROCESSES && opt.threads <= MAX_THREADS ?
	       0 : -1;
}

int main(int argc, char **argv)
{
	struct tally tally;
	int failed;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (parse(argc, argv)) {
		fprintf(stderr,
			"usage: verbs-churn [options]\n"
			"  -d, --device NAME    RDMA device (default: the first)\n"
			"  -p, --peer IP        destination (default: own address)\n"
			"  -s, --seed N         seed, not 0 (default 1)\n"
			"  -P, --processes N    processes at a time, 1..%d (default 4)\n"
			"  -T, --threads N      threads in each, 1..%d (default 2)\n"
			"  -n, --count N        operations of a thread (default 400)\n"
			"  -k, --kill N         SIGKILLs to hand out (default 0)\n"
			"  -f, --flaps          the netdev goes down and up meanwhile\n",
			MAX_PROCESSES, MAX_THREADS);
		return 2;
	}
	tally = run();
	failed = tally.failed + !!final_check();
	printf("%d processes finished, %d killed, %d failed\n", tally.finished,
	       tally.killed, tally.failed);
	if (failed)
		printf("verbs-churn: FAIL %d\n", failed);
	else
		printf("verbs-churn: PASS\n");
	return failed ? 1 : 0;
}
