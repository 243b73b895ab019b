# SPDX-License-Identifier: GPL-2.0
"""What the device is told, by us and by stock irdma: no difference that is not explained."""

import subprocess

from common import SCRIPTS
from testing import test


@test(needs=("images", "model", "modules", "programs"), timeout=420)
def stock(kernel: str) -> None:
    """Bring-up, programs and tear-down; Documentation/differences.rst is the list."""
    subprocess.run([SCRIPTS / "trace-diff", "--kernel", kernel, "--summary"], check=True)
