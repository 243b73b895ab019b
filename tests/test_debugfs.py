# SPDX-License-Identifier: GPL-2.0
"""Files in debugfs: right values, and readers while the device comes and goes."""

import json
import re
from typing import Dict

from guest import Guest, Setup
from held import LET_GO, hold
from testing import test

NEEDS = ("images", "model", "modules", "programs")
FOLDER = "/sys/kernel/debug/irdma/0000:01:00.0"
FILES = ("memory", "cqp", "hmc", "page_lists", "qos", "arp", "vectors")
LINES = (r"ice 0000:01:00.0: unable to move VSI idx 1 into aggregator 1 node",
         r"irdma\d: (device is given up|critical error|asked for a reset)")
# Reads all files without end, those of a device that is going and of one that has just come.
READERS = f"""
    for reader in 1 2 3; do
        while [ ! -e /tmp/enough ]; do cat {FOLDER}/* >/dev/null 2>&1; done &
    done
"""


def show(guest: Guest, name: str) -> str:
    text = guest.run(f"cat {FOLDER}/{name}").output
    print(f"--- {name}\n{text}")
    return text


def values(text: str) -> Dict[str, str]:
    """Lines of a name and one value."""
    return dict(line.split() for line in text.splitlines() if len(line.split()) == 2)


@test(needs=NEEDS, timeout=300, full=("6.12",))
def views(kernel: str) -> None:
    """Each file shows what there is."""
    with Guest(Setup(kernel=kernel)) as guest:
        assert set(guest.run(f"ls {FOLDER}").output.split()) == set(FILES)
        guest.run(hold())
        qps = json.loads(guest.run("rdma -j -d -d resource show qp").output)
        mine, = [q for q in qps if q.get("comm") == "qp-path"]

        qos = show(guest, "qos")
        handle = mine["drv_qset"]
        assert re.search(rf"^node \d+ parent \d+ class 0 .*qs_handle {handle} ", qos, re.M), qos
        listed = re.search(r"^priority 0 class 0 users (\d+) QPs(.*)$", qos, re.M)
        assert str(mine["lqpn"]) in listed[2].split() and len(listed[2].split()) == int(listed[1])

        arp = show(guest, "arp")
        entry = re.search(rf"^{mine['drv_arp']} +::ffff:10.0.0.1 +0 52:54:00:e8:10:01 +(\d+) "
                          "in_device own$", arp, re.M)
        assert entry and int(entry[1]) >= 2, arp

        hmc = show(guest, "hmc")
        used = re.search(r"^QPs (\d+) of (\d+)$", hmc, re.M)
        assert int(used[1]) == len([q for q in qps if q["lqpn"] > 1]), hmc
        assert int(re.search(r"^QP +(\d+)", hmc, re.M)[1]) >= int(used[2]), hmc

        lists = show(guest, "page_lists")
        memory = values(show(guest, "memory"))
        rows = [row.split() for row in lists.splitlines() if row[0].isdigit()]
        assert sum(int(row[3]) * 8 for row in rows) == int(memory["page_lists_used"]), lists

        vectors = show(guest, "vectors")
        for irq in re.findall(r"irq (\d+)", vectors):
            guest.run(f"grep -q '^ *{irq}:.*irdma-' /proc/interrupts")
        assert "aeq entries" in vectors and "ceq 0 entries" in vectors, vectors
        guest.run(LET_GO)

        cqp = values(show(guest, "cqp"))
        assert cqp["entries"] == "2048" and cqp["in_flight"] == cqp["backlog"] == "0", cqp
        assert cqp["answers_by"] == "interrupts", cqp
        guest.set_card("fail", "manage_arp:1!hold")
        guest.run("ip neigh add 10.0.0.77 lladdr 02:00:00:00:00:77 dev eth0")
        guest.run("qp-path --to 10.0.0.77 >/dev/null 2>&1 &\n"
                  f"await 10 grep manage_arp {FOLDER}/cqp")
        text = show(guest, "cqp")
        assert values(text)["in_flight"] == "1", text
        assert re.search(r"^\d+ +manage_arp +index \d+ +\d+ waits$", text, re.M), text
        guest.set_card("inject", "release")
        guest.run("wait")


@test(needs=NEEDS, timeout=300, full=True)
def readers(kernel: str) -> None:
    """Readers stand in nobody's way: objects, resets, unbinding, unloading."""
    with Guest(Setup(kernel=kernel, allow=LINES)) as guest:
        pci = "/sys/bus/pci/devices/0000:01:00.0"
        awaken = ("await 60 have_rdma; ip addr replace 10.0.0.1/24 dev eth0; "
                  "ip link set eth0 up; sleep 2; qp-bringup >/dev/null")
        guest.run(READERS + "sleep 1")
        guest.run("qp-bringup -n 3 >/dev/null")
        guest.run(f"echo 1 >{pci}/reset; {awaken}", timeout=180)
        guest.set_card("inject", "critical-error")
        guest.run(f"sleep 2; {awaken}", timeout=180)
        guest.run("cd /sys/bus/auxiliary/drivers/*irdma* && name=$(echo ice.roce.*) && "
                  f"echo $name >unbind && echo $name >bind; {awaken}", timeout=180)
        for _ in range(3):
            # A file that is open at the moment is a user of the module.
            guest.run("await 60 rmmod irdma 2>/dev/null; insmod /host/irdma.ko")
        guest.run(awaken, timeout=180)
        guest.run("touch /tmp/enough; wait")
