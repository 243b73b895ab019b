# SPDX-License-Identifier: GPL-2.0
"""The build and the sources: what must be refused, style, scripts."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import List

from common import BUILD, SCRIPTS, TOP
from testing import Skip, test

FULL_KERNELS = ("6.1",)

MAX_LINES = 1000
CODE = {".c", ".h", ".cpp", ".py", ".sh"}


def run(*command) -> None:
    """Run a check; it prints what it finds."""
    done = subprocess.run([str(word) for word in command], cwd=TOP)
    assert done.returncode == 0, f"{command[0]}: status {done.returncode}"


def sources() -> List[Path]:
    """All files that are in git."""
    names = subprocess.run(["git", "ls-files"], cwd=TOP, capture_output=True, text=True,
                           check=True).stdout.splitlines()
    return [TOP / name for name in names if (TOP / name).is_file()]


def first_line(path: Path) -> str:
    return path.read_text(errors="replace").partition("\n")[0]


@test(needs=(), guests=0, timeout=400)
def faults_are_refused(kernel: str) -> None:
    run(TOP / "tests/build-checks/run", kernel)


@test(needs=(), guests=0, kernels=None)
def scripts_are_clean() -> None:
    shell = [path for path in sources() if first_line(path).startswith("#!")
             and first_line(path).endswith("sh")]
    run("shellcheck", "-x", "-P", SCRIPTS, "-P", "SCRIPTDIR", *shell)
    python = [path for path in sources() if path.suffix == ".py" or "python3" in first_line(path)]
    for path in python:
        compile(path.read_text(), str(path), "exec")


@test(needs=(), guests=0, kernels=None)
def sources_have_licence_and_size() -> None:
    """An SPDX line in the first three lines of each file; none too long."""
    wrong = []
    for path in sources():
        # Those of a form without comments.
        if path.name in ("COPYING", "changelog") or path.parts[-2:] == ("source", "format"):
            continue
        lines = path.read_text(errors="replace").splitlines()
        if not any("SPDX-License-Identifier: GPL-2.0" in line for line in lines[:3]):
            wrong.append(f"{path.relative_to(TOP)}: no SPDX line")
        if path.suffix in CODE and len(lines) > MAX_LINES:
            wrong.append(f"{path.relative_to(TOP)}: {len(lines)} lines")
    assert not wrong, "\n".join(wrong)


@test(needs=(), guests=0, kernels=None)
def format_is_kept() -> None:
    run("make", "--no-print-directory", "format-check")


@test(needs=(), guests=0, kernels=None)
def headers_are_followed() -> None:
    """An object is built again when its header changes, however its folder is named."""
    here = TOP / "tests/driver"
    with tempfile.TemporaryDirectory(dir=BUILD) as out:
        make = ["make", "-s", "-C", str(here)]
        subprocess.run([*make, f"OUT={os.path.relpath(out, here)}"], check=True)
        for changed, status in ([], 0), (["-W", "../../shim/kernel.h"], 1):
            done = subprocess.run([*make, f"OUT={out}", "-q", *changed])
            assert done.returncode == status, changed


@test(needs=(), guests=0, kernels=None)
def unknown_kernel_is_refused() -> None:
    """One clear line, and a status other than 0."""
    done = subprocess.run([SCRIPTS / "fetch-kernel", "5.99"], capture_output=True, text=True)
    assert done.returncode != 0 and done.stdout == "", done
    assert done.stderr.count("\n") == 1 and "unknown kernel '5.99'" in done.stderr, done


def refused(text: str, *command, cwd: Path = TOP, **environment: str) -> None:
    """The command must fail, and the last line that it says has that text."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True,
                          env=dict(os.environ, **environment))
    assert done.returncode != 0 and done.stdout == "", done
    assert text in done.stderr.splitlines()[-1], done


@test(needs=(), guests=0, kernels=None)
def bad_places_are_refused() -> None:
    """Clones and caches where nothing can be built; what lies beside them stays."""
    with tempfile.TemporaryDirectory() as below:
        beside = Path(below) / "a"
        clone = Path(below) / "a clone"
        beside.mkdir()
        clone.mkdir()
        shutil.copy(TOP / "Makefile", clone)
        refused("a clone' has a space", "make", "--no-print-directory", "clean",
                cwd=clone)
        assert beside.is_dir()
        fetch = SCRIPTS / "fetch-kernel"
        refused("a cache' has a space", fetch, "6.1", IRDMA_CACHE=f"{below}/a cache")
        refused("'cache' is no absolute path", fetch, "6.1", IRDMA_CACHE="cache")
        refused("cannot write to the cache", fetch, "6.1", IRDMA_CACHE="/proc/cache")


@test(needs=(), guests=0, kernels=None)
def missing_network_is_told() -> None:
    """And it does not count as a look at Debian's lists."""
    if subprocess.run(["apt-config", "dump", "Acquire::http::Proxy"], capture_output=True).stdout:
        raise Skip("apt has a proxy of its own")
    nowhere = "http://127.0.0.1:9"
    with tempfile.TemporaryDirectory() as cache:
        refused("cannot fetch Debian's package lists: E:", SCRIPTS / "fetch-kernel", "6.1",
                IRDMA_CACHE=cache, http_proxy=nowhere, https_proxy=nowhere)
        assert not Path(cache, "apt/stamp").exists()
