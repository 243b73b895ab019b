# SPDX-License-Identifier: GPL-2.0
"""Other storage over RDMA: iSER, between our device and rdma_rxe.

It uses other corners of the verbs than NVMe. Debian's unmodified modules and open-iscsi;
LIO is set up by its configfs.
"""

import time
from typing import Callable, List

from guest import Guest
from nvme import CONFIGFS, Load, fio_figures, fio_script
from test_nvme import NEEDS, pair
from testing import test

LIO = f"{CONFIGFS}/target"
STORE = f"{LIO}/core/rd_mcp_0/disk"
IQN = "iqn.2003-01.org.linux-iscsi.e810:disk"
INITIATOR = "iqn.2003-01.org.linux-iscsi.e810:host"
MIB = 48
LOADS: List[Load] = [Load("512", 1, 64), Load("4k", 32, 512), Load("64k", 16, 64),
                     Load("1m", 8, 16)]

SERVE_STORE = f"""
    set -e
    mkdir -p /etc/target
    modprobe target_core_mod
    mountpoint -q {CONFIGFS} || mount -t configfs configfs {CONFIGFS}
    mkdir -p {STORE}
    echo rd_pages=$(({MIB} << 8)) >{STORE}/control
    echo 1 >{STORE}/enable
"""
# What LIO says of kinds of disks that a guest does not have.
LIO_LINES = "Unable to load target_core_"
STOP_STORE = f"""
    rmdir {STORE} {LIO}/core/rd_mcp_0
"""
# The disk that a login brings, as its host sees it.
DISK = f"""
    modprobe sd_mod
    for i in $(seq 300); do
        for disk in /sys/block/sd*; do
            [ "$(cat $disk/size 2>/dev/null)" = $(({MIB} << 11)) ] || continue
            [ -b /dev/${{disk##*/}} ] && echo /dev/${{disk##*/}} && exit 0
        done
        sleep 0.1
    done
    exit 1
"""
NO_DISK = """
    for i in $(seq 300); do [ -z "$(ls /sys/block | grep ^sd)" ] && exit 0; sleep 0.1; done
    ls /sys/block; exit 1
"""

TPG = f"{LIO}/iscsi/{IQN}/tpgt_1"
SERVE_ISER = SERVE_STORE + f"""
    modprobe -a iscsi_target_mod ib_isert
    mkdir -p {LIO}/iscsi/{IQN} {TPG}/lun/lun_0
    ln -s {STORE} {TPG}/lun/lun_0/disk
    echo 0 >{TPG}/attrib/authentication
    echo 1 >{TPG}/attrib/generate_node_acls
    echo 0 >{TPG}/attrib/demo_mode_write_protect
    mkdir {TPG}/np/$GUEST_ADDRESS:3260
    echo 1 >{TPG}/np/$GUEST_ADDRESS:3260/iser
    echo 1 >{TPG}/enable
"""
STOP_ISER = f"""
    set -e
    echo 0 >{TPG}/enable
    rmdir {TPG}/np/*
    rm {TPG}/lun/lun_0/disk
    rmdir {TPG}/lun/lun_0 {TPG} {LIO}/iscsi/{IQN} {LIO}/iscsi
    {STOP_STORE}
    modprobe -r ib_isert
"""
NODE = f"iscsiadm -m node -T {IQN} -p $PEER_ADDRESS:3260"
LOGIN_ISER = f"""
    modprobe ib_iser
    mkdir -p /run/lock/iscsi /etc/iscsi
    echo InitiatorName={INITIATOR} >/etc/iscsi/initiatorname.iscsi
    iscsid || exit 1
    {NODE} -o new -I iser >/dev/null || exit 1
    {NODE} --login >&2 || exit 1
    {DISK}
"""
LOGOUT_ISER = f"""
    {NODE} --logout || exit 1
    {NODE} -o delete
    iscsiadm -k 0
    modprobe -r ib_iser
    {NO_DISK}
"""


def iser(host: Guest, target: Guest) -> None:
    """Log in, verified I/O, log out."""
    target.run(SERVE_ISER)
    disk = host.run(LOGIN_ISER).output.split()[-1]
    print(fio_figures(host.run(fio_script(disk, LOADS), timeout=300).output))
    print(host.run(LOGOUT_ISER).output)
    target.run(STOP_ISER)


def both_ways(kernel: str, protocol: Callable[[Guest, Guest], None], *allow: str) -> None:
    """Our device at the host's end, then at the target's."""
    with pair(kernel, allow=allow) as (card, soft):
        for host, target in ((card, soft), (soft, card)):
            began = time.monotonic()
            protocol(host, target)
            print(f"{protocol.__name__} from {host.name}: {time.monotonic() - began:.1f} s")


@test(needs=NEEDS, guests=2, timeout=900, full=True)
def iser_both_ways(kernel: str) -> None:
    """iSCSI over RDMA: ib_iser, ib_isert."""
    both_ways(kernel, iser, LIO_LINES)
