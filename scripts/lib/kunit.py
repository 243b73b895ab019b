# SPDX-License-Identifier: GPL-2.0
"""The driver's KUnit tests in a guest; scripts/kunit and tests/test_kunit.py use it."""

import dataclasses
import difflib
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import List, Optional, Sequence

import coverage
import image
from common import BUILD, KUNIT, SANITIZED, TOP, Trouble, make
from guest import Guest, Setup
from prepare import LOGS

KERNELS_WITH_KUNIT = (KUNIT, "6.1-kunit", SANITIZED)
# Loading takes as long as the tests do.
LIMIT = 240
# Lines that tests say through KUnit, and what it says of itself.
SAID = [r"^\s*(#|ok|not ok|KTAP|TAP|1\.\.)", r"loading test module|tainted.*TEST"]
SCRIPT = """
modprobe kunit enable=1 && modprobe ib_core || exit 1
dmesg -C
insmod /host/irdma-kunit.ko only={only}
status=$?
dmesg -t
exit $status
"""


@dataclasses.dataclass
class Results:
    """What a run gave."""

    ktap: str
    counts: Optional[coverage.Coverage] = None

    def failed(self) -> List[str]:
        """Lines of tests and suites that have failed."""
        return [line.strip() for line in self.ktap.splitlines()
                if re.match(r"\s*not ok ", line)]

    def names(self) -> List[str]:
        """SUITE.TEST of each test that has run."""
        found: List[str] = []
        ran: List[str] = []
        for depth, name in re.findall(r"^( *)(?:not )?ok \d+ (?:- )?(\w+)", self.ktap, re.MULTILINE):
            if depth:
                ran.append(name)
            else:       # the line of a suite is after its tests'
                found += [f"{name}.{each}" for each in ran]
                ran = []
        return found

    def passed(self) -> int:
        """How many tests have passed."""
        return len(re.findall(r"^    ok ", self.ktap, re.MULTILINE))


def names() -> List[str]:
    """SUITE.TEST of each test, in the order in which they run; read from their sources."""
    suites = re.findall(r"^\tX\((\w+)\)", (TOP / "kunit/bridge.c").read_text(), re.MULTILINE)
    return [f"{suite}.{name}" for suite in suites
            for name in re.findall(r"\bTEST\((\w+)\)",
                                   (TOP / f"kunit/suites/{suite}.cpp").read_text())]


def choose(only: Sequence[str]) -> List[str]:
    """Those of names() that are asked for, by suite or SUITE.TEST; Trouble if one is unknown."""
    tests = names()
    known = {*tests, *(each.partition(".")[0] for each in tests)}
    for name in only:
        if name not in known:
            like = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
            hint = f", did you mean {' or '.join(like)}?" if like else ""
            raise Trouble(f"no test is called '{name}'{hint} (scripts/kunit --list)")
    return [each for each in tests
            if not only or each in only or each.partition(".")[0] in only]


def build(kernel: str, with_coverage: bool) -> Path:
    """Make the module for a kernel; its path."""
    what = "coverage" if with_coverage else "kunit"
    make(LOGS / f"{what}-{kernel}.log", what, f"KVER={kernel}")
    return BUILD / image.kernel(kernel).release / what / "irdma-kunit.ko"


def parse(ktap: str) -> int:
    """Give results to the kernel's own kunit.py; it prints them, its exit status is returned."""
    parser = image.kernel(KUNIT).root / "tools/testing/kunit/kunit.py"
    return subprocess.run([sys.executable, "-B", str(parser), "parse"], input=ktap,
                          text=True).returncode


def run(kernel: str = KUNIT, only: Sequence[str] = (), with_coverage: bool = False) -> Results:
    """Run all tests, or those that choose() finds.

    Trouble if there is no such test; GuestFailure if the kernel reports anything else.
    """
    choose(only)
    module = build(kernel, with_coverage)
    setup = Setup(kernel=kernel, driver="none", device=False, ice=False,
                  files={"irdma-kunit.ko": module}, allow=SAID)
    found = None
    with Guest(setup) as guest:
        done = guest.run(SCRIPT.format(only=shlex.quote(",".join(only))), timeout=LIMIT, check=False)
        if done.status:
            raise guest.failure(done.output)
        if with_coverage:
            found = coverage.read(guest.run(coverage.COLLECT).output, module.parent)
        guest.run("rmmod irdma-kunit")
    return Results(done.output, found)
