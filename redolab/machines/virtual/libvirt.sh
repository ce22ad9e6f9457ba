# The libvirt that runs the guest: libvirt.sh VERB FOLDER [COMMAND…]. It is the system's where that answers; else, as root, one of the
# lab's own in network, mount and process namespaces. All that its daemons write (leases, images, guests) then lies under FOLDER, and all
# of it ends, daemons, guests and bridges, when the process ends that keeps the namespaces.
set -eu
verb=$1 folder=$2
shift 2
# The keeper holds the lock for as long as it lives: only then is its number its own.
runs() { [ -e "$folder/lock" ] && ! flock --shared --nonblock "$folder/lock" true; }
keeper() { cat "$folder/keeper"; }
answers() { timeout 20 sh "$0" in "$folder" virsh --quiet --connect=qemu:///system version > /dev/null 2>&1; }

case $verb in
answers)
    answers
    ;;
start) # Have one that answers.
    answers && exit
    if [ "$(id -u)" != 0 ]; then
        echo "only root may start it: 'systemctl start libvirtd', or add yourself to the group libvirt" >&2
        exit 1
    fi
    sh "$0" stop "$folder"
    mkdir -p "$folder"
    : > "$folder/lock"
    setsid --fork sh -c 'echo $$ > "$2/keeper"; exec flock --no-fork "$2/lock" \
        unshare --mount --net --pid --fork --kill-child --mount-proc -- sh "$1" inside "$2"' \
        sh "$0" "$folder" > "$folder/libvirt.log" 2>&1 < /dev/null
    for _ in $(seq 150); do
        sleep 0.4
        answers && exit
        runs || break
    done
    cat "$folder/libvirt.log" >&2
    sh "$0" stop "$folder"
    exit 1
    ;;
stop)
    if runs; then
        kill -KILL "$(keeper)"
        # Whoever gets the lock knows that all in there has ended.
        flock --timeout 60 "$folder/lock" true
    fi
    ;;
in) # Run a command where libvirt runs: in there, or here if it is the system's.
    if runs; then
        inside=$(cat "/proc/$(keeper)/task/$(keeper)/children")
        exec nsenter --target="${inside%% *}" --mount --net --pid -- "$@"
    fi
    exec "$@"
    ;;
inside) # The first process in the namespaces.
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
    printf '%s\n' 'user = "root"' 'group = "root"' 'security_driver = "none"' 'cgroup_controllers = [ ]' \
        'namespaces = [ ]' 'remember_owner = 0' > /etc/libvirt/qemu.conf
    printf '%s\n' 'unix_sock_group = "root"' 'auth_unix_ro = "none"' 'auth_unix_rw = "none"' > /etc/libvirt/libvirtd.conf
    mkdir -p /run/libvirt
    ip link set lo up
    virtlogd --daemon
    libvirtd --daemon
    while :; do sleep 3600 & wait $!; done
    ;;
esac
