# SPDX-License-Identifier: GPL-2.0
"""Our module on the model, beside stock ice."""

import json
import re
from pathlib import Path
from typing import List

import image
from common import BUILD
from guest import Guest, Setup, Wire
from kernlog import REFUSAL
from testing import LOGS, guests, test

PROFILES = ("generic", "ceph", "ucx-rc", "ucx-ud", "nccl")
RELOADS = 20
LEAK_KIB = 1024         # slabs keep this much back; what the driver allocates it counts itself

# In a guest without the driver: what it needs, and a bring-up. The device is probed by insmod.
DEPENDENCIES = "modprobe -a $(modinfo -F depends /host/irdma.ko | tr , ' ')"
LOAD = 'insmod /host/irdma.ko || exit 1; [ -n "$(ls /sys/class/infiniband)" ] || exit 2'


def module_of(kernel: str) -> Path:
    """Our module for a kernel."""
    return BUILD / image.kernel(kernel).release / "irdma.ko"


def interrupts(guest: Guest) -> int:
    """Sum of the RDMA vectors' interrupts so far."""
    return int(guest.run("irq-count").output)


@test(needs=("images", "model", "modules", "programs"), timeout=240)
def qp_bringup(kernel: str) -> None:
    """Tools and queue pairs with each application's values; all of them given back."""
    trace = LOGS / f"module.{kernel}.trace"
    with Guest(Setup(kernel=kernel, driver="ours", trace=trace)) as guest:
        guest.run("ibv_devices")
        info = guest.run("ibv_devinfo -v").output
        assert "PORT_ACTIVE" in info, info
        before = interrupts(guest)
        for profile in PROFILES:
            print(guest.run(f"qp-bringup --sqd -p {profile}").output)
        after = interrupts(guest)
        assert after > before, f"{before} interrupts before, {after} after"
        guest.run("rmmod irdma && modprobe -r ice")


@test(needs=("images", "model", "modules", "programs"), guests=2, kernels=None, timeout=300)
def qp_bringup_with_peer() -> None:
    """As above, to another machine's address."""
    with Wire() as wire, guests(
            Guest(Setup(kernel="6.1", wire=wire, number=1), "one"),
            Guest(Setup(kernel="6.12", wire=wire, number=2), "two")) as pair:
        for guest in pair:
            guest.run("ping -c 1 -W 20 $PEER_ADDRESS")
            for profile in PROFILES:
                print(guest.run(f"qp-bringup --peer $PEER_ADDRESS -p {profile}").output)


@test(needs=("images", "model", "modules", "programs"), timeout=300)
def refusals(kernel: str) -> None:
    """What must be refused is, and leaves nothing behind."""
    with Guest(Setup(kernel=kernel, allow=[REFUSAL])) as guest:
        print(guest.run("verbs-negative", timeout=200).output)
        print(guest.run("uverbs-raw -n 2000", timeout=200).output)
        print(guest.run("qp-bringup").output)


@test(needs=("images", "model", "modules", "programs"), timeout=240, full=True)
def rings(kernel: str) -> None:
    """Ring memory that may not be written to; rings of what could not be made."""
    with Guest(Setup(kernel=kernel)) as guest:
        print(guest.run("uverbs-rings").output)
        print(guest.run("qp-bringup && rmmod irdma").output)


# What the device refuses in verbs-refused, and in what it leaves.
REFUSED_ONCE = "dealloc_stag:1,dealloc_stag:3,destroy_qp:1,destroy_cq:1"
REFUSED_ALWAYS = "dealloc_stag,destroy_qp,destroy_cq"


@test(needs=("images", "model", "modules", "programs"), timeout=240, full=True)
def refused_destroys(kernel: str) -> None:
    """A process is told if the device refuses to give up an object; the end of one is not."""
    setup = Setup(kernel=kernel, allow=[r"irdma\d: command (dealloc_stag|destroy_\w+) failed"])
    with Guest(setup) as guest:
        guest.set_card("fail", REFUSED_ONCE)
        print(guest.run("verbs-refused").output)
        guest.set_card("fail", REFUSED_ALWAYS)
        print(guest.run("verbs-refused --leave; sleep 1").output)
        guest.set_card("fail", "")
        left = guest.run("rdma resource show qp; rdma resource show mr").output
        assert "verbs-refused" not in left, left
        print(guest.run("qp-bringup && rmmod irdma").output)


@test(needs=("images", "model", "modules", "programs"), timeout=300)
def killed_processes(kernel: str) -> None:
    """Objects in random order, processes killed at any moment; then it still works."""
    with Guest(Setup(kernel=kernel, allow=[REFUSAL])) as guest:
        print(guest.run("verbs-churn -k 20 -n 200", timeout=200).output)
        print(guest.run("qp-bringup && rmmod irdma").output)


def free_memory(guest: Guest) -> int:
    """Free memory in KiB: what the kernel could give back counts, per-CPU page lists as well."""
    return int(guest.run("sync; echo 3 >/proc/sys/vm/drop_caches; sleep 0.5; "
                         "awk '/nr_free_pages/ { n += $2 } /^ +count:/ { n += $2 } "
                         "END { print n * 4 }' /proc/zoneinfo").output)


def assert_no_leak(guest: Guest, gone: int) -> None:
    """So many KiB must not be gone. A sanitized kernel, which keeps freed memory, finds leaks."""
    assert guest.kernel.sanitized or gone < LEAK_KIB, f"{gone} KiB are gone"


@test(needs=("images", "model", "modules", "programs"), timeout=400, full=("6.12",))
def reload(kernel: str) -> None:
    """Loaded and removed many times: the same free memory."""
    files = {"irdma.ko": module_of(kernel)}
    with Guest(Setup(kernel=kernel, driver="none", files=files)) as guest:
        cycle = f"( {LOAD} ) && rmmod irdma"
        guest.run(DEPENDENCIES)
        guest.run(cycle)
        guest.run(cycle)
        before = free_memory(guest)
        for _ in range(RELOADS):
            guest.run(cycle)
        after = free_memory(guest)
        print(f"free: {before} KiB, after {RELOADS} loads {after} KiB")
        assert_no_leak(guest, before - after)
        guest.run(f"{LOAD}; qp-bringup")


# Commands given for what the kernel does with the device once it is registered:
# addresses come, and the MAD layer makes its queue pair (after its CQ).
AFTERWARDS = {"create_qp", "create_ah", "reg_mr", "manage_arp", "work_sched_node"}


def commands_of_bringup(trace: Path) -> List[str]:
    """The CQP commands of a bring-up, in order, without those of the registered device."""
    events = [json.loads(line) for line in trace.read_text().splitlines()]
    commands = [event["op"] for event in events if event["ev"] == "cqp"]
    end = next((i for i, op in enumerate(commands) if op in AFTERWARDS), len(commands))
    while end and commands[end - 1] == "create_cq":
        end -= 1
    return commands[:end]


def failures_one_by_one(steps: List[str]) -> str:
    """Property fail: attempt i of a bring-up is refused at its i-th step.

    The device counts how often it has met a step since power on, so for each
    attempt the steps of the attempts before it are added up.
    """
    entries = []
    for attempt, step in enumerate(steps):
        count = sum(steps[:earlier + 1].count(step) for earlier in range(attempt + 1))
        entries.append(f"{step}:{count}")
    return ",".join(entries)


@test(needs=("images", "model", "modules", "programs"), timeout=600, full=("6.1",))
def failed_bringup(kernel: str) -> None:
    """The device refuses each step of the bring-up in turn: all before it is undone."""
    trace = LOGS / f"module-bringup.{kernel}.trace"
    with Guest(Setup(kernel=kernel, trace=trace)):
        pass
    steps = ["cqp-create", *commands_of_bringup(trace)]
    print("steps:", *steps)
    setup = Setup(kernel=kernel, driver="none", files={"irdma.ko": module_of(kernel)},
                  fail=failures_one_by_one(steps), allow=[r"irdma"])
    with Guest(setup) as guest:
        guest.run(DEPENDENCIES)
        memory = []
        for number, step in enumerate(steps, 1):
            done = guest.run(LOAD, check=False)
            if done.status != 2:
                raise guest.failure(f"bring-up with {step} refused: status {done.status}")
            log = guest.run("dmesg | tail -3; rmmod irdma").output
            print(f"{step}: {log}")
            assert "irdma" in log, f"no message says that {step} failed"
            if number in (2, len(steps)):
                memory.append(free_memory(guest))
        print("free memory:", *memory)
        assert_no_leak(guest, memory[0] - memory[-1])
        guest.run(f"{LOAD}; qp-bringup && rmmod irdma")


@test(needs=("images", "model", "modules", "programs", "test-modules"), timeout=240, full=True)
def offered_twice(kernel: str) -> None:
    """A function that ice offers once more while it is in use: refused, and the first goes on."""
    module = BUILD / image.kernel(kernel).release / "tests/offer_test.ko"
    setup = Setup(kernel=kernel, files={"offer_test.ko": module},
                  allow=[r"irdma.*: ice offers the function twice",
                         r"irdma.*: probe .*with error -16"])
    with Guest(setup) as guest:
        guest.run("insmod /host/offer_test.ko && rmmod offer_test")
        assert "offers the function twice" in guest.run("dmesg").output
        guest.run("qp-bringup && rmmod irdma")


@test(needs=("images", "model", "modules"), full=("6.1",))
def other_ice_is_refused(kernel: str) -> None:
    """A module built for an ice of another layout is refused by insmod."""
    module = module_of(kernel).read_bytes()
    # __versions has the checksum of each symbol, 8 bytes before its name.
    entry = re.search(rb".{8}ice_[a-z_]+\0{8}", module, re.DOTALL)
    assert entry, "the module uses no function of ice"
    other = LOGS / f"other-ice.{kernel}.ko"
    other.write_bytes(module[:entry.start()] + bytes([module[entry.start()] ^ 1]) +
                      module[entry.start() + 1:])
    setup = Setup(kernel=kernel, driver="none", files={"irdma.ko": other},
                  allow=["disagrees about version of symbol ice_", "Unknown symbol ice_"])
    with Guest(setup) as guest:
        done = guest.run(f"{DEPENDENCIES}; {LOAD}", check=False)
        print(done.output)
        assert done.status == 1 and "Invalid" in done.output, done
        assert "disagrees about version of symbol ice_" in guest.kernel_log
