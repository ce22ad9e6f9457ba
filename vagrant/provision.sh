#!/bin/sh
# In the guest, as root, when it comes up first: the lab's programs, its disk, and root's key. Run again it changes nothing.
set -eu

programs="python3 rsync bwrap sysbench fio mkfs.xfs dmsetup"
packages="python3 rsync bubblewrap sysbench fio xfsprogs dmsetup"
missing=$(for program in $programs; do command -v "$program" >/dev/null || echo "$program"; done)
if [ -n "$missing" ]; then
    echo "installing over the network:" $missing
    export DEBIAN_FRONTEND=noninteractive
    apt-get --quiet update
    apt-get --quiet install --yes --no-install-recommends $packages
fi

# The disk with our serial number; VirtualBox gives it one of its own: then the one that nothing is on.
disk=$(ls /dev/disk/by-id/*redolab-data 2>/dev/null | head -n 1)
if [ -z "$disk" ]; then
    disk=$(lsblk --noheadings --nodeps --paths --output NAME,TYPE | while read -r name type; do
        [ "$type" = disk ] && [ "$(lsblk --noheadings --output NAME "$name" | wc -l)" = 1 ] || continue
        type=$(blkid --output value --match-tag LABEL "$name" || true)
        [ -z "$type" ] || [ "$type" = redolab ] && echo "$name"
    done | head -n 1)
fi
[ -n "$disk" ] || { echo "the data disk is not there: see disk_size in vagrant/settings.yaml" >&2; exit 1; }
[ -n "$(blkid --output value --match-tag LABEL "$disk")" ] || mkfs.xfs -q -L redolab "$disk"
mkdir -p /mnt/redolab
grep -q /mnt/redolab /etc/fstab || echo "LABEL=redolab /mnt/redolab xfs noatime,nofail 0 0" >> /etc/fstab
mountpoint -q /mnt/redolab || mount /mnt/redolab

# The lab works as root: storage profiles are mounted, and the page cache is dropped.
mkdir -p -m 700 /root/.ssh
for keys in /home/vagrant/.ssh/authorized_keys; do
    cmp -s "$keys" /root/.ssh/authorized_keys || install -m 600 "$keys" /root/.ssh/authorized_keys
done
