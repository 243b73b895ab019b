# SPDX-License-Identifier: GPL-2.0
"""The frequency of the host's time stamp counter, which is that of the guests.

QEMU without KVM hands the host's counter through. A guest's kernel would measure it
against an emulated timer, and on a busy host find a tenth of it: its time then runs ten
times too fast, and whatever waits for a peer gives up. guest.py tells it instead.
"""

import ctypes
import functools
import mmap
import platform
import time
from typing import Optional, Tuple

# rdtsc; shl rdx, 32; or rax, rdx; ret
READ_COUNTER = bytes.fromhex("0f31 48c1e220 4809d0 c3")
TRIES = 20              # of which the one that was interrupted least counts
APART = 0.05            # seconds between the two points of the measurement


@functools.lru_cache(maxsize=None)
def khz() -> Optional[int]:
    """kHz of the counter; None where it cannot be read."""
    if platform.machine() != "x86_64":
        return None
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE,
                         prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:         # a host that allows no code in memory that can be written to
        return None
    page.write(READ_COUNTER)
    counter = ctypes.CFUNCTYPE(ctypes.c_uint64)(
        ctypes.addressof(ctypes.c_char.from_buffer(page)))

    def point() -> Tuple[int, int]:
        """Counter and time, read as close together as the host lets us."""
        best = None
        for _ in range(TRIES):
            before = time.monotonic_ns()
            ticks = counter()
            after = time.monotonic_ns()
            if best is None or after - before < best[0]:
                best = (after - before, ticks, (before + after) // 2)
        return best[1], best[2]

    ticks, when = point()
    time.sleep(APART)
    more_ticks, later = point()
    return (more_ticks - ticks) * 1_000_000 // (later - when)
