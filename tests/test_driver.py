# SPDX-License-Identifier: GPL-2.0
"""Parts of the driver by themselves, on the host."""

import subprocess

from common import BUILD, TOP
from testing import test

PROGRAMS = BUILD / "driver"


def build() -> None:
    """The programs of tests/driver; only what has changed is made anew."""
    subprocess.run(["flock", BUILD, "make", "-C", TOP / "tests/driver", f"OUT={PROGRAMS}"],
                   check=True)


@test(needs=(), kernels=None, guests=0, timeout=300)
def page_list_pool() -> None:
    build()
    for seed in range(1, 4):
        subprocess.run([PROGRAMS / "pble-pool", str(seed)], check=True)
