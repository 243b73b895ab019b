# SPDX-License-Identifier: GPL-2.0
"""What operations cost on one driver: instructions, commands, memory.

The programs (tests/guest/verbs-bench.c, tests/kernel/bench.c) run in a guest with
one CPU whose virtual time counts instructions. They tell what an operation costs,
and between which times of the device's trace a number of them lies, from which
commands, doorbells and interrupts an operation follow. Used by scripts/bench.
"""

import dataclasses
import json
import re
import statistics
import subprocess
from pathlib import Path
from typing import Dict, Iterator, List, Tuple

import image
from common import BUILD, TOP, Trouble
from devtrace import read
from guest import Guest, Setup
from nvme import Host, Target
from tracereport import COUNTED

FOLDER = BUILD / "bench"
DRIVERS = ("stock", "ours")
EVENTS = ("commands", "doorbells", "interrupts")
MEMORY_MIB = 1792
HUGE_PAGES = 516            # of 2 MiB, for a region of 1 GiB
COMMAND_SECONDS = 600
# Reads by NVMe at once, and how many in all: with more than one at once, small things decide which
# completions share an interrupt, and only the mean of many says something.
READS = {1: 1024, 32: 16384, 128: 16384}
RELOADS = 4                 # unloading waits, and what others do meanwhile counts: the median does not
HELD = {"mr": 2000, "cq": 400, "qp": 200}   # at once, twice, for the memory of one

KERNEL_PARAMETERS = "norandmaps nokaslr transparent_hugepage=never"
FILES = {
    "stock": "$(modinfo -n irdma)",
    "ours": "/host/irdma.ko",
}
# Memory regions: size, page, how many times.
REGIONS: Tuple[Tuple[str, str, int], ...] = (
    ("4K", "4K", 200), ("1M", "4K", 50), ("1G", "4K", 2), ("1M", "2M", 100), ("1G", "2M", 20),
)
LINE = re.compile(r"^(?:.*verbs-bench: )?(cost|span|memory) (\S+) ([0-9 -]+)$", re.MULTILINE)


@dataclasses.dataclass
class Figures:
    """What a driver takes for an operation; memory is in bytes for an object."""

    costs: Dict[str, int] = dataclasses.field(default_factory=dict)
    memory: Dict[str, int] = dataclasses.field(default_factory=dict)
    events: Dict[str, Dict[str, float]] = dataclasses.field(default_factory=dict)


def _programs(driver: str, connections: int) -> Iterator[str]:
    """What runs in the guest, in order."""
    yield f"cp {FILES[driver]} /tmp/irdma.ko && verbs-bench load /tmp/irdma.ko"
    yield "verbs-bench qp 200"
    yield "verbs-bench cq 200"
    yield from (f"verbs-bench mr {size} {page} {count}"
                for size, page, count in REGIONS if page == "4K")
    yield (f"echo {HUGE_PAGES} >/proc/sys/vm/nr_hugepages\n" +
           "\n".join(f"verbs-bench mr {size} {page} {count} || exit 1"
                     for size, page, count in REGIONS if page == "2M") +
           "\necho 0 >/proc/sys/vm/nr_hugepages")
    yield f"verbs-bench cm {connections}"
    yield from (f"verbs-bench hold {kind} {count}" for kind, count in HELD.items())
    yield ("insmod /host/verbs_test.ko only=bench && dmesg | grep 'verbs-bench: ' && "
           "rmmod verbs_test")


def _disk(guest: Guest) -> Iterator[str]:
    """Random reads by NVMe over RDMA; host and target are both in the guest."""
    with Target(guest, mib=16) as served, Host(guest, served) as host:
        for depth, reads in READS.items():
            yield guest.run(f"verbs-bench read {host.disks[0]} {depth} {reads}",
                            timeout=COMMAND_SECONDS).output


def _reload(guest: Guest) -> Iterator[str]:
    """Only what it costs."""
    for _ in range(RELOADS):
        yield guest.run("(verbs-bench load /tmp/irdma.ko && verbs-bench unload) | grep cost").output


def _count(trace: Path, spans: List[Tuple[str, int, int, int]]) -> Dict[str, Dict[str, float]]:
    """Events an operation: name, number of operations, begin and end."""
    sums = {name: dict.fromkeys(EVENTS, 0) for name, *_ in spans}
    for event in read(trace)[0]:
        kinds = [kind for kind in EVENTS if COUNTED[kind](event)]
        if not kinds:
            continue
        for name, _, begin, end in spans:
            if begin <= event["t"] <= end:
                for kind in kinds:
                    sums[name][kind] += 1
    return {name: {kind: sums[name][kind] / count for kind in EVENTS}
            for name, count, *_ in spans}


def record(kernel: str, driver: str, connections: int) -> None:
    """Run everything on one driver, for load(); GuestFailure if a program fails."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    trace = FOLDER / f"{kernel}-{driver}.trace"
    release = image.kernel(kernel).release
    files = {"verbs_test.ko": BUILD / release / "tests/verbs_test.ko"}
    if driver == "ours":
        files["irdma.ko"] = FOLDER / f"irdma-{kernel}.ko"
        # As a package installs it, and as stock's is.
        subprocess.run(["strip", "--strip-debug", "-o", files["irdma.ko"],
                        BUILD / release / "irdma.ko"], check=True)
    setup = Setup(kernel=kernel, driver="none", trace=trace, files=files, icount=True, cpus=1,
                  mem=MEMORY_MIB, append=KERNEL_PARAMETERS, allow=[r"irdma"])
    output = []
    with Guest(setup, f"bench-{driver}-{kernel}") as guest:
        guest.run("modprobe -a ib_uverbs rdma_ucm $(modinfo -F depends irdma | tr , ' ')")
        for script in _programs(driver, connections):
            output.append(guest.run(script, timeout=COMMAND_SECONDS).output)
        output += _disk(guest)
        output.append(guest.run("verbs-bench unload").output)
        output += _reload(guest)
    figures = Figures()
    costs: Dict[str, List[int]] = {}
    spans = []
    for kind, name, numbers in LINE.findall("\n".join(output)):
        values = [int(number) for number in numbers.split()]
        if kind == "span":
            spans.append((name, *values))
        elif kind == "cost":
            costs.setdefault(name, []).append(values[0])
        else:
            figures.memory[name] = values[0]
    figures.costs = {name: int(statistics.median(values)) for name, values in costs.items()}
    figures.events = _count(trace, spans)
    (FOLDER / f"{kernel}-{driver}.json").write_text(json.dumps(dataclasses.asdict(figures)))


def load(kernel: str, driver: str) -> Figures:
    """The figures of the last run; Trouble if there are none."""
    path = FOLDER / f"{kernel}-{driver}.json"
    if not path.exists():
        raise Trouble(f"{path.relative_to(TOP)} is missing: run scripts/bench without --last")
    return Figures(**json.loads(path.read_text()))
