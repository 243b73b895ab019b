# SPDX-License-Identifier: GPL-2.0
"""Installing the module: make install, DKMS and the Debian package, and the way back."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import List

import image
from common import BUILD, SCRIPTS, TOP, ask, cache_dir, need
from guest import Guest, Setup
from testing import Skip, test

# What udev does when ice offers an RDMA function.
AUTOLOAD = """
    modprobe $(sed -n 's/^MODALIAS=//p' /sys/bus/auxiliary/devices/ice.roce.*/uevent) || exit 1
    for i in $(seq 300); do [ -n "$(ls /sys/class/infiniband)" ] && break; sleep 0.1; done
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
IN_CHROOT = r"""
set -ex
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
has() { dkms status -m irdma-e810 -k "$1" | grep ': installed'; }
own() { modinfo -k "$1" -n irdma; }

own "$1" | grep /kernel/drivers/
apt-get -q -y install /irdma.deb
has "$1"; own "$1" | grep /updates/dkms/irdma.ko
modinfo -k "$1" irdma | grep 'alias:.*auxiliary:ice.roce'

# A kernel that comes later gets its module by itself, from what is installed with it.
apt-get -q -y --no-install-recommends install "linux-image-$2" "linux-headers-$2"
has "$2"; own "$2" | grep /updates/dkms/irdma.ko
mkdir /result && cp -a --parents "/lib/modules/$1/updates" "/lib/modules/$2/updates" /result

# A kernel that goes leaves nothing; a package that goes leaves the kernel's own.
apt-get -q -y purge "linux-image-$2"
! has "$2"
[ ! -e "/lib/modules/$2/updates/dkms/irdma.ko" ]
apt-get -q -y remove irdma-e810-dkms
own "$1" | grep /kernel/drivers/
[ -z "$(dkms status)" ]
"""


def in_new_debian(deb: Path, script: str, releases: List[str], out: Path) -> None:
    """Run the script in a fresh Debian that has the first kernel; /result comes out."""
    fields = subprocess.run(["dpkg-deb", "-f", str(deb), "Depends"], capture_output=True,
                            text=True, check=True).stdout
    depends = [item.split()[0] for item in fields.split(",")]
    include = [*depends, f"linux-image-{releases[0]}", f"linux-headers-{releases[0]}", "kmod"]
    sources = (cache_dir() / "apt/sources.list").read_text().splitlines()
    (out / "script").write_text(script)
    subprocess.run(
        ["mmdebstrap", "--variant=apt", "--format=null", "--include=" + ",".join(include),
         '--aptopt=Acquire::Check-Valid-Until "false"', '--aptopt=APT::Install-Recommends "false"',
         f"--customize-hook=copy-in {out}/script {out}/irdma.deb /",
         f'--customize-hook=chroot "$1" sh /script {" ".join(releases)}',
         f"--customize-hook=sync-out /result {out}",
         image.SUITE, "-", *(line for line in sources if line.startswith("deb "))], check=True)


@test(needs=("images", "model", "programs"), kernels=None, timeout=2400, full=True)
def dkms() -> None:
    """The package in a fresh Debian: build, a new kernel, removal; what it built runs."""
    if os.geteuid():
        raise Skip("making a Debian with kernels needs root")
    if not shutil.which("dh_dkms"):
        raise Skip("packages debhelper and dh-dkms are not installed")
    with tempfile.TemporaryDirectory(prefix="dkms.") as folder:
        out = Path(folder)
        out.chmod(0o755)
        package(out).rename(out / "irdma.deb")
        releases = [image.kernel(kernel).release for kernel in ("6.1", "6.12")]
        in_new_debian(out / "irdma.deb", IN_CHROOT, releases, out)
        for kernel in ("6.1", "6.12"):
            modprobe_both_ways(kernel, out)
