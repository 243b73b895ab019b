# SPDX-License-Identifier: GPL-2.0
"""Proof that the model is right: Debian's unmodified ice and irdma work on it."""

import json
from pathlib import Path

from common import TOP
from guest import Guest, Setup
from testing import LOGS, test

PROFILES = ("generic", "ceph", "ucx-rc", "ucx-ud", "nccl")


def interrupts(guest: Guest) -> int:
    """Sum of the RDMA vectors' interrupts so far."""
    return int(guest.run("irq-count").output)


@test(needs=("images", "model", "programs"), timeout=240)
def qp_bringup(kernel: str) -> None:
    """RC and UD queue pairs with each application's values, by interrupts, then unload."""
    trace = LOGS / f"model-stock.{kernel}.trace"
    with Guest(Setup(kernel=kernel, driver="stock", trace=trace)) as guest:
        info = guest.run("ibv_devinfo").output
        assert "PORT_ACTIVE" in info, info
        before = interrupts(guest)
        for profile in PROFILES:
            # Stock does not give all attributes back.
            print(guest.run(f"qp-bringup --lenient -p {profile}").output)
        after = interrupts(guest)
        assert after > before, f"{before} interrupts before, {after} after"
        guest.run("modprobe -r irdma && modprobe -r ice && modprobe ice")
    check_trace(trace)


def check_trace(path: Path) -> None:
    """Each line is JSON, and the commands that the driver must have given are there."""
    events = [json.loads(line) for line in path.read_text().splitlines()]
    seen = {event["op"] for event in events if event["ev"] == "cqp"}
    wanted = {"create_qp", "modify_qp", "destroy_qp", "create_cq", "create_ceq", "create_aeq"}
    assert wanted <= seen, f"{path.relative_to(TOP)}: no {wanted - seen} in {seen}"
    assert {"qp_ctx", "ceqe", "doorbell"} <= {event["ev"] for event in events}


@test(needs=("images", "model"), timeout=240, full=("6.12",))
def ice_reload(kernel: str) -> None:
    """ice goes and comes, the link too; the network works each time."""
    with Guest(Setup(kernel=kernel, driver="none")) as guest:
        for _ in range(3):
            guest.run("modprobe -r ice && modprobe ice && ip link set eth0 up")
            guest.run("ip link set eth0 down && ip link set eth0 up")
        guest.run("await 10 have_carrier")
