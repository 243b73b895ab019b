# SPDX-License-Identifier: GPL-2.0
"""The public tools, all of them, between our module on the E810 and rdma_rxe.

Debian's unmodified packages: ibverbs-utils, perftest, rdmacm-utils, ucx-utils,
libfabric-bin. Each tool runs with the E810's guest as client and as server.
Contents are checked where a tool can: pingpong -c, rping -v, fi_pingpong -c; for
the operations as such data-verify does (test_data.py).
"""

from typing import Callable, List, Sequence

from datatools import Tool, run_both_ways, run_pair, soft_setup
from guest import Guest, Setup, Wire
from testing import guests, test

FULL_KERNELS = ("6.1", "6.12")

PROGRAMS = ("images", "model", "modules", "programs")
# Room for a path MTU of 4096.
JUMBO = "ip link set eth0 mtu 4200"


def with_rxe(kernel: str, tools: Sequence[Tool], jumbo: bool = False,
             first: Callable[[Guest, Guest], object] = lambda card, soft: None) -> None:
    """Tools both ways, one after the other; before them what first does with the guests."""
    with Wire() as wire, guests(Guest(Setup(kernel=kernel, wire=wire), "card"),
                                Guest(soft_setup(wire), "soft")) as (card, soft):
        if jumbo:
            card.run(JUMBO)
            soft.run(JUMBO)
        card.run("ping -c 1 -W 20 $PEER_ADDRESS")
        first(card, soft)
        run_both_ways(tools, card, soft)


@test(needs=PROGRAMS, guests=2, timeout=900)
def pingpong(kernel: str) -> None:
    """All sizes, polling and with events; UD has no content check."""
    sizes = (1, 64, 1023, 1024, 1025, 4096, 65536, 1 << 20, 8 << 20)
    tools = [Tool.alike(f"ibv_rc_pingpong -g 1 -c -n 4 -s {size} {events}")
             for size in sizes for events in ("", "-e")]
    tools += [Tool.alike(f"ibv_ud_pingpong -g 1 -n 10 -s {size} {events}")
              for size in (1, 512, 1024) for events in ("", "-e")]
    with_rxe(kernel, tools)


# Latency tools ask for more inline data than the device has unless they are told.
SEND = ("ib_send_bw", "ib_send_lat -I 64")
WRITE = ("ib_write_bw", "ib_write_lat -I 64")
READ = ("ib_read_bw", "ib_read_lat")
BANDWIDTH = (SEND[0], WRITE[0], READ[0])


@test(needs=PROGRAMS, guests=2, timeout=1800)
def perftest_sizes(kernel: str) -> None:
    """1 byte to 8 MiB, datagrams to the MTU."""
    tools = []
    for command in (*SEND, *WRITE, *READ):
        tools.append(Tool.perftest(f"{command} -s 1", count=5))
        tools.append(Tool.perftest(f"{command} -a", count=5, seconds=300))
    for command in SEND:
        tools.append(Tool.perftest(f"{command} -c UD -s 1", count=10))
        tools.append(Tool.perftest(f"{command} -c UD -s 1024", count=10))
    with_rxe(kernel, tools)


@test(needs=PROGRAMS, guests=2, timeout=1200)
def perftest_options(kernel: str) -> None:
    """rdma_cm, events, eight queue pairs, both directions, inline, each MTU."""
    tools: List[Tool] = []
    for command in (*SEND, *WRITE, *READ):
        # rxe offers 128 READs at a time to rdma_cm, where the device has 127.
        limit = " -o 1" if "read" in command else ""
        tools.append(Tool.perftest(f"{command} -R -s 5000{limit}"))
        if "write" not in command:          # which has no events
            tools.append(Tool.perftest(f"{command} -e -s 5000"))
    for command in BANDWIDTH:
        tools.append(Tool.perftest(f"{command} -q 8 -s 5000"))
        tools.append(Tool.perftest(f"{command} -b -s 5000"))
    tools.append(Tool.perftest("ib_send_bw -c UD -b -s 900"))
    tools.append(Tool.perftest("ib_send_lat -s 100 -I 100"))
    tools.append(Tool.perftest("ib_write_bw -s 64 -I 64"))
    for mtu in (256, 512, 1024, 2048, 4096):
        tools += [Tool.perftest(f"{command} -s 30000 -m {mtu}") for command in BANDWIDTH]
        tools.append(Tool.verify(f"-m {mtu} -s 1,255,257,5000,20000"))
    with_rxe(kernel, tools, jumbo=True)


# mckey listens nowhere; it has joined when it has a queue pair in RTS.
JOINED = "rdma res show qp | grep mckey | grep -q RTS"


def client_of_xserver(card: Guest, soft: Guest) -> None:
    """rdma_xclient wants inline data without asking for it, which libirdma refuses."""
    run_pair(Tool("rdma_xserver -c r", "rdma_xclient -c r -s {}"), card, soft)


@test(needs=PROGRAMS, guests=2, timeout=900)
def connection_manager(kernel: str) -> None:
    """What comes with librdmacm: connect, accept, reject, disconnect, private data."""
    with_rxe(kernel, [
        Tool("rping -s -v -C 5", "rping -c -v -C 5 -a {}"),
        Tool("rping -s -v -C 5 -S 65000", "rping -c -v -C 5 -S 65000 -a {}"),
        Tool("ucmatose -c 4 -C 10 -S 5000", "ucmatose -c 4 -C 10 -S 5000 -s {}"),
        Tool("udaddy -c 3 -C 5", "udaddy -c 3 -C 5 -s {}"),
        Tool("rdma_server", "rdma_client -s {}"),
        Tool("mckey -b $GUEST_ADDRESS -m 239.1.2.3 -C 5",
             "mckey -b $GUEST_ADDRESS -m 239.1.2.3 -C 5 -s", ready=JOINED),
    ], first=client_of_xserver)


# Over the device's datagrams UCX does everything.
UCX_TESTS = ("tag_lat -s 1000", "tag_bw -s 100000", "tag_sync_lat -s 20000", "ucp_put_bw -s 30000",
             "ucp_put_lat -s 8", "ucp_get -s 30000", "ucp_am_lat -s 70000", "stream_bw -s 9000")


# By itself UCX 1.13 drops datagrams over IPv4 that come by any device but mlx5, see verbs.rst.
UCX_IPV4 = "UCX_UD_ETH_DGID_CHECK=n"
UCX_IPV6 = "UCX_IB_GID_INDEX=0"


def ucx(settings: str, test_options: str) -> Tool:
    """ucx_perftest over datagrams."""
    return Tool.alike(f"env UCX_TLS=ud_verbs {settings} UCX_WARN_UNUSED_ENV_VARS=n "
                      f"ucx_perftest -t {test_options} -n 50 -w 5")


def ucx_offers(card: Guest, _soft: Guest) -> None:
    """What UCX finds on a device without shared receive queues; see verbs.rst."""
    text = card.run("ucx_info -d | sed -n '/Component: ib$/,$p'").output
    connected, _, datagrams = text.partition("Transport: ud_verbs")
    print(connected, card.run("UCX_TLS=rc_verbs ucx_info -u t -w 2>&1 | head -5").output)
    assert "rc_verbs" in connected and "failed to open" in connected, text
    assert "capabilities" in datagrams, text


@test(needs=PROGRAMS, guests=2, timeout=900)
def ucx_datagrams(kernel: str) -> None:
    """ucx_perftest over ud_verbs."""
    with_rxe(kernel, [ucx(UCX_IPV6, UCX_TESTS[0]),
                      *(ucx(UCX_IPV4, options) for options in UCX_TESTS)], first=ucx_offers)


@test(needs=PROGRAMS, guests=2, timeout=900)
def libfabric(kernel: str) -> None:
    """fi_pingpong over verbs, and over verbs;ofi_rxm without shared receive queues."""
    # For the usual universe of 256 rxm wants a CQ that is larger than those of rxe.
    settings = "FI_OFI_RXM_USE_SRX=0 FI_UNIVERSE_SIZE=8"
    sizes = (1, 64, 4096, 65536, 1 << 20)
    with_rxe(kernel, [
        *(Tool.alike(f"fi_pingpong -p verbs -e msg -I 10 -c -S {size}") for size in sizes),
        *(Tool.alike(f"env {settings} fi_pingpong -p 'verbs;ofi_rxm' -e rdm -I 10 -c -S {size}")
          for size in sizes)])
