# SPDX-License-Identifier: GPL-2.0
"""Parts of the driver by themselves, on the host."""

import subprocess

from testing import host_programs, test

@test(needs=(), kernels=None, guests=0, timeout=300)
def page_list_pool() -> None:
    programs = host_programs("driver")
    for seed in range(1, 4):
        subprocess.run([programs / "pble-pool", str(seed)], check=True)
