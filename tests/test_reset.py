# SPDX-License-Identifier: GPL-2.0
"""What can happen to a device while processes use it: they live on, and it comes back.

The program survivor holds objects and always has a command in flight. Within
survivor() something happens; then its process must have seen what it should,
no verb may have taken long, and the device must work anew.
"""

import contextlib
import re
import time
from typing import Iterator, List, Sequence, Tuple

import image
import kernlog
from common import BUILD
from guest import Guest, Setup
from test_events import inject, spoil
from testing import test

NEEDS = ("images", "model", "modules", "programs")
# What a process sees of a device that is lost and comes back.
LOST = "--fatal --back 60"

# What the kernel may say of it.
DEATH = [r"irdma.*: device is given up: ", r"irdma\d: critical error of the protocol engine: ",
         r"irdma\d: asked for a reset of the function"]
SILENCE = [*DEATH, r"irdma.*: command \w+ was not answered within \d+ s"]
# Stock ice, of its own resets and of AdminQ commands that a device in reset does not take.
ICE = [r"ice 0000:01:00.0: unable to move VSI idx 1 into aggregator 1 node"]

# The address goes with the netdev.
NETWORK = """{
    await 30 have_netdev
    ip addr replace 10.0.0.1/24 dev eth0 && ip link set eth0 up; }"""
PCI = "/sys/bus/pci/devices/0000:01:00.0"

# Scripts that do something to the device.
FLR = f"echo 1 >{PCI}/reset"
DEVLINK = f"devlink dev reload pci/0000:01:00.0 && {NETWORK}"
REMOVE = f"echo 1 >{PCI}/remove && echo 1 >/sys/bus/pci/rescan && {NETWORK}"
ICE_UNBIND = f"""cd /sys/bus/pci/drivers/ice && echo 0000:01:00.0 >unbind &&
                 echo 0000:01:00.0 >bind && {NETWORK}"""
UNBIND = """cd /sys/bus/auxiliary/drivers/*irdma* && name=$(echo ice.roce.*) &&
            echo $name >unbind && echo $name >bind"""
RELOAD = "rmmod irdma && insmod /host/irdma.ko"
ROCE_OFF_ON = "".join(f"devlink dev param set pci/0000:01:00.0 name enable_roce value {value} "
                      "cmode runtime || exit 1\n" for value in ("false", "true"))


def bus_resets(kernel: str) -> List[Tuple[str, str]]:
    """Resets that an operator asks for. The ice of 6.1 cannot be reloaded by devlink."""
    return [("FLR", FLR)] + ([("devlink reload", DEVLINK)] if kernel != "6.1" else [])


def setup(kernel: str, allow: Sequence[str] = ()) -> Setup:
    return Setup(kernel=kernel, allow=[*allow, *ICE])


def begin(guest: Guest, options: str) -> None:
    """Start survivor; returns when it holds its objects."""
    guest.run(f"""
        rm -f /tmp/status /tmp/happened
        run() {{ survivor --until /tmp/happened {options}; echo $? >/tmp/status; }}
        start_until 30 holding /tmp/survivor run""")


def finish(guest: Guest) -> None:
    """Wait for survivor; GuestFailure if it has found anything wrong."""
    print(guest.run("""
        touch /tmp/happened
        await 120 test -e /tmp/status
        cat /tmp/survivor
        [ "$(cat /tmp/status)" = 0 ] && exit 0
        for t in /proc/$(pidof survivor)/task/*; do cat $t/comm $t/wchan $t/stack; done
        exit 1""", timeout=180).output)


@contextlib.contextmanager
def survivor(guest: Guest, what: str, options: str = LOST) -> Iterator[None]:
    """A process that must survive what is done in the body."""
    began = time.monotonic()
    print(f"--- {what}")
    begin(guest, options)
    yield
    finish(guest)
    print(f"{what}: {time.monotonic() - began:.1f} s")


def replug(guest: Guest) -> None:
    """Unplug the card as an operator does, and plug it in again."""
    guest.qmp("device_del", id="card")
    guest.run("while [ -e /sys/class/net/eth0 ]; do sleep 0.1; done")
    while not any(event["event"] == "DEVICE_DELETED" and event["data"].get("device") == "card"
                  for event in guest.qmp.events):
        time.sleep(0.1)
        guest.qmp("query-status")       # events come with answers
    guest.qmp.events.clear()
    guest.qmp("device_add", driver="e810", id="card", netdev="wire", bus="root0",
              mac=f"52:54:00:e8:10:0{guest.setup.number}")
    guest.run(NETWORK)


@test(needs=NEEDS, timeout=240, full=("6.12",))
def link_and_mtu(kernel: str) -> None:
    """Port events, and all objects go on working."""
    flap = "--events 'port error,port active'"
    with Guest(setup(kernel)) as guest:
        with survivor(guest, "link", flap):
            guest.qmp("set_link", name="card", up=False)
            guest.run("until ibv_devinfo | grep PORT_DOWN; do sleep 0.1; done")
            guest.qmp("set_link", name="card", up=True)
            guest.run("until ibv_devinfo | grep PORT_ACTIVE; do sleep 0.1; done")
        with survivor(guest, "interface down and up", flap):
            guest.run("ip link set eth0 down; sleep 0.5; ip link set eth0 up")
        for mtu, path in ((9000, 4096), (1500, 1024)):
            with survivor(guest, f"MTU {mtu}", ""):
                guest.run(f"ip link set eth0 mtu {mtu}; sleep 1")
            info = guest.run("ibv_devinfo").output
            assert f"active_mtu:\t\t{path} " in info, info


@test(needs=NEEDS, timeout=300, full=("6.1",))
def resets(kernel: str) -> None:
    """The function's reset, the device's, and those that the driver asks for."""
    with Guest(setup(kernel, DEATH)) as guest:
        for what, script in bus_resets(kernel):
            with survivor(guest, what):
                guest.run(script)
        for what in ("core-reset", "global-reset", "hmc-error", "push-error", "critical-error"):
            with survivor(guest, what):
                inject(guest, what)
        guest.run("rmmod irdma")


@test(needs=NEEDS, kernels=("6.12",), timeout=400, full=True)
def errors_after_reload(kernel: str) -> None:
    """ice has no timer after a reload by devlink; an error that it tells of ends in a reset still."""
    with Guest(setup(kernel, DEATH)) as guest:
        for _ in range(8):
            with survivor(guest, "devlink reload"):
                guest.run(DEVLINK)
            with survivor(guest, "hmc-error"):
                inject(guest, "hmc-error")
            guest.run(f"{RELOAD} && await 30 have_port_up")


@test(needs=NEEDS, timeout=600, full=("6.1",))
def removals(kernel: str) -> None:
    """The device is taken away in every way, by somebody who means it, and given back."""
    with Guest(setup(kernel)) as guest:
        for what, script in (("unbind", UNBIND), ("RoCE off and on", ROCE_OFF_ON),
                             ("unbind ice", ICE_UNBIND), ("remove and rescan", REMOVE)):
            with survivor(guest, what):
                guest.run(script)
        with survivor(guest, "rmmod"):
            # ice is in use by irdma; irdma is not in use by a process.
            guest.run(f"! rmmod ice 2>/dev/null && {RELOAD}")
        with survivor(guest, "rmmod of both"):
            guest.run(f"rmmod irdma && rmmod ice && modprobe ice && {NETWORK} && "
                      "insmod /host/irdma.ko")
        with survivor(guest, "hot unplug"):
            replug(guest)


@test(needs=NEEDS, timeout=600, full=("6.1",))
def silence(kernel: str) -> None:
    """A command that is never answered, by itself and while the device is taken away."""
    with Guest(setup(kernel, SILENCE)) as guest:
        with survivor(guest, "silence"):
            inject(guest, "cqp-hang")
        for what, script in (*bus_resets(kernel), ("unbind", UNBIND),
                             ("remove and rescan", REMOVE), ("rmmod", RELOAD)):
            with survivor(guest, f"silence, {what}", f"{LOST} --limit 8"):
                inject(guest, "cqp-hang")
                guest.run(script)
        with survivor(guest, "silence, core reset", f"{LOST} --limit 8"):
            inject(guest, "cqp-hang;core-reset")
        with survivor(guest, "silence, hot unplug", f"{LOST} --limit 8"):
            inject(guest, "cqp-hang")
            replug(guest)


# Reuse of pages, after which those that were written to while they were free are told.
REUSE = "dd if=/dev/zero of=/tmp/reuse bs=1M count=300 2>&1 && rm /tmp/reuse"
STUCK = [r"irdma.*: engine does not let go of the control QP", r"were never freed$",
         r"irdma.*: engine refuses the control QP", r"irdma.*: bring-up failed at .control QP.",
         r"irdma.*: probe .*failed with error"]


@test(needs=NEEDS, timeout=240, full=("6.12",))
def stuck_engine(kernel: str) -> None:
    """An engine that does not stop: what it may write to stays, and a reset brings it back."""
    with Guest(Setup(kernel=kernel, allow=[*SILENCE, *STUCK, *ICE],
                     append="page_poison=1")) as guest:
        with survivor(guest, "stuck engine", f"{LOST} --limit 8"):
            spoil(guest, "cqp-destroy")
            inject(guest, "cqp-hang")
            guest.run("rmmod irdma")
            inject(guest, "ae:code=0x50a,id=3,n=1000")
            guest.run(REUSE)
            guest.run("insmod /host/irdma.ko; [ -z \"$(ls /sys/class/infiniband)\" ]")
            guest.run("rmmod irdma")
            inject(guest, "ae:code=0x50a,id=3,n=100")
            guest.run(REUSE)
            spoil(guest, "")
            guest.run(f"{FLR} && insmod /host/irdma.ko")
        assert guest.kernel_log.count("does not let go of the control QP") == 2
        guest.run("rmmod irdma")


@test(needs=(*NEEDS, "test-modules"), timeout=300, full=("6.1",))
def kernel_consumer(kernel: str) -> None:
    """A consumer in the kernel: all of a lost device is given back in time, the next is used."""
    module = BUILD / image.kernel(kernel).release / "tests/verbs_test.ko"
    setup_ = Setup(kernel=kernel, files={"verbs_test.ko": module}, allow=[*SILENCE, *ICE])
    with Guest(setup_) as guest:
        def holds(times: int) -> None:
            guest.run(f"""
                holds() {{ [ $(dmesg | grep -c 'verbs-test: holding') = {times} ]; }}
                await 60 holds || {{ dmesg | tail -20; exit 1; }}""")

        guest.run("insmod /host/verbs_test.ko hold=1")
        # What happens, and whether an event tells of it before ib_core takes the device away.
        lost = []
        for what, happen, fatal in (
                ("FLR", lambda: guest.run(FLR), 0),
                ("rmmod", lambda: guest.run(RELOAD), 0),
                ("critical error", lambda: inject(guest, "critical-error"), 1),
                ("silence", lambda: inject(guest, "cqp-hang"), 1),
                ("silence, rmmod", lambda: (inject(guest, "cqp-hang"), guest.run(RELOAD)), 0),
                ("hot unplug", lambda: replug(guest), 0)):
            holds(len(lost) + 1)
            print(f"--- {what}")
            happen()
            lost.append(fatal)
        holds(len(lost) + 1)
        guest.run("rmmod verbs_test && rmmod irdma")
        told = re.findall(r"given back: held (\d), fatal (\d), .*", guest.run("dmesg").output)
        print(guest.run("dmesg | grep verbs-test:").output)
        assert told == [("1", str(fatal)) for fatal in [*lost, 0]], told


@test(needs=NEEDS, timeout=300, full=("6.1",))
def surprise_removal(kernel: str) -> None:
    """The card is pulled out. What stock ice makes of it is not our concern."""
    allow = [r"\bice\b.*[Ff]ailed|\(NULL net_device\): Failed|Error removing VLAN|"
             r"Unable to (turn off|unregister)|(WARNING|RIP): .*ice_adapter_put|"
             r"Modules linked in:|Call Trace:"]
    with Guest(setup(kernel, allow)) as guest:
        with survivor(guest, "pulled out", "--fatal --back 90 --limit 5"):
            guest.set_card("gone", True)
            guest.run(f"sleep 2; echo 1 >{PCI}/remove")
            guest.set_card("gone", False)
            guest.run(f"echo 1 >/sys/bus/pci/rescan && {NETWORK}")
        traces, ices = kernlog.call_traces(guest.kernel_log, "ice_adapter.c")
        assert traces == ices, f"{traces} call traces, {ices} of ice"


@test(needs=NEEDS, timeout=300, full=True)
def no_endless_resets(kernel: str) -> None:
    """A device that asks for a reset after each is left alone after some, until the next load."""
    allow = [*DEATH, r"irdma.*: command create_qp failed: engine needs a reset",
             r"irdma.*: 4 resets have not helped: out of use", r"infiniband irdma\d: Couldn't"]
    with Guest(setup(kernel, allow)) as guest:
        spoil(guest, "create_qp=ffff.8029")
        guest.run("qp-bringup && exit 1; await 90 eval \"dmesg | grep -q 'have not helped'\" || "
                  "{ dmesg; exit 1; }", timeout=150)
        print(guest.run("sleep 2; dmesg | grep irdma").output)
        asked = guest.kernel_log.count("asked for a reset")
        assert asked == 4, f"{asked} resets"
        spoil(guest, "")
        guest.run(f"{RELOAD} && qp-bringup")


# A device that dies while it is registered, and that ice will not let have its packets.
UNDONE = [r"irdma.*: command create_qp failed: engine needs a reset",
          r"infiniband irdma\d: Couldn't", r"irdma.*: probe .*failed with error",
          r"ice 0000:01:00.0: Failed to +(en|dis)able RDMA filtering"]


@test(needs=NEEDS, timeout=240, full=True)
def registration_undone(kernel: str) -> None:
    """A registration is undone as the device dies: no reset that was planned is left of it."""
    fatal = "create_qp{}=ffff.8029"
    with Guest(setup(kernel, [*DEATH, *UNDONE])) as guest:
        # The first reset comes at once, the next a second after it is planned.
        spoil(guest, fatal.format(":1"))
        guest.run("qp-bringup && exit 1; await 60 qp-bringup >/dev/null 2>&1 || { dmesg; exit 1; }",
                  timeout=150)
        guest.run("cd /sys/bus/auxiliary/drivers/*irdma* && "
                  "echo ice.roce.* | tee /tmp/name >unbind")
        spoil(guest, f"{fatal.format('')},aq-update-vsi")
        bind = "cat /tmp/name >$(echo /sys/bus/auxiliary/drivers/*irdma*)/bind"
        guest.run(f"! {bind} && sleep 3 && [ -z \"$(ls /sys/class/infiniband)\" ]")
        spoil(guest, "")
        guest.run(f"{bind} && qp-bringup && rmmod irdma")
        asked = guest.kernel_log.count("asked for a reset")
        assert asked == 1, f"{asked} resets"


ANY_MOMENT = """
    RANDOM=7
    away() { sleep 0.$((RANDOM % 10))$((RANDOM % 10)); }
    for round in $(seq 12); do
        for i in 1 2 3; do
            survivor --until /nowhere >/tmp/survivor$i 2>&1 </dev/null &
            pids[i]=$!
        done
        away
        [ $((RANDOM % 2)) = 0 ] || kill -9 ${pids[1]}
        case $((round % 3)) in
        0) rmmod irdma; away; insmod /host/irdma.ko ;;
        1) ( cd /sys/bus/auxiliary/drivers/*irdma* && name=$(echo ice.roce.*) &&
             echo $name >unbind && echo $name >bind ) ;;
        2) echo 1 >/sys/bus/pci/devices/0000:01:00.0/reset ;;
        esac
        [ $((RANDOM % 2)) = 0 ] || kill -9 ${pids[2]} 2>/dev/null
        away
        kill -9 ${pids[@]} 2>/dev/null
        wait
    done
"""


@test(needs=NEEDS, timeout=300, full=True)
def any_moment(kernel: str) -> None:
    """Loads, unloads and resets while processes come, work and are killed."""
    with Guest(setup(kernel)) as guest:
        guest.run(ANY_MOMENT, timeout=200)
        guest.run("await 60 qp-bringup && rmmod irdma")
