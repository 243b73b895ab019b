# SPDX-License-Identifier: GPL-2.0
"""RoCEv2 packets of a capture (Setup.capture), decoded by tshark.

The ICRC, which tshark does not check, is computed here from the bytes, by the
specification and without any code of the model. tests/test_wire.py is the caller.
"""

import dataclasses
import struct
import subprocess
import zlib
from pathlib import Path
from typing import Dict, List

from common import Trouble, need

PCAP_HEADER = 24
RECORD_HEADER = struct.Struct("<IIII")      # seconds, microseconds, bytes kept, bytes
ETHERNET, VLAN_TAG, UDP_HEADER = 14, 4, 8

# Name in a Packet and what tshark calls it.
NUMBERS = {
    "vlan": "vlan.id", "priority": "vlan.priority", "tos": "ip.dsfield", "class": "ipv6.tclass",
    "ttl": "ip.ttl", "hops": "ipv6.hlim", "source_port": "udp.srcport", "port": "udp.dstport",
    "opcode": "infiniband.bth.opcode", "solicited": "infiniband.bth.se",
    "pad": "infiniband.bth.padcnt", "version": "infiniband.bth.tver",
    "pkey": "infiniband.bth.p_key", "dest_qp": "infiniband.bth.destqp",
    "ack_request": "infiniband.bth.a", "psn": "infiniband.bth.psn",
    "qkey": "infiniband.deth.q_key", "source_qp": "infiniband.deth.srcqp",
    "address": "infiniband.reth.va", "rkey": "infiniband.reth.r_key",
    "length": "infiniband.reth.dmalen", "syndrome": "infiniband.aeth.syndrome",
    "msn": "infiniband.aeth.msn",
}
TEXTS = {"from_mac": "eth.src", "to_mac": "eth.dst", "from4": "ip.src", "from6": "ipv6.src",
         "immediate": "infiniband.immdt", "invalidate": "infiniband.ieth"}


@dataclasses.dataclass
class Packet:
    """A packet: fields that it has, by the names above; and its bytes from IP on."""

    numbers: Dict[str, int]
    texts: Dict[str, str]
    ip: bytes

    def __getattr__(self, name: str):
        numbers = self.__dict__["numbers"]
        return numbers[name] if name in numbers else self.__dict__["texts"].get(name)

    def has(self, name: str) -> bool:
        return name in self.numbers or name in self.texts

    @property
    def ipv4(self) -> bool:
        return self.ip[0] >> 4 == 4

    @property
    def _ip_header(self) -> int:
        return (self.ip[0] & 15) * 4 if self.ipv4 else 40

    @property
    def udp(self) -> bytes:
        """From the UDP header to the ICRC, without padding of Ethernet."""
        start = self._ip_header
        length, = struct.unpack_from(">H", self.ip, start + 4)
        return self.ip[start:start + length]

    def icrc(self) -> bytes:
        """The last four bytes."""
        return self.udp[-4:]

    def right_icrc(self) -> bytes:
        """What they have to be."""
        header = bytearray(self.ip[:self._ip_header])
        udp = bytearray(self.udp[:-4])
        # What changes on the way counts as ones.
        if self.ipv4:
            header[1] = header[8] = header[10] = header[11] = 0xff
        else:
            header[0] |= 0x0f
            header[1] = header[2] = header[3] = header[7] = 0xff
        udp[6] = udp[7] = udp[UDP_HEADER + 4] = 0xff
        return zlib.crc32(b"\xff" * 8 + bytes(header) + bytes(udp)).to_bytes(4, "little")

    def __str__(self) -> str:
        return " ".join(f"{k}=0x{v:x}" for k, v in self.numbers.items()) + \
            " " + " ".join(f"{k}={v}" for k, v in self.texts.items())


def frames(path: Path) -> List[bytes]:
    """All frames of a pcap file."""
    data = path.read_bytes()
    found, at = [], PCAP_HEADER
    while at + RECORD_HEADER.size <= len(data):
        kept = RECORD_HEADER.unpack_from(data, at)[2]
        at += RECORD_HEADER.size
        found.append(data[at:at + kept])
        at += kept
    return found


def _number(text: str) -> int:
    return int(text == "True") if text in ("True", "False") else int(text, 0)


def roce_packets(path: Path) -> List[Packet]:
    """The RoCEv2 packets, in order; Trouble if tshark cannot read them."""
    need("tshark", "tshark")
    names = [*NUMBERS.values(), *TEXTS.values()]
    command = ["tshark", "-r", str(path), "-Y", "infiniband", "-T", "fields", "-e",
               "frame.number", *(word for name in names for word in ("-e", name))]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Trouble(f"tshark failed: {done.stderr}")
    raw, packets = frames(path), []
    for line in done.stdout.splitlines():
        number, *values = line.split("\t")
        frame = raw[int(number) - 1]
        head = ETHERNET + (VLAN_TAG if frame[12:14] == b"\x81\x00" else 0)
        table = dict(zip([*NUMBERS, *TEXTS], values))
        packets.append(Packet({k: _number(table[k]) for k in NUMBERS if table[k]},
                              {k: table[k] for k in TEXTS if table[k]}, frame[head:]))
    return packets
