// SPDX-License-Identifier: GPL-2.0
/*
 * A process that lives through what happens to its device. It holds queue pairs
 * in RTS, CQs, MRs and an AH, waits for asynchronous and completion events, and
 * makes and destroys queue pairs all the time, so that a command is in flight
 * whenever something happens. It prints "holding" when it is ready for that.
 *
 * Then: the events named by --events must come; no verb may take longer than
 * --limit seconds, whatever it returns; with --fatal the objects of the lost
 * device are given back one by one, and with --back the device must be there
 * again, and take a queue pair to RTS; without --fatal the old objects must
 * still work. $SLOWNESS multiplies the times. Runs on any RoCE device.
 */
#define _GNU_SOURCE
#include "lib/profiles.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define HELD_QPS 4
#define HELD_MRS 4
#define MR_BYTES (1UL << 20)
#define MAX_EVENTS 8

static struct options {
	const char *device;
	const char *events[MAX_EVENTS];
	int event_count;
	const char *until;
	bool fatal;
	double wait;	/* seconds for the events to come */
	double limit;	/* seconds that a verb may take */
	double back;	/* seconds for the device to come back; 0: it need not */
} opt = { .wait = 60, .limit = 20 };

/** struct actor - a thread, and the verb that it is in
 * @name: for the output
 * @verb: name of the verb, NULL between two
 * @since: when it was entered
 * @told: that it takes too long has been said
 */
struct actor {
	const char *name;
	_Atomic(const char *) verb;
	_Atomic double since;
	bool told;
};

static struct actor holder = { .name = "holder" };
static struct actor churner = { .name = "churner" };

/** struct held - what the process holds on to */
struct held {
	struct vu_device dev;
	struct qp_plan plans[PROFILE_MAX_PLANS];
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp[HELD_QPS];
	struct ibv_mr *mr[HELD_MRS];
	struct ibv_ah *ah;
	char *area;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum ibv_event_type seen[64];
static int seen_count;
static atomic_int failures;
static atomic_bool stop;
static double slowest;
static const char *slowest_verb = "none";

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void fail(const char *what, const char *why)
{
	printf("%s: %s\n", what, why);
	failures++;
}

/* ---- Time of verbs ---- */

static void enter(struct actor *who, const char *verb)
{
	who->since = now();
	who->verb = verb;
}

static void leave(struct actor *who)
{
	double took = now() - who->since;

	pthread_mutex_lock(&lock);
	if (took > slowest) {
		slowest = took;
		slowest_verb = who->verb;
	}
	pthread_mutex_unlock(&lock);
	who->verb = NULL;
}

/* Value of a verb, with its time taken. */
#define TIMED(who, verb, ...) ({				\
	enter(who, #verb);					\
	errno = 0;						\
	__typeof__(verb(__VA_ARGS__)) __r = verb(__VA_ARGS__);	\
	leave(who);						\
	__r;							\
})

static void *watch(void *unused)
{
	struct actor *const actors[] = { &holder, &churner };

	(void)unused;
	for (;; usleep(200000)) {
		for (size_t i = 0; i < ARRAY_SIZE(actors); i++) {
			const char *verb = actors[i]->verb;
			double took = now() - actors[i]->since;

			if (!verb || took < opt.limit || actors[i]->told)
				continue;
			actors[i]->told = true;
			printf("%s: %s takes more than %.0f s\n",
			       actors[i]->name, verb, took);
			failures++;
		}
	}
	return NULL;
}

/* ---- Queue pairs ---- */

static int to_rts(struct actor *who, struct ibv_qp *qp, struct qp_plan *plan)
{
	for (int s = 0; s < 3; s++) {
		int err;

		plan->steps[s].attr.dest_qp_num = qp->qp_num;
		err = TIMED(who, ibv_modify_qp, qp, &plan->steps[s].attr,
			    plan->steps[s].mask);
		if (err)
			return err;
	}
	return 0;
}

static struct ibv_qp *make_qp(struct actor *who, struct ibv_pd *pd,
			      struct ibv_cq *cq, struct qp_plan *plan, int *err)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .cap = plan->cap,
		.qp_type = plan->type,
	};
	struct ibv_qp *qp = TIMED(who, ibv_create_qp, pd, &init);

	*err = qp ? 0 : errno ? errno : EIO;
	if (!*err)
		*err = to_rts(who, qp, plan);
	return qp;
}

static int hold(struct held *h)
{
	int err = 0;

	if (vu_open(&h->dev, opt.device, -1, NULL))
		return -1;
	profile_plans("generic", &h->dev, h->plans);
	h->area = mmap(NULL, MR_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	h->pd = ibv_alloc_pd(h->dev.ctx);
	h->channel = ibv_create_comp_channel(h->dev.ctx);
	h->cq = ibv_create_cq(h->dev.ctx, 1000, NULL, h->channel, 0);
	if (h->area == MAP_FAILED || !h->pd || !h->channel || !h->cq ||
	    ibv_req_notify_cq(h->cq, 0))
		return -1;
	for (int i = 0; i < HELD_MRS; i++) {
		h->mr[i] = ibv_reg_mr(h->pd, h->area, MR_BYTES >> i,
				      IBV_ACCESS_LOCAL_WRITE |
				      IBV_ACCESS_REMOTE_WRITE);
		if (!h->mr[i])
			return -1;
	}
	for (int i = 0; i < HELD_QPS && !err; i++)
		h->qp[i] = make_qp(&holder, h->pd, h->cq, &h->plans[i % 2],
				   &err);
	h->ah = ibv_create_ah(h->pd, &h->plans[1].ah);
	return err || !h->ah ? -1 : 0;
}

/* ---- Threads ---- */

static void *take_events(void *context)
{
	struct ibv_context *ctx = context;
	struct pollfd fd = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	/* The file outlives the device: reading it does not end by itself. */
	while (!stop || poll(&fd, 1, 0) > 0) {
		if (poll(&fd, 1, 100) <= 0)
			continue;
		if (ibv_get_async_event(ctx, &event))
			break;
		printf("event: %s\n", ibv_event_type_str(event.event_type));
		pthread_mutex_lock(&lock);
		if (seen_count < (int)ARRAY_SIZE(seen))
			seen[seen_count++] = event.event_type;
		pthread_mutex_unlock(&lock);
		ibv_ack_async_event(&event);
	}
	return NULL;
}

static void *take_completions(void *channel)
{
	struct ibv_cq *cq;
	void *context;

	while (!ibv_get_cq_event(channel, &cq, &context))
		ibv_ack_cq_events(cq, 1);
	printf("completion events end: %s\n", vu_errno_name(errno));
	return NULL;
}

/* Whatever the verbs return: that they return is what counts. */
static void *churn(void *held)
{
	struct held *h = held;
	struct qp_plan plans[PROFILE_MAX_PLANS];
	long rounds = 0, refused = 0;
	int err, first_err = 0;

	memcpy(plans, h->plans, sizeof(plans));
	for (; !stop; rounds++) {
		struct ibv_cq *cq = TIMED(&churner, ibv_create_cq, h->dev.ctx,
					  200, NULL, NULL, 0);
		struct ibv_qp *qp;

		err = cq ? 0 : errno ? errno : EIO;
		if (cq) {
			qp = make_qp(&churner, h->pd, cq, &plans[rounds % 2],
				     &err);
			if (qp)
				TIMED(&churner, ibv_destroy_qp, qp);
			TIMED(&churner, ibv_destroy_cq, cq);
		}
		if (err && !refused++) {
			first_err = err;
			printf("churner: first refusal %s\n",
			       vu_errno_name(err));
		}
		if (err)
			usleep(20000);
	}
	printf("churner: %ld rounds, %ld refused, first with %s\n", rounds,
	       refused, vu_errno_name(first_err));
	return NULL;
}

/* ---- What is to be ---- */

static bool has_come(const char *name)
{
	bool found = false;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < seen_count && !found; i++)
		found = strcasestr(ibv_event_type_str(seen[i]), name);
	pthread_mutex_unlock(&lock);
	return found;
}

static void await_events(void)
{
	double end = now() + opt.wait;

	while (opt.until && access(opt.until, F_OK) && now() < end)
		usleep(20000);
	for (int i = 0; i < opt.event_count; i++) {
		while (!has_come(opt.events[i]) && now() < end)
			usleep(20000);
		if (!has_come(opt.events[i]))
			fail(opt.events[i], "this event has not come");
	}
}

/* Data path and control path of objects whose device may be gone. */
static int use(struct held *h)
{
	struct ibv_sge sge = { .addr = (uintptr_t)h->area, .length = 64,
			       .lkey = h->mr[0]->lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp_init_attr init;
	struct ibv_port_attr port;
	struct ibv_wc wc[8];
	struct ibv_mr *mr;
	int err;

	ibv_post_recv(h->qp[0], &recv, &bad_recv);
	ibv_req_notify_cq(h->cq, 0);
	while (ibv_poll_cq(h->cq, ARRAY_SIZE(wc), wc) > 0)
		;
	TIMED(&holder, ibv_query_port, h->dev.ctx, h->dev.port_num, &port);
	TIMED(&holder, ibv_query_qp, h->qp[0], &attr, IBV_QP_STATE, &init);
	mr = TIMED(&holder, ibv_reg_mr, h->pd, h->area, 4096, 0);
	err = mr ? 0 : errno ? errno : EIO;
	if (mr)
		TIMED(&holder, ibv_dereg_mr, mr);
	attr.qp_state = IBV_QPS_ERR;
	return TIMED(&holder, ibv_modify_qp, h->qp[1], &attr, IBV_QP_STATE) ?:
	       err;
}

static void let_go(struct held *h)
{
	int errors = 0;

	errors += !!TIMED(&holder, ibv_destroy_ah, h->ah);
	for (int i = 0; i < HELD_QPS; i++)
		errors += !!TIMED(&holder, ibv_destroy_qp, h->qp[i]);
	for (int i = 0; i < HELD_MRS; i++)
		errors += !!TIMED(&holder, ibv_dereg_mr, h->mr[i]);
	errors += !!TIMED(&holder, ibv_destroy_cq, h->cq);
	errors += !!TIMED(&holder, ibv_destroy_comp_channel, h->channel);
	errors += !!TIMED(&holder, ibv_dealloc_pd, h->pd);
	if (errors)
		fail("giving back", "a destroy was refused");
	TIMED(&holder, ibv_close_device, h->dev.ctx);
}

/* Open the device anew and take a queue pair to RTS; quiet while it is away. */
static int try_anew(void)
{
	struct qp_plan plans[PROFILE_MAX_PLANS];
	int saved = dup(2), null = open("/dev/null", O_WRONLY);
	struct ibv_qp *qp = NULL;
	struct vu_device dev;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	int err;

	dup2(null, 2);
	err = vu_open(&dev, opt.device, -1, NULL);
	dup2(saved, 2);
	close(saved);
	close(null);
	if (err)
		return ENODEV;
	profile_plans("generic", &dev, plans);
	pd = TIMED(&holder, ibv_alloc_pd, dev.ctx);
	cq = TIMED(&holder, ibv_create_cq, dev.ctx, 100, NULL, NULL, 0);
	err = EIO;
	if (pd && cq)
		qp = make_qp(&holder, pd, cq, &plans[0], &err);
	if (qp)
		TIMED(&holder, ibv_destroy_qp, qp);
	if (cq)
		TIMED(&holder, ibv_destroy_cq, cq);
	if (pd)
		TIMED(&holder, ibv_dealloc_pd, pd);
	vu_close(&dev);
	return err;
}

static void await_back(double since)
{
	double end = now() + opt.back;
	int err;

	do {
		err = try_anew();
		if (!err)
			break;
		usleep(200000);
	} while (now() < end);
	if (err)
		fail("device is not back", vu_errno_name(err));
	else
		printf("back: a queue pair came up %.1f s after the event\n",
		       now() - since);
}

/* ---- Command line ---- */

static int parse(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "events", required_argument, NULL, 'e' },
		{ "fatal", no_argument, NULL, 'f' },
		{ "until", required_argument, NULL, 'u' },
		{ "wait", required_argument, NULL, 'w' },
		{ "limit", required_argument, NULL, 'l' },
		{ "back", required_argument, NULL, 'b' },
		{ 0 },
	};
	const char *slowness = getenv("SLOWNESS");
	double factor = slowness ? atof(slowness) : 1;
	char *name;
	int c;

	while ((c = getopt_long(argc, argv, "d:e:fu:w:l:b:", longs, NULL)) >= 0) {
		switch (c) {
		case 'd':
			opt.device = optarg;
			break;
		case 'e':
			for (name = strtok(optarg, ","); name && opt.event_count < MAX_EVENTS;
			     name = strtok(NULL, ","))
				opt.events[opt.event_count++] = name;
			break;
		case 'f':
			opt.fatal = true;
			opt.events[opt.event_count++] = "catastrophic";
			break;
		case 'u':
			opt.until = optarg;
			break;
		case 'w':
			opt.wait = atof(optarg);
			break;
		case 'l':
			opt.limit = atof(optarg);
			break;
		case 'b':
			opt.back = atof(optarg);
			break;
		default:
			return -1;
		}
	}
	opt.wait *= factor;
	opt.limit *= factor;
	opt.back *= factor;
	return optind == argc ? 0 : -1;
}

int main(int argc, char **argv)
{
	pthread_t events, completions, churning, watching;
	static struct held held;
	double since;
	int err;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (parse(argc, argv)) {
		fprintf(stderr,
			"usage: survivor [options]\n"
			"  -d, --device NAME    RDMA device (default: the first)\n"
			"  -e, --events A,B     events that must come, by parts of their names\n"
			"  -f, --fatal          the device is lost: its event must come, all is given back\n"
			"  -u, --until FILE     it has happened when that file is there\n"
			"  -w, --wait SECONDS   for file and events (default 60)\n"
			"  -l, --limit SECONDS  that a verb may take (default 20)\n"
			"  -b, --back SECONDS   the device must be back within that time\n");
		return 2;
	}
	if (hold(&held)) {
		fprintf(stderr, "survivor: cannot set up\n");
		return 2;
	}
	if (pthread_create(&events, NULL, take_events, held.dev.ctx) ||
	    pthread_create(&completions, NULL, take_completions, held.channel) ||
	    pthread_create(&churning, NULL, churn, &held) ||
	    pthread_create(&watching, NULL, watch, NULL))
		return 2;
	usleep(300000);		/* the churner is under way */
	printf("holding\n");

	await_events();
	since = now();
	err = use(&held);
	printf("old objects: %s\n", vu_errno_name(err));
	if (opt.fatal != !!err)
		fail("old objects", err ? "they do not work any more" :
					  "they work after a fatal event");
	stop = true;
	pthread_join(churning, NULL);
	pthread_join(events, NULL);
	if (opt.fatal) {
		pthread_join(completions, NULL); /* the kernel has ended it */
		let_go(&held);
	}
	if (opt.back > 0)
		await_back(since);
	printf("slowest verb: %s, %.2f s\n", slowest_verb, slowest);
	printf("survivor: %s\n", failures ? "FAIL" : "PASS");
	return failures ? 1 : 0;
}
