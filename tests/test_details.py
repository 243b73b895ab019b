# SPDX-License-Identifier: GPL-2.0
"""What administrators see: statistics, details of objects, attributes of device and port."""

import json
import re

import devtrace
import image
from common import BUILD
from guest import Guest, Setup
from held import LET_GO, hold
from kernlog import REFUSAL
from testing import LOGS, test

NEEDS = ("images", "model", "modules", "programs")
STATISTIC = "rdma -j statistic show link irdma0/1"


def counters(guest: Guest) -> dict:
    """The counters of the port by name."""
    link, = json.loads(guest.run(STATISTIC).output)
    return {name: value for name, value in link.items() if name not in ("ifname", "port")}


@test(needs=NEEDS, timeout=240, full=("6.12",))
def statistics(kernel: str) -> None:
    """The names that stock has, one command a read, and many readers at once."""
    trace = LOGS / f"details-statistics.{kernel}.trace"
    module = BUILD / image.kernel(kernel).release / "irdma.ko"
    setup = Setup(kernel=kernel, driver="stock", files={"irdma.ko": module}, trace=trace)
    with Guest(setup) as guest:
        stock = counters(guest)
        guest.run("rmmod irdma && insmod /host/irdma.ko && await 30 have_rdma")
        ours = counters(guest)
        print(ours)
        assert ours.keys() == stock.keys(), ours.keys() ^ stock.keys()
        assert len(ours) == 46

        _, end = devtrace.read(trace)
        for _ in range(3):
            counters(guest)
        commands = [e["op"] for e in devtrace.read(trace, end)[0] if e["ev"] == "cqp"]
        assert commands == 3 * ["gather_stats"], commands

        guest.run(f"""
            for reader in 1 2 3 4; do
                for i in $(seq 10); do {STATISTIC} >/dev/null || echo bad; done &
            done >/tmp/readers
            for i in $(seq 5); do cat /sys/class/infiniband/irdma0/ports/1/hw_counters/RxUDP; done
            qp-bringup && wait && [ ! -s /tmp/readers ]
        """)
        guest.run("rmmod irdma")


@test(needs=NEEDS, timeout=240, full=("6.1",))
def objects(kernel: str) -> None:
    """rdma resource show has the device's view of QPs, CQs and MRs."""
    trace = LOGS / f"details-objects.{kernel}.trace"
    with Guest(Setup(kernel=kernel, trace=trace, allow=[REFUSAL])) as guest:
        def resources(what: str, options: str = "-d -d") -> list:
            text = guest.run(f"rdma -j {options} resource show {what}").output
            print(text)
            return json.loads(text)

        guest.run(hold(more="--flow 0x12345"))
        context = [e for e in devtrace.read(trace)[0] if e["ev"] == "qp_ctx"][-1]
        number = context["qp"]
        mine, = [q for q in resources("qp") if q["lqpn"] == number]
        expected = {
            "state": "RTS", "drv_hw_state": "RTS", "drv_sport": context["src_port"],
            "drv_arp": context["arp_index"], "drv_qset": context["qs_handle"], "drv_priority": 0,
            "drv_sq_quanta": 4 << context["sq_size"],
            "drv_rq_quanta": 4 << context.get("rq_size", 0),
        }
        got = {key: mine.get(key) for key in expected}
        assert got == expected, f"{got}, not {expected}"
        assert any(q.get("drv_hw_state") == "RTS" for q in resources("qp") if q["lqpn"] == 1)

        rings = [q for q in resources("cq") if q.get("comm") == "qp-path"]
        assert rings and all(q["drv_ring"] >= q["cqe"] and "drv_ceq" in q for q in rings), rings
        lists = [m for m in resources("mr") if m.get("comm") == "qp-path"]
        assert lists and all(m["drv_page_size"] == 4096 and m["drv_pages"] and
                             m["drv_list"] in ("run", "pbl") for m in lists), lists

        raw = json.loads(guest.run("rdma -j -r resource show qp").output)
        assert any(len(q["data"]) == 256 and q["data"][64] == context["dest_qp"] & 255 and
                   int.from_bytes(bytes(q["data"][32:36]), "little") == context["dest_ip3"]
                   for q in raw), raw
        # Objects come and go while they are listed.
        guest.run("""
            for i in $(seq 8); do
                for what in qp cq mr; do rdma -d -d resource show $what; done
                rdma -r resource show qp
            done >/tmp/listed &
            qp-bringup -n 2 && wait && grep -q hw_state /tmp/listed
        """)
        guest.run(LET_GO)

        # A process can map its doorbell page and nothing else of the card.
        output = guest.run("uverbs-raw -n 0 -m 2048").output
        print(output)
        assert "mmap: 1 offsets can be mapped" in output


PORT = "ibv_devinfo -v | grep -E 'state:|phys_state:|active_width|active_speed|port_lid|active_mtu'"


def port(guest: Guest) -> dict:
    """State, speed and so on of the port."""
    lines = guest.run(PORT).output.splitlines()
    return {key.strip(): value.split()[0] for key, value in (line.split(":", 1) for line in lines)}


def await_port(guest: Guest, state: str) -> dict:
    """The port once it has that state."""
    guest.run(f"await 20 eval 'ibv_devinfo | grep -q {state}'")
    return port(guest)


@test(needs=NEEDS, timeout=240, full=("6.12",))
def attributes(kernel: str) -> None:
    """Device and port report what is: the port follows its netdev."""
    with Guest(Setup(kernel=kernel, allow=["NIC Link is Down"])) as guest:
        print(guest.run("ibv_devinfo -v").output)
        up = port(guest)
        assert up == {"state": "PORT_ACTIVE", "phys_state": "LINK_UP", "active_width": "4X",
                      "active_speed": "25.0", "port_lid": "0", "active_mtu": "1024"}, up
        firmware = guest.run("ibv_devinfo | sed -n 's/.*fw_ver:[[:space:]]*//p'; "
                             "cat /sys/class/infiniband/irdma0/fw_ver").output.split()
        assert firmware[0] == firmware[1] and re.fullmatch(r"\d+\.\d+", firmware[0]), firmware
        guest.run("cd /sys/class/infiniband/irdma0 && echo 'guest1 irdma0' >node_desc && "
                  "[ \"$(cat node_desc)\" = 'guest1 irdma0' ]")

        guest.run("ip link set eth0 down")
        down = await_port(guest, "PORT_DOWN")
        assert down["phys_state"] == "DISABLED", down
        guest.run("ip link set eth0 up")
        await_port(guest, "PORT_ACTIVE")
        guest.qmp("set_link", name="wire", up=False)
        await_port(guest, "PORT_DOWN")
        guest.qmp("set_link", name="wire", up=True)
        assert await_port(guest, "PORT_ACTIVE") == up

        guest.run("ip link set eth0 mtu 9000")
        assert await_port(guest, "active_mtu:.*4096")["active_mtu"] == "4096"
        # GIDs are the addresses of the netdev, VLANs included.
        guest.run("ip addr add 10.1.2.3/24 dev eth0; ip link add link eth0 name eth0.7 type vlan "
                  "id 7; ip addr add 10.7.7.7/24 dev eth0.7; ip link set eth0.7 up; sleep 1")
        gids = guest.run("ibv_devinfo -v | grep GID").output
        assert "::ffff:10.1.2.3, RoCE v2" in gids and "::ffff:10.7.7.7, RoCE v2" in gids, gids
        assert "RoCE v1" not in gids, gids
        guest.run("ip link del eth0.7; ip addr del 10.1.2.3/24 dev eth0; sleep 1")
        gids = guest.run("ibv_devinfo -v | grep GID").output
        assert "10.1.2.3" not in gids and "10.7.7.7" not in gids, gids
