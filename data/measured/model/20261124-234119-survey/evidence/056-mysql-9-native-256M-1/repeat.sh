#!/bin/sh
# Repeats a crash recovery of mysql-9 (9.7.4-2) without redolab: a copy of the data directory as the crash left it, the
# options beside this script, the server. It takes as much disk as the data directory, and ends with Ctrl-C.
#
#   [IMAGE=/data/directory/of/the/crash] [PROGRAM=/path/to/the/server] ./repeat.sh [/empty/folder/to/work/in]
#
# Without PROGRAM it is the server that redolab unpacked, with the libraries it was unpacked with.
set -eu
beside=$(cd "$(dirname "$0")" && pwd)
image=${IMAGE:-/tmp/qlab/storage/native/images/mysql-9-256M-20261124-235204-14/data}
here=${1:-$(mktemp -d)}
mkdir -p "$here/tmp"
cp -a --reflink=auto "$image" "$here/data"
# As in the lab: while the copy is still being written, the disk answers more slowly, which can change the outcome.
sync
sed "s#@HERE@#$here#g" "$beside/my.cnf" > "$here/my.cnf"
set -- --defaults-file="$here/my.cnf"
if [ "$(id -u)" = 0 ]; then
    chmod 755 "$here"
    chown -R nobody "$here"
    set -- "$@" --user=nobody
fi
echo "its files are in $here; its own error log follows" >&2
if [ -n "${PROGRAM:-}" ]; then
    exec "$PROGRAM" "$@"
fi
system=/tmp/qlab/servers/mysql-9-9.7.4/root
loader=$system/usr/lib64/ld-linux-x86-64.so.2
if [ "$system" = / ] || [ ! -e "$loader" ]; then
    exec /tmp/qlab/servers/mysql-9-9.7.4/root/usr/sbin/mysqld "$@"
fi
libraries=$(find "$system/usr/lib" "$system/usr/server/lib" -maxdepth 3 -type d 2>/dev/null | tr '\n' ':')
exec "$loader" --library-path "$libraries" /tmp/qlab/servers/mysql-9-9.7.4/root/usr/sbin/mysqld "$@"
