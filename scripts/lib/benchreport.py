# SPDX-License-Identifier: GPL-2.0
"""The table of scripts/bench: stock, ours, and ours divided by stock."""

from typing import Dict, Iterator, List, Tuple

from benchrun import EVENTS, Figures

# Operations and what they are called in the table; a file of the program each.
OPERATIONS = {
    "load": "load to registered device",
    "unload": "unload",
    "qp-create": "QP create",
    "qp-init": "QP RESET to INIT",
    "qp-rtr": "QP INIT to RTR",
    "qp-rts": "QP RTR to RTS",
    "qp-destroy": "QP destroy",
    "qp-cycle": "QP all of these",
    "kernel-qp-create": "kernel QP create",
    "kernel-qp-init": "kernel QP RESET to INIT",
    "kernel-qp-rtr": "kernel QP INIT to RTR",
    "kernel-qp-rts": "kernel QP RTR to RTS",
    "kernel-qp-destroy": "kernel QP destroy",
    "cq-create": "CQ create",
    "cq-destroy": "CQ destroy",
    "connection": "connection by rdma_cm",
    "reg-4K/4K": "register 4 KiB",
    "dereg-4K/4K": "deregister 4 KiB",
    "reg-1M/4K": "register 1 MiB",
    "dereg-1M/4K": "deregister 1 MiB",
    "reg-1G/4K": "register 1 GiB",
    "dereg-1G/4K": "deregister 1 GiB",
    "reg-1M/2M": "register 1 MiB of 2 MiB pages",
    "dereg-1M/2M": "deregister 1 MiB of 2 MiB pages",
    "reg-1G/2M": "register 1 GiB of 2 MiB pages",
    "dereg-1G/2M": "deregister 1 GiB of 2 MiB pages",
    "post-send": "post_send, WRITE of 4 KiB",
    "post-inline": "post_send, WRITE of 48 bytes inline",
    "post-recv": "post_recv",
    "poll-cq": "poll_cq, one completion",
    "poll-empty": "poll_cq, none",
    "message": "message with its event",
    "nvme-1": "NVMe read of 4 KiB, depth 1",
    "nvme-32": "NVMe read of 4 KiB, depth 32",
    "nvme-128": "NVMe read of 4 KiB, depth 128",
}
SPANS = {
    "load": "load",
    "unload": "unload",
    "qp-cycle": "QP create to destroy",
    "kernel-qp": "kernel QP create to destroy",
    "cq-create": "CQ create and destroy",
    "connection": "connection by rdma_cm",
    "reg-4K/4K": "register and deregister 4 KiB",
    "reg-1G/4K": "register and deregister 1 GiB",
    "message": "message with its event",
    "nvme-1": "NVMe read, depth 1",
    "nvme-128": "NVMe read, depth 128",
}
MEMORY = {
    "load": "after load",
    "qp": "QP of a process",
    "cq": "CQ of a process",
    "mr": "MR of a process, 4 KiB",
    "kernel-qp": "QP of the kernel",
    "kernel-cq": "CQ of the kernel",
    "kernel-mr": "MR of the kernel, 256 pages",
}
TOLERANCE = 0.005       # 1.00, rounded
NOISE = 64              # bytes of memory an object: a page more or less of all of them

Row = Tuple[str, float, float, bool]    # title, stock, ours, whether it may not be more


def _rows(titles: Dict[str, str], stock: Dict[str, int], ours: Dict[str, int]) -> Iterator[Row]:
    for key, title in titles.items():
        if key in stock and key in ours:
            yield title, stock[key], ours[key], True


def _event_rows(stock: Figures, ours: Figures) -> Iterator[Row]:
    """Doorbells and interrupts depend on how many completions one look finds: told, not judged."""
    for key, title in SPANS.items():
        if key in stock.events and key in ours.events:
            for kind in EVENTS:
                a, b = stock.events[key][kind], ours.events[key][kind]
                if a or b:
                    yield f"{title}: {kind}", a, b, kind == "commands"


def tables(stock: Figures, ours: Figures) -> List[Tuple[str, List[Row]]]:
    """All of them, each with its heading."""
    return [
        ("instructions an operation", list(_rows(OPERATIONS, stock.costs, ours.costs))),
        ("events an operation", list(_event_rows(stock, ours))),
        ("memory in bytes", list(_rows(MEMORY, stock.memory, ours.memory))),
    ]


def _ratio(stock: float, ours: float) -> str:
    return f"{ours / stock:.2f}" if stock else "-"


def _number(value: float) -> str:
    return f"{value:.0f}" if value == round(value) or value >= 1000 else f"{value:.1f}"


def _is_above(row: Row) -> bool:
    _, stock, ours, judged = row
    return judged and ours > stock * (1 + TOLERANCE) and ours - stock > 0.05


def report(stock: Figures, ours: Figures) -> int:
    """Print the tables; how many ratios are above 1.00."""
    above = 0
    for heading, rows in tables(stock, ours):
        print(f"{heading:45}{'stock':>12}{'ours':>12}{'ratio':>8}")
        for row in rows:
            title, a, b, _ = row
            wrong = _is_above(row) and not (heading.startswith("memory") and b - a < NOISE)
            above += wrong
            print(f"  {title:43}{_number(a):>12}{_number(b):>12}{_ratio(a, b):>8}" +
                  (" above" if wrong else ""))
    return above
