# SPDX-License-Identifier: GPL-2.0
"""NVMe over RDMA between two guests, with Debian's nvmet, nvme-cli and fio.

A Target is a subsystem with two RAM disks that one guest serves; a Host is another
guest's view of it. The RDMA device on either side is the one that the guest has.
tests/test_nvme.py and scripts/demo are the callers.

    with Target(two) as target, Host(one, target) as host:
        host.copy_tree("/etc")
        host.fio([Load("4k", 32)])
"""

import json
import time
from typing import Dict, List, NamedTuple, Optional, Sequence

from guest import Guest

NQN = "nqn.2014-08.org.nvmexpress:e810"
CONFIGFS = "/sys/kernel/config"
NVMET = f"{CONFIGFS}/nvmet"
SUBSYSTEM = f"{NVMET}/subsystems/{NQN}"
PORT = f"{NVMET}/ports/1"
DISKS = 2
COUNTED = ("pd", "qp", "cm_id", "mr", "ctx")    # CQs of ib_core's pool stay with the device


class Memory(NamedTuple):
    """A driver of DISKS disks that are memory."""

    module: str
    options: str    # {mib}: size of a disk
    disk: str       # name of one, without its number


BRD = Memory("brd", f"rd_nr={DISKS} rd_size=$(({{mib}} * 1024)) max_part=0", "ram")
NULL_BLK = Memory("null_blk", f"nr_devices={DISKS} gb=1 memory_backed=1", "nullb")

LISTEN = f"ln -s {SUBSYSTEM} {PORT}/subsystems/"
SHUT = f"rm {PORT}/subsystems/{NQN}"
SERVE = f"""
    set -e
    modprobe {{module}} {{options}}
    modprobe nvmet_rdma
    mountpoint -q {CONFIGFS} || mount -t configfs configfs {CONFIGFS}
    mkdir {SUBSYSTEM}
    echo 1 >{SUBSYSTEM}/attr_allow_any_host
    for i in $(seq {DISKS}); do
        space={SUBSYSTEM}/namespaces/$i
        mkdir $space
        echo /dev/{{disk}}$((i - 1)) >$space/device_path
        echo 1 >$space/enable
    done
    mkdir {PORT}
    echo rdma >{PORT}/addr_trtype
    echo ipv4 >{PORT}/addr_adrfam
    echo $GUEST_ADDRESS >{PORT}/addr_traddr
    echo 4420 >{PORT}/addr_trsvcid
    {{inline}}
    {LISTEN}
"""
STOP = f"""
    set -e
    {SHUT}
    rmdir {PORT} {SUBSYSTEM}/namespaces/* {SUBSYSTEM}
    modprobe -r nvmet_rdma
    modprobe -r {{module}}
"""

# Until then numbers of devices are in use.
VANISH = """
    await 60 eval '! ls /sys/class/nvme /sys/class/nvme-subsystem | grep -q nvme[0-9]'
"""
# Disks in the order of namespace numbers; 6.12 names them as it finds them.
APPEAR = f"""
    appeared() {{
        disks=$(cd /sys/block && grep -H . nvme*n*/nsid 2>/dev/null | grep -v nvme[0-9]*c |
                sort -t : -k 2 -n | cut -d / -f 1)
        [ $(echo $disks | wc -w) = {DISKS} ] && (cd /dev && ls $disks >/dev/null 2>&1) &&
            echo $disks
    }}
    await 60 appeared
"""

SUMS = "(cd {} && find . -xdev -type f -print0 | sort -z | xargs -0 sha256sum)"
COPY = f"""
    set -e
    mkfs.ext4 -q -F {{disk}}
    mkdir -p /mnt/nvme
    mount {{disk}} /mnt/nvme
    mkdir /mnt/nvme/copy
    (cd {{tree}} && tar cf - --one-file-system .) | tar xf - -C /mnt/nvme/copy
    umount /mnt/nvme
    echo 3 >/proc/sys/vm/drop_caches
    e2fsck -fn {{disk}} 2>&1
    mount -o ro {{disk}} /mnt/nvme
    {SUMS.format("{tree}")} >/tmp/here
    {SUMS.format("/mnt/nvme/copy")} >/tmp/there
    umount /mnt/nvme
    cmp /tmp/here /tmp/there
    [ $(wc -l </tmp/here) -gt 10 ]
    sha256sum </tmp/there
"""
# The same files as the target's own disk has them.
LOOK = f"""
    set -e
    mkdir -p /mnt/disk
    mount -o ro /dev/ram0 /mnt/disk
    {SUMS.format("/mnt/disk/copy")} >/tmp/sums
    du -sm /mnt/disk/copy
    umount /mnt/disk
    sha256sum </tmp/sums
"""


class Load(NamedTuple):
    """One job of fio: random reads and writes of a part of the disk, all verified."""

    size: str               # of a request: a number with k or m
    depth: int              # requests at once
    count: int = 256        # requests
    jobs: int = 1           # processes
    more: str = ""          # further lines

    @property
    def bytes(self) -> int:
        """Of one request."""
        unit = {"k": 1 << 10, "m": 1 << 20}.get(self.size[-1], 1)
        return int(self.size.rstrip("km")) * unit

    def section(self, offset: int) -> str:
        """Its part of a job file; offset: bytes of the disk to leave alone."""
        size = self.bytes * self.count // self.jobs
        return (f"[{self.size}-{self.depth}x{self.jobs}]\nstonewall\nbs={self.size}\n"
                f"iodepth={self.depth}\nnumjobs={self.jobs}\noffset={offset}\nsize={size}\n"
                f"offset_increment={size}\n{self.more}\n")


GLOBAL = """
    [global]
    filename={disk}
    allow_file_create=0
    direct=1
    ioengine=libaio
    rw=randrw
    verify=crc32c
    verify_fatal=1
    randrepeat=1
    group_reporting
    fsync=100
"""


def fio_script(disk: str, loads: Sequence[Load]) -> str:
    """A shell command that runs these jobs one after the other; its output is JSON."""
    parts = [line.strip() for line in GLOBAL.format(disk=disk).splitlines()]
    # Not from the beginning: an offset that is lost would go unseen.
    parts += [load.section((number + 1) << 12) for number, load in enumerate(loads)]
    text = "\n".join(parts)
    return f"cat >/tmp/jobs <<'END'\n{text}\nEND\nfio --output-format=json /tmp/jobs"


def fio_figures(output: str) -> str:
    """A line for each job of fio's JSON output; AssertionError if a job has failed."""
    lines = []
    for job in json.loads(output[output.index("{\n"):])["jobs"]:
        assert job["error"] == 0, output
        read, write = job["read"], job["write"]
        assert read["io_bytes"] and write["io_bytes"], output
        lines.append(f"{job['jobname']:12} read {read['io_bytes'] >> 10} KiB, {read['iops']:.0f}/s; "
                     f"write {write['io_bytes'] >> 10} KiB, {write['iops']:.0f}/s")
    return "\n".join(lines)


class Target:
    """A subsystem with DISKS RAM disks, served in the body of the context."""

    def __init__(self, guest: Guest, mib: int = 160, inline: Optional[int] = None) -> None:
        """mib: size of a disk; inline: bytes of data that a command may carry."""
        self.guest = guest
        self.address = f"10.0.0.{guest.setup.number}"
        self._memory = NULL_BLK if guest.kernel.sanitized else BRD      # all that it has
        self._mib = mib
        self._inline = "" if inline is None else f"echo {inline} >{PORT}/param_inline_data_size"

    def __enter__(self) -> "Target":
        options = self._memory.options.format(mib=self._mib)
        self.guest.run(SERVE.format(module=self._memory.module, options=options,
                                    disk=self._memory.disk, inline=self._inline))
        return self

    def __exit__(self, kind, *_) -> None:
        if kind is None:
            self.guest.run(STOP.format(module=self._memory.module))

    def listen(self) -> None:
        """Listen anew: nvmet does not by itself when its RDMA device has gone and come back."""
        self.guest.run(f"{SHUT} && {LISTEN}")

    def look(self) -> str:
        """What copy_tree() should have left: size and sum of all sums."""
        return self.guest.run(LOOK).output


class Host:
    """The subsystem of a target, connected in the body of the context."""

    def __init__(self, guest: Guest, target: Target, options: str = "") -> None:
        """options: more of nvme connect."""
        self.guest = guest
        self.target = target
        self.where = f"-t rdma -a {target.address} -s 4420"
        self.disks: List[str] = []      # by number of namespace, from 1
        self._options = options

    def __enter__(self) -> "Host":
        self.guest.run("modprobe nvme_rdma")
        found = self.guest.run(f"nvme discover {self.where}").output
        assert NQN in found, found
        self.connect()
        return self

    def __exit__(self, kind, *_) -> None:
        if kind is None:
            self.disconnect()
            self.guest.run("modprobe -r nvme_rdma")

    def connect(self, options: Optional[str] = None) -> None:
        """Connect, with other options if given; returns when the namespaces are there."""
        chosen = self._options if options is None else options
        found = self.guest.run(f"nvme connect {self.where} -n {NQN} {chosen} || exit 1\n"
                               f"{APPEAR}")
        self.disks = [f"/dev/{name}" for name in found.output.splitlines()[-1].split()]

    def disconnect(self) -> None:
        """Disconnect; returns when the controller is gone."""
        told = self.guest.run(f"nvme disconnect -n {NQN}\n{VANISH}").output
        assert "disconnected 1 controller" in told, told

    def copy_tree(self, tree: str) -> str:
        """Make an ext4 on the first disk and copy a tree to it; both ends look at each file."""
        began = time.monotonic()
        here = self.guest.run(COPY.format(tree=tree, disk=self.disks[0]), timeout=400).output
        seconds = time.monotonic() - began
        there = self.target.look()
        size, digest = there.split()[0], there.split()[-2]
        assert digest == here.split()[-2], f"{here}\n{there}"
        return f"{tree}: {size} MiB copied and compared in {seconds:.1f} s"

    def fio(self, loads: Sequence[Load], timeout: float = 400) -> str:
        """Run these jobs on the second disk; returns their figures."""
        script = fio_script(self.disks[1], loads)
        return fio_figures(self.guest.run(script, timeout=timeout).output)

    def flushes(self) -> int:
        """Flushes of the second disk so far, on all paths."""
        number = self.disks[1][-1]
        text = self.guest.run(f"cat /sys/block/nvme*n{number}/stat").output
        return sum(int(line.split()[15]) for line in text.splitlines())


def resources(guest: Guest) -> Dict[str, int]:
    """RDMA objects of a guest, as the kernel counts them."""
    words = guest.run("rdma resource show").output.split()
    return {name: int(words[words.index(name) + 1]) for name in COUNTED}


def wait_resources(guest: Guest, wanted: Dict[str, int], seconds: float = 60) -> None:
    """Wait until there are as many as wanted; the kernel destroys some after a while."""
    began = time.monotonic()
    while resources(guest) != wanted:
        if time.monotonic() - began > seconds * guest.slowness:
            text = guest.run("rdma resource show qp; rdma resource show cm_id; "
                             "rdma resource show mr; rdma resource show pd").output
            raise guest.failure(f"{resources(guest)} instead of {wanted}\n{text}")
        time.sleep(0.3)
