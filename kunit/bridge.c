// SPDX-License-Identifier: GPL-2.0
/*
 * irdma-kunit.ko as the kernel sees it: makes KUnit suites of the tests in
 * suites/, and passes on what they find; see bridge.h.
 *
 * KUnit runs the suites of a module when it is loaded. Parameter "only" picks
 * some: SUITE or SUITE.TEST, several with commas between them.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <rdma/ib_verbs.h>

#include "bridge.h"

/* Those of suites/, from what knows little to what knows all. */
#define SUITES(X) \
	X(layouts) \
	X(stock) \
	X(rings) \
	X(plan) \
	X(cqp) \
	X(events) \
	X(hmc) \
	X(memory) \
	X(addresses) \
	X(qos) \
	X(qp) \
	X(work) \
	X(device) \
	X(sweep)

#define DECLARE(name) extern const struct bridge_suite name##_suite;
SUITES(DECLARE)

#define LISTED(name) &name##_suite,
static const struct bridge_suite *const all[] = { SUITES(LISTED) };

static char *only = "";
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "suites to run, or suite.test, with commas between them");

/* What KUnit is given of a suite, and which of ours it is. */
struct listed_suite {
	struct kunit_suite kunit;
	const struct bridge_suite *ours;
};

static struct listed_suite listed[ARRAY_SIZE(all)];
static struct kunit_suite *chosen[ARRAY_SIZE(all)];
static int chosen_count;
static const struct bridge_suite *current_suite;
static struct kunit *current_test;

/* ---- What tests say ---- */

void bridge_fail(const char *file, u32 line, const char *text)
{
	kunit_err(current_test, "EXPECTATION FAILED at %s:%u\n%s\n", file, line, text);
	kunit_set_failure(current_test);
}

void bridge_abort(void)
{
	kunit_try_catch_throw(&current_test->try_catch);
}

void bridge_note(const char *text)
{
	kunit_info(current_test, "%s\n", text);
}

/* ---- What the fake needs of the kernel ---- */

void *bridge_alloc(u64 bytes, bool guarded)
{
	return guarded ? vzalloc(bytes) : kvzalloc(bytes, GFP_KERNEL);
}

void bridge_free(void *mem, bool guarded)
{
	if (guarded)
		vfree(mem);
	else
		kvfree(mem);
}

void bridge_format(char *to, u64 size, const char *fmt, va_list args)
{
	vsnprintf(to, size, fmt, args);
}

u32 bridge_stride(void)
{
	if (IS_ENABLED(CONFIG_KASAN))
		return 17;
	return *only ? 1 : 5;
}

bool bridge_modify_qp_is_ok(u32 from, u32 to, u32 qp_type, u32 mask)
{
	return ib_modify_qp_is_ok(from, to, qp_type, mask);
}

u16 bridge_udp_sport(u32 flow_label, u32 own_qp, u32 dest_qp)
{
	return rdma_get_udp_sport(flow_label, own_qp, dest_qp);
}

/* ---- Suites ---- */

static int enter_suite(struct kunit_suite *suite)
{
	current_suite = container_of(suite, struct listed_suite, kunit)->ours;
	return 0;
}

/* All tests are this function to KUnit; the test's name says which one it is. */
static void run(struct kunit *test)
{
	u32 i;

	current_test = test;
	for (i = 0; i < current_suite->count; i++) {
		if (strcmp(current_suite->cases[i].name, test->name) == 0) {
			current_suite->cases[i].run();
			return;
		}
	}
	kunit_set_failure(test);
}

/* Whether @wish, which ends at a comma or with the text, is @suite, or @name of it. */
static bool wishes(const char *wish, const char *suite, const char *name)
{
	const size_t length = strcspn(wish, ",");
	const size_t of_suite = strlen(suite);

	if (length < of_suite || strncmp(wish, suite, of_suite) != 0)
		return false;
	if (length == of_suite)
		return true;
	return wish[of_suite] == '.' && length == of_suite + 1 + strlen(name) &&
	       strncmp(wish + of_suite + 1, name, strlen(name)) == 0;
}

/* Whether @name is what the parameter asks for. */
static bool wanted(const char *suite, const char *name)
{
	const char *wish = only;

	if (!*only)
		return true;
	for (;;) {
		if (wishes(wish, suite, name))
			return true;
		wish = strchr(wish, ',');
		if (!wish)
			return false;
		wish++;
	}
}

/* How many tests of @ours are wanted; -ENOMEM. */
static int fill(struct listed_suite *suite, const struct bridge_suite *ours)
{
	struct kunit_case *cases = kcalloc(ours->count + 1, sizeof(*cases), GFP_KERNEL);
	int n = 0;
	u32 i;

	if (!cases)
		return -ENOMEM;
	for (i = 0; i < ours->count; i++) {
		if (!wanted(ours->name, ours->cases[i].name))
			continue;
		cases[n].run_case = run;
		cases[n].name = ours->cases[i].name;
		n++;
	}
	suite->ours = ours;
	strscpy((char *)suite->kunit.name, ours->name, sizeof(suite->kunit.name));
	suite->kunit.suite_init = enter_suite;
	suite->kunit.test_cases = cases;
	return n;
}

static void irdma_kunit_exit(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(listed); i++)
		kfree(listed[i].kunit.test_cases);
}

static int __init irdma_kunit_init(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		int n = fill(&listed[i], all[i]);

		if (n < 0) {
			irdma_kunit_exit();
			return n;
		}
		if (n)
			chosen[chosen_count++] = &listed[i].kunit;
	}
	if (!chosen_count) {
		pr_err("irdma_kunit: no test is called \"%s\"\n", only);
		irdma_kunit_exit();
		return -ENOENT;
	}
	/* What KUnit itself says only of tests that are built in. */
	pr_info("KTAP version 1\n");
	pr_info("1..%d\n", chosen_count);
	return __kunit_test_suites_init(chosen, chosen_count);
}

static void __exit irdma_kunit_cleanup(void)
{
	__kunit_test_suites_exit(chosen, chosen_count);
	irdma_kunit_exit();
}

module_init(irdma_kunit_init);
module_exit(irdma_kunit_cleanup);
MODULE_DESCRIPTION("Tests of the irdma driver on a fake device");
MODULE_LICENSE("GPL");
