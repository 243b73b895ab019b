# SPDX-License-Identifier: GPL-2.0
"""What the device is told, by us and by stock irdma: no difference that is not explained."""

import tempfile
from pathlib import Path
from typing import List

from testing import test
from tracediff import Rules, compare
from tracereport import judge
from tracerun import DRIVERS, PHASES, Phase, record


@test(needs=("images", "model", "modules", "programs"), timeout=900, full=("6.1",))
def stock(kernel: str) -> None:
    """Bring-up, programs and tear-down; Documentation/differences.rst is the list."""
    for driver in DRIVERS:
        record(kernel, driver)
    wrong = judge(kernel, with_summary=True)
    assert not wrong, f"{wrong} differences that are not explained, or explained in vain"


def command(op: str, **fields) -> List[dict]:
    """The events of a control command."""
    return [dict(ev="cqp", op=op, wqe=0, **fields),
            dict(ev="cqp_done", op=op, wqe=0, value=0, error=False)]


def run_of(*events: List[dict]) -> List[Phase]:
    """A run in which only the first phase has events."""
    first = Phase(PHASES[0], [event for some in events for event in some])
    return [first] + [Phase(name, []) for name in PHASES[1:]]


def texts(stock_events: List[List[dict]], our_events: List[List[dict]]) -> List[str]:
    return [d.text for d in compare(run_of(*stock_events), run_of(*our_events))]


@test(needs=(), kernels=None, guests=0)
def comparison() -> None:
    """Other numbers and addresses are no difference; all else is."""
    one = [command("create_cq", cq=5, addr="0x1000000", size=7),
           command("create_cq", cq=6, addr="0x2000000", size=9), command("destroy_cq", cq=5)]
    other = [command("create_cq", cq=9, addr="0x3000000", size=7),
             command("create_cq", cq=2, addr="0x5000000", size=9), command("destroy_cq", cq=9)]
    assert not texts(one, other)
    wrong_queue = [*other[:2], command("destroy_cq", cq=2)]
    assert texts(one, wrong_queue) == ["- destroy_cq", "+ destroy_cq"]
    assert texts(one, other[:2]) == ["- destroy_cq"]
    assert texts(one[:2], other) == ["+ destroy_cq"]
    wrong_size = [command("create_cq", cq=9, addr="0x3000000", size=8), *other[1:]]
    assert texts(one, wrong_size) == ["~ create_cq.size 7 -> 8"]
    number = [command("create_cq", cq=5, context="0xffff8880098f9928")]
    assert texts(number, [command("create_cq", cq=4, context="0x4")]) == [
        "~ create_cq.context context -> number of CQ1"]
    moved = [command("nop"), command("create_cq", cq=5)]
    assert texts(moved, moved[::-1]) in (["> nop"], ["> create_cq"])
    rung = [*one[:1], [dict(ev="doorbell", kind="arm", cq=5, **{"from": "user"})]]
    assert texts(rung, other[:1]) == ["- arm.user"]


RULES = """
Sizes
-----
::

   bring-up ~ create_cq.size 7 -> ?
   [6.1] * + nop
   maybe cq,mr - nop

They may.
"""


@test(needs=(), kernels=None, guests=0)
def rules() -> None:
    """A rule explains what its patterns match, and one that is not needed is told."""
    with tempfile.NamedTemporaryFile("w", suffix=".rst") as file:
        file.write(RULES)
        file.flush()
        given = {kernel: Rules(Path(file.name), kernel) for kernel in ("6.1", "6.12")}
    found = compare(run_of(command("create_cq", cq=5, size=7)),
                    run_of(command("create_cq", cq=5, size=8), command("nop")))
    for kernel, explained in (("6.1", ["Sizes", "Sizes"]), ("6.12", ["Sizes", None])):
        for difference in found:
            difference.rule = None
        given[kernel].explain(found)
        assert [d.rule for d in found] == explained, found
        assert not given[kernel].unused()
    given["6.1"].patterns[0].used = 0
    assert [p.text for p in given["6.1"].unused()] == ["~ create_cq.size 7 -> ?"]
