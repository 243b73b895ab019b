# SPDX-License-Identifier: GPL-2.0
"""The device model by itself, without QEMU: its rules, and what nonsense does to it."""

import subprocess

from common import BUILD, TOP
from testing import test

PROGRAMS = BUILD / "model"


def build() -> None:
    """The programs of tests/model; only what has changed is made anew."""
    subprocess.run(["flock", BUILD, "make", "-C", TOP / "tests/model", f"OUT={PROGRAMS}"],
                   check=True)


@test(needs=(), kernels=None, guests=0, timeout=600)
def rdma_rules() -> None:
    build()
    subprocess.run([PROGRAMS / "rdma-rules"], check=True)


@test(needs=(), kernels=None, guests=0, timeout=600)
def rdma_fuzz() -> None:
    build()
    for seed in range(1, 6):
        subprocess.run([PROGRAMS / "rdma-fuzz", str(seed), "1000000"], check=True)


@test(needs=(), kernels=None, guests=0, timeout=600, full=True)
def roce_rules() -> None:
    build()
    subprocess.run([PROGRAMS / "roce-rules"], check=True)


@test(needs=(), kernels=None, guests=0, timeout=600, full=True)
def roce_fuzz() -> None:
    build()
    for seed in range(1, 4):
        subprocess.run([PROGRAMS / "roce-fuzz", str(seed), "60"], check=True)


@test(needs=(), kernels=None, guests=0, timeout=600)
def lan_rules() -> None:
    build()
    subprocess.run([PROGRAMS / "lan-rules"], check=True)


@test(needs=(), kernels=None, guests=0, timeout=600)
def lan_fuzz() -> None:
    build()
    for seed in range(1, 6):
        subprocess.run([PROGRAMS / "lan-fuzz", str(seed), "100000"], check=True)
