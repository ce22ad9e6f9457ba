#!/bin/busybox sh
# The first process of a guest. It mounts the server's system and the disk whose power will be cut, and starts the server.
# Of the kernel's command line: `program` and `arguments`, as the server's sandbox has them; `file_system`, of the disk;
# `modules`, with commas; `address`, of the guest.
/bin/busybox mkdir -p /proc /sys /dev /server /disk /system
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
# A log whose lines end as they do elsewhere.
stty -onlcr </dev/console
for module in $(echo "$modules" | tr , ' '); do modprobe -q "$module"; done
ip link set lo up
ip address add "$address" dev eth0
ip link set eth0 up

fail() {
    echo "the guest: $1"
    poweroff -f
}

mount -t "$file_system" -o noatime /dev/vda /disk || fail "its disk cannot be mounted"
mount -t ext4 -o ro /dev/vdb /server || fail "the server's system cannot be mounted"
mount -t tmpfs tmpfs /system
cd /system && mkdir usr etc instance proc sys dev tmp
chmod 1777 tmp
for name in bin sbin lib lib64; do ln -s "usr/$name" "$name"; done
mount --bind /server/root/usr usr
mount --bind /server/etc etc
mount --bind /disk/instance instance
for name in proc sys dev; do mount --move "/$name" "$name"; done
chroot /system "$program" $(echo "$arguments" | tr , ' ')
poweroff -f
