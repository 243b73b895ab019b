# SPDX-License-Identifier: GPL-2.0
"""The device's trace (JSON lines, see qemu/trace.h) as text for a reader.

Commands, the contexts they point to, and events are shown, each as one line of
its fields. What comes in masses (doorbells, completions, interrupts, register
accesses) is counted only.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Dict, Iterable, Iterator, List, Tuple

# Numbers of the device with a name.
NAMES = {
    "qp_type": {3: "RC", 4: "UD"},
    "next_state": {1: "idle", 2: "RTS", 3: "SQD", 4: "RTR", 6: "error"},
}
# Fields that only say where something lies in the guest's memory.
ADDRESSES = ("context_addr", "shadow_addr", "sq_addr", "rq_addr", "completion_ctx", "wqe")
COUNTED = ("doorbell", "ccqe", "ceqe", "cqe", "irq", "reg")
WIDTH = 100


def read(path: Path, offset: int = 0) -> Tuple[List[dict], int]:
    """Whole lines from a byte offset on, and the offset behind them."""
    with open(path, "rb") as file:
        file.seek(offset)
        data = file.read()
    whole = data[:data.rfind(b"\n") + 1]
    return [json.loads(line) for line in whole.splitlines()], offset + len(whole)


def _address(word: int) -> str:
    return ".".join(str(word >> shift & 255) for shift in (24, 16, 8, 0))


def _fields(event: Dict[str, object]) -> Iterator[str]:
    for key, value in event.items():
        if key in ("t", "ev", "op", "words", *ADDRESSES):
            continue
        if key in ("dest_ip3", "local_ip3") and event.get("ipv4"):
            key, value = key[:-1], _address(int(value))
        value = NAMES.get(key, {}).get(value, value)
        yield f"{key}={value}"


def _wrapped(head: str, fields: Iterable[str]) -> Iterator[str]:
    """The head and the fields, broken into lines."""
    line = head
    for field in fields:
        if len(line) + 1 + len(field) > WIDTH:
            yield line
            line = " " * 30
        line += " " + field
    yield line


def readable(events: Iterable[dict]) -> Iterator[str]:
    """Lines of text; time counts from the first event, in ms of the guest."""
    start = None
    counts: Counter = Counter()
    for event in events:
        start = event["t"] if start is None else start
        kind = event["ev"]
        time = f"{(event['t'] - start) / 1e6:9.3f} ms"
        if kind in COUNTED:
            counts[kind] += 1
        elif kind == "cqp_done":
            if event.get("error"):
                yield f"{time}  {event['op']} refused: " + " ".join(_fields(event))
        elif kind == "cqp":
            yield from _wrapped(f"{time}  {event['op']:<16}", _fields(event))
        elif kind == "qp_ctx":
            yield from _wrapped(f"{time}    context       ", _fields(event))
        elif kind != "aq":
            yield from _wrapped(f"{time}  {kind:<16}", _fields(event))
    if counts:
        yield "also: " + ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
