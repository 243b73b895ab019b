# SPDX-License-Identifier: GPL-2.0
"""NVMe over RDMA while something happens: requests complete or fail, contents stay right.

fio writes and verifies over and over in the host's guest (load()) while controllers are reset,
the path is lost, or our module is unloaded. Beside it one page after the other is written with
a number; what was written by the last word of a request must be there at the end (written()).
"""

import contextlib
import time
from typing import Iterator

from guest import Guest
from nvme import Host, Load, Target, fio_script, resources, wait_resources
from test_nvme import NEEDS, SHORT, pair
from test_reset import ICE
from testing import test

# What the kernel says of connections that are lost. rxe sends unanswered requests again, and
# registers memory again as well, which fails.
LINES = [r"nvme nvme\d|nvmet|nvme\d(c\d)?n\d|cm_destroy_id_wait_timeout: |rxe_reg_fast_mr: ",
         r"irdma\d: QP \d+: event 0x50a", *ICE]
CYCLES = 50
KEEP_ALIVE = 5          # seconds
PATIENT = f"-i 2 -k {KEEP_ALIVE} -c 1 -l 600"

ROUND = [Load("4k", 16, 256, jobs=2,
              more="bssplit=512/20:4k/40:16k/20:64k/20\nverify_backlog=32\n")]
# Writes numbered pages of a disk until one fails or it is enough; prints how many are written.
WRITER = """
import mmap, os, sys

PAGE = mmap.PAGESIZE
disk = os.open(sys.argv[1], os.O_RDWR | os.O_DIRECT)
page = mmap.mmap(-1, PAGE)
number = 0
try:
    while not os.path.exists("/tmp/enough"):
        page[:] = number.to_bytes(8, "little") * (PAGE // 8)
        os.pwrite(disk, page, number % int(sys.argv[2]) * PAGE)
        number += 1
except OSError as error:
    print(error, file=sys.stderr)
print(number)
"""
# Each page holds its last number; that of a request which failed may be there or not.
READER = """
import mmap, os, sys

PAGE = mmap.PAGESIZE
disk = os.open(sys.argv[1], os.O_RDWR | os.O_DIRECT)
page = mmap.mmap(-1, PAGE)
slots, number = int(sys.argv[2]), int(sys.argv[3])
for last in range(max(0, number - slots), number):
    os.preadv(disk, [page], last % slots * PAGE)
    found = int.from_bytes(page[:8], "little")
    allowed = (last, number) if last + slots == number else (last,)
    if found not in allowed or page[:] != page[:8] * (PAGE // 8):
        sys.exit(f"page {last % slots}: {found} instead of {allowed}")
"""
PAGES = 64
BEGIN = """
    rm -f /tmp/enough /tmp/ended /tmp/written
    cat >/tmp/writer.py <<'SCRIPT'
{writer}
SCRIPT
    cat >/tmp/reader.py <<'SCRIPT'
{reader}
SCRIPT
    python3 /tmp/writer.py {pages} {count} </dev/null >/tmp/written 2>/tmp/writer.log &
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
    await 90 test -s /tmp/ended -a -s /tmp/written
    cat /tmp/load
    [ -s /tmp/ended ] && [ -s /tmp/written ] && exit $(cat /tmp/ended)
    echo; for task in $(pidof fio python3); do cat /proc/$task/stack; done
    cat /sys/class/nvme/*/state
    exit 99
"""


def rounds(guest: Guest) -> int:
    """How often the load has been through."""
    return int(guest.run("cat /tmp/rounds").output)


def wait_rounds(guest: Guest, more: int = 1) -> None:
    """Wait until the load has been through so many times more."""
    until = rounds(guest) + more
    guest.run(f"through() {{ [ $(cat /tmp/rounds) -ge {until} ]; }}\n"
              "await 180 eval 'through || [ -s /tmp/ended ]'\n"
              "through || { cat /tmp/load; exit 1; }", timeout=240)


def wait_state(guest: Guest, state: str) -> None:
    """Wait until the controller is in that state; an empty one: until it is gone."""
    guest.run("is() { [ \"$(cat /sys/class/nvme/nvme*/state 2>/dev/null)\" = \"$1\" ]; }\n"
              f"await 240 is '{state}' || {{ cat /sys/class/nvme/nvme*/state; exit 1; }}", timeout=300)


@contextlib.contextmanager
def load(nvme: Host, fails: bool = False) -> Iterator[None]:
    """fio works on the second disk meanwhile; it ends well, or with a request that has failed."""
    guest = nvme.guest
    guest.run(BEGIN.format(fio=fio_script(nvme.disks[1], ROUND), writer=WRITER, reader=READER,
                           pages=nvme.disks[0], count=PAGES))
    wait_rounds(guest)
    yield
    done = guest.run(ENDED if fails else ENOUGH + ENDED, timeout=180, check=False)
    print(f"{rounds(guest)} rounds of fio")
    assert "verify:" not in done.output and "verify failed" not in done.output, done.output
    assert done.status != 99 and (done.status != 0) == fails, done
    if not fails:
        written(nvme)


def written(nvme: Host) -> None:
    """All pages that load() has written hold what was written last."""
    number = nvme.guest.run("cat /tmp/written").output.strip()
    assert int(number) > 0
    nvme.guest.run(f"python3 /tmp/reader.py {nvme.disks[0]} {PAGES} {number}")
    print(f"{number} pages written")


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


# All frames of the guest that has rdma_rxe, in and out.
CUT = "tc qdisc add dev eth0 clsact" + "".join(
    f" && tc filter add dev eth0 {way} matchall action drop" for way in ("ingress", "egress"))
MEND = "tc qdisc del dev eth0 clsact"
# Gives up after two attempts to connect.
IMPATIENT = f"-i 2 -k {KEEP_ALIVE} -c 2 -l 4"


def link(card: Guest, up: bool) -> None:
    """Pull the plug of the card, or put it in again."""
    card.qmp("set_link", name="card", up=up)


def path_loss(host: Guest, target: Guest, card: Guest, soft: Guest) -> None:
    """Nothing gets through until both ends have given up; then it does again, or too late."""
    def lost() -> None:
        wait_state(host, "connecting")
        wait_resources(target, idle)

    def back() -> None:
        wait_state(host, "live")
        wait_rounds(host)

    with Target(target) as served:
        idle = resources(target)
        with Host(host, served, PATIENT) as nvme:
            with load(nvme):
                soft.run(CUT)
                lost()
                soft.run(MEND)
                back()
                link(card, False)
                lost()
                link(card, True)
                back()
            nvme.disconnect()
            nvme.connect(IMPATIENT)
            with load(nvme, fails=True):
                link(card, False)
                # Nobody there: known sooner than that an address does not answer.
                host.run("ip neigh flush dev eth0")
                wait_state(host, "")
            link(card, True)
            host.run("await 60 ping -c 1 -W 2 $PEER_ADDRESS")
            nvme.connect(PATIENT)
            written(nvme)
            print(nvme.fio(SHORT))


@test(needs=NEEDS, guests=2, timeout=900, full=True)
def path_loss_of_host(kernel: str) -> None:
    """Frames are dropped, the link is down, host on our device: I/O goes on, or fails."""
    with pair(kernel, allow=LINES) as (card, soft):
        path_loss(card, soft, card, soft)


@test(needs=NEEDS, guests=2, timeout=900, full=True)
def path_loss_of_target(kernel: str) -> None:
    """The same with the target on our device."""
    with pair(kernel, allow=LINES) as (card, soft):
        path_loss(soft, card, card, soft)


# Loaded again, and its address can be used.
LOAD_AGAIN = """
    insmod /host/irdma.ko || exit 1
    await 60 eval 'grep -qs ffff: /sys/class/infiniband/*/ports/1/gids/*'
"""


@test(needs=NEEDS, guests=2, timeout=600, full=True)
def unload_of_host(kernel: str) -> None:
    """The module goes under load: requests fail, and once it is back all can be connected."""
    with pair(kernel, allow=LINES) as (card, soft):
        with Target(soft) as served, Host(card, served, PATIENT) as nvme:
            with load(nvme, fails=True):
                card.run("rmmod irdma")
                wait_state(card, "")
            card.run(LOAD_AGAIN)
            nvme.connect()
            written(nvme)
            print(nvme.fio(SHORT))


@test(needs=NEEDS, guests=2, timeout=600, full=True)
def unload_of_target(kernel: str) -> None:
    """The module goes under load at the target's end: requests wait until it is back."""
    with pair(kernel, allow=LINES) as (card, soft):
        # nvmet_rdma waits for a queue that is connected while the device goes.
        late = f"-i 2 -k {KEEP_ALIVE} -c 20 -l 600"
        with Target(card) as served, Host(soft, served, late) as nvme, load(nvme):
            card.run("rmmod irdma")
            wait_state(soft, "connecting")
            card.run(LOAD_AGAIN)
            served.listen()
            wait_state(soft, "live")
            wait_rounds(soft)
