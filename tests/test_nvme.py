# SPDX-License-Identifier: GPL-2.0
"""NVMe over RDMA: Debian's nvme-rdma, nvmet-rdma, nvme-cli and fio, unmodified.

Host and target on our device, each with rdma_rxe at the other end, and both on ours.
"""

import contextlib
from typing import Iterator, List, Optional, Tuple

from datatools import soft_setup
from guest import Guest, Setup, Wire
from nvme import Host, Load, Target, resources, wait_resources
from testing import guests, test

NEEDS = ("images", "model", "modules")
TREE = "/usr/lib/x86_64-linux-gnu/perl-base"

SIZES = (("512", 512), ("4k", 512), ("16k", 256), ("128k", 64), ("1m", 16))
DEPTHS = (1, 8, 32, 128)
EVERY: List[Load] = [Load(size, depth, count) for size, count in SIZES for depth in DEPTHS]
# As much in flight as the disk has; unequal sizes from two processes, verified meanwhile.
LARGE = Load("1m", 128, 64)
MIXED = Load("4k", 32, 1024, jobs=2,
             more="bssplit=512/20:4k/40:7k/10:64k/20:256k/10\nverify_backlog=64\n")
# A machine that is busy elsewhere must not look like a dead peer.
CONNECT = "-i 2 -k 30"
SHORT = [Load("512", 1, 32), Load("4k", 128, 512), Load("1m", 8, 16)]


@contextlib.contextmanager
def pair(kernel: str, both: bool = False, **more) -> Iterator[Tuple[Guest, Guest]]:
    """A guest on our device and its peer, on rxe or on ours too. All must be given back.

    more: of both guests' Setup.
    """
    with Wire() as wire:
        one = Guest(Setup(kernel=kernel, wire=wire, number=1, **more), "card")
        two = Guest(Setup(kernel=kernel, wire=wire, number=2, **more) if both
                    else soft_setup(wire, **more), "peer")
        with guests(one, two):
            one.run("ping -c 1 -W 20 $PEER_ADDRESS")
            before = [resources(guest) for guest in (one, two)]
            yield one, two
            for guest, had in zip((one, two), before):
                wait_resources(guest, had)
            for guest in (one, two)[:1 + both]:
                guest.run("rmmod irdma")


def session(host: Guest, target: Guest, loads: List[Load], inline: Optional[int] = None,
            options: str = CONNECT, tree: Optional[str] = TREE) -> None:
    """Discover, connect, a filesystem, fio, disconnect; all contents compared.

    6.12-san has no ext4, so no filesystem.
    """
    with Target(target, inline=inline) as served, Host(host, served, options) as nvme:
        if tree and not (host.kernel.sanitized or target.kernel.sanitized):
            print(nvme.copy_tree(tree))
        before = nvme.flushes()
        print(nvme.fio(loads))
        assert nvme.flushes() > before


@test(needs=NEEDS, guests=2, timeout=1500, full=True)
def host(kernel: str) -> None:
    """Our device as host, rxe as target: all sizes and depths, with and without inline data."""
    with pair(kernel) as (card, soft):
        session(card, soft, [*EVERY, LARGE])
        session(card, soft, [*SHORT, MIXED], inline=0, tree=None)
        session(card, soft, [*SHORT, MIXED], inline=16384, options=CONNECT + " -W 2", tree=None)


@test(needs=NEEDS, guests=2, timeout=1500, full=True)
def target(kernel: str) -> None:
    """Our device as target, rxe as host."""
    with pair(kernel) as (card, soft):
        session(soft, card, [*EVERY, LARGE])
        session(soft, card, [*SHORT, MIXED], inline=0, tree=None)
        session(soft, card, [*SHORT, MIXED], inline=16384, tree=None)


@test(needs=NEEDS, guests=2, timeout=1500, full=True)
def both(kernel: str) -> None:
    """Two of our devices."""
    with pair(kernel, both=True) as (one, two):
        session(one, two, [*EVERY, LARGE])
        session(two, one, [*SHORT, MIXED], inline=0, tree=None)
        session(two, one, [*SHORT, MIXED], inline=16384, options=CONNECT + " -W 2", tree=None)


@test(needs=NEEDS, guests=2, timeout=600)
def host_short(kernel: str) -> None:
    """Host on our device: a filesystem, and some of fio."""
    with pair(kernel) as (card, soft):
        session(card, soft, SHORT)


@test(needs=NEEDS, guests=2, timeout=600)
def target_short(kernel: str) -> None:
    """Target on our device."""
    with pair(kernel) as (card, soft):
        session(soft, card, SHORT)
