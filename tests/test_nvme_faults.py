# SPDX-License-Identifier: GPL-2.0
"""NVMe over RDMA while something happens: requests complete or fail, contents stay right.

fio writes and verifies over and over in the host's guest (load()) while controllers are reset.
"""

import contextlib
import time
from typing import Iterator

from guest import Guest
from nvme import Host, Load, Target, fio_script, resources, wait_resources
from test_nvme import NEEDS, pair
from test_reset import ICE
from testing import test

# What the kernel says of connections that are lost.
LINES = [r"nvme nvme\d|nvmet|nvme\d(c\d)?n\d|irdma\d: QP \d+: event 0x50a", *ICE]
CYCLES = 50
KEEP_ALIVE = 5          # seconds
PATIENT = f"-i 2 -k {KEEP_ALIVE} -c 1 -l 600"

ROUND = [Load("4k", 16, 256, jobs=2,
              more="bssplit=512/20:4k/40:16k/20:64k/20\nverify_backlog=32\n")]
BEGIN = """
    rm -f /tmp/enough /tmp/ended
    echo 0 >/tmp/rounds
    cat >/tmp/round <<'SCRIPT'
{fio}
SCRIPT
    ( status=0
      while [ $status = 0 ] && [ ! -e /tmp/enough ]; do
          sh /tmp/round >/tmp/load 2>&1; status=$?
          echo $(($(cat /tmp/rounds) + 1)) >/tmp/rounds
      done
      echo $status >/tmp/ended ) </dev/null >/dev/null 2>&1 &
"""
ENOUGH = "touch /tmp/enough"
ENDED = """
    for i in $(seq 900); do [ -s /tmp/ended ] && break; sleep 0.1; done
    cat /tmp/load
    [ -s /tmp/ended ] && exit $(cat /tmp/ended)
    echo; for task in $(pidof fio); do cat /proc/$task/stack; done
    cat /sys/class/nvme/*/state
    exit 99
"""


def rounds(guest: Guest) -> int:
    """How often the load has been through."""
    return int(guest.run("cat /tmp/rounds").output)


def wait_rounds(guest: Guest, more: int = 1) -> None:
    """Wait until the load has been through so many times more."""
    until = rounds(guest) + more
    guest.run(f"for i in $(seq 1800); do [ $(cat /tmp/rounds) -ge {until} ] && exit 0\n"
              "[ -s /tmp/ended ] && break; sleep 0.1; done; cat /tmp/load; exit 1", timeout=240)


def wait_state(guest: Guest, state: str) -> None:
    """Wait until the controller is in that state; an empty one: until it is gone."""
    guest.run("for i in $(seq 2400); do\n"
              f"[ \"$(cat /sys/class/nvme/nvme*/state 2>/dev/null)\" = '{state}' ] && exit 0\n"
              "sleep 0.1; done; cat /sys/class/nvme/nvme*/state; exit 1", timeout=300)


@contextlib.contextmanager
def load(nvme: Host, fails: bool = False) -> Iterator[None]:
    """fio works on the second disk meanwhile; it ends well, or with a request that has failed."""
    guest = nvme.guest
    guest.run(BEGIN.format(fio=fio_script(nvme.disks[1], ROUND)))
    wait_rounds(guest)
    yield
    done = guest.run(ENDED if fails else ENOUGH + ENDED, timeout=180, check=False)
    print(f"{rounds(guest)} rounds of fio")
    assert "verify:" not in done.output and "verify failed" not in done.output, done.output
    assert done.status != 99 and (done.status != 0) == fails, done


@test(needs=NEEDS, guests=2, timeout=1500, full=True)
def cycles(kernel: str) -> None:
    """Connected and disconnected many times, host and target on our device: nothing is left."""
    with pair(kernel, both=True) as (one, two):
        with Target(two, mib=16) as served, Host(one, served, f"-i 2 -k {KEEP_ALIVE}") as nvme:
            one.run("echo something >/tmp/text; "
                    f"dd if=/tmp/text of={nvme.disks[0]} bs=4k conv=sync oflag=direct 2>&1")
            # Nothing but the keep-alive, for longer than the target would wait.
            time.sleep(3 * KEEP_ALIVE)
            wait_state(one, "live")
            nvme.disconnect()
            idle = [resources(guest) for guest in (one, two)]
            for _ in range(CYCLES):
                nvme.connect()
                one.run(f"dd if={nvme.disks[0]} bs=4k count=1 iflag=direct 2>/dev/null | "
                        "head -c 10 | cmp - /tmp/text")
                nvme.disconnect()
            for guest, had in zip((one, two), idle):
                wait_resources(guest, had)
            nvme.connect()


@test(needs=NEEDS, guests=2, timeout=900, full=True)
def controller_reset(kernel: str) -> None:
    """The controller is reset under load, host on our device, then target."""
    with pair(kernel, allow=LINES) as (card, soft):
        for host, target in ((card, soft), (soft, card)):
            with Target(target) as served, Host(host, served, PATIENT) as nvme, load(nvme):
                for _ in range(5):
                    host.run("sleep 0.5; nvme reset /dev/nvme0")
                    wait_state(host, "live")
                wait_rounds(host)
