# SPDX-License-Identifier: GPL-2.0
"""The harness itself: what must be noticed is noticed. On rxe, without a model."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import List

import hosttsc
import kernlog
from common import SCRIPTS, Trouble
from guest import Guest, GuestFailure, Setup, Wire
from testing import Test, guests, select, test


GUEST = (SCRIPTS / "guest", "--no-device", "--driver", "none", "--mem", "512")


def virtio(**more) -> Setup:
    """A guest without an E810."""
    return Setup(device=False, mem=512, **{"driver": "none", **more})


def fails(text: str, guest: Guest, script: str, timeout: float = 60) -> None:
    """The run must fail, with that text in the message."""
    os.environ.pop("IRDMA_FIGURES", None)       # its reports are not of the driver
    try:
        with guest:
            guest.run(script, timeout)
    except GuestFailure as failure:
        assert text in str(failure), failure
    else:
        raise AssertionError(f"'{script}' was not noticed")


@test(needs=("images",), kernels=("6.12",))
def warning_is_noticed(kernel: str) -> None:
    fails("WARNING: CPU: 0", Guest(virtio(kernel=kernel)),
          "echo 'WARNING: CPU: 0 PID: 1 at nowhere' >/dev/kmsg")


OVERLAP = """------------[ cut here ]------------
DMA-API: ice 0000:01:00.0: cacheline tracking EEXIST, overlapping mappings aren't supported
WARNING: CPU: 0 PID: 129 at kernel/dma/debug.c:601 add_dma_entry+0x3e3/0x590
Call Trace:
 ib_umem_get+0x56b/0x8c0 [ib_uverbs]
{}
 shim_umem_get+0xd/0x50 [irdma]
---[ end trace 0000000000000000 ]---
{}
DMA-API: Mapped at:
 debug_dma_map_sg+0x276/0xdd0
 ib_umem_get+0x56b/0x8c0 [ib_uverbs]
{}"""


NO_FIELDS = """------------[ cut here ]------------
WARNING: CPU: 0 PID: 106 at kernel/trace/trace_events.c:2628 event_define_fields+0x2f8/0x530
CPU: 0 UID: 0 PID: 106 Comm: allocation-fail Tainted: G           O       6.12.117-san #1
Call Trace:
 event_create_dir+0x2ae/0xc00
{}
 trace_module_notify+0x3c3/0x590
---[ end trace 0000000000000000 ]---
{}"""


def found_in(text: str) -> List[str]:
    """What is found in a kernel log of this text."""
    lines = text.splitlines()
    serial = "\n".join(f"[  137.5] {line}" for line in lines)
    records = "\n".join(f"4,{n},137,-;{line}" for n, line in enumerate(lines))
    return kernlog.problems(serial, records)


@test(needs=(), kernels=None)
def known_report_hides_no_other() -> None:
    """A report that is known to be none is left out, and nothing else within it or after it."""
    overlap = OVERLAP.format("", "", "\n")
    often = re.sub("ice .* supported", "exceeded 7 overlapping mappings of cacheline 0x1", overlap)
    for known in (overlap, often, overlap + often + overlap):
        assert found_in(known) == [], found_in(known)
    # Two CPUs at once.
    first, second = overlap.splitlines(), often.splitlines()
    mixed = "\n".join(line for pair in zip(first, second) for line in pair)
    assert found_in(mixed) == [], found_in(mixed)
    assert found_in(mixed.replace("exceeded 7", "device driver frees"))
    oops = "BUG: unable to handle page fault"
    for others in ((oops, "", ""), ("", oops, ""), ("", "", oops)):
        assert any(oops in line for line in found_in(OVERLAP.format(*others))), others
    for old, new in (("ib_umem_get", "irdma_own_mapping"),
                     ("cacheline tracking EEXIST", "device driver frees")):
        assert found_in(overlap.replace(old, new)), new

    no_fields = NO_FIELDS.format("", "")
    gone = no_fields.replace("event_define_fields", "event_file_put")
    assert found_in(no_fields + gone + overlap + gone) == []
    assert found_in(NO_FIELDS.format(oops, "")) and found_in(NO_FIELDS.format("", oops))
    for old, new in (("allocation-fail", "modprobe"), ("event_define_fields", "event_remove"),
                     (" trace_module_notify", " irdma_init_module")):
        assert found_in(no_fields.replace(old, new)), new


@test(needs=(), kernels=None)
def device_has_two_names() -> None:
    """A line that is allowed is so before the device is registered, too, and no other is."""
    def left(text: str) -> List[str]:
        return kernlog.problems("", f"3,1,137,-;{text}", [r"irdma\d: oddity"])

    assert left("ice 0000:01:00.0 irdma0: oddity") == left("irdma ice.roce.1: oddity") == []
    for text in ("irdma ice.roce.1: other", "irdma: oddity", "ice.roce.1: oddity"):
        assert left(text) == [text], text


@test(needs=("images",), kernels=("6.1",))
def driver_warning_is_noticed(kernel: str) -> None:
    fails("irdma: oddity", Guest(virtio(kernel=kernel)), "echo '<4>irdma: oddity' >/dev/kmsg")


@test(needs=("images",), kernels=("6.12",))
def panic_is_noticed(kernel: str) -> None:
    fails("Kernel panic", Guest(virtio(kernel=kernel)), "echo c >/proc/sysrq-trigger; sleep 60")


@test(needs=("images",), kernels=("6.1",))
def hang_is_noticed(kernel: str) -> None:
    began = time.monotonic()
    guest = Guest(virtio(kernel=kernel))
    fails("no end of the script within 3 s", guest, "sleep 1000", timeout=3)
    assert time.monotonic() - began < guest.boot_seconds + 30


@test(needs=("images",), kernels=("6.1",))
def failed_setup_is_noticed(kernel: str) -> None:
    done = subprocess.run([*GUEST, "--kernel", kernel, "--append", "module_blacklist=virtio_net",
                           "--", "true"], capture_output=True, text=True)
    assert done.returncode == 125 and "modprobe virtio_net failed" in done.stderr, done


@test(needs=("images",), kernels=None, timeout=120)
def command_line() -> None:
    """Output, exit status, and one line for what cannot be."""
    done = subprocess.run([*GUEST, "--", "sh", "-c", "echo out; exit 9"],
                          capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (9, "out\n"), done
    for options, text in ((["--kernel", "5.4"], "unknown kernel '5.4'"),
                          (["--mem", "90000000"], "too little memory")):
        done = subprocess.run([*GUEST, *options, "--", "true"], capture_output=True, text=True)
        assert done.returncode == 1 and text in done.stderr, done
        assert len(done.stderr.splitlines()) == 1, done.stderr
    done = subprocess.run([GUEST[0], "--driver", "rxe", "--", "true"], capture_output=True, text=True)
    assert done.returncode == 2 and "wants --no-device" in done.stderr, done
    done = subprocess.run([*GUEST, "--file", __file__, "--", "cat", f"/host/{Path(__file__).name}"],
                          capture_output=True, text=True)
    assert done.stdout == Path(__file__).read_text(), done


@test(needs=(), guests=0, kernels=None)
def patterns_name_tests() -> None:
    """A whole name is that test alone; a pattern that names none is not passed over."""
    some = [Test(name, print, None, 1, 1, (), full)
            for name, full in (("a.b.6.1", False), ("a.b.6.12", True), ("a.c", True))]

    def chosen(*patterns: str) -> List[str]:
        return [each.name for each in select(some, patterns, False)]

    assert chosen() == chosen("a.b.6.1") == ["a.b.6.1"]
    assert chosen("a.b") == chosen("*.6.*", "a.b.6.12") == ["a.b.6.1", "a.b.6.12"]
    assert chosen("c", "6.12") == ["a.b.6.12", "a.c"]
    try:
        chosen("a.b", "nothing")
    except Trouble as trouble:
        assert "'nothing'" in str(trouble), trouble
    else:
        raise AssertionError("a pattern without tests was passed over")


@test(needs=("images",), kernels=None)
def interrupted_run_ends() -> None:
    """Nothing that it has started goes on, no folder of it is left."""
    folders = Path(os.environ["IRDMA_RUN_DIR"]), Path(tempfile.mkdtemp(prefix="e810-test."))
    try:
        os.environ["TMPDIR"] = str(folders[1])
        ends_when_interrupted()
        left = [path for folder in folders if folder.exists() for path in folder.iterdir()]
        assert not left, left
    finally:
        shutil.rmtree(folders[1])


def ends_when_interrupted() -> None:
    """scripts/guest, by both signals."""
    for number in (signal.SIGINT, signal.SIGTERM):
        # A shell's background job ignores SIGINT, and so does all that it starts.
        run = subprocess.Popen([*GUEST, "--", "sleep", "1000"], stderr=subprocess.PIPE,
                               start_new_session=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        try:
            assert b"ready after" in run.stderr.readline()
            run.send_signal(number)
            assert run.wait(20) == 128 + number, run.returncode
        except BaseException:
            os.killpg(run.pid, signal.SIGKILL)
            raise
        try:
            os.killpg(run.pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
        raise AssertionError(f"something goes on after {number.name}")


@test(needs=("images", "programs"), kernels=None, guests=2)
def two_guests_meet() -> None:
    """Verbs over rxe, between the two kernels, over one wire."""
    with Wire() as wire, guests(
            Guest(virtio(kernel="6.1", driver="rxe", wire=wire, number=1), "one"),
            Guest(virtio(kernel="6.12", driver="rxe", wire=wire, number=2), "two")) as (one, two):
        for guest in (one, two):
            assert f"tsc: Detected {hosttsc.khz() // 1000}." in guest.kernel_log, guest.kernel_log
        one.run("ping -c 2 -W 20 $PEER_ADDRESS")
        server = two.begin("ibv_rc_pingpong -g 1 -n 100")
        one.run("sleep 1; ibv_rc_pingpong -g 1 -n 100 $PEER_ADDRESS")
        assert server.wait().status == 0
        one.run("qp-bringup --lenient --peer $PEER_ADDRESS")
