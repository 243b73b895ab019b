# SPDX-License-Identifier: GPL-2.0
"""The device model by itself, without QEMU: its rules, and what nonsense does to it."""

import subprocess

from testing import host_programs, test

@test(needs=(), kernels=None, guests=0, timeout=600)
def rdma_rules() -> None:
    programs = host_programs("model")
    subprocess.run([programs / "rdma-rules"], check=True)


@test(needs=(), kernels=None, guests=0, timeout=600)
def rdma_fuzz() -> None:
    programs = host_programs("model")
    for seed in range(1, 6):
        subprocess.run([programs / "rdma-fuzz", str(seed), "1000000"], check=True)


@test(needs=(), kernels=None, guests=0, timeout=600)
def roce_rules() -> None:
    programs = host_programs("model")
    subprocess.run([programs / "roce-rules"], check=True)


@test(needs=(), kernels=None, guests=0, timeout=600, full=True)
def roce_fuzz() -> None:
    programs = host_programs("model")
    for seed in range(1, 4):
        subprocess.run([programs / "roce-fuzz", str(seed), "60"], check=True)


@test(needs=(), kernels=None, guests=0, timeout=600)
def lan_rules() -> None:
    programs = host_programs("model")
    subprocess.run([programs / "lan-rules"], check=True)


@test(needs=(), kernels=None, guests=0, timeout=600)
def lan_fuzz() -> None:
    programs = host_programs("model")
    for seed in range(1, 6):
        subprocess.run([programs / "lan-fuzz", str(seed), "100000"], check=True)
