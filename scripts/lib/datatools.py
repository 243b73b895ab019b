# SPDX-License-Identifier: GPL-2.0
"""Programs that move data between two RDMA devices, run as pairs.

A Tool is a pair of commands, one that waits and one that connects. run_pair()
runs them in two guests, run_alone() in one, over its own address. The tests
tests/test_data*.py and scripts/demo are the callers.
"""

import time
from typing import List, NamedTuple, Sequence

from guest import Guest, GuestFailure, Setup

TOOL_SECONDS = 90       # a tool's time in the guest
READY_SECONDS = 90      # until the server listens
READY = "server is ready"

# A server listens on a TCP port or by rdma_cm; one that does neither says how to see it.
LISTENS = "ss -Hltn | grep -q . || rdma res show cm_id | grep -q LISTEN"

SERVE = """
    timeout {limit} {command} & server=$!
    ready() {{ {ready}; }}
    await 60 eval 'ready || ended $server'
    echo {mark}
    wait $server
"""
ALONE = """
    timeout {limit} {server} >/tmp/served 2>&1 & server=$!
    ready() {{ {ready}; }}
    await 60 eval 'ready || ended $server'
    timeout {limit} {client}; status=$?
    wait $server || {{ status=1; cat /tmp/served; }}
    exit $status
"""

# IB_CM_REJ_INVALID_SERVICE_ID
CALLED_TOO_EARLY = "RDMA_CM_EVENT_REJECTED; error: 8"
# The client has ended well, the server's time was up.
SERVER_WAITS = "status 0, server's 124"
TRIES = 4
# Of the other end: with 6.12 and one CPU its rdma_rxe dies of double faults under load in this QEMU.
SOFT_KERNEL = "6.1"
PERFTEST = "-F --report_gbits"


class Tool(NamedTuple):
    """A pair of commands; {} in the client's is the server's address."""

    server: str
    client: str
    ready: str = LISTENS    # shell condition: the server can be called
    seconds: int = TOOL_SECONDS
    again: str = ""         # what the client says when the pair is to be run once more

    @classmethod
    def alike(cls, command: str, **more) -> "Tool":
        """The client's command is the server's with an address behind it."""
        return cls(command, command + " {}", **more)

    @classmethod
    def perftest(cls, command: str, count: int = 10, **more) -> "Tool":
        """Over IPv4, GID 1; count: messages.

        With -R its server listens only after the handshake by TCP, when its client may have
        asked for the connection already: newer versions of the client ask again.
        """
        if "-R" in command.split():
            more = {"again": CALLED_TOO_EARLY, "seconds": TOOL_SECONDS // 2, **more}
        return cls.alike(f"{command} {PERFTEST} -x 1 -n {count}", **more)

    @classmethod
    def verify(cls, options: str = "", server: str = "", **more) -> "Tool":
        """Our own program, which moves data both ways; server: options of that side alone."""
        return cls(f"data-verify {options} {server}", f"data-verify {options} {{}}", **more)


class Failed(GuestFailure):
    """A tool has not ended well; str() has the output of both ends."""


def run_pair(tool: Tool, server: Guest, client: Guest, address: str = "") -> str:
    """Both ends in two guests; each must end well. Returns the client's output.

    address: the server's, if it is not the guest's usual one.
    """
    began = time.monotonic()
    serving = server.begin(SERVE.format(limit=tool.seconds, command=tool.server,
                                        ready=tool.ready, mark=READY))
    while READY.encode() not in serving.output and not serving.ended.is_set():
        if time.monotonic() - began > READY_SECONDS:
            raise Failed(f"{tool.server}: the server does not come\n{serving.output.decode()}")
        time.sleep(0.05)
    address = address or f"10.0.0.{server.setup.number}"
    command = f"timeout {tool.seconds} {tool.client.format(address)}"
    done = client.begin(command).wait(4 * tool.seconds)
    served = serving.wait(4 * tool.seconds)
    print(f"{client.name}: {command}: {time.monotonic() - began:.1f} s", flush=True)
    if done.status or served.status:
        raise Failed(f"{command}: status {done.status}, server's {served.status}\n"
                     f"--- client:\n{done.output}\n--- server:\n{served.output}")
    return done.output


def run_alone(tool: Tool, guest: Guest, address: str) -> str:
    """Both ends in one guest. Returns the client's output."""
    began = time.monotonic()
    script = ALONE.format(limit=tool.seconds, server=tool.server, ready=tool.ready,
                          client=tool.client.format(address))
    done = guest.run(script, timeout=4 * tool.seconds, check=False)
    print(f"{guest.name}: {tool.client.format(address)}: {time.monotonic() - began:.1f} s",
          flush=True)
    if done.status:
        raise Failed(f"{tool.client}: status {done.status}\n{done.output}")
    return done.output


def excused(tool: Tool, server: Guest, failure: Failed) -> bool:
    """Whether the pair has failed by a known fault of a program, or of rdma_rxe, and may try again.

    rdma_rxe of 6.1 drops an acknowledgement that comes between its decision to send a request
    again and doing so (get_wqe() of rxe_comp.c: wqe_state_posted). If that was the last one, the
    client has ended by then, nobody answers, and the server waits for ever.
    """
    return bool(tool.again and tool.again in str(failure)) or (
        server.setup.driver == "rxe" and SERVER_WAITS in str(failure))


def run_patiently(tool: Tool, server: Guest, client: Guest) -> str:
    """run_pair(), a few times while its failure is excused."""
    for _ in range(TRIES - 1):
        try:
            return run_pair(tool, server, client)
        except Failed as failure:
            if not excused(tool, server, failure):
                raise
            print(f"once more, after {failure}", flush=True)
    return run_pair(tool, server, client)


def run_both_ways(tools: Sequence[Tool], one: Guest, two: Guest) -> None:
    """Each guest serves each tool once; all are run before any failure is raised."""
    failures: List[str] = []
    for tool in tools:
        for server, client in ((two, one), (one, two)):
            try:
                run_patiently(tool, server, client)
            except Failed as failure:
                print(failure, flush=True)
                failures.append(f"{client.name}: {tool.client}")
    if failures:
        raise Failed("\n".join([f"{len(failures)} tools failed:", *failures]))


def soft_setup(wire, **more) -> Setup:
    """The other end: Debian's rdma_rxe on a virtio card.

    It has one CPU: on several, rxe's requester begins a retransmission while its completer
    takes an acknowledgement, and then sends an empty message that nobody has posted.
    """
    return Setup(kernel=SOFT_KERNEL, driver="rxe", device=False, wire=wire, number=2, cpus=1,
                 **more)
