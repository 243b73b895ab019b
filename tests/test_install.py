# SPDX-License-Identifier: GPL-2.0
"""Installing the module: make install, DKMS and the Debian package, and the way back."""

import dataclasses
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import List

import image
from common import BUILD, SCRIPTS, TOP, ask, cache_dir, need
from guest import Guest, Setup, Wire, config
from test_tracing import EVENTS
from testing import Skip, guests, test

# What udev does when ice offers an RDMA function.
AUTOLOAD = """
    modprobe $(sed -n 's/^MODALIAS=//p' /sys/bus/auxiliary/devices/ice.roce.*/uevent) || exit 1
    await 30 have_rdma
    modprobe ib_uverbs; ibv_devinfo | grep PORT_ACTIVE || exit 1
"""
# The guests' modules lie in an image that cannot be written to.
WRITABLE = """
    mkdir -p /run/modules/upper /run/modules/work
    here=/lib/modules/$(uname -r)
    mount -t overlay overlay \\
        -o lowerdir=$here,upperdir=/run/modules/upper,workdir=/run/modules/work $here
"""
OURS = "[ -e /sys/kernel/debug/irdma ] && modinfo -n irdma | grep /updates/"
STOCK = "[ ! -e /sys/kernel/debug/irdma ] && modinfo -n irdma | grep /kernel/drivers/"


def modprobe_both_ways(kernel: str, tree: Path) -> None:
    """Ours by the alias from where it is installed; removed, the kernel's own is back."""
    with Guest(Setup(kernel=kernel, driver="none", files={"lib": tree / "lib"})) as guest:
        guest.run(AUTOLOAD + STOCK + " && rmmod irdma")
        guest.run(WRITABLE + "cp -a /host$here/updates $here/ && depmod")
        guest.run(AUTOLOAD + OURS + " && sleep 2 && qp-bringup >/dev/null && rmmod irdma")
        guest.run("rm -r /lib/modules/$(uname -r)/updates && depmod")
        guest.run(AUTOLOAD + STOCK)


@test(needs=("images", "model", "modules", "programs"), timeout=400, full=("6.1",))
def make_install(kernel: str) -> None:
    """make install puts it before the kernel's own, make uninstall takes it away."""
    with tempfile.TemporaryDirectory(prefix="install.", dir=BUILD) as folder:
        tree = Path(folder)
        command = ["make", "--no-print-directory", f"KVER={kernel}", f"DESTDIR={tree}"]
        subprocess.run([*command, "install"], cwd=TOP, check=True)
        release = image.kernel(kernel).release
        module = tree / "lib/modules" / release / "updates/irdma.ko"
        assert module.stat().st_size < (BUILD / release / "irdma.ko").stat().st_size / 4
        modprobe_both_ways(kernel, tree)
        subprocess.run([*command, "uninstall"], cwd=TOP, check=True)
        assert not module.exists()


def package(folder: Path) -> Path:
    """The Debian package, built of what is in git."""
    source = folder / "irdma-e810"
    names = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, capture_output=True, check=True)
    for name in names.stdout.decode().split("\0"):
        if name and (TOP / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(TOP / name, source / name)
    subprocess.run(["dpkg-buildpackage", "-us", "-uc", "-b", "-d"], cwd=source, check=True)
    result, = folder.glob("irdma-e810-dkms_*.deb")
    return result


@test(needs=(), guests=0, kernels=None, timeout=60)
def versions_agree() -> None:
    """dkms.conf, the package and the module have one version."""
    version = re.search(r"PACKAGE_VERSION=\"(.*)\"", (TOP / "dkms.conf").read_text())[1]
    assert (TOP / "debian/changelog").read_text().startswith(f"irdma-e810 ({version}) ")
    assert f'MODULE_VERSION("{version}");' in (TOP / "shim/module.c").read_text()


@test(timeout=300, full=("6.12",))
def signatures(kernel: str) -> None:
    """What a kernel that wants signed modules says of ours, with a key of our own and without."""
    need("openssl", "openssl")
    which = image.kernel(kernel)
    headers = Path(ask(SCRIPTS / "fetch-kernel", "--path", "headers", kernel))
    with tempfile.TemporaryDirectory(prefix="signatures.", dir=BUILD) as folder:
        key, certificate, signed = (Path(folder) / name for name in ("key", "crt", "signed.ko"))
        unsigned = BUILD / which.release / "irdma.ko"
        subprocess.run(["openssl", "req", "-new", "-x509", "-newkey", "rsa:2048", "-nodes",
                        "-subj", "/CN=our own key/", "-outform", "DER", "-keyout", key,
                        "-out", certificate], check=True)
        subprocess.run([headers / "scripts/sign-file", "sha256", key, certificate, unsigned,
                        signed], check=True)
        assert modinfo("signer", signed) == "our own key", modinfo("signer", signed)
        assert modinfo("sig_id", signed) == "PKCS#7" and not modinfo("sig_id", unsigned)
        for parameter, answers in SIGNATURES.items():
            with Guest(Setup(kernel=kernel, driver="none", append=parameter,
                             files={"unsigned.ko": unsigned, "signed.ko": signed})) as guest:
                # The kernel's own has a signature and a key that it knows.
                guest.run(AUTOLOAD + STOCK + " && rmmod irdma && dmesg -C")
                for name, answer in answers.items():
                    said = guest.run(f"! insmod /host/{name}.ko 2>&1 && dmesg -c").output
                    assert all(text in said for text in answer), said


# By kernel parameter, what is said of each. Secure Boot brings the second with it.
SIGNATURES = {
    "module.sig_enforce=1": {
        "unsigned": ("Key was rejected by service", "Loading of unsigned module is rejected"),
        "signed": ("Key was rejected by service",
                   "Loading of module with unavailable key is rejected")},
    "lockdown=integrity": {
        "unsigned": ("Operation not permitted",
                     "Lockdown: insmod: unsigned module loading is restricted"),
        "signed": ("Operation not permitted",
                   "Lockdown: insmod: unsigned module loading is restricted")},
}


def modinfo(field: str, module: Path) -> str:
    """A field of a module."""
    return subprocess.run(["/usr/sbin/modinfo", "-F", field, module], capture_output=True,
                          text=True, check=True).stdout.strip()


# In a Debian with the package's dependencies and a kernel; $1 and $2 are the releases.
FUNCTIONS = r"""
set -ex
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
has() { dkms status -m irdma-e810 -k "$1" | grep ': installed'; }
own() { modinfo -k "$1" -n irdma; }
early() { lsinitramfs "/boot/initrd.img-$1" | grep '/irdma\.ko'; }
"""
INSTALL = FUNCTIONS + r"""
own "$1" | grep /kernel/drivers/
! early "$1"
apt-get -q -y install /host/irdma.deb
has "$1"; own "$1" | grep /updates/dkms/irdma.ko
modinfo -k "$1" irdma | grep 'alias:.*auxiliary:ice.roce'
[ "$(modinfo -k "$1" -F sig_id irdma)" = PKCS#7 ]
modinfo -k "$1" -F signer irdma | grep 'DKMS module signing key'

# An initramfs has ours if it has any.
! early "$1"
echo irdma >>/etc/initramfs-tools/modules
update-initramfs -u -k "$1"
[ "$(early "$1")" = "usr/lib/modules/$1/updates/dkms/irdma.ko" ]
sed -i '$d' /etc/initramfs-tools/modules
update-initramfs -u -k "$1"
! early "$1"
echo irdma >>/etc/initramfs-tools/modules

# A kernel that comes later gets its module by itself, from what is installed with it.
apt-get -q -y --no-install-recommends install "linux-image-$2" "linux-headers-$2"
has "$2"; own "$2" | grep /updates/dkms/irdma.ko
[ "$(early "$2")" = "usr/lib/modules/$2/updates/dkms/irdma.ko" ]
"""
REMOVE = FUNCTIONS + r"""
# A kernel that goes leaves nothing; a package that goes leaves the kernel's own.
apt-get -q -y purge "linux-image-$1"
! has "$1"
[ ! -e "/lib/modules/$1/updates/dkms/irdma.ko" ]
apt-get -q -y remove irdma-e810-dkms
own "$2" | grep /kernel/drivers/
[ -z "$(dkms status)" ]
early "$2" | grep /updates/
update-initramfs -u -k all
early "$2" | grep /kernel/drivers/
! early "$2" | grep /updates/

# Without the package.
dkms add /irdma-e810
module=$(dkms status | sed 's/: added//')
dkms build "$module" -k "$2"
dkms install "$module" -k "$2"
has "$2"; own "$2" | grep /updates/dkms/irdma.ko
dkms remove "$module" --all
own "$2" | grep /kernel/drivers/
"""

# What a machine with the card has beside what the package depends on.
MACHINE = """systemd-sysv udev kmod openssl iproute2 rdma-core ibverbs-providers ibverbs-utils
    rdmacm-utils nvme-cli trace-cmd""".split()
SERVICE = """[Unit]
Description=Scripts of the host
[Service]
ExecStart=/host/init
[Install]
WantedBy=multi-user.target
"""
DEBIAN = Setup(driver="none", ice=False, mem=2048, boot_seconds=480,
               allow=(r"rocep1s0: QP \d+: event 0x50a",))


def new_debian(deb: Path, releases: List[str], out: Path) -> Path:
    """A disk with a fresh Debian, both kernels and the package; removal is tried in a copy."""
    fields = subprocess.run(["dpkg-deb", "-f", str(deb), "Depends"], capture_output=True,
                            text=True, check=True).stdout
    depends = [item.split()[0] for item in fields.split(",")]
    include = [*depends, *MACHINE, f"linux-image-{releases[0]}", f"linux-headers-{releases[0]}"]
    sources = (cache_dir() / "apt/sources.list").read_text().splitlines()
    host, root, disk = out / "host", out / "root", out / "disk"
    host.mkdir()
    for name, text in (("install", INSTALL), ("remove", REMOVE), ("host.service", SERVICE),
                       ("config", config(DEBIAN))):
        (host / name).write_text(text)
    shutil.copy(SCRIPTS / "lib/guest-init", host / "init")
    deb.rename(host / "irdma.deb")
    hooks = [
        f"copy-in {host} {out}/irdma-e810 /",
        'echo guest1 >"$1/etc/hostname"',
        f'install -Dm644 {BUILD}/ice.pkg "$1/lib/firmware/intel/ice/ddp/ice.pkg"',
        'chroot "$1" systemctl enable /host/host.service',
        f'chroot "$1" sh /host/install {" ".join(releases)}',
        # Without what is mounted there.
        f'cp -ax "$1" {root}',
        f'mke2fs -q -t ext4 -d {root} {disk} 8G && rm -r {root}',
        f'chroot "$1" sh /host/remove {" ".join(releases)}',
    ]
    subprocess.run(
        ["mmdebstrap", "--variant=apt", "--format=null", "--include=" + ",".join(include),
         '--aptopt=Acquire::Check-Valid-Until "false"', '--aptopt=APT::Install-Recommends "false"',
         *(f"--customize-hook={hook}" for hook in hooks),
         image.SUITE, "-", *(line for line in sources if line.startswith("deb "))], check=True)
    return disk


# What the tools of Debian say of the device, less the numbers that change when it comes anew.
TOLD = r"""
    await 30 have_port_up
    udevadm settle
    ls /sys/bus/pci/devices/0000:01:00.0/infiniband /sys/bus/pci/devices/0000:01:00.0/net
    rdma dev show | cut -d' ' -f2-
    rdma link show
    ibv_devices
    ibv_devinfo | grep -v port_lid     # stock has 1, though RoCE has none
    systemctl is-active rdma-ndd
    stat -c '%A %n' /dev/infiniband/*
"""
# What rdma-ndd has written; stock does not take it.
DESCRIBED = r"""
    await 30 grep -qx "guest1 rocep1s0" /sys/class/infiniband/rocep1s0/node_desc && exit
    cat /sys/class/infiniband/*/node_desc; exit 1
"""
# The administrator's part, so that there is a link.
ADDRESS = r"""
    nic=$(ls /sys/bus/pci/devices/0000:01:00.0/net)
    ip addr add 10.0.0.1/24 dev "$nic" && ip link set "$nic" up
"""
# All services run, and what udev does of its own accord is done.
BOOTED = r"""
    systemctl is-system-running --wait || { systemctl --failed; exit 1; }
    await 60 have_rdma
    udevadm settle
"""


@test(needs=("images", "model", "programs"), guests=2, kernels=None, timeout=2400, full=True)
def fresh_debian() -> None:
    """The package in a fresh Debian: it boots, names, traces, a broken connection, and goes."""
    if os.geteuid():
        raise Skip("making a Debian with kernels needs root")
    if not shutil.which("dh_dkms"):
        raise Skip("packages debhelper and dh-dkms are not installed")
    with tempfile.TemporaryDirectory(prefix="debian.") as folder:
        out = Path(folder)
        out.chmod(0o755)
        old, new = (image.kernel(kernel).release for kernel in ("6.1", "6.12"))
        disk = new_debian(package(out), [old, new], out)
        with_a_peer(disk, old)
        there_and_back(disk, new)


def with_a_peer(disk: Path, release: str) -> None:
    """The first boot: ours comes by itself, and tells what happens to connections."""
    with Wire() as wire, guests(
            Guest(dataclasses.replace(DEBIAN, kernel=release, wire=wire, disk=disk), "debian"),
            Guest(Setup(driver="rxe", device=False, number=2, wire=wire), "peer"),
    ) as (debian, peer):
        debian.run(BOOTED + OURS, timeout=300)
        debian.run(DESCRIBED)
        debian.run(ADDRESS)
        debian.run(TOLD)
        newcomer(debian, peer)


def there_and_back(disk: Path, release: str) -> None:
    """The newer kernel: its initramfs brings ours; stock, when that has gone, has its names."""
    with Guest(dataclasses.replace(DEBIAN, kernel=release, disk=disk), "debian") as debian:
        debian.run(BOOTED + OURS, timeout=300)
        debian.run(DESCRIBED)
        debian.run(ADDRESS)
        ours = debian.run(TOLD).output
        debian.run("DEBIAN_FRONTEND=noninteractive apt-get -q -y remove irdma-e810-dkms "
                   "</dev/null && rmmod irdma && modprobe irdma && " + STOCK, timeout=600)
        stock = debian.run(TOLD).output
        assert ours == stock, f"{ours}\nwith stock:\n{stock}"
        for text in ("link rocep1s0/1 state ACTIVE", "\nactive\n",
                     "crw-rw-rw- /dev/infiniband/uverbs0"):
            assert text in ours, ours


def recorded(guest: Guest, command: str, says: str = "") -> List[str]:
    """Lines of what a command said, which must have this, and of what trace-cmd recorded of it."""
    done = guest.run(f"cd /tmp && trace-cmd record -e irdma -- {command} 2>&1; "
                     "echo =====; trace-cmd report 2>&1")
    said, _, report = done.output.partition("=====\n")
    assert says in said, said
    # Its parser must know all that our events print.
    assert "FAILED" not in report and "rror:" not in report, report
    return done.output.splitlines()


def the(lines: List[str], pattern: str) -> re.Match:
    """The match of the last line that has the pattern."""
    found = [match for line in lines if (match := re.search(pattern, line))]
    assert found, "\n".join(["nowhere: " + pattern, *lines])
    return found[-1]


def documented(begin: str) -> str:
    """The command of tracing.rst that begins so."""
    text = (TOP / "Documentation/tracing.rst").read_text()
    return re.search(rf"^ +({re.escape(begin)}.*)", text, re.M)[1]


def newcomer(debian: Guest, peer: Guest) -> None:
    """What a connection that works leaves in the trace, and others, as tracing.rst reads them."""
    listed = debian.run("trace-cmd list -e irdma").output.split()
    assert set(listed) == {f"irdma:{event}" for event in EVENTS}, listed

    server = peer.begin("rping -s -C 3")
    lines = recorded(debian, "rping -c -a 10.0.0.2 -C 3")
    server.wait()
    the(lines, r"irdma_qp_state: .* RTR -> RTS .* error=0")
    slowest = debian.run("cd /tmp && " + documented("trace-cmd report |")).output
    assert re.search(r"^\d+ modify_qp$", slowest, re.M), slowest

    # The network drops RoCE: the trace names the QP, whom it spoke to, and the cause.
    mac = peer.run("tc qdisc add dev eth0 clsact && tc filter add dev eth0 ingress protocol ip "
                   "flower ip_proto udp dst_port 4791 action drop; "
                   "cat /sys/class/net/eth0/address").output.strip()
    server = peer.begin("timeout 60 ibv_rc_pingpong -g 1")
    lines = recorded(debian, "ibv_rc_pingpong -g 1 10.0.0.2", "transport retry counter exceeded")
    qp = the(lines, r"irdma_qp_state: .* qp=(\d+) .* RTS -> ERR .*cause=llp_too_many_retries")[1]
    path = the(lines, rf"irdma_qp_path: .* qp={qp} dest_qp=(\d+) .*destination=\S+:10\.0\.0\.2 ")
    assert int(path[1]) == int(the(lines, r"remote address: .* QPN 0x(\w+)")[1], 16), lines
    server.wait()
    debian.run(f"grep -h {mac} /sys/kernel/debug/irdma/*/arp && "
               f"dmesg | grep 'QP {qp}: event 0x50a'")

    # Nobody has the address: the driver is not asked for a path.
    lines = recorded(debian, "rping -c -a 10.0.0.9", "RDMA_CM_EVENT_ADDR_ERROR")
    assert not [line for line in lines if "irdma_qp_path" in line], lines
