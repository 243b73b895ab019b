# SPDX-License-Identifier: GPL-2.0
"""What is on the wire between the E810 and rdma_rxe, as tshark sees it."""

from typing import Dict, List, Set

from capture import Packet, roce_packets
from datatools import Tool, run_pair, soft_setup
from guest import Guest, Setup, Wire
from testing import LOGS, guests, test

FULL_KERNELS = ("6.1",)

CARD_MAC, SOFT_MAC = "52:54:00:e8:10:01", "52:54:00:e8:10:02"
ROCE_PORT = 4791
PKEY, QKEY = 0xffff, 0x11220033         # the latter is data-verify's
GSI_QKEY = 0x80010000
MTU = 1024
HOPS = 64                               # net.ipv4.ip_default_ttl, net.ipv6.conf.*.hop_limit
TC, VLAN_TC = 0x68, 0x10
# VLAN_TC is socket priority 6, which the VLAN maps to 7.
VLAN_PRIORITY = 7
READ_REQUEST, ACK = 0x0c, 0x11
RNR_NAK, SEQUENCE_NAK, GOOD = 0x20, 0x60, 0x1f

# Extended headers of each opcode, by a field that only they have.
HEADERS: Dict[int, Set[str]] = {
    0x00: set(), 0x01: set(), 0x02: set(), 0x03: {"immediate"}, 0x04: set(),
    0x05: {"immediate"},
    0x06: {"rkey"}, 0x07: set(), 0x08: set(), 0x09: {"immediate"}, 0x0a: {"rkey"},
    0x0b: {"rkey", "immediate"},
    READ_REQUEST: {"rkey"}, 0x0d: {"syndrome"}, 0x0e: set(), 0x0f: {"syndrome"},
    0x10: {"syndrome"}, ACK: {"syndrome"},
    0x64: {"qkey"}, 0x65: {"qkey", "immediate"},
}
ENDS = {0x02, 0x03, 0x04, 0x05, 0x08, 0x09, 0x0a, 0x0b, READ_REQUEST}
WHOLE = {0x00, 0x01, 0x06, 0x07, 0x0d, 0x0e}       # packets that another one follows

VLAN = """
    set -e
    ip link add link eth0 name eth0.5 type vlan id 5 egress-qos-map 0:1 2:3 6:7
    ip link set eth0.5 up
    ip addr add fd05::$GUEST_NUMBER/64 dev eth0.5 nodad
    sleep 1
"""
OPERATIONS = "-o send,send-imm,write,write-imm,read,ud,ud-imm -n 3 -s 1,1000,3001"


def check_headers(packet: Packet) -> None:
    """What holds for each packet, whoever has sent it."""
    extended = {name for name in ("rkey", "immediate", "syndrome", "qkey") if packet.has(name)}
    payload = len(packet.udp) - 8 - 12 - 4 - packet.pad - sum(
        {"rkey": 16, "immediate": 4, "syndrome": 4, "qkey": 8}[name] for name in extended)
    assert extended == HEADERS[packet.opcode], f"headers {extended}: {packet}"
    assert packet.port == ROCE_PORT and packet.version == 0 and packet.pkey == PKEY, packet
    assert packet.icrc() == packet.right_icrc(), f"ICRC {packet.icrc().hex()}: {packet}"
    assert packet.pad == -payload % 4 and 0 <= payload <= MTU, f"{payload} bytes: {packet}"
    if packet.opcode in WHOLE:
        assert payload == MTU, f"{payload} bytes: {packet}"


def check_path(packet: Packet, by_cm: bool) -> None:
    """Addresses, class, hop limit, VLAN and port of what the card has sent.

    by_cm: it is from the time when connections came by rdma_cm, which sets no class.
    """
    assert packet.to_mac == SOFT_MAC and 0xc000 <= packet.source_port <= 0xffff, packet
    if packet.ipv4:
        assert packet.from4 == "10.0.0.1" and packet.ttl == HOPS and not packet.has("vlan"), packet
        assert packet.tos == (0 if by_cm else TC), packet
    else:
        assert packet.from6 == "fd05::1" and packet.hops == HOPS, packet
        assert packet.numbers["class"] == VLAN_TC, packet
        assert packet.vlan == 5 and packet.priority == VLAN_PRIORITY, packet


def check_datagram(packet: Packet) -> None:
    if packet.dest_qp == 1:
        assert packet.qkey == GSI_QKEY and packet.source_qp == 1, packet
    else:
        assert packet.qkey == QKEY and packet.source_qp > 1, packet


def check_requests(packets: List[Packet]) -> None:
    """PSNs of a connection's requests follow each other, and the last asks for an answer."""
    expected = packets[0].psn
    seen: Set[int] = set()
    for packet in packets:
        count = -(-packet.length // MTU) if packet.opcode == READ_REQUEST else 1
        if packet.psn not in seen:      # else a retransmission of a busy machine
            assert packet.psn == expected, f"expected was 0x{expected:x}: {packet}"
        psns = [(packet.psn + i) % (1 << 24) for i in range(max(count, 1))]
        seen.update(psns)
        if expected in seen:
            expected = (psns[-1] + 1) % (1 << 24)
        if packet.opcode in ENDS:
            assert packet.ack_request, packet


def check_answers(packets: List[Packet]) -> None:
    """Good ones count messages; the others are those of a receiver that is not ready."""
    last = 0
    for packet in packets:
        if not packet.has("syndrome"):
            continue
        kind = packet.syndrome & 0xe0
        assert packet.syndrome == GOOD or kind in (RNR_NAK, SEQUENCE_NAK), packet
        assert packet.msn >= last or packet.opcode != ACK, f"{last} before: {packet}"
        last = max(last, packet.msn)


def connections(packets: List[Packet]) -> Dict[int, List[Packet]]:
    """By the queue pair that they go to."""
    table: Dict[int, List[Packet]] = {}
    for packet in packets:
        table.setdefault(packet.dest_qp, []).append(packet)
    return table


def check(packets: List[Packet]) -> None:
    """All that a run has left."""
    card = [p for p in packets if p.from_mac == CARD_MAC]
    soft = [p for p in packets if p.from_mac == SOFT_MAC]
    print(f"{len(card)} packets of the card, {len(soft)} of rxe")
    for packet in packets:
        check_headers(packet)
    for sent in (card, soft):
        missing = HEADERS.keys() - {p.opcode for p in sent}
        assert not missing, f"opcodes not seen: {missing}"
    by_cm = False
    for packet in card:
        by_cm = by_cm or packet.dest_qp == 1
        check_path(packet, by_cm)
        if packet.has("qkey"):
            check_datagram(packet)
    for sent in connections(card).values():
        requests = [p for p in sent if p.opcode <= READ_REQUEST]
        answers = [p for p in sent if READ_REQUEST < p.opcode <= ACK]
        if requests:
            check_requests(requests)
        check_answers(answers)
        assert len({p.source_port for p in requests + answers}) <= 1, sent[0]
    assert any(p.has("vlan") for p in card) and any(p.dest_qp == 1 for p in card)


@test(needs=("images", "model", "modules", "programs"), guests=2, timeout=300)
def packets(kernel: str) -> None:
    """Headers, ICRC, ports, class, hop limit and VLAN, over IPv4 and IPv6."""
    capture = LOGS / f"wire.{kernel}.pcap"
    with Wire() as wire, guests(Guest(Setup(kernel=kernel, wire=wire, capture=capture), "card"),
                                Guest(soft_setup(wire), "soft")) as (card, soft):
        for guest in (card, soft):
            guest.run(VLAN)
        card.run("ping -c 1 -W 20 $PEER_ADDRESS && ping -c 1 -W 20 fd05::2")
        run_pair(Tool.verify(f"{OPERATIONS} -T 0x{TC:x}"), soft, card)
        run_pair(Tool.verify(f"{OPERATIONS} -T 0x{VLAN_TC:x}"), soft, card, "fd05::2")
        run_pair(Tool("rping -s -v -C 2", "rping -c -v -C 2 -a {}"), soft, card)
    check(roce_packets(capture))
