# SPDX-License-Identifier: GPL-2.0
"""What operations cost, on stock irdma and on our driver: nothing more than stock takes."""

import contextlib
import io

from benchreport import report
from benchrun import DRIVERS, Figures, load, record
from testing import test

CONNECTIONS = 50


@test(needs=("images", "model", "modules", "programs", "test-modules"), timeout=900, full=True)
def stock(kernel: str) -> None:
    """All that scripts/bench measures."""
    for driver in DRIVERS:
        record(kernel, driver, CONNECTIONS)
    above = report(*(load(kernel, driver) for driver in DRIVERS))
    assert not above, f"{above} ratios are above 1.00"


@test(needs=(), kernels=None, guests=0)
def judgement() -> None:
    """What counts as more than stock takes."""
    stock_figures = Figures(costs={"qp-create": 10000}, memory={"qp": 5000},
                            events={"qp-cycle": {"commands": 7, "doorbells": 7, "interrupts": 0}})
    for cost, memory, commands, interrupts, above in (
            (10000, 5000, 7, 0, 0), (10040, 5050, 7, 0, 0), (10000, 5000, 7, 9, 0),
            (10100, 5000, 7, 0, 1), (10000, 6000, 7, 0, 1), (10000, 5000, 8, 0, 1)):
        ours = Figures(costs={"qp-create": cost}, memory={"qp": memory},
                       events={"qp-cycle": {"commands": commands, "doorbells": 5,
                                            "interrupts": interrupts}})
        with contextlib.redirect_stdout(io.StringIO()):
            assert report(stock_figures, ours) == above, (cost, memory, commands)
