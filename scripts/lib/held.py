# SPDX-License-Identifier: GPL-2.0
"""A connected queue pair that a program holds in a guest while a test looks or disturbs.

Scripts for Guest.run(). The program is tests/guest/qp-path.c.
"""


def hold(to: str = "10.0.0.1", more: str = "") -> str:
    """Start it; done when the queue pair is in RTS. more: further options."""
    return f"""
        qp-path --to {to} {more} --hold >/tmp/held 2>&1 &
        echo $! >/tmp/held.pid
        for i in $(seq 300); do grep -q held /tmp/held && break; sleep 0.1; done
        grep -q held /tmp/held || {{ cat /tmp/held; exit 1; }}
    """


# End it; done when its objects are destroyed.
LET_GO = """
    kill $(cat /tmp/held.pid)
    for i in $(seq 300); do grep -q PASS /tmp/held && break; sleep 0.1; done
    grep -q PASS /tmp/held || { cat /tmp/held; exit 1; }
"""
