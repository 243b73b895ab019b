# SPDX-License-Identifier: GPL-2.0
"""How tests are written, found and run; scripts/check is the command.

A file tests/test_TOPIC.py holds functions marked with @test. A function that
returns has passed; one that raises has failed (GuestFailure, AssertionError,
...) or, with Skip, was not possible here. What it prints goes into its log.
Each test runs in a process of its own, within its time limit; tests that need
several guests at once say so, because only as many as SLOTS run at a time.
"""

import contextlib
import dataclasses
import fnmatch
import importlib
import os
import shutil
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Optional, Sequence, Union

from common import BUILD, KERNELS, SANITIZED, SLOWNESS, TAIL, TOP, Trouble
from guest import Guest, GuestFailure, check_memory

LOGS = BUILD / "check"
SLOTS = 3               # guests at once, on two cores: each sleeps a third of its time
SKIPPED = 77            # exit status of a skipped test's process
STILL_RUNNING = 30      # seconds between lines that tell what is running
PATIENCE = 10           # seconds that an interrupted test has to end by itself


class Skip(Exception):
    """The test is not possible here; str() says why."""


@dataclasses.dataclass
class Test:
    """A test that can be run: a function, for one kernel where it takes one."""

    name: str
    function: Callable
    kernel: Optional[str]
    timeout: float          # seconds
    guests: int             # guests that run at once
    needs: Sequence[str]    # preparations, see check
    full: bool              # only with --full

    @property
    def log(self) -> Path:
        return LOGS / f"{self.name}.log"

    @property
    def figures(self) -> Path:
        """Numbers that it has told, see common.figure()."""
        return LOGS / f"{self.name}.figures"

    def call(self) -> None:
        """Run it in this process."""
        if self.kernel is None:
            self.function()
        else:
            self.function(self.kernel)


_found: List[Test] = []
_only: Optional[str] = None     # the one kernel of this run, see find()


def test(timeout: float = 180, guests: int = 1, kernels: Optional[Sequence[str]] = KERNELS,
         needs: Sequence[str] = ("images", "model", "modules"),
         full: Union[bool, Sequence[str]] = False) -> Callable:
    """Mark a function as a test.

    It is called once for each of kernels, with the kernel as its argument, or
    without any if kernels is None. timeout: seconds. needs: what has to be
    prepared for it (images, model, modules, programs). full: too long for each day, or
    the kernels on which it is; a file's FULL_KERNELS names them for all of its tests.
    """
    def mark(function: Callable) -> Callable:
        topic = function.__module__.removeprefix("test_")
        base = f"{topic}.{function.__name__}".replace("_", "-")
        rare = full if isinstance(full, tuple) else ()
        rare = (*rare, *function.__globals__.get("FULL_KERNELS", ()))
        for kernel in _kernels(kernels):
            name = base if kernel is None else f"{base}.{kernel}"
            limit = timeout * SLOWNESS if kernel == SANITIZED else timeout
            _found.append(Test(name, function, kernel, limit, guests, needs,
                               full is True or kernel in rare))
        return function
    return mark


def _kernels(wanted: Optional[Sequence[str]]) -> Sequence[Optional[str]]:
    """Of the kernels that a test wants, those that it is run on."""
    if _only is None:
        return wanted or (None,)
    return (_only,) if wanted and _only.removesuffix("-san") in wanted else ()


def find(only: Optional[str] = None) -> List[Test]:
    """All tests of tests/test_*.py, in the order of files.

    only: a kernel; then those that are for a kernel, on this one. The sanitized kernel
    takes the tests of the one whose source it is built from.
    """
    global _only
    _only = only
    sys.path.insert(0, str(TOP / "tests"))
    for path in sorted((TOP / "tests").glob("test_*.py")):
        importlib.import_module(path.stem)      # they may import each other
    return list(_found)


def select(tests: Sequence[Test], patterns: Sequence[str], full: bool) -> List[Test]:
    """Those that a pattern names; all without patterns. Trouble if one names none."""
    if not patterns:
        return [each for each in tests if full or not each.full]
    chosen = [_named(tests, pattern) for pattern in patterns]
    return [each for each in tests if any(each in some for some in chosen)]


def _named(tests: Sequence[Test], pattern: str) -> List[Test]:
    """The one of that name, or those whose name matches or contains the pattern."""
    named = [each for each in tests if each.name == pattern] or [
        each for each in tests if fnmatch.fnmatch(each.name, pattern) or pattern in each.name]
    if not named:
        raise Trouble(f"no test matches '{pattern}' (scripts/check --list --full)")
    return named


def run_here(one: Test) -> int:
    """Run a test in this process, which is its own; returns the exit status."""
    try:
        one.call()
    except Skip as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    except (GuestFailure, Trouble) as failure:
        print(failure)
        return 1
    except Exception:       # whatever it is, the test has failed
        traceback.print_exc(file=sys.stdout)
        return 1
    return 0


class _Running:
    """The process of a test."""

    def __init__(self, one: Test) -> None:
        self.test = one
        self.began = time.monotonic()
        self.run_dir = LOGS / f"{one.name}.run"
        shutil.rmtree(self.run_dir, ignore_errors=True)
        one.figures.unlink(missing_ok=True)
        with open(one.log, "w") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(TOP / "scripts/check"), "--run", one.name,
                 *(["--kernel", _only] if _only else [])],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                start_new_session=True,
                env=dict(os.environ, IRDMA_RUN_DIR=str(self.run_dir), PYTHONUNBUFFERED="1",
                         IRDMA_FIGURES=str(one.figures)))

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def ended(self) -> bool:
        """Whether it has ended; beyond its limit it is ended."""
        if self.process.poll() is not None:
            return True
        if self.seconds < self.test.timeout:
            return False
        self.end()
        with open(self.test.log, "a") as log:
            for serial in sorted(self.run_dir.glob("*/serial")):
                tail = serial.read_text(errors="replace").splitlines()[-25:]
                log.write("\n".join([f"--- end of kernel log {serial}:", *tail, ""]))
            log.write(f"time limit of {self.test.timeout:.0f} s exceeded\n")
        return True

    def end(self) -> None:
        """End it and its guests."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def interrupt(self) -> None:
        """The same, but it may remove what it has outside of its folder."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(PATIENCE)
        self.end()


@dataclasses.dataclass
class Tally:
    """Counts of outcomes."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    figures: Dict[str, float] = dataclasses.field(default_factory=dict)

    def add_figures(self, one: Test) -> None:
        """Add up what a test has told of itself."""
        if not one.figures.exists():
            return
        for line in one.figures.read_text().splitlines():
            number, _, what = line.partition(" ")
            self.figures[what] = self.figures.get(what, 0) + float(number)

    def line(self) -> str:
        """The closing line."""
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"


def say(text: str) -> None:
    print(text, flush=True)


def _report(running: _Running, tally: Tally) -> None:
    """Print how a test ended, and count it."""
    name, seconds = running.test.name, f"({running.seconds:.0f} s)"
    tally.add_figures(running.test)
    if running.process.returncode == 0:
        tally.passed += 1
        say(f"ok {name} {seconds}")
        return
    lines = running.test.log.read_text(errors="replace").splitlines()
    if running.process.returncode == SKIPPED:
        tally.skipped += 1
        say(f"skipped {name}: {lines[-1].removeprefix('skipped: ')}")
        return
    tally.failed += 1
    say(f"not ok {name} {seconds}")
    for line in lines[-TAIL:]:
        say(f"    {line}")
    say(f"    log: {running.test.log.relative_to(TOP)}; alone: scripts/check {name}")


def run_all(tests: Sequence[Test]) -> Tally:
    """Run the tests, as many at a time as there are slots."""
    tally = Tally()
    waiting, running = list(tests), []
    spoke = time.monotonic()
    try:
        while waiting or running:
            for one in list(_next(waiting, running)):
                waiting.remove(one)
                running.append(_Running(one))
            time.sleep(0.1)
            for each in [r for r in running if r.ended()]:
                running.remove(each)
                _report(each, tally)
                spoke = time.monotonic()
            if time.monotonic() - spoke > STILL_RUNNING:
                spoke = time.monotonic()
                say("... " + ", ".join(f"{r.test.name} {r.seconds:.0f} s" for r in running))
    finally:
        for each in running:
            each.interrupt()
    return tally


def _next(waiting: List[Test], running: List[_Running]) -> Iterator[Test]:
    """The tests that can be started now."""
    free = SLOTS - sum(max(1, r.test.guests) for r in running)
    for one in waiting:
        weight = max(1, one.guests)
        if weight > free:
            continue
        free -= weight
        yield one


def host_programs(topic: str) -> Path:
    """Where the programs of tests/TOPIC are, which run here; what has changed is made anew."""
    out = BUILD / topic
    subprocess.run(["flock", BUILD, "make", "-C", TOP / "tests" / topic, f"OUT={out}"], check=True)
    return out


@contextlib.contextmanager
def guests(*wanted: Guest) -> Iterator[Sequence[Guest]]:
    """Boot several guests at once; all are ready in the body, and checked after it."""
    try:
        # What the first is to have is not taken yet when the second starts.
        check_memory(*(each.mem for each in wanted))
        for each in wanted:
            each.start()
        for each in wanted:
            each.wait_ready()
        yield wanted
        for each in wanted:
            each.stop()
    finally:
        for each in wanted:
            each.kill()
