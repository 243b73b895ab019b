# SPDX-License-Identifier: GPL-2.0
"""Two guests with stock ice talk over two modelled E810s."""

from guest import Guest, Setup, Wire
from testing import guests, test

MEGABYTES = 8


def send_file(sender: Guest, receiver: Guest, listen: str, target: str) -> None:
    """Send a random file over TCP and compare what arrives."""
    server = receiver.begin(f"socat -u {listen}:5000,reuseaddr CREATE:/tmp/got; "
                            "sha256sum </tmp/got")
    sent = sender.run(f"""
        head -c {MEGABYTES}M /dev/urandom >/tmp/file
        await 30 socat -u FILE:/tmp/file {target}:5000 2>/dev/null
        sha256sum </tmp/file""").output
    got = server.wait(120).output
    assert got == sent, f"sent {sent}, got {got}"


@test(needs=("images", "model"), kernels=None, guests=2, timeout=300)
def ping_and_tcp() -> None:
    """ARP, IPv4, IPv6, large packets and TCP in both directions, 6.1 against 6.12."""
    with Wire() as wire, guests(
            Guest(Setup(kernel="6.1", driver="none", wire=wire, number=1), "one"),
            Guest(Setup(kernel="6.12", driver="none", wire=wire, number=2), "two")) as (one, two):
        print(one.run("ping -c 5 -W 20 $PEER_ADDRESS").output)
        print(two.run("ping -c 5 -W 20 -s 3000 $PEER_ADDRESS").output)
        address = two.run("ip -6 -o addr show dev eth0 scope link | awk '{print $4}'").output
        address = address.split("/")[0]
        print(one.run(f"ping -c 5 -W 20 {address}%eth0").output)
        send_file(one, two, "TCP4-LISTEN", "TCP4:10.0.0.2")
        send_file(two, one, "TCP4-LISTEN", "TCP4:10.0.0.1")
        send_file(one, two, "TCP6-LISTEN", f"TCP6:[{address}%eth0]")
