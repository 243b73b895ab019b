# SPDX-License-Identifier: GPL-2.0
"""The device answers commands of the control QP in each manner: at load, of each verb, at unload.

The suite sweep of kunit/ has each command in each manner, on a fake device. Here each kind of
command that there is meets what costs little (refused, answered twice, late), and one of the
silent manners, that cost ten seconds and a reset; with real consumers, and their real ends.
"""

import itertools
from pathlib import Path
from typing import Dict, Iterable, List

import devtrace
from guest import Guest, Setup
from held import hold
from test_events import check_one_death, spoil, wait_back
from test_module import DEPENDENCIES, LOAD, commands_of_bringup, module_of
from testing import LOGS, test

NEEDS = ("images", "model", "modules", "programs")
# What is told of commands that fail, and of a device that is given up and reset: by us, by ib_core
# in the device's name, by ice. No report of the kernel begins so.
ALLOW = (r"^(infiniband )?irdma\d: ", r"^ice 0000:01:00\.0[: ]", r"^irdma.*: probe .*failed")

# Manners in which nothing is heard that can be believed.
SILENT = ("mute", "index", "cookie", "polarity")
# Those that an answer by a register has.
SILENT_REGISTER = ("mute",)

# The verbs, by programs that go on when one of them fails; and what the kernel does by itself.
# A change of traffic classes that begins when a reset is asked for hangs in ice: see driver.rst.
SHARES = "0:50 1:50 2:0 3:0 4:0 5:0 6:0 7:0"
PARTS = {
    **{life: f"verbs-lifecycle {life}" for life in ("cq", "mr", "mw", "ah", "qp", "mcast")},
    "states": "qp-bringup --sqd -p ceph; qp-bringup -p ucx-ud",
    "details": "rdma -r resource show qp; rdma statistic show",
    "classes": f"""
        start_until 30 held /tmp/held qp-path --to 10.0.0.1 --hold
        pid=$!
        deaths() {{ dmesg | grep -c 'device is given up'; }}
        before=$(deaths)
        for class in 1 0; do
            [ $(deaths) = $before ] || break
            dcb ets set dev eth0 tc-tsa all:ets tc-bw {SHARES} prio-tc 0:0 6:$class \\
                reco-tc-tsa all:ets reco-tc-bw {SHARES} reco-prio-tc 0:0 6:$class
        done
        kill $pid
        wait $pid
        true
    """,
}
# Each command that the driver has a use for, once it is registered.
VERBS = {"create_qp", "modify_qp", "destroy_qp", "create_cq", "modify_cq", "destroy_cq", "reg_mr",
         "alloc_stag", "dealloc_stag", "create_ah", "destroy_ah", "create_mcast", "modify_mcast",
         "destroy_mcast", "manage_arp", "work_sched_node", "flush_wqes", "suspend_qp", "resume_qp",
         "upload_context", "gather_stats"}
WORKS = "qp-bringup >/tmp/works || { cat /tmp/works; exit 1; }"
RELOAD = f"rmmod irdma && insmod /host/irdma.ko && {WORKS}"


class Commands:
    """Names of the commands that a device's trace has, in order."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def news(self) -> List[str]:
        """Those since the last call."""
        events, self._offset = devtrace.read(self._path, self._offset)
        return [event["op"] for event in events if event["ev"] == "cqp"]


def spoil_all(guest: Guest, ops: Iterable[str], how: str) -> None:
    """From now on the device answers each of these commands so."""
    spoil(guest, ",".join(f"{op}!{how}" for op in ops))


def assert_alive(guest: Guest, deaths: int = 0) -> None:
    """The device was not given up again."""
    assert guest.kernel_log.count("device is given up") == deaths, guest.kernel_log[-3000:]


def programs_leave_nothing(guest: Guest) -> None:
    left = guest.run("for i in qp cq mr; do rdma resource show $i; done").output
    assert "verbs-life" not in left and "qp-" not in left, left


@test(needs=NEEDS, timeout=1500, full=True)
def verbs(kernel: str) -> None:
    """Each command of each verb: it succeeds, fails with an errno, or the device is reset."""
    trace = LOGS / f"faults-verbs.{kernel}.trace"
    with Guest(Setup(kernel=kernel, trace=trace, allow=ALLOW)) as guest:
        commands = Commands(trace)
        commands.news()
        part_of: Dict[str, str] = {}
        for script in PARTS.values():
            guest.run(script)
            for op in commands.news():
                part_of.setdefault(op, script)
        assert set(part_of) >= VERBS, VERBS - set(part_of)

        # All of them late, or answered twice: nothing else happens.
        for how in ("delay=5", "twice"):
            spoil_all(guest, part_of, how)
            for script in PARTS.values():
                guest.run(script, timeout=240)
            print(guest.run("verbs-model -s 5 -n 1000", timeout=240).output)
            print(f"{how}: {len(commands.news())} commands")
        assert "no such command is in flight" in guest.kernel_log
        spoil(guest, "")

        for op, script in part_of.items():
            for nth in (1, 2):
                spoil(guest, f"{op}:{nth}")
                guest.run(script, check=False)
            spoil(guest, "")
            programs_leave_nothing(guest)
            guest.run(WORKS)
        print(f"{len(part_of)} kinds of commands refused, twice each")
        assert_alive(guest)

        for number, (op, how) in enumerate(zip(part_of, itertools.cycle(SILENT)), 1):
            spoil(guest, f"{op}:1!{how}")
            guest.run(part_of[op], check=False)
            spoil(guest, "")
            wait_back(guest, number)
            check_one_death(guest, "the control QP has stopped", number)
            guest.run(RELOAD)       # it does not wait before the next reset
            print(f"{op} {how}")
        guest.run("rmmod irdma")


@test(needs=NEEDS, timeout=900, full=True)
def load(kernel: str) -> None:
    """Each command of a bring-up: it goes well, or all is undone and the next one does."""
    trace = LOGS / f"faults-load.{kernel}.trace"
    setup = Setup(kernel=kernel, driver="none", trace=trace, allow=ALLOW,
                  files={"irdma.ko": module_of(kernel)})
    with Guest(setup) as guest:
        guest.run(f"{DEPENDENCIES}; {LOAD}")
        steps = commands_of_bringup(trace)
        guest.run("rmmod irdma")
        for how in ("delay=100", "twice"):
            spoil_all(guest, set(steps), how)
            guest.run(f"{LOAD}; {WORKS}; rmmod irdma")
            print(f"{how}: {len(steps)} commands")
        assert_alive(guest)

        # The creation of the CCQ is the first that the CCQ answers.
        first = steps.index("create_cq")
        silent = [(op, how) for op in dict.fromkeys(steps[:first]) for how in SILENT_REGISTER]
        silent += zip(dict.fromkeys(steps[first:]), itertools.cycle(SILENT))
        for deaths, (op, how) in enumerate(silent, 1):
            spoil(guest, f"{op}:{1 + steps[:first].count(op) * (how not in SILENT_REGISTER)}!{how}")
            done = guest.run(LOAD, check=False)
            assert done.status == 2, f"{op} {how}: status {done.status}"
            spoil(guest, "")
            guest.run(f"rmmod irdma; {LOAD}; {WORKS}; rmmod irdma")
            assert_alive(guest, deaths)
            print(f"{op} {how}")
        assert guest.kernel_log.count("bring-up failed at") == len(silent)
        assert "asked for a reset" not in guest.kernel_log


@test(needs=NEEDS, timeout=900, full=True)
def unload(kernel: str) -> None:
    """Each command as the driver goes, with a queue pair in use: it is gone in time, for good."""
    trace = LOGS / f"faults-unload.{kernel}.trace"
    with Guest(Setup(kernel=kernel, trace=trace, allow=ALLOW)) as guest:
        commands = Commands(trace)
        guest.run(hold())
        commands.news()
        guest.run("rmmod irdma && kill $(cat /tmp/held.pid)")
        steps = commands.news()
        ops = list(dict.fromkeys(steps))
        print(f"{len(steps)} commands:", *ops)
        faults = 0
        for op, silent in zip(ops, itertools.cycle(SILENT)):
            for how in ("", "!twice", "!delay=300", f"!{silent}"):
                guest.run(f"insmod /host/irdma.ko; {WORKS}; {hold()}")
                spoil(guest, f"{op}:1{how}")
                guest.run("rmmod irdma && kill $(cat /tmp/held.pid)")
                spoil(guest, "")
                faults += 1
            print(f"{op} refused, twice, late, {silent}")
        print(f"{faults} faults")
        guest.run(f"insmod /host/irdma.ko; {WORKS}; rmmod irdma")
        assert "asked for a reset" not in guest.kernel_log
