# SPDX-License-Identifier: GPL-2.0
"""Data moves between the modelled E810 and Linux' own RoCEv2, rdma_rxe.

Guest "card" has the E810, with stock irdma or ours, guest "soft" a virtio card
and rdma_rxe; a wire joins them. Each tool runs with either as server. These are
the few tools of each day and what a bad cable does; test_data_tools.py has the
others, test_data_peers.py other peers and addresses, test_wire.py the packets.
"""

from typing import Sequence

from datatools import Tool, run_both_ways, run_pair, soft_setup
from guest import Guest, Setup, Wire
from testing import guests, test

FULL_KERNELS = ("6.1",)

PROGRAMS = ("images", "model", "modules", "programs")

QUICK = [
    Tool.verify(),
    Tool.alike("ibv_rc_pingpong -g 1 -c -e -n 5 -m 256 -s 10000", seconds=40),
    Tool.alike("ibv_ud_pingpong -g 1 -n 5"),
    Tool.perftest("ib_write_bw -R -q 2"),
    Tool.perftest("ib_read_bw -s 20000"),
    Tool("rping -s -v -C 10", "rping -c -v -C 10 -a {}"),
    Tool("ucmatose -C 10", "ucmatose -C 10 -s {}"),
]


def exchange(kernel: str, driver: str, tools: Sequence[Tool], opts: Sequence[str] = ()) -> None:
    """All tools with the card's guest as client, then as server."""
    with Wire() as wire, guests(
            Guest(Setup(kernel=kernel, driver=driver, wire=wire, number=1, device_opts=opts),
                  "card"),
            Guest(soft_setup(wire), "soft")) as (card, soft):
        card.run("ping -c 1 -W 20 $PEER_ADDRESS")
        run_both_ways(tools, card, soft)
        print(counters(card))


# Statistics that must have counted: of the device, as both drivers name them.
COUNTED = ("ip4InPkts", "ip4OutPkts", "iwInRdmaSends", "iwOutRdmaSends")


def counters(card: Guest) -> str:
    """Statistics of the card; those that must have counted are checked."""
    text = card.run("cd /sys/class/infiniband/*/ports/1/hw_counters && grep -H . *").output
    values = dict(line.split(":") for line in text.splitlines())
    assert all(int(values[name]) > 0 for name in COUNTED), text
    return " ".join(f"{name}={value}" for name, value in values.items() if value != "0")


@test(needs=("images", "model", "programs"), kernels=None, guests=2, timeout=400, full=True)
def stock_with_rxe() -> None:
    """Debian's own driver: the proof that the model's transport is right."""
    exchange("6.1", "stock", QUICK)


@test(needs=PROGRAMS, guests=2, timeout=400)
def ours_with_rxe(kernel: str) -> None:
    """A bit of everything."""
    exchange(kernel, "ours", QUICK)


@test(needs=PROGRAMS, kernels=None, guests=2, timeout=500, full=True)
def ours_over_bad_cable() -> None:
    """Frames get lost, doubled, out of order and spoilt; contents stay right."""
    exchange("6.1", "ours", [
        Tool.verify("-o send,send-imm,write,write-imm,read -s 1,3000,65536", seconds=200),
        Tool.alike("ibv_rc_pingpong -g 1 -c -n 5 -s 20000"),
        Tool.perftest("ib_write_bw -s 20000"),
        Tool("rping -s -v -C 5 -S 2000", "rping -c -v -C 5 -S 2000 -a {}"),
    ], ["fault=drop:0.01,dup:0.01,reorder:0.01,corrupt:0.005,delay:0.01;seed=1"])


# What the driver tells of a peer that does not answer.
NO_ANSWER = r"irdma\d: QP \d+: event 0x50a"


@test(needs=PROGRAMS, guests=2, timeout=240)
def everything_lost(kernel: str) -> None:
    """No RoCEv2 frame gets through: the right status, in time, and the event."""
    with Wire() as wire, guests(
            Guest(Setup(kernel=kernel, wire=wire, device_opts=["fault=drop:1"],
                        allow=[NO_ANSWER]), "card"),
            Guest(soft_setup(wire), "soft")) as (card, soft):
        card.run("ping -c 1 -W 20 $PEER_ADDRESS")
        output = run_pair(Tool.verify("-f"), soft, card)
        print(output)
        seconds = float(output.split("exceeded after ")[1].split()[0])
        # Eight times the half second of the model; the guest may be slow, not fast.
        assert 3.9 < seconds < 20, f"{seconds} s"
