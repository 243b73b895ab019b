# SPDX-License-Identifier: GPL-2.0
"""Verbs objects and modify_qp of our module, for processes and for the kernel."""

import json
import random
import re
import time
from pathlib import Path
from typing import Dict, Iterator, List

import image
from common import BUILD
from guest import Guest, Setup
from kernlog import REFUSAL
from testing import LOGS, test

PROGRAMS = ("images", "model", "modules", "programs")


def test_module(kernel: str) -> Path:
    """The consumer in the kernel, of tests/kernel."""
    return BUILD / image.kernel(kernel).release / "tests/verbs_test.ko"


def events(trace: Path, kind: str) -> Iterator[dict]:
    """Lines of a trace of one kind."""
    for line in trace.read_text().splitlines():
        event = json.loads(line)
        if event["ev"] == kind:
            yield event


@test(needs=PROGRAMS, timeout=300, full=("6.1",))
def modify_table(kernel: str) -> None:
    """Each pair of states, attribute, value and combination of rights, for a process."""
    with Guest(Setup(kernel=kernel, allow=[REFUSAL])) as guest:
        print(guest.run("modify-table", timeout=240).output)


# Rights as modify-table gives and takes them from RTS on, and the context's bits for
# them: the peer may READ; the peer may WRITE, or this side does READs.
WALK = ("W", "", "W", "WR", "R", "")


def expected_bits(ord_limit: int) -> List[tuple]:
    """(rd_ok, wr_rdresp_ok) at RTS, and at each step that changes a bit."""
    bits = [(int("R" in rights), int("W" in rights or ord_limit > 0)) for rights in WALK]
    return [pair for i, pair in enumerate(bits) if i == 0 or pair != bits[i - 1]]


@test(needs=PROGRAMS, kernels=("6.12",), full=True)
def rights_reach_the_device(kernel: str) -> None:
    """A right given and a right taken is what the context of the device says."""
    trace = LOGS / f"verbs-rights.{kernel}.trace"
    with Guest(Setup(kernel=kernel, trace=trace)) as guest:
        output = guest.run("modify-table access").output
    for line in output.splitlines():
        if not line.startswith("ORD"):
            continue
        ord_limit, qp = int(line.split()[1]), int(line.split()[-1])
        contexts = [c for c in events(trace, "qp_ctx") if c["qp"] == qp]
        seen: List[tuple] = []
        for context in contexts[2:]:        # after those of CREATE_QP and RTR
            pair = (context.get("rd_ok", 0), context.get("wr_rdresp_ok", 0))
            if not seen or pair != seen[-1]:
                seen.append(pair)
        print(f"ORD {ord_limit}: {seen}")
        assert seen == expected_bits(ord_limit), f"expected was {expected_bits(ord_limit)}"


def failing(**steps: range) -> str:
    """A value of the property fail: these occurrences of these commands."""
    return ",".join(f"{step}:{n}" for step, numbers in steps.items() for n in numbers)


FAILURES = failing(modify_qp=range(1, 120, 2), manage_arp=range(2, 80, 3),
                   work_sched_node=range(1, 60, 3), flush_wqes=range(2, 3))
# What the driver tells of commands that fail.
COMMAND_FAILED = r"irdma\d: (command \w+ failed|QP \d+: flush failed|.*stays)"
# Two traffic classes, so that queue sets come and go, and neighbours to send to.
SCENE = """
    dcb ets set dev eth0 prio-tc 0:0 1:0 2:0 3:0 4:1 5:1 6:1 7:1 tc-tsa 0:ets 1:ets 2:strict \\
        3:strict 4:strict 5:strict 6:strict 7:strict tc-bw 0:50 1:50 2:0 3:0 4:0 5:0 6:0 7:0
    sleep 1
    for i in $(seq 100 115); do
        ip neigh replace 10.0.0.$i lladdr 52:54:00:00:01:$(printf %02x $i) dev eth0 nud permanent
    done
"""
# What a modification that failed must not have brought into the device.
PATH_FIELDS = ("dest_ip3", "arp_index", "remote_endpoint", "qs_handle", "tos", "ttl", "flow_label",
               "src_port", "rd_ok", "wr_rdresp_ok")


RTS = 2             # a queue pair's state to the device


def path_of(context: dict) -> Dict[str, object]:
    return {field: context.get(field, 0) for field in PATH_FIELDS}


def check_failures(trace: Path) -> int:
    """What enters RTS must bring the path and rights that the device accepted last.

    Before it modify-table asks for several others in SQD, some of which fail. Returns how
    many commands have failed.
    """
    accepted: Dict[int, dict] = {}
    given, qp, state, failed = {}, 0, 0, 0
    for line in trace.read_text().splitlines():
        event = json.loads(line)
        if event["ev"] == "cqp" and event["op"] == "modify_qp":
            qp, state = event["qp"], event.get("next_state", 0)
        elif event["ev"] == "qp_ctx":
            given = path_of(event)
        elif event["ev"] == "cqp_done" and event["op"] == "modify_qp":
            if event["error"]:
                failed += 1
            elif qp in accepted and state == RTS:
                assert given == accepted[qp], f"QP {qp}: {given}, accepted was {accepted[qp]}"
            if not event["error"]:
                accepted[qp] = given
    return failed


@test(needs=PROGRAMS, timeout=240, full=("6.12",))
def failed_commands_change_nothing(kernel: str) -> None:
    """The device refuses commands: state, attributes, path and ARP entry stay as they were."""
    trace = LOGS / f"verbs-failing.{kernel}.trace"
    with Guest(Setup(kernel=kernel, trace=trace, allow=[COMMAND_FAILED])) as guest:
        guest.run(SCENE)
        guest.set_card("fail", FAILURES)
        print(guest.run("modify-table failing").output)
        guest.set_card("fail", "")
    failed = check_failures(trace)
    handles = {context.get("qs_handle", 0) for context in events(trace, "qp_ctx")}
    print(f"{failed} commands MODIFY_QP failed; queue sets {sorted(handles)}")
    assert failed > 10 and len(handles) > 1


# Errors of a send and of a receive, of the whole QP, and drained events that nobody waits for.
DISTURBANCES = ("ae:code=0x50a,id={}", "ae:code=0x303,source=1,id={}", "ae:code=0x700,source=0,id={}",
                "ae:code=0x900,source=0,id={}", "ae:code=0x109,id={},wqe=3,n=3")
# What the driver tells of them, and of SQD while messages wait for an answer.
EVENT = r"irdma\d: QP \d+: event 0x"
NOT_DRAINED = r"irdma\d: QP \d+: the send queue has not drained"


def disturb(guest: Guest, script: str, timeout: float) -> str:
    """Run a script while the device reports events about queue pairs of any number."""
    command = guest.begin(script)
    dice = random.Random(1)
    end = time.monotonic() + timeout
    while not command.ended.wait(0.02) and time.monotonic() < end:
        events_now = [dice.choice(DISTURBANCES).format(dice.randrange(2, 200)) for _ in range(40)]
        guest.set_card("inject", ";".join(events_now))
    done = command.wait(1)
    assert done.status == 0, done.output
    return done.output


@test(needs=(*PROGRAMS, "test-modules"), timeout=400, full=True)
def events_and_threads(kernel: str) -> None:
    """Threads modify, query and destroy queue pairs while the device reports errors of them."""
    setup = Setup(kernel=kernel, files={"verbs_test.ko": test_module(kernel)},
                  allow=[REFUSAL, EVENT])
    with Guest(setup) as guest:
        print(disturb(guest, "insmod /host/verbs_test.ko only=threads events=1 && "
                             "dmesg | grep verbs-test:", 150))
        print(disturb(guest, "verbs-churn -e -n 2000", 150))
        told = len(re.findall(EVENT, guest.kernel_log))
        # The limit on lines lets ten of them pass.
        assert told >= 10, f"the driver told of {told} events"
        guest.run("rmmod verbs_test && qp-bringup && rmmod irdma")


@test(needs=("images", "model", "modules", "test-modules"), timeout=400, full=("6.1",))
def kernel_consumer(kernel: str) -> None:
    """Objects, modifications and work of the kernel, alone and by many threads."""
    setup = Setup(kernel=kernel, files={"verbs_test.ko": test_module(kernel)},
                  allow=[REFUSAL, EVENT, NOT_DRAINED])
    with Guest(setup) as guest:
        done = guest.run("insmod /host/verbs_test.ko; status=$?; dmesg | grep verbs-test:; "
                         "[ $status = 0 ] && rmmod verbs_test && rmmod irdma", timeout=300)
        print(done.output)
        assert "verbs-test: PASS" in done.output


def forgeries(a: dict, b: dict, number: int, index: int) -> List[str]:
    """Completions of the device that nobody may believe.

    a and b: contexts of two queue pairs; a has sends outstanding from number to before
    index in its queue, b has no receives posted.
    """
    to = {"cq": a["send_cq"], "qp": a["qp"], "send": 1}
    lies = [
        dict(to, wqe=index + 8), dict(to, wqe=0x7fff), dict(to, wqe=(number - 1) % 0x8000),
        dict(to, qp=b["qp"]), dict(to, qp=0), dict(to, qp=511), dict(to, qp=0xffffff),
        dict(to, cq=b["send_cq"]), dict(to, cq=a["recv_cq"]), dict(to, send=0),
        {"cq": b["recv_cq"], "qp": b["qp"], "length": 64}, {"cq": b["recv_cq"], "qp": a["qp"]},
        {"cq": b["recv_cq"], "qp": b["qp"], "wqe": 0x7fff, "length": 0xffffffff},
        {"cq": b["recv_cq"], "qp": b["qp"], "major": 0xffff, "minor": 1},
    ]
    return ["cqe:" + ",".join(f"{k}={v}" for k, v in lie.items()) for lie in lies]


@test(needs=(*PROGRAMS, "test-modules"), timeout=240, full=("6.1",))
def chains_and_forged_completions(kernel: str) -> None:
    """One doorbell a chain; of completions queue pair, CQ, index and length are checked."""
    trace = LOGS / f"verbs-forged.{kernel}.trace"
    setup = Setup(kernel=kernel, trace=trace, files={"verbs_test.ko": test_module(kernel)})
    with Guest(setup) as guest:
        print(guest.run("insmod /host/verbs_test.ko only=chain && rmmod verbs_test").output)
        sends = sum(e.get("op") == "send" for e in events(trace, "sq_wqe"))
        rung = sum(e["kind"] == "work" and e["from"] == "kernel"
                   for e in events(trace, "doorbell"))
        print(f"{sends} sends in chains of 16, {rung} doorbells")
        assert sends >= 640 and rung <= sends // 16 + 20, "more than one doorbell a chain"
        tests = guest.begin("insmod /host/verbs_test.ko only=forged & loader=$!\n"
                            "until dmesg | grep -q 'forge lies'; do sleep 0.1; done\n"
                            "kill -0 $loader && echo asked")
        assert tests.wait().output.strip() == "asked"
        a, b = (int(n) for n in re.search(r"forge lies (\d+) (\d+)", guest.kernel_log).groups())
        contexts = {c["qp"]: c for c in events(trace, "qp_ctx") if "send_cq" in c}
        posted = [e.get("index", 0) for e in events(trace, "sq_wqe") if e["qp"] == a]
        lies = forgeries(contexts[a], contexts[b], posted[0], posted[-1] + 1)
        guest.set_card("inject", ";".join(lies))
        guest.run("echo 1 >/sys/module/verbs_test/parameters/forged\n"
                  "until dmesg | grep -q 'forge length'; do sleep 0.1; done")
        taken = sum(e["qp"] == b and not e.get("is_sq") for e in events(trace, "cqe"))
        stride = 2      # quanta of a receive with three fragments
        guest.set_card("inject", f"cqe:cq={contexts[b]['recv_cq']},qp={b},wqe={taken * stride},length=65")
        guest.run("echo 1 >/sys/module/verbs_test/parameters/forged\n"
                  "until [ $(dmesg | grep -Ec 'verbs-test: (PASS|FAIL)') = 2 ]; do sleep 0.1; done")
        print(guest.run("dmesg | grep verbs-test:").output)
        assert guest.kernel_log.count("verbs-test: PASS") == 2
        guest.run("rmmod verbs_test && rmmod irdma")


# Errors that the sequences make on purpose.
MODEL_ALLOWS = [REFUSAL, r"irdma\d: QP \d+: event 0x(10[0-9a-f]|208|20d|303), "]


@test(needs=PROGRAMS, timeout=400, full=("6.1",))
def model(kernel: str) -> None:
    """Random legal sequences: every answer is as a model of verbs beside them has it."""
    with Guest(Setup(kernel=kernel, allow=MODEL_ALLOWS)) as guest:
        for seed in range(1, 9):
            print(guest.run(f"verbs-model -s {seed} -n 3000", timeout=240).output)


@test(needs=("images", "model", "programs"), kernels=("6.12",), timeout=400, full=True)
def model_of_stock(kernel: str) -> None:
    """The same on stock: it takes the sequences, and how it answers is told."""
    allow = [r"irdma", r"infiniband"]
    with Guest(Setup(kernel=kernel, driver="stock", allow=allow)) as guest:
        for seed in range(1, 3):
            done = guest.run(f"verbs-model -s {seed} -n 3000", timeout=240, check=False)
            print(done.output)
            assert "verbs-model: seed" in done.output, done
