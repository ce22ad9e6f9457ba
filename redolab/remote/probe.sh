# What the other machine is, in lines of NAME=VALUE. First argument: the lab's folder there, or nothing for its usual place.
folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/redolab-machine}
# Whoever only asked leaves nothing, also where the connection is cut: what is made of the path goes again.
top= probe=
path=$folder
while [ -n "$path" ] && [ ! -d "$path" ]; do
    top=$path
    path=${path%/*}
done
leave() {
    [ -z "$probe" ] || rm -f "$probe"
    path=$folder
    [ -n "$top" ] || return
    while rmdir "$path" 2>/dev/null && [ "$path" != "$top" ]; do path=${path%/*}; done
}
trap leave EXIT
trap 'exit 1' HUP INT TERM PIPE
mkdir -p "$folder" 2>/dev/null || { echo "refused=$folder cannot be made"; exit 0; }
[ -w "$folder" ] || { echo "refused=$folder cannot be written"; exit 0; }
echo "folder=$folder"
echo "account=$(id -un)"
echo "processor=$(uname -m)"
echo "library=$(getconf GNU_LIBC_VERSION 2>/dev/null)"
echo "room=$(df --output=avail --block-size=1 "$folder" | tail -n 1)"
for name in python3 python3.14 python3.13 python3.12 python3.11; do
    program=$(command -v "$name") || continue
    version=$("$program" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
    echo "python=$program $version"
done
if [ ! -e "$folder/redolab-machine.json" ] && [ -n "$(ls -A "$folder" | grep -vxF .visit)" ]; then
    echo "foreign=yes"
fi
probe=$(mktemp "$folder/.probe.XXXXXX" 2>/dev/null) && printf '#!/bin/sh\nexit 0\n' > "$probe" 2>/dev/null || echo "full=yes"
if [ -n "$probe" ] && chmod +x "$probe" && "$probe" 2>/dev/null; then
    echo "executes=yes"
fi
for path in "$folder"/packages/*/ "$folder"/lab/*/ "$folder"/own/experiments/*/; do
    [ -e "$path" ] && echo "there=${path#"$folder/"}"
done
for path in "$folder"/lab-folder/servers/*/server.json; do
    [ -e "$path" ] || continue
    server=${path%/server.json}
    echo "there=${server#"$folder/"} $(sha256sum "$path" | cut -c 1-64)"
done
exit 0
