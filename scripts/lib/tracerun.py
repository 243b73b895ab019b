# SPDX-License-Identifier: GPL-2.0
"""The same programs on the stock driver and on ours, each with the device's trace.

A run is cut into phases, in the order of PHASES. Between two phases the guest
is left alone until the trace stands still, so that work that the kernel does
in the background belongs to the phase that caused it. Used by scripts/trace-diff.
"""

import dataclasses
import json
import re
import time
from pathlib import Path
from typing import Dict, List

import image
from common import BUILD, TOP, Trouble
from devtrace import read
from guest import Done, Guest, GuestFailure, Setup

FOLDER = BUILD / "trace-diff"
DRIVERS = ("stock", "ours")
QUIET_SECONDS = 0.5         # of the guest, without a line: the background work is done
QUIET_LIMIT = 60            # seconds for that
COMMAND_SECONDS = 120

# Addresses and memory as equal as they can be made in two runs.
KERNEL_PARAMETERS = "norandmaps transparent_hugepage=never hugepages=4"
LOAD = {
    "stock": "modprobe irdma && await 30 have_rdma",
    "ours": "insmod /host/irdma.ko && await 30 have_rdma",
}
# What the drivers tell of refused modifications and of events.
ALLOW = {
    "stock": [r"irdma"],
    "ours": [r"irdma\d: .*refused ", r"irdma\d: (QP|CQ) \d+: "],
}
# Commands that begin what the kernel does with a registered device.
REGISTRATION = ("create_qp", "work_sched_node")


@dataclasses.dataclass
class Phase:
    """What the device saw during one part of a run."""

    name: str
    events: List[dict]
    output: str = ""


# The port's traffic classes change, and change back, while a queue pair lives.
CLASSES = """
    start_until 30 held /tmp/held qp-path --to 10.0.0.1 --hold
    pid=$!
    dcb ets set dev eth0 tc-tsa all:ets tc-bw 0:50 1:50 2:0 3:0 4:0 5:0 6:0 7:0 prio-tc all:0 6:1
    sleep 1
    dcb ets set dev eth0 tc-tsa all:ets tc-bw 0:100 1:0 2:0 3:0 4:0 5:0 6:0 7:0 prio-tc all:0
    sleep 1
    kill $pid; wait $pid; cat /tmp/held; grep -q PASS /tmp/held
"""
# Programs, each a phase of that name. Stock does not give all attributes back.
PROGRAMS: Dict[str, str] = {
    "generic": "qp-bringup --lenient -p generic",
    "sqd": "qp-bringup --lenient --sqd -p generic",
    "ceph": "qp-bringup --lenient -p ceph",
    "ucx-rc": "qp-bringup --lenient -p ucx-rc",
    "ucx-ud": "qp-bringup --lenient -p ucx-ud",
    "nccl": "qp-bringup --lenient -p nccl",
    "cq": "verbs-lifecycle cq",
    "mr": "verbs-lifecycle mr",
    "mw": "verbs-lifecycle mw",
    "ah": "verbs-lifecycle ah",
    "qp": "verbs-lifecycle qp",
    "mcast": "verbs-lifecycle mcast",
    "errors": "verbs-lifecycle errors",
    "classes": CLASSES,
}
# Asynchronous events that the device is made to report of a queue pair, each a
# phase: property "inject" of the model without the queue pair's number. Sources
# are 1 for the receive queue and 5 for the send queue, as in hw/eq.h.
EVENTS: Dict[str, str] = {
    "event-retries": "ae:code=0x50a,source=5",
    "event-rnr": "ae:code=0x50f,source=5",
    "event-remote-access": "ae:code=0x20d,source=5",
    "event-remote-request": "ae:code=0x208,source=5",
    "event-remote-operation": "ae:code=0x20e,source=5",
    "event-rights": "ae:code=0x109,source=1",
    "event-length": "ae:code=0x303,source=1",
    "event-doubt": "ae:code=0x50c,source=5",
}
EVENT_PROGRAM = "verbs-lifecycle event"
USER_PHASES = (*PROGRAMS, *EVENTS)
PHASES = ("bring-up", "registration", *USER_PHASES, "tear-down")


class _Recorder:
    """Cuts the trace of a running guest into phases."""

    def __init__(self, guest: Guest, path: Path) -> None:
        self._guest = guest
        self._path = path
        self._offset = 0
        self.phases: List[Phase] = []

    def settle(self) -> None:
        """Wait until nothing has been written for a while."""
        end = time.monotonic() + QUIET_LIMIT
        size = -1
        while self._path.stat().st_size != size and time.monotonic() < end:
            size = self._path.stat().st_size
            self._guest.run(f"sleep {QUIET_SECONDS}")

    def skip(self) -> None:
        """What has been written so far belongs to no phase."""
        self.settle()
        _, self._offset = read(self._path, self._offset)

    def phase(self, name: str, output: str) -> None:
        """What has been written since the last phase is this one."""
        self.settle()
        events, self._offset = read(self._path, self._offset)
        self.phases.append(Phase(name, events, output))


def _split(load: Phase) -> List[Phase]:
    """The load of a driver as bring-up and registration.

    The first thing that is done with a registered device is the MAD layer's
    queue pair, after its completion queue.
    """
    first = next((i for i, e in enumerate(load.events)
                  if e["ev"] == "cqp" and e["op"] in REGISTRATION), len(load.events))
    queue = [i for i, e in enumerate(load.events[:first])
             if e["ev"] == "cqp" and e["op"] == "create_cq" and e.get("cq")]
    first = queue[-1] if queue else first
    return [Phase("bring-up", load.events[:first]),
            Phase("registration", load.events[first:])]


def _report(guest: Guest, what: str) -> Done:
    """Run the program that waits for an event, and let the device report it."""
    program = guest.begin(EVENT_PROGRAM)
    end = time.monotonic() + COMMAND_SECONDS
    while not (ready := re.search(rb"qp (\d+) waits", program.output)):
        if program.ended.wait(0.05) or time.monotonic() > end:
            raise guest.failure(f"{EVENT_PROGRAM} does not wait:\n{program.output.decode()}")
    guest.set_card("inject", f"{what},id={int(ready[1])}")
    done = program.wait(COMMAND_SECONDS)
    if done.status:
        raise guest.failure(f"{EVENT_PROGRAM} failed:\n{done.output}")
    return done


def record(kernel: str, driver: str) -> None:
    """Run everything on one driver, for load(); GuestFailure if a program fails."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    trace = FOLDER / f"{kernel}-{driver}.trace"
    files = {}
    if driver == "ours":
        files["irdma.ko"] = BUILD / image.kernel(kernel).release / "irdma.ko"
    setup = Setup(kernel=kernel, driver="none", trace=trace, files=files,
                  append=KERNEL_PARAMETERS, allow=ALLOW[driver])
    with Guest(setup, f"{driver}-{kernel}") as guest:
        recorder = _Recorder(guest, trace)
        guest.run("modprobe -a ib_uverbs rdma_ucm "
                  "$(modinfo -F depends irdma | tr , ' ')")
        recorder.skip()
        recorder.phase("load", guest.run(LOAD[driver]).output)
        for name, command in PROGRAMS.items():
            done = guest.run(command, timeout=COMMAND_SECONDS, check=False)
            if done.status:
                raise GuestFailure(f"{driver}: {command} failed:\n{done.output}")
            recorder.phase(name, done.output)
        for name, what in EVENTS.items():
            recorder.phase(name, _report(guest, what).output)
        recorder.phase("tear-down", guest.run("rmmod irdma").output)
    phases = _split(recorder.phases[0]) + recorder.phases[1:]
    with open(FOLDER / f"{kernel}-{driver}.phases", "w") as file:
        for phase in phases:
            file.write(json.dumps(dataclasses.asdict(phase)) + "\n")


def load(kernel: str, driver: str) -> List[Phase]:
    """The phases of the last run; Trouble if there is none."""
    path = FOLDER / f"{kernel}-{driver}.phases"
    if not path.exists():
        raise Trouble(f"{path.relative_to(TOP)} is missing: run scripts/trace-diff without --last")
    with open(path) as file:
        return [Phase(**json.loads(line)) for line in file]
