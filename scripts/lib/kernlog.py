# SPDX-License-Identifier: GPL-2.0
"""Search of a guest's kernel log for what must not be there.

guest.py calls problems() after each run. Two logs are looked at: the serial
console (complete even if the kernel died) and what /dev/kmsg gave at the end
(with levels, so that errors and the drivers' warnings are found whatever their
words).
"""

import re
from typing import Iterable, List, Tuple

from knownreports import without_known

# Reports of the kernel's own checks, wherever they stand in a line.
REPORTS = re.compile(
    r"WARNING:|BUG:|\bOops\b|Call Trace|kernel BUG|general protection|Kernel panic|"
    r"possible (circular|recursive|irq lock|deadlock)|suspicious RCU|INFO: task .* blocked|"
    r"INFO: lockdep|INFO: trying to register non-static key|bad unlock balance|held lock freed|"
    r"sleeping function called|scheduling while atomic|UBSAN|KASAN|KCSAN|kmemleak: \d+ leaks|"
    r"DMA-API|refcount_t|rcu: .*(detected stalls|self-detected stall|kthread starved)|"
    r"soft lockup|hard LOCKUP|list_(add|del) corruption|BUG [\w-]+ \(|Poison overwritten|"
    r"pagealloc: |ODEBUG: |page allocation failure|use-after-free|unchecked MSR|NETDEV WATCHDOG|tainted by|"
    r"nobody cared|Unknown symbol|disagrees about version")

# Who is answered for by this project: their warnings count as well.
OURS = re.compile(r"\b(ice|irdma|infiniband|ib_core|ib_uverbs|rdma\w*|rocep?\w*)\b|irdma\d|rxe")

# Messages of the stock kernel on an E810 or a virtual machine that are right.
EXPECTED = [
    r"loading out-of-tree module taints kernel",
    r"module verification failed: signature",
    r"Speculative Return Stack Overflow|Spectre|RETBleed|MMIO Stale Data|MDS|TAA|GDS|SRBDS",
    # Debian's kernels report a firmware file that is not there as an error;
    # ice asks for one per card before the general one.
    r"firmware: failed to load intel/ice/ddp/ice-[0-9a-f]{16}\.pkg",
    r"See https://wiki.debian.org/Firmware for information",
    # The model's firmware does not log, which 6.12 warns of.
    r"FW logging is not supported in this NVM image",
    r"Unable to (turn off|unregister) FW logging, status: -95",
    # Of a program, not of the kernel: who has started it sees its status.
    r"traps: \w+\[\d+\] general protection fault ip:",
    # What the kernel 6.12-san says of its checks as it boots.
    r"DMA-API: preallocated \d+ debug entries",
    r"DMA-API: debugging enabled by kernel config",
    r"DMA-API: dma_debug_entry pool grown to \d+",
    r"RCU callback double-/use-after-free debug is enabled",
]

# What our driver says of a request that it refuses; for Setup.allow.
REFUSAL = r"irdma\d: .*refused "

# Our driver's name for a device before and after it is registered, when it is not irdma0 yet.
UNREGISTERED = re.compile(r"irdma ice\.roce\.\d+: ")

EXPECTED_PATTERN = re.compile("|".join(EXPECTED))


def problems(serial: str, records: str, allow: Iterable[str] = ()) -> List[str]:
    """Lines that mean failure.

    serial: text of the serial console; records: content of /dev/kmsg, or
    nothing if the guest did not get there; allow: patterns of lines that this run may
    print, in addition to EXPECTED; they call a device irdma0 before it is registered, too.
    """
    allowed = re.compile("|".join([*EXPECTED, *allow]))
    found = [line for line in without_known(serial, REPORTS) if REPORTS.search(line)]
    for line in without_known(records, REPORTS):
        match = re.match(r"(\d+),\d[^;]*;(.*)", line)
        if not match:       # a property of the record before
            continue
        level, text = int(match[1]) & 7, match[2]
        if level <= 3 or (level == 4 and OURS.search(text)):
            found.append(text)
    return [line for line in dict.fromkeys(line.strip() for line in found)
            if not allowed.search(UNREGISTERED.sub("irdma0: ", line))]


def call_traces(serial: str, of: str) -> Tuple[int, int]:
    """How many call traces a log has, and how many times that text; without known reports."""
    text = "\n".join(without_known(serial, REPORTS))
    return text.count("Call Trace:"), text.count(of)


def first_report(serial: str, count: int) -> List[str]:
    """The first of the kernel's reports, with so many lines from there on."""
    lines = list(without_known(serial, REPORTS))
    for index, line in enumerate(lines):
        if REPORTS.search(line) and not EXPECTED_PATTERN.search(line):
            return lines[max(0, index - 1):index - 1 + count]
    return []
