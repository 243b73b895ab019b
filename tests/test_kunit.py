# SPDX-License-Identifier: GPL-2.0
"""The driver's KUnit tests (kunit/), in guests whose kernel has KUnit; and their coverage."""

import re
from typing import List

import coverage
import kunit
from common import SANITIZED, TOP, Trouble, figure
from testing import test

LEAST_LINES = 85        # percent of drivers/irdma that the tests run
# Files of which each branch is taken: planning of modify_qp, table of events, control QP.
WHOLE = ("verbs/qp_plan.cpp", "eq/ae_table.cpp", "cqp/cqp.cpp")
# Branches that there are to the compiler only: every value of the enum has its case.
NEVER = ("switch (mode) {", "static const char *mode_name(Mode mode)")


def check(results: kunit.Results, *only: str) -> None:
    """All tests (of these suites) have run and passed, by the kernel's own reader."""
    status = kunit.parse(results.ktap)
    assert not status and not results.failed(), "\n".join(results.failed())
    figure("KUnit tests", results.passed())
    assert results.names() == kunit.choose(only), results.ktap


@test(needs=(), guests=0, kernels=None)
def names() -> None:
    """What scripts/kunit takes for a name, before it builds and boots anything."""
    suite = [name for name in kunit.names() if name.startswith("rings.")]
    assert len(suite) > 5 and kunit.choose(["rings"]) == suite
    assert kunit.choose([suite[2], suite[1], "plan"]) == [*suite[1:3], *kunit.choose(["plan"])]
    for wrong, text in (("cpq", "did you mean cqp?"), ("cqp.", "cqp"), ("", "''"), ("cqp,qp", "")):
        try:
            kunit.choose(["rings", wrong])
        except Trouble as trouble:
            assert f"'{wrong}'" in str(trouble) and text in str(trouble), trouble
        else:
            raise AssertionError(f"'{wrong}' is a test")


def untaken(counts: coverage.Coverage, name: str) -> List[str]:
    """Lines of a file with a branch that was never taken, but for NEVER."""
    source = (TOP / name).read_text().splitlines()
    return [f"{name}:{number}: {source[number - 1].strip()} {counts[name].taken(number)}"
            for number in counts[name].missed_branches()
            if source[number - 1].strip() not in NEVER]


@test(needs=("images", "kunit"), kernels=None, timeout=600)
def suites_and_coverage() -> None:
    """Each test of each suite, and how much of drivers/irdma runs in them, counted by gcov."""
    results = kunit.run(with_coverage=True)
    check(results)
    print(coverage.table(results.counts))
    lines = coverage.total(results.counts)
    figure("percent of drivers/irdma that KUnit runs", round(lines, 1))
    assert lines >= LEAST_LINES, f"{lines:.1f} % of the lines have run"
    missed = [line for name in WHOLE for line in untaken(results.counts, f"drivers/irdma/{name}")]
    assert not missed, "branches that were never taken:\n" + "\n".join(missed)


@test(needs=("images", "kunit"), kernels=None, timeout=900, full=True)
def sweep() -> None:
    """Each command in each manner; beside other suites it is some of them."""
    results = kunit.run(only=("sweep",))
    check(results, "sweep")
    told = re.search(r"(\d+) kinds of commands, (\d+) faults", results.ktap)
    assert told and int(told[2]) > 2000, results.ktap
    print(told[0])


@test(needs=("images", "kunit", "sanitized"), kernels=None, timeout=2400, full=True)
def suites_sanitized() -> None:
    """The same suites under the kernel that checks itself."""
    check(kunit.run(SANITIZED))


@test(needs=("images", "kunit"), kernels=None, timeout=900, full=True)
def suites_6_1() -> None:
    """The same suites in 6.1."""
    check(kunit.run("6.1-kunit"))
