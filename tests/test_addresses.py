# SPDX-License-Identifier: GPL-2.0
"""Where packets go: MAC, VLAN, priority and ports in what the device is told.

Neighbours are entered by hand, so that no peer is needed. The device's trace
is the judge: contexts of queue pairs, address handles, the ARP table.
"""

import ipaddress
import re
from pathlib import Path
from typing import Dict, Optional

import devtrace
import image
from common import BUILD
from guest import Guest, Setup
from held import LET_GO, hold
from testing import LOGS, test

NEEDS = ("images", "model", "modules", "programs")
OWN_MAC = "52:54:00:e8:10:01"
IPV4_HOPS = 64          # net.ipv4.ip_default_ttl, net.ipv6.conf.*.hop_limit

# Netdevs, addresses, neighbours and routes of these tests. Each neighbour has
# a MAC of its own.
NETWORK = """
    set -e
    neigh() { ip neigh replace "$1" lladdr "$2" dev "${3:-eth0}" nud permanent; }
    vlan() {
        ip link add link eth0 name "eth0.$1" type vlan id "$1" egress-qos-map $2
        ip link set "eth0.$1" up
        ip addr add "10.$1.0.1/24" dev "eth0.$1"
        neigh "10.$1.0.2" "02:00:00:00:$1:02" "eth0.$1"
    }
    ip addr add 2001:db8::1/64 dev eth0 nodad
    neigh 10.0.0.2 02:00:00:00:00:02
    neigh 10.0.0.3 02:00:00:00:00:03
    neigh 2001:db8::2 02:00:00:00:06:02
    neigh 2001:db8::3 02:00:00:00:06:03
    neigh fe80::2 02:00:00:00:fe:02
    ip route add 10.9.0.0/16 via 10.0.0.3 hoplimit 17
    ip -6 route add 2001:db8:9::/48 via 2001:db8::3
    vlan 5 "0:1 2:3 6:7"
    vlan 6 "0:0"
    neigh fe80::2 02:00:00:00:05:fe eth0.5
"""
# A link-local address is usable, and a GID, when nobody else has it.
AWAIT_LINK_LOCAL = """
    for dev in eth0 eth0.5; do
        await 10 eval '! ip -6 addr show dev $dev scope link | grep -q tentative'
    done
    sleep 0.3
"""


class Watch:
    """The device's trace, as far as it tells of addresses."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self.arp: Dict[int, str] = {}
        self.news: list = []

    def read(self) -> list:
        """What has happened since the last call."""
        self.news, self._offset = devtrace.read(self._path, self._offset)
        for event in self.news:
            if event["ev"] == "cqp" and event["op"] == "manage_arp":
                assert event.get("entry_valid"), event
                self.arp[event["index"]] = mac_text(event.get("mac", 0))
        return self.news

    def commands(self, name: str) -> list:
        """Of the last read() the commands of that name."""
        return [e for e in self.news if e["ev"] == "cqp" and e["op"] == name]


def mac_text(value: object) -> str:
    number = int(value, 16) if isinstance(value, str) else int(value)
    return ":".join(f"{number >> shift & 255:02x}" for shift in range(40, -8, -8))


def words(text: str) -> Dict[str, int]:
    """An address as the fields ip0 to ip3 of the device, those that are not 0."""
    address = int(ipaddress.ip_address(text))
    return {f"ip{i}": address >> 32 * (3 - i) & 0xffffffff for i in range(4)
            if address >> 32 * (3 - i) & 0xffffffff}


def source_port(flow: int, qp: int, dest_qp: int) -> int:
    """As rdma_get_udp_sport() of the kernel has it."""
    if not flow:
        product = qp * dest_qp
        product ^= product >> 20
        product ^= product >> 40
        flow = product & 0xfffff
    return (flow & 0x3fff) ^ (flow >> 14 & 0x3f) | 0xc000


def with_prefix(event: dict, prefix: str) -> Dict[str, int]:
    return {key.removeprefix(prefix): value for key, value in event.items()
            if re.fullmatch(prefix + r"ip\d", key)}


def check_path(guest: Guest, watch: Watch, to: str, mac: str, source: str = "10.0.0.1",
               netdev: str = "eth0", tag: Optional[int] = None, hops: int = IPV4_HOPS,
               tc: int = 0, flow: int = 0, dest_qp: int = 0xbeef, loopback: bool = False) -> None:
    """A path in that direction has these values, as a queue pair and as a handle."""
    watch.read()
    output = guest.run(f"qp-path -i {netdev} --from {source} --to {to} --tc {tc} --flow {flow} "
                       f"--dest-qp {dest_qp}").output
    watch.read()
    ipv4 = int(":" not in to)
    found = re.search(r"qp (\d+)", output)
    if found:
        qp = int(found[1])
        context = [e for e in watch.news if e["ev"] == "qp_ctx" and e["qp"] == qp][-1]
        print(to, context)
        got = {key: context.get(key, 0) for key in (
            "ipv4", "ttl", "tos", "flow_label", "src_port", "insert_vlan", "vlan_tag")}
        assert got == {
            "ipv4": ipv4, "ttl": hops, "tos": tc, "flow_label": flow,
            "src_port": source_port(flow, qp, dest_qp),
            "insert_vlan": int(tag is not None), "vlan_tag": tag or 0,
        }, f"{to}: {got}"
        assert watch.arp[context["arp_index"]] == mac, f"{to}: {watch.arp}, {context}"
        assert context["remote_endpoint"] == context["arp_index"], context
        assert mac_text(context["src_mac"]) == OWN_MAC, context
        assert with_prefix(context, "dest_") == words(to), context
        assert with_prefix(context, "local_") == words(source), context

    handle, = watch.commands("create_ah")
    print(to, handle)
    got = {key: handle.get(key, 0) for key in (
        "ipv4", "hop_limit", "traffic_class", "flow_label", "insert_vlan", "vlan_tag", "loopback")}
    assert got == {
        "ipv4": ipv4, "hop_limit": hops, "traffic_class": tc, "flow_label": flow,
        "insert_vlan": int(tag is not None), "vlan_tag": tag or 0, "loopback": int(loopback),
    }, f"{to}: {got}"
    assert watch.arp[handle["arp_index"]] == mac, f"{to}: {watch.arp}, {handle}"
    assert mac_text(handle["src_mac"]) == OWN_MAC, handle
    assert with_prefix(handle, "dest_") == words(to), handle
    assert with_prefix(handle, "src_") == words(source), handle


@test(needs=NEEDS, timeout=300, full=("6.1",))
def paths(kernel: str) -> None:
    """Each kind of address, on the link and behind a gateway, with and without VLAN."""
    trace = LOGS / f"addresses.{kernel}.trace"
    with Guest(Setup(kernel=kernel, trace=trace)) as guest:
        guest.run(NETWORK + AWAIT_LINK_LOCAL)
        local = guest.run("ip -6 -o addr show dev eth0 scope link | "
                          "sed 's/.*inet6 //; s,/.*,,'").output.strip()
        watch = Watch(trace)

        def path(to: str, mac: str, **more) -> None:
            check_path(guest, watch, to, mac, **more)

        path("10.0.0.2", "02:00:00:00:00:02", tc=0x28, flow=0x54321)
        path("10.0.0.2", "02:00:00:00:00:02", dest_qp=0xabcdef)
        path("2001:db8::2", "02:00:00:00:06:02", source="2001:db8::1", tc=0xb8, flow=0xfffff)
        path("fe80::2", "02:00:00:00:fe:02", source=local)
        path("10.9.1.1", "02:00:00:00:00:03", hops=17)
        path("2001:db8:9::9", "02:00:00:00:06:03", source="2001:db8::1")
        path("239.1.2.3", "01:00:5e:01:02:03", hops=255, loopback=True)
        path("ff0e::1:2", "33:33:00:01:00:02", source="2001:db8::1", hops=255, loopback=True)
        path("10.0.0.1", OWN_MAC, loopback=True)
        # Socket priorities 0, 2 and 6 of the traffic class, by the VLAN's map.
        path("10.5.0.2", "02:00:00:00:05:02", source="10.5.0.1", netdev="eth0.5",
             tag=1 << 13 | 5)
        path("10.5.0.2", "02:00:00:00:05:02", source="10.5.0.1", netdev="eth0.5", tc=0x08,
             tag=3 << 13 | 5)
        path("10.5.0.2", "02:00:00:00:05:02", source="10.5.0.1", netdev="eth0.5", tc=0x10,
             tag=7 << 13 | 5)
        path("10.6.0.2", "02:00:00:00:06:02", source="10.6.0.1", netdev="eth0.6", tc=0x10, tag=6)
        # The same address as above, but another machine.
        path("fe80::2", "02:00:00:00:05:fe", source=local, netdev="eth0.5", tag=1 << 13 | 5)
        path("fe80::2", "02:00:00:00:fe:02", source=local)


def entries_written(guest: Guest, watch: Watch, script: str) -> list:
    """(index, MAC) of the entries of the ARP table written meanwhile."""
    watch.read()
    print(guest.run(script + "\nsleep 0.2", timeout=200).output)
    watch.read()
    return [(e["index"], mac_text(e["mac"])) for e in watch.commands("manage_arp")]


@test(needs=NEEDS, timeout=300, full=("6.1",))
def neighbours(kernel: str) -> None:
    """Entries of the ARP table follow their neighbours, are shared, used again and bounded."""
    trace = LOGS / f"addresses-neighbours.{kernel}.trace"
    setup = Setup(kernel=kernel, trace=trace, allow=["entries of the ARP table are in use"])
    with Guest(setup) as guest:
        watch = Watch(trace)

        def entries(script: str) -> list:
            return entries_written(guest, watch, script)

        def neighbour(mac: str, state: str = "permanent") -> str:
            return f"ip neigh replace 10.0.0.2 lladdr {mac} dev eth0 nud {state}"

        guest.run(neighbour("02:00:00:00:00:02"))
        made = entries(hold("10.0.0.2"))
        assert [mac for _, mac in made] == ["02:00:00:00:00:02"], made
        index = made[0][0]

        # A QP lives: the entry follows, nothing else is written.
        assert entries(neighbour("02:00:00:00:00:22")) == [(index, "02:00:00:00:00:22")]
        assert entries(neighbour("02:00:00:00:00:22", "stale")) == []
        assert entries("ip neigh replace 10.0.0.4 lladdr 02:00:00:00:00:04 dev eth0") == []
        # A neighbour that is lost leaves the entry, and may come back.
        assert entries("ip neigh del 10.0.0.2 dev eth0") == []
        assert entries(neighbour("02:00:00:00:00:02")) == [(index, "02:00:00:00:00:02")]
        # Others share it, and take nothing with them.
        assert entries("qp-path --to 10.0.0.2") == []
        # Unused it stays, and is used again.
        assert entries(LET_GO) == []
        assert entries("qp-path --to 10.0.0.2") == []
        handle, = watch.commands("create_ah")
        assert handle["arp_index"] == index, handle

        # An address of our own has an entry while it is there; then its place can be taken.
        own = entries("ip addr add 10.0.0.77/24 dev eth0")
        assert [mac for _, mac in own] == [OWN_MAC], own
        assert entries("ip addr del 10.0.0.77/24 dev eth0") == []

        # All are taken, the next is refused; then they make way for others, and so on.
        for first in ("239.1.0.0", "239.2.0.0"):
            written = entries(f"qp-path --to {first} --groups 8000")
            indexes = {i for i, _ in written}
            print(len(written), "entries")
            assert {index, own[0][0]} <= indexes, "entries that are not used again"
            assert len(indexes) == len(written), "an entry in use was written again"
            made = len(watch.commands("create_ah"))
            assert made == len(watch.commands("destroy_ah")) >= len(written), "handles leak"
        assert entries("qp-path --to 239.2.0.0 --groups 100") == []
        log = guest.run("dmesg").output
        assert re.search(r"all \d+ entries of the ARP table are in use", log), log
        print(guest.run("qp-bringup && rmmod irdma").output)


# No own address comes later, which would have an entry.
BEHIND = """
    set -e
    while ip -6 addr show dev eth0 scope link | grep -q tentative; do sleep 0.1; done
    ip addr add 2001:db8::1/64 dev eth0 nodad
    ip neigh replace 10.0.0.2 lladdr 02:00:00:00:00:02 dev eth0 nud permanent
    ip neigh replace 10.0.0.3 lladdr 02:00:00:00:00:03 dev eth0 nud permanent
    ip neigh replace 2001:db8::3 lladdr 02:00:00:00:06:03 dev eth0 nud permanent
    ip route add 10.9.0.0/16 via 10.0.0.3
    ip -6 route add 2001:db8:9::/48 via 2001:db8::3
    sleep 0.3
"""


@test(needs=NEEDS, timeout=240, full=("6.1",))
def gateways(kernel: str) -> None:
    """Paths by a gateway share its entry, which follows it; equal handles are one."""
    trace = LOGS / f"addresses-gateways.{kernel}.trace"
    with Guest(Setup(kernel=kernel, trace=trace)) as guest:
        watch = Watch(trace)
        guest.run(BEHIND)

        def entries(script: str) -> list:
            return entries_written(guest, watch, script)

        made = entries(hold("10.9.1.1"))
        assert [mac for _, mac in made] == ["02:00:00:00:00:03"], made
        index = made[0][0]
        assert entries("qp-path --to 10.9.2.2; qp-path --to 10.0.0.3") == []
        # A QP lives by it: the entry follows the gateway.
        assert entries("ip neigh replace 10.0.0.3 lladdr 02:00:00:00:00:33 dev eth0 "
                       "nud permanent") == [(index, "02:00:00:00:00:33")]
        assert entries("qp-path --to 10.9.1.1") == []
        handle, = watch.commands("create_ah")
        assert handle["arp_index"] == index, handle
        assert entries(LET_GO) == []
        # IPv6, and IPv4 by an IPv6 gateway.
        made = entries("qp-path --from 2001:db8::1 --to 2001:db8:9::9")
        assert [mac for _, mac in made] == ["02:00:00:00:06:03"], made
        assert entries("ip route add 10.8.0.0/16 via inet6 2001:db8::3 dev eth0; "
                       "qp-path --to 10.8.1.1") == []

        assert entries("qp-path --to 10.9.1.1 --handles 8") == []
        numbers = [e["ah"] for e in watch.commands("create_ah")]
        assert len(set(numbers)) == len(numbers) == 2, "one a PD"
        assert sorted(e["ah"] for e in watch.commands("destroy_ah")) == sorted(numbers)
        print(guest.run("qp-bringup && rmmod irdma").output)


@test(needs=(*NEEDS, "test-modules"), timeout=240, full=("6.1",))
def stale_mac(kernel: str) -> None:
    """The MAC of the kernel's neighbour counts, not one that a consumer has from long ago."""
    trace = LOGS / f"addresses-stale.{kernel}.trace"
    module = BUILD / image.kernel(kernel).release / "tests/verbs_test.ko"
    setup = Setup(kernel=kernel, trace=trace, files={"verbs_test.ko": module},
                  allow=[r"irdma\d: command manage_arp failed"])
    with Guest(setup) as guest:
        watch = Watch(trace)
        guest.run(BEHIND)
        guest.set_card("fail", "manage_arp:1")
        watch.read()
        guest.run("insmod /host/verbs_test.ko only=dmac neighbour=10.0.0.2 refused=1; status=$?; "
                  "dmesg | grep verbs-test:; exit $status")
        watch.read()
        macs = {mac_text(e["mac"]) for e in watch.commands("manage_arp")}
        assert macs == {"02:00:00:00:00:02"}, macs
        assert len(watch.commands("manage_arp")) == 2 == len(watch.commands("create_ah"))
        guest.run("rmmod verbs_test && qp-bringup && rmmod irdma")


BOND = """
    set -e
    modprobe bonding max_bonds=0
    ip link add bond0 type bond mode active-backup miimon 100
    ip addr add 10.7.0.1/24 dev bond0
    ip link set eth0 down
    ip link set eth0 master bond0
    ip link set bond0 up
    sleep 3
    ls /sys/class/infiniband
"""
BOND_OF_TWO = r"""
    set -e
    modprobe bonding max_bonds=0
    ip link add bond0 type bond mode active-backup miimon 100
    ip addr add 10.7.0.1/24 dev bond0
    for dev in eth0 eth1; do
        ip link set $dev down
        ip link set $dev master bond0
    done
    ip link set bond0 up
    for i in $(seq $((300 * SLOWNESS))); do
        ip link set bond0 type bond active_slave eth1 2>/dev/null && break
        sleep 0.1
    done
    device=$(rdma link | sed -n 's,^link \(.*\)/1 .* netdev eth1.*,\1,p')
    for i in $(seq $((300 * SLOWNESS))); do
        ibv_devinfo -d $device -v | grep -q 'GID.*::ffff:10.7.0.1' && break
        sleep 0.1
    done
    sleep 0.3
    echo $device
"""
UNBOND = """
    set -e
    ip link del bond0
    ip addr replace 10.0.0.1/24 dev eth0
    ip link set eth0 up
    await 30 have_port_up
    sleep 1
"""


@test(needs=NEEDS, timeout=240, full=("6.12",))
def bonding(kernel: str) -> None:
    """A bond of one port: ice takes the function away (6.1), or its GIDs are the bond's."""
    trace = LOGS / f"addresses-bonding.{kernel}.trace"
    with Guest(Setup(kernel=kernel, trace=trace, allow=["eth0: MTU is already"])) as guest:
        watch = Watch(trace)
        if guest.run(BOND).output.strip():
            print(guest.run("rdma link; ibv_devinfo -v | grep GID").output)
            guest.run("ip neigh replace 10.7.0.2 lladdr 02:00:00:00:07:02 dev bond0 nud permanent")
            check_path(guest, watch, "10.7.0.2", "02:00:00:00:07:02", "10.7.0.1", "bond0")
            check_path(guest, watch, "10.7.0.1", OWN_MAC, "10.7.0.1", "bond0", loopback=True)
            assert not watch.commands("manage_arp"), "the bond's own address had no entry"
        else:
            assert kernel == "6.1"
        guest.run(UNBOND)
        print(guest.run("qp-bringup").output)


@test(needs=NEEDS, timeout=240, kernels=("6.12",), full=True)
def bond_of_two(kernel: str) -> None:
    """Each port of a bond follows the bond's neighbours, not only the first."""
    trace = LOGS / f"addresses-bond-of-two.{kernel}.trace"
    setup = Setup(kernel=kernel, more_cards=[f"trace={trace}"], allow=[r"eth\d: MTU is already"])
    with Guest(setup) as guest:
        watch = Watch(trace)

        def neighbour(mac: str) -> str:
            return f"ip neigh replace 10.7.0.2 lladdr {mac} dev bond0 nud permanent"

        def entries(script: str) -> list:
            return [(index, mac) for index, mac in entries_written(guest, watch, script)
                    if mac.startswith("02:")]

        device = guest.run(BOND_OF_TWO).output.split()[-1]
        guest.run(neighbour("02:00:00:00:07:02"))
        made = entries(hold("10.7.0.2", f"-d {device} -i bond0 --from 10.7.0.1"))
        assert [mac for _, mac in made] == ["02:00:00:00:07:02"], made
        moved = entries(neighbour("02:00:00:00:07:22"))
        assert moved == [(made[0][0], "02:00:00:00:07:22")], moved
        guest.run(LET_GO + "\nip link del bond0")
