# SPDX-License-Identifier: GPL-2.0
"""What all Python scripts here share: paths, messages, the cache.

Errors that a user can act on are raised as Trouble with one clear line; the
scripts' main functions turn it into that line on stderr and exit status 1.
"""

import contextlib
import errno
import fcntl
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Iterator

TOP = Path(__file__).resolve().parents[2]
BUILD = TOP / "build"
SCRIPTS = TOP / "scripts"
KERNELS = ("6.1", "6.12")
SANITIZED = "6.12-san"  # the kernel that checks itself, see build-kernel
KUNIT = "6.12-kunit"    # a small one with KUnit and gcov
SLOWNESS = 5            # of that kernel, as a factor of time limits
TAIL = 40               # lines of a log that are shown when something fails


class Trouble(Exception):
    """Something is missing or wrong outside of the program.

    str() is one line to tell, or empty if a script that we called has told it.
    """


def cache_dir() -> Path:
    """The cache, shared with the shell scripts (lib/common.sh)."""
    base = os.environ.get("IRDMA_CACHE")
    if base:
        return Path(base)
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "irdma-e810"


def note(text: str) -> None:
    """A progress line on stderr."""
    print(f"{Path(sys.argv[0]).name}: {text}", file=sys.stderr, flush=True)


def figure(what: str, number: float) -> None:
    """For a test: a number of things that it has done, which check adds up over all tests."""
    path = os.environ.get("IRDMA_FIGURES")
    if path:
        with open(path, "a") as file:
            file.write(f"{number} {what}\n")


def run_main(main) -> None:
    """Run main() and end with its status; a Trouble becomes one line."""
    # As an exception, so that guests are ended on the way out. nohup ignores SIGHUP.
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda which, _: sys.exit(128 + which))
    try:
        sys.exit(main())
    except Trouble as trouble:
        if str(trouble):
            note(str(trouble))
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:     # whoever read our output has enough of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        if error.filename is None and error.errno != errno.ENOSPC:
            raise
        note(f"{error.filename or 'cannot write'}: {error.strerror}")
        sys.exit(1)


class Step:
    """Say on stdout what is being done, and after five seconds for how long already.

    A context; end() ends the telling before the context ends.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._ended = threading.Event()
        self._teller = threading.Thread(target=self._tell, daemon=True)

    def _tell(self) -> None:
        began = time.monotonic()
        pause = 5
        while not self._ended.wait(pause):
            pause = 15
            print(f"    {self._text}: {time.monotonic() - began:.0f} s", flush=True)

    def end(self) -> None:
        """No more lines."""
        self._ended.set()
        self._teller.join()

    def __enter__(self) -> "Step":
        print(f"{self._text} ...", flush=True)
        self._teller.start()
        return self

    def __exit__(self, *_) -> None:
        self.end()


@contextlib.contextmanager
def lock(name: str) -> Iterator[None]:
    """Hold the lock of that name (the same as lock() of common.sh)."""
    folder = cache_dir() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    with _held(folder / name, f"prepares {name}"):
        yield


@contextlib.contextmanager
def _held(path: Path, what: str) -> Iterator[None]:
    """Hold that file's lock; what another run does that holds it."""
    with open(path, "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            note(f"waiting for another run that {what}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def need(tool: str, package: str) -> None:
    """Raise Trouble unless the tool is installed."""
    path = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
    if not any(os.access(f"{folder}/{tool}", os.X_OK) for folder in path.split(":")):
        raise Trouble(f"{tool} is missing: install the package {package} (scripts/deps does)")


@contextlib.contextmanager
def child(command, **more) -> Iterator[subprocess.Popen]:
    """A process that ends, with all that it has started, when we are interrupted."""
    process = subprocess.Popen(command, start_new_session=True, **more)
    try:
        yield process
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        raise


def make(log: Path, *targets: str) -> None:
    """Run make, its output into a log; Trouble shows the end of it if it fails."""
    if re.search(r"[\s:,]", str(TOP)):      # as the Makefile says
        raise Trouble(f"'{TOP}' has a space, colon or comma in it: move the clone")
    log.parent.mkdir(parents=True, exist_ok=True)
    with _held(BUILD / ".lock", "builds here"), open(log, "w") as out:
        with child(["make", "-C", str(TOP), f"-j{os.cpu_count()}", *targets],
                   stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT) as made:
            made.wait()
    if made.returncode:
        for line in log.read_text(errors="replace").splitlines()[-TAIL:]:
            print(f"    {line}")
        raise Trouble(f"make {' '.join(targets)} failed, see {log.relative_to(TOP)}")


def ask(*command) -> str:
    """The output of one of our own scripts, whose own message tells of failure."""
    with child([str(word) for word in command], stdout=subprocess.PIPE, text=True) as asked:
        output, _ = asked.communicate()
    if asked.returncode:
        raise Trouble()
    return output.strip()
