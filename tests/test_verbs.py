# SPDX-License-Identifier: GPL-2.0
"""Verbs objects and modify_qp of our module, for processes and for the kernel."""

from guest import Guest, Setup
from testing import test

# What the driver tells of a change that it refuses, and ib_core of a PSN.
REFUSAL = r"irdma\d: .*refused "


@test(needs=("images", "model", "modules", "programs"), timeout=300)
def modify_table(kernel: str) -> None:
    """Each pair of states, attribute, value and combination of rights, for a process."""
    with Guest(Setup(kernel=kernel, allow=[REFUSAL])) as guest:
        print(guest.run("modify-table", timeout=240).output)
