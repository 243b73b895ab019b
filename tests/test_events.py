# SPDX-License-Identifier: GPL-2.0
"""Asynchronous events, event queues and the control QP when the device misbehaves.

The model's property inject makes events and interrupts, its property fail
spoils answers; ae-watch, in the guest, has queue pairs with work outstanding
and tells what became of them.
"""

import json
import re
import time
from pathlib import Path
from typing import Dict, List, NamedTuple, Tuple

from common import TOP
from guest import Guest, Setup
from testing import LOGS, test

NEEDS = ("images", "model", "modules", "programs")
DEADLINE = 10           # seconds that the driver gives a command
# Lines that the driver writes when the device misbehaves.
LINES = (r"irdma\d: (QP|CQ) \d+: event 0x", r"irdma\d: .*(interrupt|answer of the control QP)",
         r"irdma\d: asynchronous events were lost", r"without an interrupt",
         r"irdma\d: command \w+ was not answered", r"irdma\d: .*callbacks suppressed")
FATAL = (*LINES, r"irdma\d: (device is given up|asked for a reset|event 0x701)", r"ice .*[Rr]eset",
         r"irdma\d: QP \d+", r"irdma\d: .* (does not|flush failed|failed)")

RQ, CQ, SQ, INBOUND = 1, 2, 5, 9        # sources of events

# Statuses of completions (enum ibv_wc_status).
LOC_LEN, LOC_QP_OP, LOC_PROT, FLUSHED, MW_BIND = 1, 2, 4, 5, 6
REM_INV_REQ, REM_ACCESS, REM_OP, RETRY_EXC, FATAL_ERR = 9, 10, 11, 12, 19

# What IBA calls for, where it is not "flushed, QP_FATAL": status of the request at
# fault, and the event for the consumer.
CALLS_FOR: Dict[str, Tuple[int, str]] = {
    **dict.fromkeys(
        ("amp_unallocated_stag", "amp_invalid_stag", "amp_bad_qp", "amp_bad_pd",
         "amp_bad_stag_key", "amp_bad_stag_index", "amp_bounds_violation",
         "amp_rights_violation", "amp_to_wrap", "priv_operation_denied"),
        (LOC_PROT, "QP_ACCESS_ERR")),
    **dict.fromkeys(
        ("amp_mwbind_valid_stag", "amp_mwbind_invalid_rights", "amp_mwbind_invalid_bounds",
         "amp_mwbind_bind_disabled"), (MW_BIND, "QP_ACCESS_ERR")),
    **dict.fromkeys(
        ("amp_invalidate_no_remote_access_rights", "ib_remote_access_error"),
        (REM_ACCESS, "QP_ACCESS_ERR")),
    **dict.fromkeys(
        ("uda_xmit_dgram_too_long", "uda_xmit_dgram_too_short", "uda_l4len_invalid",
         "ddp_ube_ddp_message_too_long_for_available_buffer", "ddp_ube_invalid_mo"),
        (LOC_LEN, "QP_FATAL")),
    **dict.fromkeys(("uda_xmit_bad_pd", "wqe_unexpected_opcode"), (LOC_QP_OP, "QP_FATAL")),
    **dict.fromkeys(
        ("ib_remote_op_error", "roce_rsp_length_error", "llp_received_mpa_crc_error",
         "llp_segment_too_small"), (REM_OP, "QP_FATAL")),
    "ib_invalid_request": (REM_INV_REQ, "QP_REQ_ERR"),
    "llp_too_many_retries": (RETRY_EXC, "QP_FATAL"),
    "lce_qp_catastrophic": (FATAL_ERR, "QP_FATAL"),
}
# Events that leave a RoCE queue pair as it is.
NOTHING = {"bad_close", "rdmap_roe_bad_llp_close", "llp_close_complete", "llp_connection_reset",
           "llp_fin_received", "llp_terminate_received", "llp_doubt_reachability",
           "llp_connection_established", "resource_exhaustion", "reset_sent", "terminate_sent",
           "reset_not_sent", "qp_suspend_complete"}
OF_CQ = {"cq_operation_error", "lce_cq_catastrophic"}
OF_DEVICE = {"lce_function_catastrophic"}


class Watched(NamedTuple):
    """What ae-watch tells of a queue pair."""

    state: str
    events: List[str]
    send: List[int]
    recv: List[int]
    wakeups: Tuple[int, int]


def ae_codes() -> Dict[str, int]:
    """All codes that the device defines, by name."""
    text = (TOP / "drivers/irdma/hw/ae_codes.h").read_text()
    enum = text[text.index("enum class AeCode"):text.index("};")]
    return {name: int(code, 16) for name, code in re.findall(r"(\w+) = (0x\w+),", enum)}


def inject(guest: Guest, *what: str) -> None:
    """Let the device do something."""
    guest.set_card("inject", ";".join(what))


def wait_injected(guest: Guest, seconds: float = 60) -> float:
    """Wait until all of it is done; how long that took."""
    began = time.monotonic()
    while int(guest.card("inject")):
        if time.monotonic() - began > seconds:
            raise guest.failure("the driver does not take what was injected")
        time.sleep(0.05)
    return time.monotonic() - began


def spoil(guest: Guest, steps: str) -> None:
    """Let the device refuse commands or answer them wrongly."""
    guest.set_card("fail", steps)


def watch(guest: Guest, count: int) -> List[int]:
    """Start ae-watch; the numbers of its queue pairs, whose work stays outstanding."""
    inject(guest, "send-hang")
    output = guest.run(f"start_until 60 ready /tmp/watch ae-watch -n {count} || exit 1\n"
                       "echo $! >/tmp/watch.pid; cat /tmp/watch").output
    return [int(number) for number in re.findall(r"^qp (\d+)$", output, re.M)]


def told(guest: Guest) -> Tuple[Dict[int, Watched], str]:
    """What ae-watch tells, of each queue pair and in all; it has ended well."""
    output = guest.run("read pid </tmp/watch.pid; kill -USR1 $pid\n"
                       "await 60 ended $pid; cat /tmp/watch").output
    print(output)
    words = re.compile(r"^qp (\d+) state=(\w*) events=(\S*) send=(\S*) recv=(\S*) "
                       r"wakeups=(\d+),(\d+)$", re.M)

    def numbers(text: str) -> List[int]:
        return [int(number) for number in text.split(",") if number]

    assert "ae-watch: PASS" in output, output
    return {int(qp): Watched(state, [e for e in events.split(",") if e], numbers(send),
                             numbers(recv), (int(first), int(second)))
            for qp, state, events, send, recv, first, second in words.findall(output)}, output


ALIVE = Watched("RTS", [], [], [], (0, 0))


def expected(name: str, source: int) -> Watched:
    """What becomes of a queue pair by an event from that part of it."""
    if name in NOTHING:
        return ALIVE
    status, event = CALLS_FOR.get(name, (FLUSHED, "QP_FATAL"))
    return Watched("ERR", [event],
                   [status if source == SQ else FLUSHED, FLUSHED, FLUSHED],
                   [status if source == RQ else FLUSHED, FLUSHED, FLUSHED], (1, 1))


def cqs_of(trace: Path) -> Dict[int, Tuple[int, int]]:
    """Send and receive CQ of each queue pair."""
    lines = [json.loads(line) for line in trace.read_text().splitlines() if '"qp_ctx"' in line]
    return {line["qp"]: (line["send_cq"], line["recv_cq"]) for line in lines}


def check_lines(log: str, cases: Dict[int, Tuple[str, int]]) -> int:
    """Each line about an event is about the right one; how many there are."""
    lines = re.findall(r"QP (\d+): event 0x([0-9a-f]+), (\w+) \((.*?), request \d+\): (.+)", log)
    for qp, code, name, _, meaning in lines:
        assert cases[int(qp)] == (name, int(code, 16)), (qp, code, name)
        assert len(meaning) > 10, meaning
    return len(lines)


@test(needs=NEEDS, timeout=300, full=("6.12",))
def codes(kernel: str) -> None:
    """Each event about a queue pair: its state, statuses, event and line."""
    trace = LOGS / f"events-codes.{kernel}.trace"
    known = ae_codes()
    names = [*(name for name in known if name not in OF_CQ | OF_DEVICE), "unknown"]
    known["unknown"] = 0x7f7
    with Guest(Setup(kernel=kernel, trace=trace, allow=LINES)) as guest:
        qps = watch(guest, len(names))
        cases = {qp: (name, known[name]) for qp, name in zip(qps, names)}
        # Sources in turn, so that each status is looked for in both queues.
        sources = {qp: (SQ, SQ, RQ, SQ, INBOUND)[i % 5] for i, qp in enumerate(qps)}
        inject(guest, *(f"ae:code={code},id={qp},source={sources[qp]}"
                        for qp, (_, code) in cases.items()))
        # Those that are not the first of a queue pair are no news.
        inject(guest, *(f"ae:code={known['ib_remote_op_error']},id={qp}"
                        for qp, (name, _) in cases.items() if name not in NOTHING))
        time.sleep(2)
        seen, _ = told(guest)
        wrong = [f"{name} from {sources[qp]}: {seen[qp]}, expected {expected(name, sources[qp])}"
                 for qp, (name, _) in cases.items() if seen[qp] != expected(name, sources[qp])]
        assert not wrong, "\n".join(wrong)
        assert check_lines(guest.kernel_log, cases) >= 10

        time.sleep(5)           # the limit on lines
        again = watch(guest, 3)
        queues = cqs_of(trace)
        inject(guest, *(f"ae:code=0x203,source={CQ},id={queues[again[0]][0]}" for _ in range(50)),
               f"ae:code=0x702,source={CQ},id={queues[again[1]][1]}")
        time.sleep(1)
        seen, _ = told(guest)
        assert seen[again[0]].events == ["CQ_ERR/send"], seen
        assert seen[again[1]].events == ["CQ_ERR/recv"], seen
        assert seen[again[2]] == ALIVE, seen
        assert re.search(r"CQ \d+: event 0x203, cq_operation_error \(CQ\): ", guest.kernel_log)
        print(guest.run("qp-bringup | tail -1; rmmod irdma").output)


@test(needs=NEEDS, timeout=300, full=("6.1",))
def nobodys(kernel: str) -> None:
    """Events of every kind about what is dead or never was: nothing happens."""
    trace = LOGS / f"events-nobodys.{kernel}.trace"
    numbers = (0, 1023, 1024, 0x3ffff, 0x7ffff)
    with Guest(Setup(kernel=kernel, trace=trace)) as guest:
        dead = watch(guest, 1)[0]
        told(guest)
        dead_cqs = cqs_of(trace)[dead]
        for name, code in ae_codes().items():
            if name in OF_DEVICE:
                continue
            inject(guest, *(f"ae:code={code},source={source},id={number}"
                            for source in (0, *range(1, 16, 2)) for number in (dead, *numbers)),
                   *(f"ae:code={code},source={source},id={number}"
                     for source in (2, 6, 10, 14, 4, 8, 12) for number in (*dead_cqs, *numbers)))
        wait_injected(guest)
        inject(guest, *(f"ceqe:ceq={ceq},cq={cq}" for ceq in (0, 1)
                        for cq in (*dead_cqs, *numbers, 0)))
        time.sleep(1)
        log = guest.run("dmesg").output
        assert not re.search(r"event 0x", log), log
        print(guest.run("qp-bringup | tail -1; rmmod irdma").output)


# A shell command, as quick as the machine lets it.
TIMED = """
    began=$(date +%s%N); i=0
    while [ $i -lt 3000 ]; do i=$((i + 1)); done
    ls / >/dev/null
    echo $(( ($(date +%s%N) - began) / 1000000 ))
"""


def timed(guest: Guest, cpu: int) -> int:
    """Milliseconds that a shell command takes on a CPU."""
    return int(guest.run(f"taskset -c {cpu} sh -c '{TIMED}'").output)


@test(needs=NEEDS, timeout=400, full=("6.1",))
def storms(kernel: str) -> None:
    """Events without end, on both queues: the guest still works, and recovers."""
    with Guest(Setup(kernel=kernel, allow=LINES)) as guest:
        qp = watch(guest, 2)
        quiet = max(timed(guest, cpu) for cpu in (0, 1))
        print(f"quiet: {quiet} ms")
        # More than the AEQ (1,536 entries) and the CEQs (1,024) hold: they wrap often.
        for what in (f"ae:code=0x50a,id={qp[0]},n=100000", "ae:code=0x7f7,id=400,n=100000",
                     "ceqe:ceq=0,cq=900,n=100000,batch=64", "ceqe:ceq=1,cq=900,n=100000,batch=64",
                     "ceqe:ceq=0,cq=0,n=20000,batch=16",
                     "ceqe:ceq=0,cq=900,n=100000", "ceqe:ceq=1,cq=900,n=100000",
                     "irq:cause=ceq1,n=100000", "irq:cause=aeq,n=100000"):
            inject(guest, what)
            took = max(timed(guest, cpu) for cpu in (0, 1))
            left = guest.card("inject")
            print(f"{what}: {took} ms, {left} to come then, {wait_injected(guest):.1f} s more")
            assert took < 10 * quiet + 1000, f"{took} ms instead of {quiet}"
        # All at once, and a second queue pair fails meanwhile.
        inject(guest, f"ae:code=0x50a,id={qp[0]},n=100000", "ceqe:ceq=0,cq=900,n=50000,batch=64",
               "ceqe:ceq=1,cq=900,n=50000", "irq:cause=aeq,n=20000",
               f"ae:code=0x20d,id={qp[1]}")
        print("all at once:", guest.run("qp-bringup -p generic | tail -1").output,
              max(timed(guest, cpu) for cpu in (0, 1)), "ms")
        wait_injected(guest)
        # The AEQ runs over: what is lost is lost, and said.
        inject(guest, f"ae:code=0x50a,id={qp[0]},n=5000,burst=1")
        time.sleep(0.5)
        inject(guest, f"ae:code=0x50a,id={qp[0]}")
        time.sleep(1)
        seen, _ = told(guest)
        assert seen[qp[0]] == expected("llp_too_many_retries", SQ), seen
        assert seen[qp[1]] == expected("ib_remote_access_error", SQ), seen
        assert "asynchronous events were lost" in guest.kernel_log
        print(guest.run("qp-bringup | tail -1; rmmod irdma").output)


@test(needs=NEEDS, timeout=300, full=True)
def interrupts(kernel: str) -> None:
    """Lost interrupts of each queue: nothing stands still for longer than a few seconds."""
    with Guest(Setup(kernel=kernel, allow=LINES)) as guest:
        lossy = {}
        for cause in ("aeq", "ceq0", "ceq1"):
            qps = watch(guest, 2)
            inject(guest, f"drop:cause={cause},n=2",
                   *(f"ae:code=0x50a,id={qp}" for qp in qps))
            began = time.monotonic()
            time.sleep(6)
            seen, _ = told(guest)
            lossy[cause] = time.monotonic() - began
            for qp in qps:
                assert seen[qp] == expected("llp_too_many_retries", SQ), (cause, seen)
        print(lossy)
        inject(guest, "drop:cause=all,n=3")
        began = time.monotonic()
        print(guest.run("qp-bringup | tail -1").output)
        print(f"with three lost interrupts a vector: {time.monotonic() - began:.1f} s")
        assert "interrupt" in guest.kernel_log
        began = time.monotonic()
        print(guest.run("qp-bringup | tail -1").output)
        print(f"with none: {time.monotonic() - began:.1f} s")
        # An entry that is not valid stays unseen, and nothing breaks but its CEQ's order.
        inject(guest, "ceqe:ceq=1,cq=900,stale=1")
        print(guest.run("qp-bringup | tail -1; rmmod irdma").output)


def vector_counts(guest: Guest) -> Dict[str, Tuple[int, str]]:
    """Interrupts so far and CPUs of each vector of the driver, by name."""
    script = r"""awk '/irdma-/ { n = 0; for (i = 2; i <= NF && $i ~ /^[0-9]+$/; i++) n += $i
        sub(":", "", $1); cmd = "cat /proc/irq/" $1 "/smp_affinity_list"; cmd | getline cpus
        sub("irdma-[^-]*-", "", $NF); print $NF, n, cpus }' /proc/interrupts"""
    return {name: (int(count), cpus) for name, count, cpus in
            (line.split() for line in guest.run(script).output.splitlines())}


@test(needs=NEEDS, timeout=300, full=True)
def vectors(kernel: str) -> None:
    """One CEQ a vector, on its CPU; CQs on the one that they ask for; down to one for all."""
    error = "ae:code=0x50a,id={}"
    with Guest(Setup(kernel=kernel, allow=LINES)) as guest:
        before = vector_counts(guest)
        print(before)
        assert list(before) == ["AEQ", "CEQ-0", "CEQ-1"], before
        assert (before["CEQ-0"][1], before["CEQ-1"][1]) == ("0", "1"), before
        qps = watch(guest, 2)           # on vectors 0 and 1
        before = vector_counts(guest)
        inject(guest, error.format(qps[1]))
        time.sleep(1)
        after = vector_counts(guest)
        assert after["CEQ-1"][0] > before["CEQ-1"][0], (before, after)
        assert told(guest)[0][qps[1]].wakeups == (1, 1)
    for options, names in ((["vectors=8"], ["AEQ-CEQ-0", "CEQ-1"]),
                           (["vectors=8", "ceqs=1"], ["AEQ-CEQ-0"])):
        setup = Setup(kernel=kernel, device_opts=options,
                      allow=(*LINES, "not enough device MSI-X vectors"))
        with Guest(setup) as guest:
            assert list(vector_counts(guest)) == names, vector_counts(guest)
            qps = watch(guest, 4)
            inject(guest, *(error.format(qp) for qp in qps))
            inject(guest, "ae:code=0x50a,id=400,n=20000", "ceqe:ceq=0,cq=900,n=20000,batch=16")
            wait_injected(guest)
            seen, _ = told(guest)
            for qp in qps:
                assert seen[qp] == expected("llp_too_many_retries", SQ), seen
            print(guest.run("qp-bringup | tail -1; rmmod irdma").output)


@test(needs=NEEDS, timeout=300, full=("6.1",))
def fatal(kernel: str) -> None:
    """An event that the device is beyond repair: given up once, reset once, back again."""
    with Guest(Setup(kernel=kernel, allow=FATAL)) as guest:
        watch(guest, 2)
        inject(guest, *(["ae:code=0x701,source=0"] * 20))
        wait_back(guest)
        output = guest.run("read pid </tmp/watch.pid; kill -USR1 $pid; sleep 2; cat /tmp/watch").output
        assert "DEVICE_FATAL" in output, output
        check_one_death(guest, "context of the function is damaged")
        print(guest.run("qp-bringup | tail -1; rmmod irdma").output)


def wait_back(guest: Guest, times: int = 1) -> None:
    """The device was given up, reset for that many times, and serves again."""
    guest.run(f"resets() {{ [ $(dmesg | grep -c 'asked for a reset') = {times} ]; }}\n"
              "await 60 resets; sleep 1; await 30 have_port_up || { dmesg | tail -30; exit 1; }")


def check_one_death(guest: Guest, why: str, times: int = 1) -> None:
    """The log says so many times that the device is given up, and that a reset is asked for."""
    log = guest.kernel_log
    assert len(re.findall(rf"device is given up: {why}", log)) == times, log[-3000:]
    assert log.count("asked for a reset of the function") == times, log[-3000:]


@test(needs=NEEDS, timeout=400, full=("6.1",))
def control_qp(kernel: str) -> None:
    """Answers that come late, out of order, twice: nothing happens but a line."""
    setup = Setup(kernel=kernel, allow=LINES, mem=1536)
    with Guest(setup) as guest:
        spoil(guest, "modify_qp!twice,create_qp!twice")
        print(guest.run("qp-bringup -p generic | tail -1").output)
        assert "no such command is in flight" in guest.kernel_log
        spoil(guest, "modify_qp!delay=300,reg_mr!delay=100,create_cq!delay=1")
        began = time.monotonic()
        print(guest.run("qp-bringup -p generic | tail -1").output)
        assert time.monotonic() - began > 1
        # More commands at once than the ring takes; answered in the reverse order.
        spoil(guest, "reg_mr!hold")
        job = guest.begin("cqp-depth 2100")
        held = 0
        for _ in range(300):
            held = int(guest.card("inject"))
            if held == 2047:
                break
            time.sleep(0.02)
        time.sleep(0.5)
        assert int(guest.card("inject")) == 2047, held
        spoil(guest, "")
        inject(guest, "release:newest=1")
        done = job.wait(150)
        print(done.output)
        assert done.status == 0 and "cqp-depth: PASS" in done.output, done
        print(guest.run("qp-bringup | tail -1; rmmod irdma").output)


@test(needs=NEEDS, timeout=400, full=True)
def control_qp_stops(kernel: str) -> None:
    """No answer, or none that can be believed: an error in time, one reset, back again."""
    with Guest(Setup(kernel=kernel, allow=FATAL)) as guest:
        for deaths, how in enumerate(("mute", "index", "cookie", "polarity"), 1):
            spoil(guest, f"modify_qp:1!{how}")
            began = time.monotonic()
            done = guest.run("qp-bringup -p generic 2>&1 | tail -5", check=False)
            took = time.monotonic() - began
            print(f"{how}: {took:.1f} s\n{done.output}")
            assert DEADLINE - 1 < took < DEADLINE + 6, took
            assert "FAIL" in done.output, done.output
            wait_back(guest, deaths)
            check_one_death(guest, "the control QP has stopped", deaths)
            # Loaded anew, it does not wait before the next reset.
            print(guest.run("qp-bringup | tail -1; rmmod irdma && insmod /host/irdma.ko").output)
        assert "it is another's" in guest.kernel_log
        print(guest.run("rmmod irdma").output)
