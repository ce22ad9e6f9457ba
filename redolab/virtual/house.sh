# The first process of a network, mount and process namespace of the lab's own: libvirt's daemons, with all they write under one folder.
# It ends, and with it every daemon, guest and bridge, when the process that keeps the namespaces is killed.
set -eu
folder=$1
mount --make-rprivate /
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
for place in /etc/libvirt /var/lib/libvirt /var/cache/libvirt /var/log/libvirt; do
    own=$folder$place
    # What the packages have put there is the start.
    [ -d "$own" ] || { mkdir -p "$own"; cp -a "$place/." "$own"; }
    mount --bind "$own" "$place"
done
# Nobody but root is in here, and there is no cgroup or security module that guests could be put under.
printf '%s\n' 'user = "root"' 'group = "root"' 'security_driver = "none"' 'cgroup_controllers = [ ]' 'namespaces = [ ]' \
    'remember_owner = 0' > /etc/libvirt/qemu.conf
printf '%s\n' 'unix_sock_group = "root"' 'auth_unix_ro = "none"' 'auth_unix_rw = "none"' > /etc/libvirt/libvirtd.conf
mkdir -p /run/libvirt
ip link set lo up
virtlogd --daemon
libvirtd --daemon
while :; do sleep 3600 & wait $!; done
