# SPDX-License-Identifier: GPL-2.0
"""Traffic classes: who is where in the work-scheduler tree, and what changes of DCB and MTU do.

The device's trace is the judge: nodes of the tree, queue sets in contexts and
in ice's scheduler, suspension. Queue pairs are held by qp-hold meanwhile, each
connected to itself; whatever happens, all its requests must complete once.
"""

import re
import time
from pathlib import Path
from typing import Dict, List, Optional, Sequence

import devtrace
from guest import Guest, Setup
from test_events import spoil
from testing import LOGS, test

NEEDS = ("images", "model", "modules", "programs")
# Type of service for each of the four priorities that the kernel makes of it.
TOS = {0: 0x00, 2: 0x08, 4: 0x18, 6: 0x10}
VLAN = 5
# On this VLAN those become the other four.
EGRESS = {0: 1, 2: 3, 4: 5, 6: 7}
SETUP = f"""
    set -e
    ip link add link eth0 name eth0.{VLAN} type vlan id {VLAN} \
        egress-qos-map {" ".join(f"{a}:{b}" for a, b in EGRESS.items())}
    ip link set eth0.{VLAN} up
    ip addr add 10.{VLAN}.0.1/24 dev eth0.{VLAN}
"""
TWO_CLASSES = (0, 0, 0, 1, 1, 0, 1, 0)     # traffic class of each priority
ONE_CLASS = (0,) * 8
SHARES = (30, 10, 10, 10, 10, 10, 10, 10)   # bandwidth of each of eight classes, percent


class Watch:
    """What the trace has told of queue sets so far."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._command: Dict[int, dict] = {}
        self.nodes: Dict[int, dict] = {}        # by number; a leaf with its handle
        self.queue_sets: List[int] = []         # handles in ice's scheduler
        self.context: Dict[int, dict] = {}      # the last of each QP
        self.still: Dict[int, bool] = {}        # suspended QPs
        self.news: List[dict] = []

    def read(self) -> "Watch":
        """Take in what has happened since the last call."""
        self.news, self._offset = devtrace.read(self._path, self._offset)
        for event in self.news:
            kind = event["ev"]
            if kind == "qp_ctx":
                self.context[event["qp"]] = event
            elif kind == "cqp":
                self._command[event["wqe"]] = event
            elif kind == "cqp_done" and not event["error"]:
                self._done(self._command[event["wqe"]], event["value"])
            elif kind == "guest_error":
                raise AssertionError(event["text"])
        return self

    def _done(self, command: dict, value: int) -> None:
        number, operation = command.get("node", 0), command.get("node_op", 0)
        if command["op"] == "destroy_qp":
            self.still.pop(command["qp"], None)
        elif command["op"] == "suspend_qp":
            self.still[command["qp"]] = True
        elif command["op"] == "resume_qp":
            assert self.still.pop(command["qp"]), command
            self.context[command["qp"]]["qs_handle"] = command["qs_handle"]
        elif command["op"] == "work_sched_node" and operation == 0:
            assert number not in self.nodes, f"node {number} appears twice"
            self.nodes[number] = {**command, "handle": value}
        elif command["op"] == "work_sched_node" and operation == 1:
            self.nodes[number]["enabled"] = command.get("enable", 0)
        elif command["op"] == "work_sched_node":
            del self.nodes[number]

    def count(self, name: str) -> int:
        """Commands of that name in the last news: of the CQP, or of the AdminQ."""
        return sum(event["ev"] in ("cqp", "aq") and event["op"] == name for event in self.news)

    @property
    def leaves(self) -> Dict[int, dict]:
        """The leaves by queue-set handle."""
        return {n["handle"]: n for n in self.nodes.values() if n.get("leaf")}

    def check_tree(self, classes: Sequence[int]) -> None:
        """One root, one VSI node, a leaf that carries traffic for each of these classes."""
        got = sorted(leaf.get("traffic_class", 0) for leaf in self.leaves.values())
        assert got == sorted(classes), f"leaves of classes {got}, not {classes}"
        assert all(leaf.get("enabled") for leaf in self.leaves.values()), self.leaves
        assert len(self.nodes) == 2 + len(got), self.nodes

    def class_of(self, qp: int) -> int:
        """Traffic class by whose queue set a QP sends."""
        return self.leaves[self.context[qp]["qs_handle"]].get("traffic_class", 0)


class Held:
    """Queue pairs that qp-hold keeps in a guest."""

    def __init__(self, guest: Guest, specs: Sequence[str]) -> None:
        self._guest = guest
        held = guest.run(f"start_until 60 held /tmp/held qp-hold {' '.join(specs)} || exit 1\n"
                         "echo $! >/tmp/pid; cat /tmp/held").output
        self.qps = [int(n) for n in re.findall(r"^qp (\d+)$", held, re.M)]

    def _await(self, word: str, seconds: int = 60) -> str:
        return self._guest.run(f"""
            await_word {seconds} '{word}' /tmp/held $(cat /tmp/pid) && cat /tmp/held""").output

    def _signal(self, name: str) -> None:
        self._guest.run(f": >/tmp/held; kill -{name} $(cat /tmp/pid)")

    def states(self) -> Dict[int, str]:
        """State of each QP, as verbs have it; with "fatal" if there was such an event."""
        self._signal("USR1")
        found = re.findall(r"^state (\d+) (\w+) fatal (\d)", self._await("reported"), re.M)
        return {int(n): state + (" fatal" if fatal != "0" else "") for n, state, fatal in found}

    def advance(self) -> None:
        """All to RTS."""
        self._signal("USR2")
        print(self._await("advanced"))

    def end(self) -> None:
        """All to ERR, and away."""
        self._signal("TERM")
        output = self._await("qp-hold: ")
        print(output)
        assert "qp-hold: PASS" in output, output


# iproute2's dcb leaves the acknowledgement of its query unread. If a second has passed until its
# change, it takes that for the answer, with a wrong sequence number; the change has been made.
DCB_RACE = "Protocol error"


def set_classes(guest: Guest, up2tc: Sequence[int]) -> bool:
    """Change the port's traffic classes; whether that went well."""
    count = max(up2tc) + 1
    shares = SHARES if count == 8 else {1: (100,), 2: (40, 60)}[count]
    shares = [*shares, *(0,) * (8 - len(shares))]

    def listed(values: Sequence[int]) -> str:
        return " ".join(f"{i}:{value}" for i, value in enumerate(values))

    done = guest.run(f"dcb ets set dev eth0 tc-tsa all:ets tc-bw {listed(shares)} "
                     f"prio-tc {listed(up2tc)}", check=False)
    return not done.status or DCB_RACE in done.output


def check_places(watch: Watch, qps: Sequence[int], priorities: Sequence[int],
                 vlan: Optional[int]) -> None:
    """Those QPs are in the classes of these priorities, each its own, and say so in the tag."""
    for qp, priority in zip(qps, priorities):
        context = watch.context[qp]
        tag = None if vlan is None else vlan | priority << 13
        assert watch.class_of(qp) == priority, f"{qp}: {context}, {watch.leaves}"
        assert context.get("insert_vlan", 0) == int(tag is not None), context
        assert context.get("vlan_tag", 0) == (tag or 0), context


@test(needs=NEEDS, timeout=300, full=("6.1",))
def priorities(kernel: str) -> None:
    """Eight priorities, by ToS and VLAN, reach eight queue sets; with DSCP mode by DSCP."""
    trace = LOGS / f"qos-priorities.{kernel}.trace"
    # ice has no more classes than CPUs.
    with Guest(Setup(kernel=kernel, trace=trace, cpus=8)) as guest:
        guest.run(SETUP)
        watch = Watch(trace).read()
        watch.check_tree([0])           # for the MAD layer's QP
        assert set_classes(guest, range(8))
        watch.read().check_tree([0])

        held = Held(guest, [*(f"2xrc:rts:{TOS[p]}:10.0.0.1" for p in TOS),
                            *(f"2xrc:rts:{TOS[p]}:10.{VLAN}.0.1" for p in EGRESS)])
        watch.read().check_tree(range(8))
        assert watch.count("add-rdma-qsets") == 7, "queue sets of ice"
        check_places(watch, held.qps[:8], [p for p in TOS for _ in "12"], 0)
        check_places(watch, held.qps[8:], [p for p in EGRESS.values() for _ in "12"], VLAN)
        for leaf in watch.leaves.values():
            assert leaf["weight"] == SHARES[leaf.get("traffic_class", 0)], leaf
        held.end()
        watch.read().check_tree([0])
        assert watch.count("disable-tx-queues") == 7, "queue sets of ice"

        # Priorities are classes; those that nobody has mapped go by groups of eight.
        guest.run("dcb app add dev eth0 dscp-prio 46:5")
        held = Held(guest, [f"rc:rts:{dscp << 2}:10.{net}.0.1"
                            for net in (0, VLAN) for dscp in (46, 10, 0)])
        watch.read().check_tree([0, 1, 5])
        check_places(watch, held.qps[:3], (5, 1, 0), None)
        check_places(watch, held.qps[3:], (5, 1, 0), VLAN)
        guest.run("dcb app del dev eth0 dscp-prio 46:5")
        watch.read().check_tree([0])
        assert set(held.states().values()) == {"RTS"}
        held.end()
        guest.run("rmmod irdma")
        assert not watch.read().nodes, watch.nodes


LIVE = ("2xrc:rts:0:10.0.0.1", f"2xrc:rts:{TOS[6]}:10.0.0.1", f"rc:init:{TOS[6]}:10.0.0.1",
        f"rc:rtr:{TOS[4]}:10.0.0.1", f"rc:sqd:{TOS[6]}:10.0.0.1", "ud:rts:0:10.0.0.1")
LIVE_STATES = ["RTS"] * 4 + ["INIT", "RTR", "SQD", "RTS"]
LIVE_PRIORITIES = [0, 0, 6, 6, 0, 4, 6, 0]     # in INIT there is no path yet


CHURN = """
    verbs-churn -f -P 2 -T 2 -n 600 >/tmp/churn 2>&1 & pid=$!
    while kill -0 $pid; do
        for map in 1 0; do
            dcb ets set dev eth0 tc-tsa all:ets tc-bw 0:50 1:50 2:0 3:0 4:0 5:0 6:0 7:0 \\
                prio-tc 0:0 6:$map
        done
    done 2>/dev/null
    cat /tmp/churn; wait $pid
"""


@test(needs=NEEDS, timeout=300, full=("6.12",))
def changes(kernel: str) -> None:
    """Classes change under live queue pairs: they go on in their new queue sets."""
    trace = LOGS / f"qos-changes.{kernel}.trace"
    with Guest(Setup(kernel=kernel, trace=trace)) as guest:
        held = Held(guest, LIVE)
        watch = Watch(trace).read()
        for up2tc in (TWO_CLASSES, tuple(1 - tc for tc in TWO_CLASSES), ONE_CLASS, TWO_CLASSES):
            assert set_classes(guest, up2tc)
            watch.read()
            assert watch.count("suspend_qp") == watch.count("resume_qp") == 7 + 1, "with GSI"
            assert not watch.still, watch.still
            watch.check_tree(sorted(set(up2tc)))
            for qp, state, priority in zip(held.qps, LIVE_STATES, LIVE_PRIORITIES):
                assert state == "INIT" or watch.class_of(qp) == up2tc[priority], (qp, up2tc)
            assert list(held.states().values()) == LIVE_STATES
        held.advance()
        watch.read()
        assert [watch.class_of(qp) for qp in held.qps] == [0, 0, 1, 1, 1, 1, 1, 0]
        assert set(held.states().values()) == {"RTS"}
        held.end()
        watch.read().check_tree([0])

        print(guest.run(CHURN, timeout=150).output)
        watch.read()
        assert watch.count("suspend_qp"), "nothing was suspended"
        # The sanitized kernel is so slow that a queue pair seldom is in RTS just then.
        assert (guest.kernel.sanitized or
                watch.count("suspend_qp") > watch.count("lldp-set-local-mib")), "none of processes"
        print("changes:", watch.count("lldp-set-local-mib"), "suspended:",
              watch.count("suspend_qp"))
        assert not watch.still, watch.still
        watch.check_tree([0])


# What the driver and ice say when the device refuses.
REFUSED = [r"irdma\d: command (suspend_qp|resume_qp|work_sched_node) failed",
           r"irdma\d: (QP \d+ cannot go on|no queue set for priority)",
           r"irdma\d: work-scheduler node \d+ stays",
           r"ice .*Set DCB Config failed"]


@test(needs=NEEDS, timeout=300, full=True)
def failures(kernel: str) -> None:
    """The device refuses a step of a change: nobody sends by a queue set that is gone."""
    trace = LOGS / f"qos-failures.{kernel}.trace"
    with Guest(Setup(kernel=kernel, trace=trace, allow=REFUSED)) as guest:
        watch = Watch(trace)
        # The leaf of class 1 is not added: QPs of its priorities are lost. In the last case the
        # leaf of class 0 is not deleted: it, and what it hangs on, stay. On a very busy machine
        # the driver takes a change for given up, and goes through it once more when it comes.
        for steps, lost in (("suspend_qp:2", 1), ("resume_qp:2", 1),
                            ("work_sched_node@traffic_class-1", 4), ("work_sched_node:1", 0)):
            assert set_classes(guest, ONE_CLASS)
            held = Held(guest, LIVE)
            spoil(guest, steps)
            assert set_classes(guest, TWO_CLASSES)
            spoil(guest, "")
            states = held.states()
            print(steps, states)
            assert sum(state == "ERR fatal" for state in states.values()) == lost, states
            held.advance()
            held.end()
        watch.read()
        assert [leaf.get("traffic_class", 0) for leaf in watch.leaves.values()] == [0, 0], \
            "one leaf stays, the other is for the MAD layer's QP"

        # ice gives the change up and does not say so.
        assert set_classes(guest, ONE_CLASS)
        held = Held(guest, LIVE)
        watch.read()
        spoil(guest, "aq-lldp-set-local-mib")
        set_classes(guest, TWO_CLASSES)
        assert watch.read().count("suspend_qp") == 8, watch.news
        for _ in range(30 * guest.slowness):
            if not watch.read().still:
                break
            time.sleep(1)
        assert list(held.states().values()) == LIVE_STATES
        assert not watch.still, watch.still
        held.advance()
        held.end()

        # In the middle of a change the driver goes; nobody has to wait for its end.
        watch.read()
        set_classes(guest, TWO_CLASSES)
        assert watch.read().count("suspend_qp") == 1, "the MAD layer's QP"
        began = time.monotonic()
        guest.run("rmmod irdma")
        print(f"removed in {time.monotonic() - began:.1f} s")
        watch.read()
        assert len(watch.nodes) == 3, watch.nodes


@test(needs=NEEDS, timeout=240, full=("6.12",))
def mtu(kernel: str) -> None:
    """The path MTU follows the netdev's; queue pairs that there are keep theirs."""
    limits = ((9000, 4096), (1500, 1024), (1000, 512))
    allow = [r"irdma\d: MTU 1000 is below what RDMA over IPv6 needs$"]
    with Guest(Setup(kernel=kernel, allow=allow)) as guest:
        held = Held(guest, ["rc:rts:0:10.0.0.1"])
        for netdev, path in limits:
            guest.run(f"ip link set eth0 mtu {netdev}")
            info = guest.run("ibv_devinfo -v").output
            assert re.search(rf"active_mtu:\s+{path} ", info), f"{netdev}: {info}"
            print(guest.run("qp-path --from 10.0.0.1 --to 10.0.0.1").output if path >= 1024 else "")
        assert "MTU 1000 is below" in guest.kernel_log
        done = guest.run("qp-path --from 10.0.0.1 --to 10.0.0.1", check=False)
        assert done.status == 1 and "RTR: EINVAL" in done.output, done
        assert "refused path_mtu 0x400" in guest.run("dmesg").output
        assert list(held.states().values()) == ["RTS"]
        held.end()
