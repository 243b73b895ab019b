# SPDX-License-Identifier: GPL-2.0
"""What no sane user, administrator or operator does, all at once and in odd combinations.

None of it may cost more than what was asked for: no warning, no hang, and the
device works as before.
"""

import re
import time
from typing import Dict

from common import TOP
from guest import Guest, Setup
from held import hold
from kernlog import REFUSAL
from test_faults import ALLOW
from test_reset import FLR, ROCE_OFF_ON, replug
from testing import test

FULL_KERNELS = ("6.1", "6.12")

NEEDS = ("images", "model", "modules", "programs")
PCI = "/sys/bus/pci/devices/0000:01:00.0"
# The address goes with the netdev.
NETWORK = "ip addr replace 10.0.0.1/24 dev eth0 && ip link set eth0 up"
WORKS = "await 30 qp-bringup >/tmp/works 2>&1 || { cat /tmp/works; exit 1; }"


@test(needs=NEEDS, timeout=400)
def processes(kernel: str) -> None:
    """Shared contexts, unmapped rings, all there is of a kind, any system call."""
    with Guest(Setup(kernel=kernel, allow=[REFUSAL])) as guest:
        print(guest.run("verbs-abuse -m 1500", timeout=300).output)
        # Two processes have the doorbell page mapped while the device goes.
        print(guest.run("""
            rm -f /tmp/gone
            start_until 30 holding /tmp/holding verbs-abuse -u /tmp/gone
            sleep 0.3
            rmmod irdma && touch /tmp/gone
            wait $!
            status=$?
            cat /tmp/holding
            insmod /host/irdma.ko && exit $status""").output)
        guest.run(WORKS)


# Six that end by themselves, and two kinds that are killed again and again.
EIGHT = """
    run() {
        "$@" >/tmp/out.$$.$1.$n 2>&1
        status=$?
        [ $status = 0 ] || { echo "$*: status $status"; tail -3 /tmp/out.$$.$1.$n; touch /tmp/failed; }
    }
    rm -f /tmp/failed
    n=0
    for what in "uverbs-raw -s 11 -n 500 -m 64" "uverbs-raw -s 12 -n 500 -m 64" \
                "uverbs-raw -s 13 -n 500 -m 64" "verbs-abuse -s 14 -n 3000 calls" \
                "verbs-abuse mappings sharing rings" "verbs-churn -s 15 -P 2 -k 5 -n 60"; do
        n=$((n + 1))
        run $what &
        running="$running $!"
    done
    for victim in "uverbs-raw -s 16" "verbs-abuse -s 17 -n 100000 calls"; do
        for pause in 1 0.3 3 0.1 2 0.7; do
            $victim >/dev/null 2>&1 &
            sleep $pause
            kill -9 $!
        done &
        running="$running $!"
    done
    wait $running
    [ ! -e /tmp/failed ]
"""


@test(needs=NEEDS, timeout=400)
def eight_at_once(kernel: str) -> None:
    """Hostile processes beside each other, some of them killed: nothing is left of them."""
    with Guest(Setup(kernel=kernel, allow=[REFUSAL])) as guest:
        print(guest.run(EIGHT, timeout=300).output)
        guest.run(f"({WORKS}) && rmmod irdma")


@test(needs=NEEDS, timeout=240)
def own_addresses(kernel: str) -> None:
    """More addresses of the port than the ARP table has entries: others can be reached."""
    # ib_core's table of GIDs is full long before.
    with Guest(Setup(kernel=kernel, allow=["__ib_cache_gid_add: unable to add gid"])) as guest:
        guest.run("""
            for i in 1 2 3; do
                for j in $(seq 250); do echo addr add 10.4.$i.$j/32 dev eth0; done
            done >/tmp/addresses
            ip -b /tmp/addresses
            sleep 2
            ip neigh replace 10.0.0.55 lladdr 02:00:00:00:00:55 dev eth0 nud permanent""")
        print(guest.run("qp-path --to 10.0.0.55 && qp-path --to 10.4.1.1 && qp-bringup").output)
        guest.run("sed -i 's/^addr add/addr del/' /tmp/addresses; ip -b /tmp/addresses; sleep 1; "
                  "qp-path --to 10.0.0.55 && qp-bringup && rmmod irdma")


@test(needs=NEEDS, timeout=240)
def name_spaces(kernel: str) -> None:
    """The netdev, and the device itself, move to another network namespace and back."""
    inside = "ip netns exec other"
    with Guest(Setup(kernel=kernel)) as guest:
        # In exclusive mode the RDMA device is in one of them; there must be no other to turn it on.
        guest.run(f"""
            set -e
            rdma system set netns exclusive
            ip netns add other
            {hold()}
            rdma dev set irdma0 netns other
            [ -z "$(rdma link)" ]
            ip link set eth0 netns other
            {inside} ip link set lo up
            {inside} ip addr add 10.0.0.1/24 dev eth0
            {inside} ip link set eth0 up
            sleep 1
            {inside} qp-bringup
            kill $(cat /tmp/held.pid)
            # A device that comes anew begins in the first namespace.
            rmmod irdma
            insmod /host/irdma.ko
            await 10 have_rdma
            rdma dev set irdma0 netns other
            {inside} qp-bringup
            ip netns del other
            await 10 have_netdev
            await 10 have_rdma
            rdma system set netns shared
            {NETWORK}""")
        guest.run(WORKS)
        guest.run(f"""
            set -e
            ip netns add other
            ip link set eth0 netns other
            {inside} ip link set lo up
            {inside} ip addr add 10.0.0.1/24 dev eth0
            {inside} ip link set eth0 name lan
            {inside} ip link set lan up
            sleep 1
            {inside} qp-bringup
            rmmod irdma
            insmod /host/irdma.ko
            sleep 1
            {inside} qp-bringup
            {inside} ip link set lan down
            {inside} ip link set lan name eth0
            ip netns del other
            await 10 have_netdev
            {NETWORK}""")
        guest.run(WORKS)


CONSUMERS = "ib_iser ib_isert ib_srp ib_srpt nvme_rdma nvmet_rdma ib_umad rdma_ucm null_blk"
NVME_TARGET = """
    set -e
    mount -t configfs none /sys/kernel/config
    cd /sys/kernel/config/nvmet
    mkdir subsystems/s ports/1
    echo 1 >subsystems/s/attr_allow_any_host
    cd ports/1
    echo rdma >addr_trtype
    echo ipv4 >addr_adrfam
    echo 10.0.0.1 >addr_traddr
    echo 4420 >addr_trsvcid
"""
# A listener goes with its device for good; that is the target's way.
DISCOVER = """
    set -e
    ln -s /sys/kernel/config/nvmet/subsystems/s /sys/kernel/config/nvmet/ports/1/subsystems/s
    nvme discover -t rdma -a 10.0.0.1 -s 4420"""


@test(needs=NEEDS, timeout=300)
def consumers_in_the_kernel(kernel: str) -> None:
    """Targets of NVMe, SRP and iSER listen, an initiator comes, then the driver goes."""
    # What isert says of a kernel without a folder for its data.
    allow = ["db_root: cannot open", "Removing ctrl"]
    with Guest(Setup(kernel=kernel, allow=allow)) as guest:
        guest.run(f"for m in {CONSUMERS}; do modprobe $m || exit 1; done")
        guest.run(NVME_TARGET)
        for _ in range(2):
            print(guest.run(DISCOVER).output)
            guest.run(f"""
                rping -s -P -a 10.0.0.1 >/dev/null 2>&1 & sleep 0.5
                timeout 60 rping -c -a 10.0.0.1 -C 3 || exit 1
                rmmod irdma && insmod /host/irdma.ko || exit 1
                kill $! 2>/dev/null
                rm /sys/kernel/config/nvmet/ports/1/subsystems/s
                {WORKS}""")


@test(needs=NEEDS, timeout=240)
def suspend(kernel: str) -> None:
    """Suspended and resumed, with a queue pair in use; ice takes the device away meanwhile."""
    with Guest(Setup(kernel=kernel)) as guest:
        guest.run(hold() + """
            for level in devices platform; do
                echo $level >/sys/power/pm_test
                echo mem >/sys/power/state || exit 1
            done
            kill $(cat /tmp/held.pid)""")
        guest.run(WORKS)


# Loops that run at once until the time is up.
STORM = (
    """cd /sys/bus/auxiliary/drivers/*irdma* && for name in ice.roce.*; do
         echo $name >unbind; sleep 0.$((RANDOM % 10)); echo $name >bind; done; cd /""",
    "rmmod irdma; insmod /host/irdma.ko; sleep 1.$((RANDOM % 10))",
    f"echo 1 >{PCI}/reset; sleep 2.$((RANDOM % 10))",
    """rdma resource show; rdma -d -d resource show qp; rdma statistic show; ibv_devinfo -v
       cat /sys/class/infiniband/*/ports/1/hw_counters/*""",
    "ip addr add 10.20.0.1/24 dev eth0; ip addr del 10.20.0.1/24 dev eth0",
    "timeout -s KILL 3 qp-bringup; timeout -s KILL 0.7 verbs-churn -n 100",
    "rdma dev set irdma0 name other; rdma dev set other name irdma0",
)
# ice of 6.1 oopses in ice_napi_poll() when its queues are opened during a reset.
QUEUES_REOPEN = """ip link set eth0 mtu 9000; ip link set eth0 down
       ip link set eth0 up; ip link set eth0 mtu 1500"""


@test(needs=NEEDS, timeout=300)
def storm(kernel: str) -> None:
    """Unbinding, unloading, resets, renaming, listings, MTU and work at the same time."""
    # ice and ib_core, about a device that goes while they ask it for something.
    allow = [r"ice 0000:01:00.0", r"infiniband irdma\d: Couldn't", r"eth0 speed is unknown"]
    with Guest(Setup(kernel=kernel, allow=allow)) as guest:
        actions = STORM if kernel == "6.1" else (*STORM, QUEUES_REOPEN)
        loops = "".join(f"( while [ $SECONDS -lt $end ]; do {loop}\ndone ) >/dev/null 2>&1 &\n"
                        for loop in actions)
        guest.run(f"end=$((SECONDS + 30))\n{loops}wait", timeout=200)
        guest.run(f"""
            lsmod | grep -q irdma || insmod /host/irdma.ko
            {NETWORK}
            {WORKS}""")
        guest.run("rmmod irdma")


# Work of all kinds without end, by processes that are killed: objects, data, connections.
LOAD = """
    for job in 'verbs-churn -n 100' 'verbs-model -s $RANDOM -n 500' 'mr-data churn -n 20' \\
               'cq-resize 2'; do
        ( while :; do eval "timeout -s KILL 5 $job"; done ) >/dev/null 2>&1 </dev/null &
        echo $! >>/tmp/load
    done
"""
LOAD_ENDS = "kill $(cat /tmp/load); rm /tmp/load; sleep 6"


def any_reset(guest: Guest) -> None:
    """The device works, after a reset of the function if need be."""
    guest.run("await 20 timeout 10 qp-bringup >/tmp/works && exit\n"
              f"rmmod irdma; {FLR}; sleep 1; insmod /host/irdma.ko; {WORKS}")


@test(needs=NEEDS, timeout=400)
def plugs(kernel: str) -> None:
    """The card is unplugged and plugged in again and again, under a load."""
    with Guest(Setup(kernel=kernel, allow=ALLOW)) as guest:
        guest.run(LOAD)
        for number in range(4):
            time.sleep(number)
            replug(guest)
        guest.run(LOAD_ENDS)
        guest.run(WORKS)
        guest.run("rmmod irdma")


@test(needs=NEEDS, timeout=400)
def reset_button(kernel: str) -> None:
    """The machine is reset under a load: the next system finds a device as new."""
    with Guest(Setup(kernel=kernel, append="page_poison=1")) as guest:
        for number in range(2):
            guest.run(LOAD)
            time.sleep(2 + number)
            guest.reset()
            guest.run(WORKS)
            guest.run("dd if=/dev/zero of=/tmp/reuse bs=1M count=300 2>&1 && rm /tmp/reuse")
        guest.run("rmmod irdma")


@test(needs=NEEDS, timeout=400)
def resets_under_load(kernel: str) -> None:
    """Function resets, RoCE off and on, and all that rdma can do to a link, under a load."""
    with Guest(Setup(kernel=kernel, allow=ALLOW)) as guest:
        guest.run(LOAD)
        guest.run(f"for i in $(seq 10); do {FLR}; sleep 0.$((RANDOM % 10)); done", timeout=200)
        guest.run(f"for i in $(seq 6); do ( {ROCE_OFF_ON} ); sleep 0.$((RANDOM % 10)); done",
                  timeout=200)
        # It is no device that rdma has made.
        guest.run("""
            for i in $(seq 5); do
                rdma link delete irdma0/1 && exit 1
                rdma link delete irdma0 && exit 1
                rdma link add other type irdma netdev eth0 && exit 1
                rdma dev set irdma0 adaptive-moderation on
                rdma dev set irdma0 adaptive-moderation off
            done
            exit 0""", timeout=200)
        guest.run(LOAD_ENDS)
        guest.run(WORKS)
        guest.run("rmmod irdma")


@test(needs=NEEDS, timeout=300)
def poor_and_many(kernel: str) -> None:
    """Processes that may lock no memory; many of them at once; CQs that are resized in use."""
    nobody = "setpriv --reuid 65534 --clear-groups --inh-caps=-all --bounding-set=-all"
    with Guest(Setup(kernel=kernel, allow=[REFUSAL])) as guest:
        print(guest.run("cq-resize 10").output)
        guest.run(f"""
            chmod 666 /dev/infiniband/*
            {nobody} qp-bringup || exit 1
            ulimit -l 0
            for i in $(seq 20); do
                {nobody} qp-bringup >/tmp/poor 2>&1 && exit 1
                {nobody} mr-data churn -n 5 >/tmp/poor 2>&1 && exit 1
            done
            exit 0""")
        print(guest.run("""
            for i in $(seq 40); do
                ( qp-bringup -p ucx-ud; qp-bringup ) >/tmp/one.$i 2>&1 &
                pids="$pids $!"
            done
            for pid in $pids; do wait $pid || failed=1; done
            tail -qn 1 /tmp/one.* | sort | uniq -c
            [ -z "$failed" ]""", timeout=240).output)
        guest.run(WORKS)
        guest.run("rmmod irdma")


# Where the device would be told to use memory that is none of the driver's.
CONTEXTS = ("pfpe_ccqplow", "pfpe_ccqphigh")


def own_registers() -> Dict[str, str]:
    """Registers and doorbells of the protocol engine, as bar-noise takes them."""
    text = (TOP / "drivers/irdma/hw/regs.h").read_text()
    found = dict(re.findall(r"u32 (pf(?:pe|hmc|int)_\w+) = (0x\w+);", text))
    return {"page": "0x7f0000+4096",
            **{name: at for name, at in found.items() if name not in CONTEXTS}}


@test(needs=NEEDS, timeout=400)
def noise_in_registers(kernel: str) -> None:
    """Somebody writes to the engine's registers and doorbells below the driver."""
    places = own_registers()
    assert {"page", "pfpe_cqpdb", "pfpe_aeqalloc", "pfint_aeqctl"} <= set(places), places
    with Guest(Setup(kernel=kernel, allow=ALLOW, append="iomem=relaxed")) as guest:
        for seed in range(1, 7):
            # That doorbell ends the control QP at once; what the others do is seen without it.
            chosen = [at for name, at in places.items() if seed % 2 or name != "pfpe_cqpdb"]
            guest.run(LOAD)
            print(guest.run(f"bar-noise -s {seed} -n 3000 -w 500 {' '.join(chosen)}").output)
            guest.run(LOAD_ENDS)
            any_reset(guest)
        print(guest.run("dmesg | grep irdma | tail -40").output)
        guest.run("rmmod irdma")
