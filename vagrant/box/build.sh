#!/bin/sh
# Builds the box from Debian packages alone: build.sh FOLDER SUITE makes FOLDER/redolab.box and FOLDER/vmlinuz.
# FOLDER/sources.list and FOLDER/apt.conf say where packages come from. As root: the image is mounted to make it boot.
set -eu
folder=$1 suite=$2
here=$(cd "$(dirname "$0")" && pwd)
root=$folder/root image=$folder/box.raw
gib=1073741824
size=8
offset=1048576

echo "getting Debian's packages"
packages=$(grep -v '^#' "$here/packages" | tr '\n' ',')
ssh-keygen -q -t ed25519 -N '' -C 'redolab box' -f "$folder/key"
mmdebstrap --quiet --mode=root --variant=minbase --include="$packages" \
    --aptopt="$folder/apt.conf" "$suite" "$root" "$folder/sources.list"

echo "setting it up"
chroot "$root" useradd --create-home --shell /bin/bash vagrant
install -d -m 700 "$root/root/.ssh" "$root/home/vagrant/.ssh"
install -m 600 "$folder/key.pub" "$root/root/.ssh/authorized_keys"
install -m 600 "$folder/key.pub" "$root/home/vagrant/.ssh/authorized_keys"
chroot "$root" chown -R vagrant:vagrant /home/vagrant/.ssh
echo 'vagrant ALL=(ALL) NOPASSWD: ALL' > "$root/etc/sudoers.d/vagrant"
chmod 440 "$root/etc/sudoers.d/vagrant"
echo redolab > "$root/etc/hostname"
printf '127.0.0.1 localhost\n127.0.1.1 redolab\n' > "$root/etc/hosts"
echo 'LABEL=redolab-root / ext4 errors=remount-ro,noatime 0 1' > "$root/etc/fstab"
printf '[Match]\nName=e*\n\n[Network]\nDHCP=ipv4\n' > "$root/etc/systemd/network/80-dhcp.network"
printf 'UseDNS no\n' > "$root/etc/ssh/sshd_config.d/redolab.conf"
chroot "$root" systemctl --quiet enable systemd-networkd serial-getty@ttyS0
# Nothing may wake up beside a measurement.
chroot "$root" systemctl --quiet mask apt-daily.timer apt-daily-upgrade.timer fstrim.timer e2scrub_all.timer dpkg-db-backup.timer
chroot "$root" systemctl --quiet disable systemd-networkd-wait-online
rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/*

echo "making its disk"
mkdir -p "$root/boot/extlinux"
kernel=$(cd "$root/boot" && ls vmlinuz-* | tail -n 1)
cp "$root/boot/$kernel" "$folder/vmlinuz"
cat > "$root/boot/extlinux/extlinux.conf" <<CONF
default redolab
label redolab
    linux /boot/$kernel
    initrd /boot/initrd.img-${kernel#vmlinuz-}
    append root=LABEL=redolab-root ro net.ifnames=0 console=tty0 console=ttyS0
CONF
truncate --size "${size}G" "$image"
echo "start=2048, type=83, bootable" | sfdisk --quiet "$image"
# What extlinux can read of ext4.
mkfs.ext4 -q -L redolab-root -O '^64bit,^metadata_csum' -d "$root" -E "offset=$offset" "$image" "$(( (size * gib - offset) / 1024 ))k"
mkdir "$folder/mounted"
mount -o "loop,offset=$offset" "$image" "$folder/mounted"
trap 'umount "$folder/mounted"' EXIT
extlinux --install "$folder/mounted/boot/extlinux" >/dev/null 2>&1
umount "$folder/mounted"
trap - EXIT
dd if=/usr/lib/EXTLINUX/mbr.bin of="$image" conv=notrunc status=none

echo "packing it"
qemu-img convert -O qcow2 "$image" "$folder/box.img"
printf '{"provider": "libvirt", "format": "qcow2", "virtual_size": %d}\n' "$size" > "$folder/metadata.json"
cat > "$folder/Vagrantfile" <<'RUBY'
Vagrant.configure("2") { |config| config.ssh.private_key_path = File.join(__dir__, "key") }
RUBY
chmod 600 "$folder/key"
tar -C "$folder" -cf "$folder/redolab.box" metadata.json Vagrantfile box.img key
rm -rf "$root" "$image" "$folder/box.img" "$folder/mounted"
