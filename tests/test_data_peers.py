# SPDX-License-Identifier: GPL-2.0
"""Data between two E810, within one, over IPv6 and over a VLAN."""

from typing import Sequence

from datatools import Tool, run_alone, run_both_ways, run_pair, soft_setup
from guest import Guest, Setup, Wire
from testing import guests, test

FULL_KERNELS = ("6.1", "6.12")

PROGRAMS = ("images", "model", "modules", "programs")

TOOLS = [
    Tool.verify("-s 0,1,64,1000,4096,65536,1000000"),
    Tool.verify("-e -s 1000,70000"),
    Tool.alike("ibv_rc_pingpong -g 1 -c -e -n 5 -s 20000"),
    Tool.alike("ibv_ud_pingpong -g 1 -n 5"),
    Tool.perftest("ib_send_bw -b -s 20000"),
    Tool.perftest("ib_write_bw -R -q 2 -s 20000"),
    Tool.perftest("ib_read_lat -s 20000"),
    Tool("rping -s -v -C 10", "rping -c -v -C 10 -a {}"),
    Tool("ucmatose -C 10", "ucmatose -C 10 -s {}"),
    Tool("udaddy -C 5", "udaddy -C 5 -s {}"),
]


def between_cards(kernel: str, other_driver: str, other_kernel: str) -> None:
    """Two guests with an E810 each."""
    with Wire() as wire, guests(
            Guest(Setup(kernel=kernel, wire=wire, number=1), "ours"),
            Guest(Setup(kernel=other_kernel, driver=other_driver, wire=wire, number=2),
                  other_driver)) as (one, two):
        one.run("ping -c 1 -W 20 $PEER_ADDRESS")
        run_both_ways(TOOLS, one, two)


@test(needs=PROGRAMS, guests=2, timeout=600)
def ours_with_ours(kernel: str) -> None:
    between_cards(kernel, "ours", kernel)


@test(needs=PROGRAMS, guests=2, timeout=600)
def ours_with_stock(kernel: str) -> None:
    between_cards(kernel, "stock", "6.1")


@test(needs=PROGRAMS, timeout=400)
def loopback(kernel: str) -> None:
    """Both ends on the same device."""
    with Guest(Setup(kernel=kernel)) as guest:
        for tool in TOOLS:
            run_alone(tool, guest, "10.0.0.1")


# Addresses of guest N beside the usual one: IPv6, and both kinds in VLAN 5.
ADDRESSES = """
    set -e
    ip addr add fd00::$GUEST_NUMBER/64 dev eth0 nodad
    ip link add link eth0 name eth0.5 type vlan id 5
    ip link set eth0.5 up
    ip addr add 10.5.0.$GUEST_NUMBER/24 dev eth0.5
    ip addr add fd05::$GUEST_NUMBER/64 dev eth0.5 nodad
    sleep 1
"""
BY_ADDRESS = [
    Tool.verify(),
    Tool("rping -s -v -C 5 -a {}", "rping -c -v -C 5 -a {}"),
    Tool("ucmatose -C 5 -b {}", "ucmatose -C 5 -s {}"),
]


def by_address(tools: Sequence[Tool], one: Guest, two: Guest, pattern: str) -> None:
    """Tools with the addresses that the pattern gives to guest 1 and 2."""
    for tool in tools:
        for server, client in ((two, one), (one, two)):
            address = pattern.format(server.setup.number)
            run_pair(tool._replace(server=tool.server.format(address)), server, client, address)


@test(needs=PROGRAMS, guests=2, timeout=600)
def addresses(kernel: str) -> None:
    """IPv6, and a VLAN with IPv4 and IPv6."""
    with Wire() as wire, guests(Guest(Setup(kernel=kernel, wire=wire), "card"),
                                Guest(soft_setup(wire), "soft")) as (card, soft):
        for guest in (card, soft):
            guest.run(ADDRESSES)
        for pattern in ("fd00::{}", "10.5.0.{}", "fd05::{}"):
            card.run(f"ping -c 1 -W 20 {pattern.format(2)}")
            by_address(BY_ADDRESS, card, soft, pattern)
