# SPDX-License-Identifier: GPL-2.0
"""Makes what guests need, in order: used by check and demo before they boot any."""

import os
import subprocess
from pathlib import Path
from typing import Callable, Dict, Sequence

import image
from common import BUILD, KUNIT, SANITIZED, SCRIPTS, Trouble, ask, cache_dir, make

LOGS = BUILD / "logs"
CCACHE = Path("/usr/lib/ccache")    # compilers' names that lead to ccache


def deps() -> None:
    """Install Debian packages that are missing, and from here on compile by way of ccache."""
    if subprocess.run([str(SCRIPTS / "deps")]).returncode:
        raise Trouble()
    os.environ.update(
        PATH=f"{CCACHE}:{os.environ['PATH']}", CCACHE_DIR=str(cache_dir() / "ccache"),
        CCACHE_MAXSIZE="1G", CCACHE_NOHASHDIR="1")


def _kernels_of_guests(kernels: Sequence[str]) -> None:
    for kernel in kernels:
        ask(SCRIPTS / "fetch-kernel", kernel)


def _images(kernels: Sequence[str]) -> None:
    image.root_image()
    for kernel in map(image.kernel, kernels):
        image.module_image(kernel)
        image.initramfs(kernel)


def _programs(_kernels: Sequence[str]) -> None:
    make(LOGS / "programs.log", "guest-programs")


def _model(_kernels: Sequence[str]) -> None:
    ask(SCRIPTS / "fetch-qemu-headers")
    make(LOGS / "model.log", "model")
    make(LOGS / "ddp.log", "ddp")


def _modules(kernels: Sequence[str]) -> None:
    for kernel in kernels:
        make(LOGS / f"modules-{kernel}.log", "modules", f"KVER={kernel}")


def _test_modules(kernels: Sequence[str]) -> None:
    for kernel in kernels:
        make(LOGS / f"test-modules-{kernel}.log", "test-modules", f"KVER={kernel}")


def _sanitized(_kernels: Sequence[str]) -> None:
    for action in (_kernels_of_guests, _images, _modules, _test_modules):
        action((SANITIZED,))


def _kunit(_kernels: Sequence[str]) -> None:
    for action in (_kernels_of_guests, _images):
        action((KUNIT,))
    make(LOGS / f"coverage-{KUNIT}.log", "coverage", f"KVER={KUNIT}")


_ACTIONS: Dict[str, Callable[[Sequence[str]], None]] = {
    "kernels": _kernels_of_guests,      # Debian's packages, unpacked
    "images": _images,          # what guests boot from
    "programs": _programs,      # test programs of the guests
    "model": _model,            # e810.so and ice.pkg
    "modules": _modules,        # our irdma.ko
    "test-modules": _test_modules,      # verbs_test.ko, a consumer in the kernel
    "sanitized": _sanitized,    # all of these for 6.12-san, which is built first
    "kunit": _kunit,            # a small kernel with KUnit, the driver's tests with gcov
}
ORDER = tuple(_ACTIONS)


def run(what: str, kernels: Sequence[str]) -> None:
    """Make one of ORDER for these kernels; Trouble if it cannot be made."""
    _ACTIONS[what](kernels)
