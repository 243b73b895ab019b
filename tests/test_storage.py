# SPDX-License-Identifier: GPL-2.0
"""Other storage over RDMA: iSER, SRP and NFS, between our device and rdma_rxe.

They use other corners of the verbs than NVMe. Debian's unmodified modules, open-iscsi and
nfs-utils; LIO is set up by its configfs.
"""

import time
from typing import Callable, List

from guest import Guest
from nvme import CONFIGFS, SUMS, Load, fio_figures, fio_script
from test_nvme import NEEDS, TREE, pair
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
# What LIO says of kinds of disks that a guest does not have, and of what 6.12 asks a disk.
LIO_LINES = "Unable to load target_core_|MODE SENSE: unimplemented page"
STOP_STORE = f"""
    rmdir {STORE} {LIO}/core/rd_mcp_0
"""
# The disk that a login brings, as its host sees it.
DISK = f"""
    modprobe sd_mod
    found() {{
        for disk in /sys/block/sd*; do
            [ "$(cat $disk/size 2>/dev/null)" = $(({MIB} << 11)) ] || continue
            [ -b /dev/${{disk##*/}} ] && echo /dev/${{disk##*/}} && return
        done
        return 1
    }}
    await 30 found
"""
NO_DISK = """
    await 30 eval '! ls /sys/block | grep -q ^sd' || { ls /sys/block; exit 1; }
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
    # A machine that is busy elsewhere must not look like a dead peer.
    {NODE} -o update -n 'node.conn[0].timeo.noop_out_interval' -v 0 || exit 1
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


# Names of a port are those of its first GID. The initiator's name is, as ib_srpt has it with
# rdma_cm, the target's address; without such an ACL the disk is read only.
SRP_PORT = 5555
SRPT = f"{LIO}/srpt/$(cut -d : -f 5-8 /sys/class/infiniband/*/ports/1/gids/0)/1"
SERVE_SRP = SERVE_STORE + f"""
    modprobe ib_srpt
    mkdir -p {SRPT}
    tpg={SRPT}
    mkdir $tpg/lun/lun_0
    ln -s {STORE} $tpg/lun/lun_0/disk
    mkdir -p $tpg/acls/$GUEST_ADDRESS/lun_0
    ln -s $tpg/lun/lun_0 $tpg/acls/$GUEST_ADDRESS/lun_0/disk
    echo 1 >$tpg/enable
    echo {SRP_PORT} >{LIO}/srpt/discovery_auth/rdma_cm_port
    cat /sys/module/ib_srpt/parameters/srpt_service_guid
"""
STOP_SRP = f"""
    set -e
    tpg={SRPT}
    echo 0 >{LIO}/srpt/discovery_auth/rdma_cm_port
    echo 0 >$tpg/enable
    rm $tpg/acls/$GUEST_ADDRESS/lun_0/disk $tpg/lun/lun_0/disk
    rmdir $tpg/acls/$GUEST_ADDRESS/lun_0 $tpg/acls/$GUEST_ADDRESS $tpg/lun/lun_0
    rmdir $tpg ${{tpg%/1}} {LIO}/srpt
    {STOP_STORE}
    modprobe -r ib_srpt
"""
LOGIN_SRP = f"""
    modprobe ib_srp
    echo id_ext=$guid,ioc_guid=$guid,dest=$PEER_ADDRESS:{SRP_PORT} \
        >/sys/class/infiniband_srp/srp-*-1/add_target || exit 1
    {DISK}
"""
LOGOUT_SRP = f"""
    echo 1 >/sys/class/srp_remote_ports/port-*/delete
    {NO_DISK}
"""
# It is an error to ib_srp that a connection is closed, and a warning to ib_srpt that RoCE has no
# agent for devices.
SRP_LINES = ("ib_srp: connection closed", "ib_srpt.*enabling device management failed")


def srp(host: Guest, target: Guest) -> None:
    """The same by SRP, with immediate data."""
    guid = target.run(SERVE_SRP).output.split()[-1].removeprefix("0x")
    disk = host.run(f"guid={guid}\n{LOGIN_SRP}").output.split()[-1]
    print(fio_figures(host.run(fio_script(disk, LOADS), timeout=300).output))
    host.run(LOGOUT_SRP)
    host.run("modprobe -r ib_srp")
    target.run(STOP_SRP)


NFS_PORT = 20049
SERVE_NFS = f"""
    set -e
    modprobe -a nfsd rpcrdma
    mkdir -p /export /run/rpc_pipefs
    mount -t tmpfs -o size={2 * MIB}m tmpfs /export
    mountpoint -q /proc/fs/nfsd || mount -t nfsd nfsd /proc/fs/nfsd
    rpc.mountd --no-nfs-version 3 2>&1
    exportfs -o rw,fsid=0,no_root_squash,insecure,no_subtree_check '*:/export'
    mkdir -p /var/lib/nfs/v4recovery
    rpc.nfsd --no-nfs-version 3 4 2>&1
    echo Y >/proc/fs/nfsd/v4_end_grace
    echo rdma {NFS_PORT} >/proc/fs/nfsd/portlist
    cat /proc/fs/nfsd/portlist
"""
STOP_NFS = """
    set -e
    rpc.nfsd 0
    exportfs -ua
    kill $(pidof rpc.mountd)
    while pidof rpc.mountd; do sleep 0.1; done
    umount /proc/fs/nfsd /export
    modprobe -r nfsd rpcrdma
"""
MOUNT_NFS = f"mount -t nfs4 -o proto=rdma,port={NFS_PORT},vers=4.2,sec=sys $PEER_ADDRESS:/ /mnt"
USE_NFS = f"""
    set -e
    modprobe rpcrdma
    {MOUNT_NFS}
    grep /mnt /proc/mounts
    mkdir /mnt/copy
    (cd {TREE} && tar cf - --one-file-system .) | tar xf - -C /mnt/copy
    umount /mnt
    {MOUNT_NFS}
    {SUMS.format(TREE)} >/tmp/here
    {SUMS.format("/mnt/copy")} >/tmp/there
    cmp /tmp/here /tmp/there
    [ $(wc -l </tmp/here) -gt 10 ]
    sha256sum </tmp/there
    truncate -s {MIB}m /mnt/disk
"""
LOOK_NFS = f"{SUMS.format('/export/copy')} | sha256sum"
LEAVE_NFS = "umount /mnt && modprobe -r nfsv4 rpcrdma"


def nfs(host: Guest, target: Guest) -> None:
    """A tree is copied and looked at by both ends; verified I/O in a file."""
    print(target.run(SERVE_NFS).output)
    here = host.run(USE_NFS, timeout=300).output
    print(here)
    assert "proto=rdma" in here, here
    assert target.run(LOOK_NFS).output.split()[0] == here.split()[-2]
    print(fio_figures(host.run(fio_script("/mnt/disk", LOADS), timeout=300).output))
    host.run(LEAVE_NFS)
    target.run(STOP_NFS)


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


@test(needs=NEEDS, guests=2, timeout=900, full=True)
def srp_both_ways(kernel: str) -> None:
    """SCSI over RDMA: ib_srp, ib_srpt."""
    both_ways(kernel, srp, LIO_LINES, *SRP_LINES)


@test(needs=NEEDS, guests=2, timeout=900, full=True)
def nfs_both_ways(kernel: str) -> None:
    """NFS 4.2 over RDMA: rpcrdma at both ends."""
    both_ways(kernel, nfs)
