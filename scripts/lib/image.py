# SPDX-License-Identifier: GPL-2.0
"""What a guest boots from: root image, module image, initramfs.

The root image is a small Debian made by mmdebstrap, the same for each kernel.
The module image holds those modules of a kernel that tests may want, with all
that they depend on, uncompressed. Both are squashfs images, attached as
read-only virtio disks; the initramfs joins them under a tmpfs overlay.
guest.py is the caller; all are kept in the cache by what they are made of.
"""

import fnmatch
import gzip
import hashlib
import lzma
import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path
from typing import Dict, List, NamedTuple, Set

from common import SCRIPTS, Trouble, ask, cache_dir, child, lock, need, note

SUITE = "bookworm"

PACKAGES = """
    bash coreutils util-linux mount procps kmod iproute2 iputils-ping ethtool pciutils
    socat strace tcpdump rdma-core ibverbs-utils ibverbs-providers rdmacm-utils
    perftest ucx-utils libfabric-bin python3-minimal python3-pyverbs nvme-cli fio
    e2fsprogs open-iscsi nfs-common nfs-kernel-server
""".split()

# Modules of a guest, as patterns below lib/modules/RELEASE/kernel/.
MODULES = """
    drivers/infiniband/core/* drivers/infiniband/ulp/* drivers/infiniband/sw/*
    drivers/infiniband/hw/irdma/* drivers/net/ethernet/intel/ice/*
    drivers/net/ethernet/intel/i40e/* drivers/nvme/* drivers/block/null_blk/*
    drivers/block/loop.ko drivers/block/brd.ko drivers/target/target_core_mod.ko
    drivers/target/iscsi/iscsi_target_mod.ko drivers/scsi/sd_mod.ko
    fs/ext4/* fs/nfs/* fs/nfsd/* net/sunrpc/xprtrdma/* drivers/net/bonding/* drivers/net/dummy.ko
    drivers/net/ifb.ko drivers/net/macvlan.ko drivers/net/veth.ko
    drivers/net/virtio_net.ko net/8021q/* net/sched/* net/packet/*
    net/bridge/bridge.ko crypto/crc32* crypto/crct10dif* arch/x86/crypto/crc*
    lib/crc* arch/x86/lib/crc* lib/kunit/*
""".split()

# Modules that the initramfs loads, in order, before there is a root.
EARLY = ["virtio_pci", "virtio_blk", "virtio_console", "squashfs", "overlay"]


class Kernel(NamedTuple):
    """A kernel in the cache, Debian's or built from Debian's source."""

    release: str
    root: Path

    @property
    def sanitized(self) -> bool:
        """Whether it checks itself (scripts/build-kernel): it is slow and needs more memory."""
        return self.release.endswith("-san")

    @property
    def key(self) -> str:
        """Name of the cache entry: release and package version."""
        return self.root.name

    @property
    def modules(self) -> Path:
        return self.root / "lib/modules" / self.release

    @property
    def vmlinux(self) -> Path:
        """The kernel proper, taken out of its compressed image.

        QEMU boots it by its PVH entry, without firmware and decompression,
        which saves four seconds of emulation.
        """
        return self.root / "vmlinux"


def kernel(series: str) -> Kernel:
    """The newest kernel of a series, or that release, fetched or built if needed."""
    fetch = SCRIPTS / "fetch-kernel"
    root = Path(ask(fetch, "--path", "root", series))
    return Kernel(root.name.split("_")[0], root)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def _images() -> Path:
    folder = cache_dir() / "images"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def root_image() -> Path:
    """Path of the root image; making it takes about two minutes."""
    image = _images() / f"root-{_digest(SUITE, *PACKAGES)}.squashfs"
    if image.exists():
        return image
    with lock("root-image"):
        if image.exists():
            return image
        need("mmdebstrap", "mmdebstrap")
        need("tar2sqfs", "squashfs-tools-ng")
        if os.geteuid() and not shutil.which("newuidmap"):
            raise Trouble("making the guests' root image needs root, or the package uidmap")
        sources = cache_dir() / "apt/sources.list"
        lines = [line for line in sources.read_text().splitlines() if line.startswith("deb ")]
        note("making the guests' root image (two minutes)")
        with tempfile.TemporaryDirectory(prefix="tmp.", dir=_images()) as folder:
            aside = Path(folder) / "image"
            bootstrap = ["mmdebstrap", "--quiet", "--variant=essential", "--format=tar",
                         "--include=" + ",".join(PACKAGES),
                         '--aptopt=Acquire::Check-Valid-Until "false"',
                         SUITE, "-", *lines]
            _pipe(bootstrap, ["tar2sqfs", "--quiet", "--compressor", "lz4", str(aside)],
                  _images() / "root.log")
            aside.rename(image)
    return image


def _pipe(first: List[str], second: List[str], log: Path) -> None:
    """Run first | second; both must succeed."""
    with open(log, "w") as errors:
        with child(first, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                   stderr=errors) as maker:
            packer = subprocess.run(second, stdin=maker.stdout, stdout=errors, stderr=errors)
            maker.stdout.close()
            maker.wait()
        if maker.returncode or packer.returncode:
            last = (log.read_text(errors="replace").strip() or "no message").splitlines()[-1]
            raise Trouble(f"{first[0]} | {second[0]} failed: {last} ({log})")


def _dependencies(folder: Path) -> Dict[str, List[str]]:
    """modules.dep: each module file with those it needs."""
    table = {}
    for line in (folder / "modules.dep").read_text().splitlines():
        name, _, needs = line.partition(":")
        table[name] = needs.split()
    return table


def _closure(files: Set[str], table: Dict[str, List[str]]) -> Set[str]:
    """The files and all they need (modules.dep lists the whole chain)."""
    return files.union(*(table[name] for name in files))


def _plain(path: Path) -> bytes:
    """A module's content, unpacked."""
    data = path.read_bytes()
    return lzma.decompress(data) if path.suffix == ".xz" else data


def _module_name(file: str) -> str:
    return Path(file).name.split(".")[0].replace("-", "_")


def module_image(which: Kernel) -> Path:
    """Path of the image of lib/modules/RELEASE of that kernel."""
    image = _images() / f"modules-{which.key}-{_digest(*MODULES)}.squashfs"
    if image.exists():
        return image
    with lock(f"modules-{which.release}"):
        if image.exists():
            return image
        need("gensquashfs", "squashfs-tools-ng")
        need("depmod", "kmod")
        note(f"making the module image of {which.release}")
        table = _dependencies(which.modules)
        wanted = {name for name in table for pattern in MODULES
                  if fnmatch.fnmatch(name, f"kernel/{pattern}")
                  or fnmatch.fnmatch(name, f"kernel/{pattern}.xz")}
        with tempfile.TemporaryDirectory(prefix="tmp.", dir=_images()) as folder:
            below = Path(folder) / "lib/modules" / which.release
            for name in _closure(wanted, table):
                target = below / name.removesuffix(".xz")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(_plain(which.modules / name))
            for listing in which.modules.glob("modules.[bo]*"):
                if listing.name in ("modules.builtin", "modules.builtin.modinfo", "modules.order"):
                    shutil.copy(listing, below)
            _call("depmod", "-b", folder, which.release)
            aside = Path(folder) / "image"
            _call("gensquashfs", "--quiet", "--compressor", "lz4", "--all-root",
                  "--pack-dir", str(below), str(aside))
            aside.rename(image)
    return image


def _call(*command: str) -> None:
    env = dict(os.environ, PATH=os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin")
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    if done.returncode:
        raise Trouble(f"{command[0]} failed: {(done.stderr.strip() or '?').splitlines()[-1]}")


class Cpio:
    """Writer of a newc archive, the format of an initramfs."""

    def __init__(self) -> None:
        self._out = bytearray()
        self._folders: Set[str] = set()
        self._inode = 0

    def _entry(self, name: str, mode: int, data: bytes = b"", device=(0, 0)) -> None:
        self._inode += 1
        path = name.encode() + b"\0"
        fields = [self._inode, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(path), 0]
        self._out += b"070701" + b"".join(b"%08X" % field for field in fields) + path
        self._out += bytes(-len(self._out) % 4)
        self._out += data
        self._out += bytes(-len(self._out) % 4)

    def folder(self, name: str) -> None:
        """A folder and those above it."""
        if name in ("", ".") or name in self._folders:
            return
        self.folder(os.path.dirname(name))
        self._folders.add(name)
        self._entry(name, stat.S_IFDIR | 0o755)

    def file(self, name: str, data: bytes, mode: int = 0o644) -> None:
        self.folder(os.path.dirname(name))
        self._entry(name, stat.S_IFREG | mode, data)

    def char_device(self, name: str, major: int, minor: int) -> None:
        self.folder(os.path.dirname(name))
        self._entry(name, stat.S_IFCHR | 0o600, device=(major, minor))

    def tree(self, source: Path, name: str) -> None:
        """A file or folder of the host, links followed, modes kept."""
        if source.is_dir():
            self.folder(name)
            for child in sorted(source.iterdir()):
                self.tree(child, f"{name}/{child.name}")
        else:
            self.file(name, source.read_bytes(), stat.S_IMODE(source.stat().st_mode))

    def bytes(self) -> bytes:
        """The finished archive; several may be joined."""
        self._entry("TRAILER!!!", 0)
        return bytes(self._out) + bytes(-len(self._out) % 512)


def initramfs(which: Kernel) -> Path:
    """Path of the part of the initramfs that only depends on the kernel."""
    init = (Path(__file__).parent / "initramfs-init").read_bytes()
    busybox = Path("/bin/busybox")
    if not busybox.exists():
        raise Trouble("busybox is missing: install the package busybox-static (scripts/deps does)")
    image = _images() / f"initramfs-{which.key}-{_digest(init.decode(), *EARLY)}.cpio.gz"
    if image.exists():
        return image
    table = _dependencies(which.modules)
    by_name = {_module_name(file): file for file in table}
    archive = Cpio()
    order: List[str] = []
    for name in EARLY:
        if name not in by_name:     # built into this kernel
            continue
        # modules.dep lists needs so that the last is to be loaded first.
        for file in [*reversed(table[by_name[name]]), by_name[name]]:
            if file not in order:
                order.append(file)
                archive.file(f"modules/{_module_name(file)}.ko", _plain(which.modules / file))
    archive.file("modules/order", "".join(f"{_module_name(file)}\n" for file in order).encode())
    for folder in ("proc", "sys", "root", "lower", "upper"):
        archive.folder(folder)
    archive.char_device("dev/console", 5, 1)
    archive.file("bin/busybox", busybox.read_bytes(), 0o755)
    archive.file("init", init, 0o755)
    with tempfile.NamedTemporaryFile(prefix="tmp.", dir=_images(), delete=False) as aside:
        aside.write(gzip.compress(archive.bytes(), 1))
    os.rename(aside.name, image)
    return image
