# SPDX-License-Identifier: GPL-2.0
"""Data moves between the modelled E810 and Linux' own RoCEv2, rdma_rxe.

Guest "card" has the E810, with stock irdma or ours, guest "soft" a virtio card
and rdma_rxe; a wire joins them. Each tool runs with either as server.
"""

import time
from typing import List, NamedTuple, Sequence

from guest import Guest, Setup, Wire
from testing import guests, test

FULL_KERNELS = (None, "6.1", "6.12")

PERFTEST = "-F --report_gbits -x 1"
READY_SECONDS = 60
TOOL_SECONDS = 60
READY = "server is ready"

# The server's guest tells when the tool listens: on a TCP port, or by rdma_cm.
SERVE = """
    timeout {limit} {command} & server=$!
    for i in $(seq 600); do
        ss -Hltn | grep -q . && break
        rdma res show cm_id | grep -q LISTEN && break
        kill -0 $server 2>/dev/null || break
        sleep 0.1
    done
    echo {ready}
    wait $server
"""


class Tool(NamedTuple):
    """A pair of commands; {} in the client's is the server's address."""

    server: str
    client: str

    @classmethod
    def alike(cls, command: str) -> "Tool":
        """The client's command is the server's with an address behind it."""
        return cls(command, command + " {}")

    @classmethod
    def perftest(cls, command: str) -> "Tool":
        return cls.alike(f"{command} {PERFTEST} -n 10")


# Contents are checked by pingpong -c, rping -v, ucmatose and rdma_client.
QUICK = [
    Tool.alike("ibv_rc_pingpong -g 1 -c -n 5"),
    Tool.alike("ibv_rc_pingpong -g 1 -c -e -n 5 -m 256 -s 10000"),
    Tool.alike("ibv_ud_pingpong -g 1 -n 5"),
    Tool.perftest("ib_send_bw -s 20000"),
    Tool.perftest("ib_write_bw -R -q 2"),
    Tool.perftest("ib_read_bw -s 20000"),
    Tool("rping -s -v -C 10", "rping -c -v -C 10 -a {}"),
    Tool("ucmatose -C 10", "ucmatose -C 10 -s {}"),
]
MORE = [
    Tool.alike("ibv_rc_pingpong -g 0 -c -n 3 -s 300000"),     # IPv6
    Tool.perftest("ib_send_lat -s 64 -I 64"),
    Tool.perftest("ib_send_bw -c UD -s 512"),
    Tool.perftest("ib_send_bw -b -s 4096"),
    Tool("rping -s -v -C 3 -S 60000", "rping -c -v -C 3 -S 60000 -a {}"),
    Tool("udaddy -C 5", "udaddy -C 5 -s {}"),
    Tool("rdma_server", "rdma_client -s {}"),
]


def run_tool(tool: Tool, server: Guest, client: Guest) -> None:
    """Both ends of a tool; each must end well."""
    began = time.monotonic()
    serving = server.begin(SERVE.format(limit=TOOL_SECONDS, command=tool.server, ready=READY))
    while READY.encode() not in serving.output and not serving.ended.is_set():
        assert time.monotonic() - began < READY_SECONDS, f"{tool.server}: the server does not come"
        time.sleep(0.05)
    address = f"10.0.0.{server.setup.number}"
    command = f"timeout {TOOL_SECONDS} {tool.client.format(address)}"
    done = client.begin(command).wait(2 * TOOL_SECONDS)
    served = serving.wait(2 * TOOL_SECONDS)
    print(f"{client.name}: {command}: {time.monotonic() - began:.1f} s", flush=True)
    if done.status or served.status:
        raise AssertionError(f"status {done.status}, server's {served.status}\n"
                             f"--- client:\n{done.output}\n--- server:\n{served.output}")


def exchange(kernel: str, driver: str, tools: Sequence[Tool], opts: Sequence[str] = ()) -> None:
    """All tools with the card's guest as client, then as server."""
    with Wire() as wire, guests(
            Guest(Setup(kernel=kernel, driver=driver, wire=wire, number=1, device_opts=opts),
                  "card"),
            Guest(Setup(kernel="6.1", driver="rxe", device=False, wire=wire, number=2),
                  "soft")) as (card, soft):
        card.run("ping -c 1 -W 20 $PEER_ADDRESS")
        for tool in tools:
            run_tool(tool, soft, card)
            run_tool(tool, card, soft)
        print(counters(card))


def counters(card: Guest) -> str:
    """Statistics of the card; those that must have counted are checked."""
    text = card.run("cd /sys/class/infiniband/*/ports/1/hw_counters && grep -H . *").output
    values = dict(line.split(":") for line in text.splitlines())
    names: List[str] = ["ip4InPkts", "ip4OutPkts", "iwInRdmaSends", "iwOutRdmaSends"]
    assert all(int(values[name]) > 0 for name in names), text
    return " ".join(f"{name}={value}" for name, value in values.items() if value != "0")


@test(needs=("images", "model"), kernels=None, guests=2, timeout=500)
def stock_with_rxe() -> None:
    """Debian's own driver: the proof that the model's transport is right."""
    exchange("6.1", "stock", QUICK + MORE)


@test(guests=2, timeout=400)
def ours_with_rxe(kernel: str) -> None:
    exchange(kernel, "ours", QUICK if kernel == "6.12" else QUICK + MORE)


@test(kernels=None, guests=2, timeout=400)
def ours_over_bad_cable() -> None:
    """Frames get lost, doubled, out of order and spoilt; contents stay right."""
    exchange("6.1", "ours", [
        Tool.alike("ibv_rc_pingpong -g 1 -c -n 5 -s 20000"),
        Tool.perftest("ib_write_bw -s 20000"),
        Tool("rping -s -v -C 5 -S 2000", "rping -c -v -C 5 -S 2000 -a {}"),
    ], ["fault=drop:0.01,dup:0.01,reorder:0.01,corrupt:0.005,delay:0.01;seed=1"])
