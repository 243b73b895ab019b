# SPDX-License-Identifier: GPL-2.0
"""The verdict on a run of tracerun.py: differences, and figures of both drivers.

Used by scripts/trace-diff and tests/test_differences.py.
"""

import itertools
from collections import Counter
from typing import Dict, Iterator, Sequence

from common import TOP
from tracediff import Rules, compare
from tracerun import DRIVERS, Phase, load

LIST = TOP / "Documentation/differences.rst"

# Kinds of events, for what can be counted of a phase.
COUNTED = {
    "commands": lambda e: e["ev"] == "cqp",
    "doorbells": lambda e: e["ev"] == "doorbell" or e.get("name") == "cqpdb",
    "interrupts": lambda e: e["ev"] == "irq" and e["enabled"],
    "completions": lambda e: e["ev"] in ("ccqe", "cqe", "aeqe"),
    "rung by users": lambda e: e["ev"] == "doorbell" and e["from"] == "user",
}
SHOWN = ("commands", "doorbells", "interrupts")


def figures(phase: Phase) -> Dict[str, int]:
    """How many of each a phase took."""
    return {name: sum(map(counts, phase.events)) for name, counts in COUNTED.items()}


def too_many(stock: Sequence[Phase], ours: Sequence[Phase]) -> Iterator[str]:
    """What our driver took more of than stock, all phases together.

    After a command stock looks for its end once before it waits. The model ends
    commands at once, so that this often saves stock an interrupt, and the two
    doorbells that follow it, as it cannot on hardware. So they are compared with
    what stock takes where each completion interrupts.
    """
    a, b = ({name: sum(figures(phase)[name] for phase in run) for name in COUNTED}
            for run in (stock, ours))
    allowed = {
        "commands": a["commands"],
        "doorbells": a["commands"] + 2 * a["completions"] + a["rung by users"],
        "interrupts": a["completions"],
    }
    for name, limit in allowed.items():
        if b[name] > limit:
            yield f"{name}: {b[name]}, and with stock no more than {limit}"


def summary(stock: Sequence[Phase], ours: Sequence[Phase]) -> None:
    """A table of figures: stock / ours."""
    print(f"{'':14}" + "".join(f"{name:>16}" for name in SHOWN))
    totals: Dict[str, Counter] = {driver: Counter() for driver in DRIVERS}
    for pair in zip(stock, ours):
        counts = [figures(phase) for phase in pair]
        for driver, count in zip(DRIVERS, counts):
            totals[driver].update(count)
        print(f"{pair[0].name:14}" + _row(*counts))
    print(f"{'all':14}" + _row(*totals.values()))


def _row(stock: Dict[str, int], ours: Dict[str, int]) -> str:
    return "".join(f"{f'{stock[name]} / {ours[name]}':>16}" for name in SHOWN)


def judge(kernel: str, with_summary: bool = False, with_listed: bool = False) -> int:
    """Print what is wrong with the last run on a kernel; how many things that are.

    with_summary: also the table of figures; with_listed: also the differences that
    are listed, each with its rule.
    """
    runs = [load(kernel, driver) for driver in DRIVERS]
    rules = Rules(LIST, kernel)
    differences = compare(*runs)
    rules.explain(differences)
    told = Counter((d.phase, d.text, d.rule) for d in differences if with_listed or not d.rule)
    for phase, group in itertools.groupby(told, key=lambda key: key[0]):
        print(f"{kernel} {phase}:")
        for key in group:
            print(f"    {key[1]}" + (f"  ({told[key]} times)" if told[key] > 1 else "") +
                  (f"  [{key[2]}]" if key[2] else ""))
    wrong = [f"listed, but does not occur: {p.rule}: {p.line}" for p in rules.unused()]
    wrong += too_many(*runs)
    for text in wrong:
        print(f"{kernel} {text}")
    if with_summary:
        summary(*runs)
    new = sum(1 for d in differences if not d.rule)
    print(f"{kernel}: {len(differences)} differences, {len(differences) - new} of them listed")
    return new + len(wrong)
