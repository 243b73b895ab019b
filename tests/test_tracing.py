# SPDX-License-Identifier: GPL-2.0
"""Tracepoints of the driver: what tracefs shows is what the device saw."""

import re
import time
from typing import Dict, List, NamedTuple

import devtrace
from guest import Guest, Setup
from held import LET_GO, hold
from testing import LOGS, test

NEEDS = ("images", "model", "modules", "programs")
EVENTS = {"irdma_arp", "irdma_async_event", "irdma_ceq_event", "irdma_cqp_done", "irdma_cqp_post",
          "irdma_mr_deregister", "irdma_mr_register", "irdma_qp_path", "irdma_qp_refused",
          "irdma_qp_state", "irdma_reset"}
# What the driver says of what the device is made to do.
LINES = (r"irdma\d: command modify_qp failed", r"irdma\d: QP \d+: event 0x",
         r"irdma\d: (device is given up|critical error|asked for a reset)",
         r"ice 0000:01:00.0: unable to move VSI idx 1 into aggregator 1 node")
FIELD = re.compile(r"(\w+)=('[^']*'|\S+)")


class Event(NamedTuple):
    """A line of the trace."""

    name: str
    text: str                   # what follows the device
    fields: Dict[str, str]


def read(guest: Guest) -> List[Event]:
    """What was traced since the last call. Reading takes the lines away, so that none is lost."""
    lines = guest.run("dd if=/sys/kernel/tracing/trace_pipe iflag=nonblock bs=64k 2>/dev/null",
                      check=False).output.splitlines()
    found = []
    for line in lines:
        match = re.search(r" (irdma_\w+): 0000:01:00\.0 (.*)", line)
        if match:
            fields = {key: value.strip("'") for key, value in FIELD.findall(match[2])}
            found.append(Event(match[1], match[2], fields))
    return found


def of(events: List[Event], name: str, **wanted: str) -> List[Event]:
    """Those of that name and with these fields."""
    return [e for e in events if e.name == f"irdma_{name}" and
            all(e.fields.get(key) == value for key, value in wanted.items())]


@test(needs=NEEDS, timeout=300, full=("6.1",))
def tracepoints(kernel: str) -> None:
    """Commands, queue pairs, paths, memory, events and resets, each with its values."""
    trace = LOGS / f"tracing-tracepoints.{kernel}.trace"
    with Guest(Setup(kernel=kernel, trace=trace, allow=LINES)) as guest:
        names = guest.run("mount -t tracefs tracefs /sys/kernel/tracing; "
                          "cd /sys/kernel/tracing/events/irdma && ls -d irdma_*").output.split()
        assert set(names) == EVENTS, names
        guest.run("cd /sys/kernel/tracing && echo 4096 >buffer_size_kb && "
                  "echo 1 >events/irdma/enable && echo >trace")
        commands(guest, trace)
        objects(guest)
        failures(guest)
        reset(guest)
        # Nothing is told of what nobody listens to; the module goes with its events switched on.
        guest.run("cd /sys/kernel/tracing && echo 0 >events/irdma/enable && echo >trace")
        guest.run("qp-bringup >/dev/null")
        assert not read(guest)
        guest.run("echo 1 >/sys/kernel/tracing/events/irdma/enable; qp-bringup >/dev/null; "
                  "rmmod irdma; [ ! -e /sys/kernel/tracing/events/irdma ] && "
                  "insmod /host/irdma.ko")


def commands(guest: Guest, trace) -> None:
    """The device's commands, in its order, each with an end."""
    _, begin = devtrace.read(trace)
    guest.run("qp-bringup -p ceph >/dev/null")
    events = read(guest)
    device = [e for e in devtrace.read(trace, begin)[0] if e["ev"] == "cqp"]
    posted = of(events, "cqp_post")
    assert [e.text.split()[0] for e in posted] == [e["op"] for e in device], posted
    assert [int(e.fields["slot"]) for e in posted] == [e.get("wqe", 0) for e in device]
    for mine, its in zip(posted, device):
        for key in ("qp", "cq", "ah", "index"):
            if key in mine.fields:
                assert int(mine.fields[key]) == its.get(key, 0), (mine, its)
    done = of(events, "cqp_done")
    assert len(done) == len(posted), (len(done), len(posted))
    failed = [e for e in done if e.fields["error"] != "0" and "flush" not in e.fields["result"]]
    assert not failed, failed
    assert all(0 < int(e.fields["us"]) < 60_000_000 for e in done), done
    completed = of(events, "ceq_event", ceq="0", cq="0", known="1")
    assert completed, "no events of the CCQ"


def objects(guest: Guest) -> None:
    """States and path of a queue pair, and memory."""
    guest.run("qp-path --to 10.0.0.1 --flow 0x12345 >/dev/null")
    events = read(guest)
    path = of(events, "qp_path")[-1].fields
    assert path["destination"] == path["source"] == path["next_hop"] == "::ffff:10.0.0.1", path
    assert path["vlan"] == "0xffff" and int(path["src_port"]) >= 0xc000, path
    states = [re.search(r"(\w+) -> (\w+) .*cause=(\w+)", e.text).groups()
              for e in of(events, "qp_state", qp=path["qp"], error="0")]
    assert states == [("RESET", "RESET", "create"), ("RESET", "INIT", "modify"),
                      ("INIT", "RTR", "modify"), ("RTR", "RTS", "modify"),
                      ("RTS", "RESET", "destroy")], states

    guest.run("qp-bringup >/dev/null")
    events = read(guest)
    made, gone = of(events, "mr_register", error="0"), of(events, "mr_deregister", error="0")
    lengths = [int(e.fields["length"]) for e in made if e.fields["kind"] == "memory"]
    assert {4096, 1, 8000, 2, 2 << 20, 5 << 20} <= set(lengths), lengths
    assert {"qp_ring", "cq_ring"} <= {e.fields["kind"] for e in made}, made
    assert sorted(e.fields["stag"] for e in made) == sorted(e.fields["stag"] for e in gone)


def failures(guest: Guest) -> None:
    """A refused modification, a command that fails, an error of a queue pair."""
    guest.run("verbs-negative >/dev/null")
    refused = of(read(guest), "qp_refused")
    assert any(e.fields["attribute"] == "path_mtu" and e.fields["error"] == "-22"
               for e in refused), refused

    guest.set_card("fail", "modify_qp:1")
    guest.run("! qp-path --to 10.0.0.1 >/dev/null 2>&1")
    events = read(guest)
    failed, = of(events, "cqp_done", error="-5")
    assert failed.text.startswith("modify_qp qp="), failed
    assert failed.fields["major"] == "0xffff" and failed.fields["minor"] == "0xfa1", failed
    assert of(events, "qp_state", qp=failed.fields["qp"], error="-5"), events

    guest.run(hold())
    number = of(read(guest), "qp_path")[-1].fields["qp"]
    guest.set_card("inject", f"ae:code=0x50a,id={number}")
    events = read(guest)
    for _ in range(100):
        if of(events, "qp_state", qp=number):
            break
        time.sleep(0.1)
        events += read(guest)
    event, = of(events, "async_event", qp=number)
    assert event.fields["code"] == "0x50a" and event.fields["name"] == "llp_too_many_retries"
    assert event.fields["known"] == "1" and event.fields["source"] == "send queue", event
    state, = of(events, "qp_state", qp=number)
    assert "RTS -> ERR" in state.text and state.fields["cause"] == "llp_too_many_retries", state
    guest.run(LET_GO)


def reset(guest: Guest) -> None:
    """From the engine's critical error to the device that is up again."""
    guest.run("echo >/sys/kernel/tracing/trace")
    guest.set_card("inject", "critical-error")
    events: List[Event] = []
    for _ in range(600):
        events += of(read(guest), "reset")
        if events and events[-1].text.startswith("up"):
            break
        time.sleep(0.1)
    steps = [e.text.split()[0] for e in events]
    assert steps == ["given_up", "planned", "asked", "removing", "up"], events
    assert events[0].fields["why"] == "critical error of the protocol engine", events
    assert events[2].fields["attempt"] == "1" and events[2].fields["error"] == "0", events
    guest.run("await 30 have_rdma; ip addr replace 10.0.0.1/24 dev eth0; ip link set eth0 up; sleep 2")
