# SPDX-License-Identifier: GPL-2.0
"""rdma-core's own tests, Debian's python3-pyverbs, on our module.

Each passes, or is skipped by itself for something that the E810 or Debian's
libirdma lacks; Documentation/verbs.rst has the table.
"""

import collections
import json
import re
from typing import Dict

from guest import Guest, Setup
from kernlog import REFUSAL
from testing import test

# Reasons for which tests skip themselves, and what is missing.
LACKS = {
    r"Atomic operations are not supported": "atomics",
    r"Device memory is not supported": "memory of the device",
    r"ODP is not supported": "on-demand paging",
    r"Create SRQ is not supported": "shared receive queues",
    r"Create XRCD is not supported": "XRC",
    r"Create (UC|Raw Packet) QP with.* is not supported": "UC and raw packet queue pairs",
    r"Create QP type 8 is not supported": "raw packet queue pairs",
    r"Extended QP is not supported": "libirdma: ibv_qp_ex",
    r"Create (RC|UD) QP with(out)? extended attrs is not supported":
        "libirdma: some attributes of ibv_create_qp_ex(), chosen at random",
    r"Parent Domain is not supported": "libirdma: parent domains",
    r"Rereg MR is not supported": "libirdma: ibv_rereg_mr()",
    r"Create (MW|memory window of type 3) is not supported": "memory windows of type 2",
    r"Extended CQ is not supported": "tag matching",
    r"Allocating dmabuf is not supported by /dev/dri": "a GPU, in the guest",
}

# libirdma computes the size of the receive ring in 32 bits: 0xffffffff receives become few, of
# which the kernel sees no more.
FAILS_IN_LIBIRDMA = "test_create_raw_qp_ex_with_illegal_caps_max_recv_wr"

REFUSALS = [REFUSAL,
            r"irdma\d: QP \d+: event 0x(103|20d|406), "]  # keys and address handles that are gone


@test(needs=("images", "model", "modules", "programs"), timeout=900, full=True)
def suite(kernel: str) -> None:
    """All that are not for another vendor's device."""
    with Guest(Setup(kernel=kernel, allow=REFUSALS)) as guest:
        output = guest.run("echo 64 >/proc/sys/vm/nr_hugepages; pyverbs-suite irdma0",
                           timeout=600).output
        print(output)
    results = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    failed = {each["test"]: each["why"] for each in results if each["outcome"] == "failed"}
    skipped: Dict[str, int] = collections.Counter()
    for each in results:
        if each["outcome"] == "skipped":
            lacks = next((what for reason, what in LACKS.items()
                          if re.match(reason, each["why"])), None)
            assert lacks, each
            skipped[lacks] += 1
    print(len(results), "tests, skipped for want of:", dict(skipped))
    assert not [name for name in failed if not name.endswith(FAILS_IN_LIBIRDMA)], failed
    assert len(results) - sum(skipped.values()) > 50, "hardly anything ran"
