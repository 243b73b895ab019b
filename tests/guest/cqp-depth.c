// SPDX-License-Identifier: GPL-2.0
/*
 * Many commands of the control QP at once: each thread registers a memory
 * region, which is one command and serialized by nothing, and deregisters it.
 *
 * Usage: cqp-depth THREADS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/verbs_util.h"

#define STACK_BYTES 65536

static struct ibv_pd *pd;
static char buffer[4096] __attribute__((aligned(4096)));
static int failed;

static void *one(void *unused)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);

	(void)unused;
	if (!mr || ibv_dereg_mr(mr))
		__atomic_add_fetch(&failed, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

int main(int argc, char **argv)
{
	int count = argc == 2 ? atoi(argv[1]) : 0;
	pthread_t *threads = calloc((size_t)count + 1, sizeof(*threads));
	struct vu_device dev;
	pthread_attr_t attr;

	if (count <= 0 || !threads || vu_open(&dev, NULL, -1, NULL))
		return 2;
	pd = ibv_alloc_pd(dev.ctx);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (int i = 0; i < count; i++)
		if (!pd || pthread_create(&threads[i], &attr, one, NULL)) {
			fprintf(stderr, "cqp-depth: no thread %d\n", i);
			return 2;
		}
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	failed += ibv_dealloc_pd(pd) != 0;
	vu_close(&dev);
	printf("cqp-depth: %s %d\n", failed ? "FAIL" : "PASS", failed);
	return failed != 0;
}
