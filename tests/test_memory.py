# SPDX-License-Identifier: GPL-2.0
"""Memory regions, judged by data that goes through them; page lists; memory of a port."""

import re
from pathlib import Path
from typing import List, Set, Tuple

import devtrace
import image
from common import BUILD
from guest import Guest, Setup
from testing import LOGS, test

FULL_KERNELS = ("6.1", None)

NEEDS = ("images", "model", "modules", "programs")
# What the driver tells of accesses that the device refuses.
EVENT = r"irdma\d: QP \d+: event 0x"

RUN, ONE, TWO = 0, 1, 3         # levels of page lists, as the device numbers them
SMALL, LARGE, HUGE = 0, 1, 2    # sizes of pages: 4 KiB, 2 MiB, 1 GiB
GIB = 1 << 30


def page_lists_used(guest: Guest) -> int:
    """Bytes of the pool of page lists that are in use."""
    text = guest.run("cat /sys/kernel/debug/irdma/*/memory").output
    print(text)
    return dict((name, int(value)) for name, value in map(str.split, text.splitlines()))[
        "page_lists_used"]


def regions(trace: Path) -> Set[Tuple[int, int, int]]:
    """(length, page size, level) of all regions that were registered."""
    return {(int(str(e["length"]), 0), e.get("page_size", 0), e.get("pbl_level", 0))
            for e in devtrace.read(trace)[0]
            if e["ev"] == "cqp" and e["op"] == "reg_mr" and "length" in e}


def mr_data(kernel: str, name: str, arguments: str, timeout: float = 300,
            **setup) -> Set[Tuple[int, int, int]]:
    """Run mr-data in a guest; nothing of the pool may be left. Returns regions()."""
    trace = LOGS / f"memory-{name}.{kernel}.trace"
    with Guest(Setup(kernel=kernel, trace=trace, allow=[EVENT], **setup)) as guest:
        before = page_lists_used(guest)
        print(guest.run(f"mr-data {arguments}", timeout=timeout).output)
        assert page_lists_used(guest) == before
        guest.run("rmmod irdma")
    return regions(trace)


@test(needs=NEEDS, timeout=500)
def registrations(kernel: str) -> None:
    """Lengths and places, rights, changes, windows, many regions that come and go."""
    mr_data(kernel, "registrations", "-n 2000 sizes rights rereg windows churn")


@test(needs=NEEDS, timeout=600, full=True)
def long_page_lists(kernel: str) -> None:
    """More than 1 GiB of scattered pages; page lists used up, and all well afterwards."""
    seen = mr_data(kernel, "long", "scattered exhaust", timeout=500, mem=1536)
    assert (GIB + (100 << 20), SMALL, TWO) in seen, seen
    assert (GIB // 2 + 123, SMALL, ONE) in seen, seen


@test(needs=NEEDS, timeout=600, full=True)
def large_pages(kernel: str) -> None:
    """2 MiB pages, also for 64 GiB of address space."""
    seen = mr_data(kernel, "large", "huge space", timeout=500, append="hugepages=16")
    assert {(2 << 20, LARGE, RUN), (700 * (2 << 20), LARGE, ONE), (64 * GIB, LARGE, ONE)} <= seen, \
        seen


@test(needs=NEEDS, timeout=600, full=True)
def huge_pages(kernel: str) -> None:
    """1 GiB pages."""
    seen = mr_data(kernel, "huge", "gigantic", timeout=500, mem=4096,
                   append="hugepagesz=1G hugepages=1")
    assert {(GIB, HUGE, RUN), (8 * GIB, HUGE, ONE)} <= seen, seen


@test(needs=NEEDS, kernels=("6.12",), full=True)
def dma_buf(kernel: str) -> None:
    """Memory of another subsystem; Debian's 6.1 has no way for a process to make a DMA-BUF."""
    mr_data(kernel, "dmabuf", "dmabuf")


# ---- Memory of a port ----

LOAD = """
    {command}
    await 30 have_rdma || exit 1
"""
LIMITS = (0, 7)


def segments(trace: Path, offset: int) -> Tuple[int, int]:
    """Segments of the host memory cache set since that offset of a trace; the new offset."""
    events, end = devtrace.read(trace, offset)
    return sum(e["ev"] == "sd" and bool(e.get("valid")) for e in events), end


@test(needs=NEEDS, timeout=400, full=True)
def memory_of_a_port(kernel: str) -> None:
    """No more than with stock irdma; far less with limits_sel."""
    trace = LOGS / f"memory-port.{kernel}.trace"
    module = BUILD / image.kernel(kernel).release / "irdma.ko"
    setup = Setup(kernel=kernel, driver="none", files={"irdma.ko": module}, trace=trace,
                  allow=["irdma: limits_sel=8 is not one of 0 to 7"])
    with Guest(setup) as guest:
        end = 0
        seen: List[int] = []
        for command in ("modprobe irdma", *(f"insmod /host/irdma.ko limits_sel={n}"
                                            for n in LIMITS)):
            guest.run(LOAD.format(command=command) + "\nrmmod irdma")
            number, end = segments(trace, end)
            seen.append(number)
            print(f"{command}: {number} segments")
        # All else that our port takes is little beside them.
        text = guest.run("dmesg | grep 'KiB of memory'").output
        print(text)
        total = [int(kib) for kib in re.findall(r"(\d+) KiB of memory", text)]
        guest.run("! insmod /host/irdma.ko limits_sel=8")
        stock, least, most = seen
        assert most <= stock and least <= most * 2 // 3
        assert [kib // 1024 - 2 * number for kib, number in zip(total, (least, most))] == [0, 0]
