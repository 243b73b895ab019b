# SPDX-License-Identifier: GPL-2.0
"""The driver under 6.12-san, a kernel that checks itself: any report fails the run.

First that each of the kernel's checks works, in C++ as in C, by faults made on
purpose; then tests of other topics. Others can be run so by their name:
scripts/check --kernel 6.12-san NAME.
"""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Callable

import image
import kernlog
from common import BUILD, SANITIZED, SLOWNESS, TOP, figure
import test_abuse
import test_addresses
import test_data
import test_events
import test_memory
import test_module
import test_nvme
import test_qos
import test_reset
import test_verbs
from guest import Guest, Setup
from testing import test

NEEDS = ("images", "model", "programs", "sanitized")

# What a fault (tests/sanitized/faults.cpp and .c) must report. The lock order comes first,
# because lockdep is off after a report of KASAN, and after its own.
FAULTS = {
    "lock_order": r"possible circular locking dependency",
    "beyond_heap": r"KASAN: slab-out-of-bounds in \w*beyond_heap",
    "freed": r"KASAN: slab-use-after-free in \w*freed",
    "beyond_stack": r"KASAN: stack-out-of-bounds in \w*beyond_stack",
    "beyond_global": r"KASAN: global-out-of-bounds in \w*beyond_global",
    "beyond_array": r"UBSAN: array-index-out-of-bounds in \S*faults.cpp:",
    "wide_shift": r"UBSAN: shift-out-of-bounds in \S*faults.cpp:",
    "odd_bool": r"UBSAN: invalid-load in \S*faults.cpp:.*\n.*'bool'",
    "odd_enum": r"UBSAN: invalid-load in \S*faults.cpp:.*\n.*Plain'",
    "armed_timer": r"ODEBUG: free active .*timer_list",
    "dma_size": r"DMA-API: ice .*device driver frees DMA memory with different size",
    "stale_object": r"\[Poison overwritten\] ",
    "stale_page": r"pagealloc: memory corruption",
    "sleep_in_atomic": r"BUG: sleeping function called from invalid context",
    "leak": r"kmemleak: [1-9]\d* leaks at the end",
}


def faulty_module() -> Path:
    """The module with the faults, built for 6.12-san by the rules of ours."""
    tree = BUILD / "faulty"
    shutil.rmtree(tree, ignore_errors=True)
    faults = TOP / "tests/sanitized"
    for folder, kind in (("shim", "*.c"), ("drivers/irdma", "*.cpp")):
        (tree / folder).mkdir(parents=True)
        for source in (*faults.glob(kind), *faults.glob("*.h")):
            shutil.copy(source, tree / folder)
    shutil.copy(TOP / "tests/build-checks/good/sizes.c", tree / "shim")
    for name in ("Kbuild", "Makefile", "scripts"):
        (tree / name).symlink_to(TOP / name)
    done = subprocess.run(["make", "-C", tree, "modules", f"KVER={SANITIZED}"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
    return tree / "build" / image.kernel(SANITIZED).release / "irdma.ko"


@test(needs=NEEDS, kernels=None, timeout=180 * SLOWNESS, full=True)
def faults_are_reported() -> None:
    """Each check of the kernel notices what it is for, in C++ and in C."""
    with Guest(Setup(kernel=SANITIZED, driver="none",
                     files={"irdma.ko": faulty_module()})) as guest:
        guest.run("modprobe ib_uverbs; insmod /host/irdma.ko")
        for fault in FAULTS:
            guest.run(f"echo {fault} >/sys/module/irdma/parameters/fault")
        guest.stop(check=False)
        serial = guest.kernel_log
        shutil.rmtree(guest.folder)
    found = kernlog.problems(serial, "")
    print("\n".join(found))
    for fault, report in FAULTS.items():
        said = re.search(report, serial)
        assert said, f"{fault} is not reported"
        assert any(said[0].partition("\n")[0] in line for line in found), f"{said[0]} is overlooked"


# Tests of other topics by their names here, which no pattern for those topics matches.
OTHERS = {
    "bring_up": test_module.qp_bringup,
    "failing_bring_up": test_module.failed_bringup,
    "loads": test_module.reload,
    "refused": test_module.refusals,
    "killed": test_module.killed_processes,
    "ring_memory": test_module.rings,
    "hostile": test_abuse.eight_at_once,
    "regions": test_memory.registrations,
    "table": test_verbs.modify_table,
    "threads": test_verbs.events_and_threads,
    "consumer": test_verbs.kernel_consumer,
    "codes": test_events.codes,
    "classes": test_qos.changes,
    "failing_classes": test_qos.failures,
    "ports": test_reset.link_and_mtu,
    "losses": test_reset.resets,
    "departures": test_reset.removals,
    "quiet": test_reset.silence,
    "losing_consumer": test_reset.kernel_consumer,
    "pulled_out": test_reset.surprise_removal,
    "at_any_time": test_reset.any_moment,
    "undone": test_reset.registration_undone,
    "bonds": test_addresses.bonding,
    "exchange": test_data.ours_with_rxe,
    "nvme": test_nvme.host_short,
    "nvme_target": test_nvme.target_short,
}
PAIRS = ("exchange", "nvme", "nvme_target")     # of two guests


def also(name: str, function: Callable) -> None:
    """Have a test of another topic run here as well, for the sanitized kernel."""
    def run() -> None:
        function(SANITIZED)

    run.__name__ = name
    run.__doc__ = function.__doc__
    test(needs=NEEDS, kernels=None, guests=2 if name in PAIRS else 1,
         timeout=600 * SLOWNESS, full=True)(run)


for _name, _function in OTHERS.items():
    also(_name, _function)


# What the kernel and the driver tell of memory that there is not.
NO_MEMORY = [r"irdma.*: (bring-up failed|no memory)", r"irdma.*: probe .*failed with error -12",
             r"infiniband irdma\d: Couldn't ", r"vmalloc error: ", r"Call Trace:",
             r"workqueue: Failed to (create|allocate) a rescuer ", r"kobject_add_internal failed",
             r"debugfs: out of free dentries"]
# And of a module that the kernel has no memory to load: its symbols, events, types, links.
NO_MODULE = [r"irdma: Unknown symbol \w+ \(err -12\)", r"\berror code is -12$",
             r"No memory to create event subsystem irdma", r"Failed to create system directory irdma",
             r"BPF: Max chain length or cycle detected", r"failed to \w+ module \[irdma\] BTF",
             r"kobject: can not set name properly!",
             r"bus_add_driver: (uevent attr |add_bind_files)\(irdma\) failed",
             r"bus_add_driver: failed to create module links for irdma"]


def show_failures(output: str) -> None:
    """Print what allocation-failures has said, and count the allocations that it let fail."""
    print(output)
    for count in re.findall(r": (\d+) allocations, ", output):
        figure("failed allocations", int(count))


# It has the memory of two others.
@test(needs=NEEDS, kernels=None, guests=2, timeout=200 * SLOWNESS)
def smoke() -> None:
    """A bit of all: verbs of processes and of the kernel, no memory, a reset, unload."""
    module = test_verbs.test_module(SANITIZED)
    setup = Setup(kernel=SANITIZED, files={"verbs_test.ko": module},
                  allow=[kernlog.REFUSAL, test_verbs.EVENT, *NO_MEMORY, *test_reset.ICE])
    with Guest(setup) as guest:
        print(guest.run("qp-bringup --sqd -p ceph && qp-bringup -p ucx-ud").output)
        print(guest.run("verbs-churn -k 3 -n 60").output)
        for part in ("objects", "mcast", "flush", "data"):
            guest.run(f"insmod /host/verbs_test.ko only={part} && rmmod verbs_test")
        show_failures(guest.run("allocation-failures verbs").output)
        with test_reset.survivor(guest, "FLR"):
            guest.run(test_reset.FLR)
        guest.run("mr-data rereg-ages && rmmod irdma && modprobe -r ice")


# The module alone, without a device to serve.
ALONE = """
    roce() {
        devlink dev param set pci/0000:01:00.0 name enable_roce value $1 cmode runtime
    }
    rmmod irdma && roce false && allocation-failures module && roce true && insmod /host/irdma.ko
"""


def sweep(script: str, *allow: str) -> None:
    """Run allocation-failures; no report, no leak, and the device works afterwards."""
    with Guest(Setup(kernel=SANITIZED, allow=[*NO_MEMORY, *allow])) as guest:
        show_failures(guest.run(script, timeout=500).output)
        guest.run("qp-bringup && rmmod irdma")
        traces, said = kernlog.call_traces(guest.kernel_log, "vmalloc error: ")
        assert traces == said, f"{traces} call traces, {said} for want of memory"


@test(needs=NEEDS, kernels=None, timeout=600 * SLOWNESS, full=True)
def allocation_failures() -> None:
    """Each allocation of a verb fails once, many fail by chance: an errno, nothing is left."""
    sweep("allocation-failures verbs core && allocation-failures -p 5 verbs-churn -n 200")


@test(needs=NEEDS, kernels=None, timeout=600 * SLOWNESS, full=True)
def allocation_failures_of_device() -> None:
    """The same as a device comes and goes."""
    # Of ib_core's, some: most are the buffers of its management datagrams.
    sweep("allocation-failures device && allocation-failures -s 61 registration")


@test(needs=NEEDS, kernels=None, timeout=600 * SLOWNESS, full=True)
def allocation_failures_of_load() -> None:
    """The same as the module comes and goes."""
    sweep(ALONE, *NO_MODULE)
