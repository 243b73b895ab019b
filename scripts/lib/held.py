# SPDX-License-Identifier: GPL-2.0
"""A connected queue pair that a program holds in a guest while a test looks or disturbs.

Scripts for Guest.run(). The program is tests/guest/qp-path.c.
"""


def hold(to: str = "10.0.0.1", more: str = "") -> str:
    """Start it; done when the queue pair is in RTS. more: further options."""
    return f"""
        start_until 30 held /tmp/held qp-path --to {to} {more} --hold || exit 1
        echo $! >/tmp/held.pid
    """


# End it; done when its objects are destroyed.
LET_GO = """
    kill $(cat /tmp/held.pid)
    await_word 30 PASS /tmp/held $(cat /tmp/held.pid) || exit 1
"""
