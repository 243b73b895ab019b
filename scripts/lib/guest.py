# SPDX-License-Identifier: GPL-2.0
"""Guests: Debian's stock kernel (or 6.12-san) in QEMU, on a modelled E810 or without.

    with Wire() as wire, Guest(Setup(kernel="6.12", wire=wire)) as guest:
        print(guest.run("ibv_devinfo").output)

Entering the context boots the guest and waits until network and driver are
set up; run() runs a shell script in it; leaving it powers the guest off and
raises GuestFailure if the kernel log holds anything bad. begin() starts a
script without waiting, so that two guests can work at once; they meet over a
Wire. Used by scripts/guest, scripts/demo and the tests.

The kernel's console is one serial port, written to a file. Scripts and their
output pass through a virtio port (see guest-init). Everything of a run lies in
one folder, which is removed when all went well.
"""

import base64
import contextlib
import dataclasses
import itertools
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO, Dict, List, Optional, Sequence

import hosttsc
import image
import kernlog
from common import BUILD, SLOWNESS, Trouble, figure, need
from qmp import Qmp, QmpError

BOOT_SECONDS = 240          # a busy host and TCG: generous
OFF_SECONDS = 90
MEMORY_RESERVE_MIB = 256    # for QEMU itself, beside the guest's memory
SANITIZED_MIB = 2048        # least memory of a guest whose kernel keeps books on its own
MARK = b"\x1e"
# After an interrupt that comes right behind a cmpxchg16b, such as in 6.12's slab allocator, this
# QEMU sometimes goes on with bits of a pointer for flags, and the guest dies of a double fault.
CPU = "max,cx16=off"
CARD = "/machine/peripheral/card"     # the device, for the monitor


class GuestFailure(Exception):
    """A guest did not do what it should; str() has what is needed to see why."""


class Wire:
    """A cable between two guests: a folder with a datagram socket for each end.

    The folder is there while a guest is plugged in. Guests of different
    processes share a wire by giving the same folder.
    """

    def __init__(self, folder: Optional[Path] = None) -> None:
        self.folder = folder or Path(tempfile.mkdtemp(prefix="e810-wire."))

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end(self, number: int) -> Path:
        return self.folder / f"end{number}"

    def plug(self, number: int) -> str:
        """Value of QEMU's option -netdev for the end of guest 1 or 2."""
        self.folder.mkdir(exist_ok=True)
        self._end(number).unlink(missing_ok=True)
        return (f"dgram,id=wire,local.type=unix,local.path={self._end(number)},"
                f"remote.type=unix,remote.path={self._end(3 - number)}")

    def unplug(self, number: int) -> None:
        """That guest has ended."""
        self._end(number).unlink(missing_ok=True)
        with contextlib.suppress(OSError):      # not empty: the other still runs
            self.folder.rmdir()


@dataclasses.dataclass
class Setup:
    """What a guest is to be."""

    kernel: str = "6.1"             # series or release; 6.12-san stretches all time limits
    driver: str = "ours"            # ours, stock, rxe or none
    number: int = 1                 # 1 or 2: address, MAC and end of the wire
    device: bool = True             # an E810; else a virtio network card
    ice: bool = True                # load the network driver
    wire: Optional[Wire] = None
    trace: Optional[Path] = None    # the device's trace, JSON lines
    capture: Optional[Path] = None  # what passes the card's plug, pcap
    fail: Optional[str] = None      # bring-up step that the device refuses
    device_opts: Sequence[str] = () # more properties of the device, key=value
    more_cards: Sequence[str] = ()  # further E810s, plugged into nothing: key=value,...
    cpus: int = 2
    mem: int = 1024                 # MiB
    icount: bool = False            # guest time counts instructions, ports tell their number
    append: str = ""                # more kernel parameters
    disk: Optional[Path] = None     # a Debian with config() that boots as on a machine; writable
    files: Dict[str, Path] = dataclasses.field(default_factory=dict)
    allow: Sequence[str] = ()       # patterns of kernel messages that may come
    boot_seconds: int = BOOT_SECONDS
    echo: bool = False              # copy scripts' output to stdout as it comes
    console: bool = False           # a console on this process' terminal


@dataclasses.dataclass
class Done:
    """A script that has ended."""

    status: int
    output: str


class Command:
    """A script that runs in a guest."""

    def __init__(self, guest: "Guest", token: str) -> None:
        self._guest = guest
        self.token = token
        self.output = bytearray()
        self.status: Optional[int] = None
        self.ended = threading.Event()

    def wait(self, timeout: float = 120) -> Done:
        """Wait for its end; GuestFailure if it takes longer or the guest dies."""
        timeout = min(timeout * self._guest.slowness, threading.TIMEOUT_MAX)
        if not self.ended.wait(timeout):
            raise self._guest.failure(f"no end of the script within {timeout:.0f} s")
        if self.status is None:
            raise self._guest.failure("the guest ended during the script")
        return Done(self.status, self.output.decode(errors="replace"))


def check_memory(*mib: int) -> None:
    """Raise Trouble when the host has less available than guests of that size need."""
    with open("/proc/meminfo") as file:
        table = dict(line.split(":", 1) for line in file)
    available = int(table["MemAvailable"].split()[0]) // 1024
    needed = sum(each + MEMORY_RESERVE_MIB for each in mib)
    if available < needed:
        who = "a guest needs" if len(mib) == 1 else f"{len(mib)} guests need"
        raise Trouble(f"too little memory: {who} {needed} MiB, {available} MiB are available")


def product(path: Path, target: str) -> Path:
    """A build product that has to be there."""
    if not path.exists():
        raise Trouble(f"{path.relative_to(BUILD.parent)} is missing: run make {target}")
    return path


def config(setup: Setup, slowness: int = 1) -> str:
    """/host/config, which guest-init reads."""
    module = "ice" if setup.device else "virtio_net"
    values = {
        "GUEST_NUMBER": str(setup.number),
        "GUEST_DRIVER": setup.driver,
        "GUEST_ADDRESS": f"10.0.0.{setup.number}",
        "PEER_ADDRESS": f"10.0.0.{3 - setup.number}",
        "NET_MODULE": module if setup.ice else "",
        "SLOWNESS": str(slowness),
    }
    return "".join(f"{key}={shlex.quote(value)}\n" for key, value in values.items())


class Guest:
    """One virtual machine; see the module's text."""

    def __init__(self, setup: Setup, name: str = "guest") -> None:
        self.setup = setup
        self.name = name
        self.kernel = image.kernel(setup.kernel)
        below = Path(os.environ.get("IRDMA_RUN_DIR", BUILD / "run"))
        below.mkdir(parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=below))
        self.boot_seconds = 0.0
        self.slowness = SLOWNESS if self.kernel.sanitized else 1
        self.mem = max(setup.mem, SANITIZED_MIB) if self.kernel.sanitized else setup.mem
        self._process: Optional[subprocess.Popen] = None
        # QEMU that is killed does not give it back as it was.
        self._terminal = termios.tcgetattr(0) if setup.console and os.isatty(0) else None
        self._shell, self._shell_far = socket.socketpair()
        qmp, self._qmp_far = socket.socketpair()
        self.qmp = Qmp(qmp)
        # A card that is not plugged into a shared wire has one of its own.
        self._wire = setup.wire or Wire()
        self._tokens = itertools.count(1)
        self._commands: List[Command] = []

    # Starting.

    def _payload(self) -> bytes:
        """The archive of what this run brings along, /host in the guest."""
        archive = image.Cpio()
        init = Path(__file__).parent / "guest-init"
        archive.file("host/init", init.read_bytes(), 0o755)
        archive.file("host/config", config(self.setup, self.slowness).encode())
        if self.setup.device:
            package = product(BUILD / "ice.pkg", "ddp")
            archive.tree(package, "host/firmware/intel/ice/ddp/ice.pkg")
        if self.setup.driver == "ours":
            module = BUILD / self.kernel.release / "irdma.ko"
            archive.tree(product(module, f"modules KVER={self.kernel.release}"), "host/irdma.ko")
        if (BUILD / "guest").is_dir():
            for program in sorted((BUILD / "guest").iterdir()):
                if program.is_file():
                    archive.tree(program, f"host/bin/{program.name}")
        for target, source in self.setup.files.items():
            archive.tree(Path(source), f"host/{target}")
        return archive.bytes()

    def _initrd(self) -> Path:
        base = image.initramfs(self.kernel).read_bytes()
        path = self.folder / "initrd"
        path.write_bytes(base + bytes(-len(base) % 4) + self._payload())
        return path

    def _from_disk(self, name: str) -> Path:
        """A file that the boot loader would take from the disk (ext4, cleanly unmounted)."""
        need("debugfs", "e2fsprogs")
        path = self.folder / name
        source = f"/boot/{name}-{self.kernel.release}"
        subprocess.run(["/usr/sbin/debugfs", "-R", f"dump {source} {path}", str(self.setup.disk)],
                       check=True, capture_output=True)
        if not path.exists() or not path.stat().st_size:
            raise Trouble(f"{self.setup.disk} has no {source}")
        return path

    def _boot(self) -> List[str]:
        """QEMU's options for kernel, initramfs and disks."""
        if self.setup.disk:
            kernel, initrd = self._from_disk("vmlinuz"), self._from_disk("initrd.img")
            disks = {"root": f"file={self.setup.disk}"}
        else:
            kernel, initrd = self.kernel.vmlinux, self._initrd()
            disks = {"root": f"readonly=on,file={image.root_image()}",
                     "modules": f"readonly=on,file={image.module_image(self.kernel)}"}
        options = ["-kernel", str(kernel), "-initrd", str(initrd)]
        for label, where in disks.items():
            options += ["-drive", f"if=none,id={label},format=raw,{where}",
                        "-device", f"virtio-blk-pci,drive={label}"]
        return options

    def _network(self) -> List[str]:
        """QEMU's options for the card and what it is plugged into."""
        setup = self.setup
        wire = self._wire.plug(setup.number)
        card = {"netdev": "wire", "mac": f"52:54:00:e8:10:0{setup.number}", "id": "card"}
        options = ["-netdev", wire]
        if setup.capture:
            path = Path(setup.capture).absolute()
            options += ["-object", f"filter-dump,id=capture,netdev=wire,file={path}"]
        if not setup.device:
            card["romfile"] = ""
            return [*options, "-device", _device("virtio-net-pci", card)]
        if setup.trace:
            card["trace"] = str(Path(setup.trace).absolute())
        if setup.fail:
            card["fail"] = setup.fail
        card.update(option.split("=", 1) for option in setup.device_opts)
        cards = [card]
        for number, properties in enumerate(setup.more_cards, 2):
            cards.append({"mac": f"52:54:00:e8:1{number}:0{setup.number}"})
            cards[-1].update(option.split("=", 1) for option in properties.split(","))
        options += ["-plugin", str(product(BUILD / "e810.so", "model"))]
        for slot, each in enumerate(cards):
            options += ["-device", f"pcie-root-port,id=root{slot},chassis={slot + 1}",
                        "-device", _device("e810", {**each, "bus": f"root{slot}"})]
        return options

    def _command_line(self) -> List[str]:
        setup = self.setup
        append = ("console=ttyS0 log_buf_len=4M panic=-1 oops=panic tsc=reliable no_timer_check "
                  "watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=120 apparmor=0 "
                  "firmware_class.path=/host/firmware "
                  f"{'root=/dev/vda rw' if setup.disk else ''} "
                  f"{'' if setup.icount else _tsc_parameter()} {setup.append}")
        ports = ["-device", "virtio-serial-pci",
                 "-chardev", f"socket,id=shell,fd={self._shell_far.fileno()}",
                 "-device", "virtserialport,chardev=shell,name=host.shell",
                 "-chardev", f"file,id=kmsg,path={self.folder}/kmsg",
                 "-device", "virtserialport,chardev=kmsg,name=host.kmsg",
                 "-chardev", f"socket,id=monitor,fd={self._qmp_far.fileno()}",
                 "-mon", "chardev=monitor,mode=control",
                 "-chardev", f"file,id=console,path={self.folder}/serial",
                 "-serial", "chardev:console"]
        if setup.console:
            ports += ["-chardev", "stdio,id=terminal,signal=off",
                      "-device", "virtconsole,chardev=terminal"]
        timing = ["-icount", "shift=0,sleep=off"] if setup.icount else []
        if setup.icount and setup.device:
            timing += ["-device", "instruction-counter"]
        return ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot",
                "-display", "none", "-M", "q35", "-cpu", CPU,
                # With a thread a CPU, TCG loses races against code that the kernel patches.
                "-accel", "tcg,thread=single",
                "-smp", str(setup.cpus), "-m", str(self.mem), *timing,
                *self._boot(), "-append", append, *ports, *self._network()]

    def start(self) -> "Guest":
        """Begin to boot; wait_ready() waits for the end of it."""
        try:
            need("qemu-system-x86_64", "qemu-system-x86")
            check_memory(self.mem)
            command = self._command_line()
        except Trouble:
            shutil.rmtree(self.folder)
            self.kill()
            raise
        (self.folder / "command").write_text(shlex.join(command) + "\n")
        self._started = time.monotonic()
        with open(self.folder / "qemu", "wb") as errors:
            self._process = subprocess.Popen(
                command, stdin=None if self.setup.console else subprocess.DEVNULL,
                stdout=None if self.setup.console else errors, stderr=errors,
                pass_fds=[self._shell_far.fileno(), self._qmp_far.fileno()])
        self._shell_far.close()
        self._qmp_far.close()
        self._commands.append(Command(self, "setup"))
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def wait_ready(self) -> None:
        """Wait until network and driver are set up; GuestFailure if they do not come."""
        done = self._commands[-1].wait(self.setup.boot_seconds)
        if done.status:
            self.stop(check=False)
            raise self.failure(done.output.strip() or "setup failed")
        self.boot_seconds = time.monotonic() - self._started

    def __enter__(self) -> "Guest":
        try:
            self.start()
            self.wait_ready()
        except BaseException:
            self.kill()
            raise
        return self

    # Running scripts.

    def _listen(self) -> None:
        """Thread: sort what the port brings to the commands, in order."""
        with open(self.folder / "output", "wb") as log:
            pending = b""
            while True:
                try:
                    data = self._shell.recv(65536)
                except OSError:
                    data = b""
                if not data:
                    break
                log.write(data)
                log.flush()
                pending = self._sort(pending + data)
        for command in self._commands:
            command.ended.set()

    def _sort(self, data: bytes) -> bytes:
        """Give data to the commands; returns an unfinished end mark."""
        while data:
            current = next((c for c in self._commands if not c.ended.is_set()), None)
            if current is None:
                return b""
            text, mark, rest = data.partition(MARK + current.token.encode() + b" ")
            if not mark:
                # Hold back what may be the beginning of a mark.
                cut = data.rfind(MARK)
                cut = cut if cut >= 0 and len(data) - cut < 64 else len(data)
                self._take(current, data[:cut])
                return data[cut:]
            status, newline, rest = rest.partition(b"\n")
            if not newline:
                self._take(current, text)
                return mark + status
            self._take(current, text)
            current.status = int(status)
            current.ended.set()
            data = rest
        return b""

    def _take(self, command: Command, text: bytes) -> None:
        command.output += text
        if self.setup.echo and text:
            out: BinaryIO = sys.stdout.buffer
            out.write(text)
            out.flush()

    def _send(self, token: str, script: str = "") -> Command:
        command = Command(self, token)
        self._commands.append(command)
        encoded = base64.b64encode(script.encode()).decode()
        try:
            self._shell.sendall(f"{token} {encoded}\n".encode())
        except OSError:
            raise self.failure("the guest has ended") from None
        return command

    def begin(self, script: str) -> Command:
        """Start a shell script in the guest; scripts of a guest run one by one."""
        return self._send(f"script{next(self._tokens)}", script)

    def run(self, script: str, timeout: float = 120, check: bool = True) -> Done:
        """Run a shell script to its end (timeout in seconds).

        With check, a status other than 0 raises GuestFailure.
        """
        done = self.begin(script).wait(timeout)
        if check and done.status:
            raise self.failure(f"status {done.status} of: {script.strip()}\n{done.output.strip()}")
        return done

    def reset(self) -> None:
        """Push the machine's reset button, whatever runs, and wait until it is ready again."""
        self.qmp("set-action", reboot="reset")
        for command in self._commands:      # of those that run nothing more is heard
            command.ended.set()
        self._commands.append(Command(self, "setup"))
        self._started = time.monotonic()
        self.qmp("system_reset")
        self.wait_ready()

    def set_card(self, name: str, value: Any) -> None:
        """Set a property of the device while it runs."""
        self.qmp("qom-set", path=CARD, property=name, value=value)

    def card(self, name: str) -> Any:
        """A property of the device."""
        return self.qmp("qom-get", path=CARD, property=name)

    def interact(self) -> int:
        """A shell on the console, until it ends."""
        return self._send("console").wait(timeout=threading.TIMEOUT_MAX).status

    # Ending.

    def _text(self, name: str) -> str:
        path = self.folder / name
        return path.read_text(errors="replace") if path.exists() else ""

    @property
    def kernel_log(self) -> str:
        """The serial console so far."""
        return self._text("serial")

    def failure(self, what: str) -> GuestFailure:
        """An exception that tells what happened, with what the logs say of it."""
        parts = [f"{self.name} (kernel {self.kernel.release}): {what}"]
        status = self._process.poll() if self._process is not None else None
        if status:
            parts.append(f"QEMU ended with {_status_text(status)}")
        qemu = self._text("qemu").splitlines()[-15:]
        if qemu:
            parts += ["--- QEMU said:", *qemu]
        report = kernlog.first_report(self.kernel_log, 30)
        if report:
            parts += ["--- the kernel said first:", *report]
        else:
            parts += ["--- end of the kernel log:", *self.kernel_log.splitlines()[-25:]]
        parts.append(f"--- all logs: {self.folder}")
        return GuestFailure("\n".join(parts))

    def stop(self, check: bool = True) -> None:
        """Power off; with check, GuestFailure if QEMU or the kernel log are not clean."""
        if self._process is None:
            return
        limit = OFF_SECONDS * self.slowness
        if self._process.poll() is None:
            self._count_faults()
            self._send("poweroff")
        try:
            status = self._process.wait(limit)
        except subprocess.TimeoutExpired:
            self.kill()
            if check:
                raise self.failure(f"did not power off within {limit} s") from None
            return
        self.kill()
        if not check:
            return
        if status:
            raise self.failure(f"QEMU ended with {_status_text(status)}")
        bad = kernlog.problems(self._text("serial"), self._text("kmsg"), self.setup.allow)
        figure("guests", 1)
        figure("reports of their kernels", len(bad))
        if bad:
            raise self.failure("\n".join(["kernel log is not clean:", *bad[:40]]))
        if not self._text("kmsg"):
            raise self.failure("ended by itself")
        shutil.rmtree(self.folder)

    def _count_faults(self) -> None:
        # There may be no card, or QEMU is ending.
        with contextlib.suppress(QmpError, OSError):
            figure("faults of the device", self.card("faults"))

    def kill(self) -> None:
        """End QEMU at once, if it runs, and give back what it used."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
            if self._terminal:
                termios.tcsetattr(0, termios.TCSANOW, self._terminal)
        self._process = None
        self._wire.unplug(self.setup.number)
        if isinstance(sys.exc_info()[1], (KeyboardInterrupt, SystemExit)):
            shutil.rmtree(self.folder, ignore_errors=True)      # nobody wants to see why

    def __exit__(self, kind, *_) -> None:
        if kind is not None:
            self.kill()
        else:
            self.stop()


def _status_text(status: int) -> str:
    return f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"


def _tsc_parameter() -> str:
    """Kernel parameter with the frequency of the counter that QEMU hands through."""
    khz = hosttsc.khz()
    return f"tsc_early_khz={khz}" if khz else ""


def _device(name: str, properties: Dict[str, str]) -> str:
    """An argument of -device; a comma in a value is doubled."""
    return ",".join([name, *(f"{key}={value}".replace(",", ",,")
                             for key, value in properties.items())])
