# SPDX-License-Identifier: GPL-2.0
"""The same programs on the stock driver and on ours, each with the device's trace.

A run is cut into phases, in the order of PHASES. Between two phases the guest
is left alone until the trace stands still, so that work that the kernel does
in the background belongs to the phase that caused it. Used by scripts/trace-diff.
"""

import dataclasses
import json
import time
from pathlib import Path
from typing import Dict, List

import image
from common import BUILD
from devtrace import read
from guest import Guest, GuestFailure, Setup

FOLDER = BUILD / "trace-diff"
DRIVERS = ("stock", "ours")
QUIET_SECONDS = 1.5         # without a line: the background work is done
QUIET_LIMIT = 60
COMMAND_SECONDS = 120

# Addresses and memory as equal as they can be made in two runs.
KERNEL_PARAMETERS = "norandmaps transparent_hugepage=never hugepages=4"
AWAIT_DEVICE = """
for i in $(seq 300); do
    [ -n "$(ls /sys/class/infiniband)" ] && exit 0
    sleep 0.1
done
exit 1
"""
LOAD = {
    "stock": f"modprobe irdma || exit 1\n{AWAIT_DEVICE}",
    "ours": f"insmod /host/irdma.ko || exit 1\n{AWAIT_DEVICE}",
}
# Commands that begin what the kernel does with a registered device.
REGISTRATION = ("create_qp", "work_sched_node")


@dataclasses.dataclass
class Phase:
    """What the device saw during one part of a run."""

    name: str
    events: List[dict]
    output: str = ""


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
}
PHASES = ("bring-up", "registration", *PROGRAMS, "tear-down")


class _Recorder:
    """Cuts the trace of a running guest into phases."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self.phases: List[Phase] = []

    def settle(self) -> None:
        """Wait until nothing has been written for a while."""
        end = time.monotonic() + QUIET_LIMIT
        size, since = -1, time.monotonic()
        while time.monotonic() - since < QUIET_SECONDS and time.monotonic() < end:
            if self._path.stat().st_size != size:
                size, since = self._path.stat().st_size, time.monotonic()
            time.sleep(0.1)

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


def record(kernel: str, driver: str) -> List[Phase]:
    """Run everything on one driver; GuestFailure if a program fails."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    trace = FOLDER / f"{kernel}-{driver}.trace"
    files = {}
    if driver == "ours":
        files["irdma.ko"] = BUILD / image.kernel(kernel).release / "irdma.ko"
    setup = Setup(kernel=kernel, driver="none", trace=trace, files=files,
                  append=KERNEL_PARAMETERS, allow=[r"irdma"])
    with Guest(setup, f"{driver}-{kernel}") as guest:
        recorder = _Recorder(trace)
        guest.run("modprobe -a ib_uverbs rdma_ucm "
                  "$(modinfo -F depends irdma | tr , ' ')")
        recorder.skip()
        recorder.phase("load", guest.run(LOAD[driver]).output)
        for name, command in PROGRAMS.items():
            done = guest.run(command, timeout=COMMAND_SECONDS, check=False)
            if done.status:
                raise GuestFailure(f"{driver}: {command} failed:\n{done.output}")
            recorder.phase(name, done.output)
        recorder.phase("tear-down", guest.run("rmmod irdma").output)
    return _split(recorder.phases[0]) + recorder.phases[1:]


def save(kernel: str, driver: str, phases: List[Phase]) -> None:
    """Keep the phases for load()."""
    with open(FOLDER / f"{kernel}-{driver}.phases", "w") as file:
        for phase in phases:
            file.write(json.dumps(dataclasses.asdict(phase)) + "\n")


def load(kernel: str, driver: str) -> List[Phase]:
    """The phases of the last run."""
    with open(FOLDER / f"{kernel}-{driver}.phases") as file:
        return [Phase(**json.loads(line)) for line in file]
