#!/bin/sh
# Repeats a crash recovery of mysql-9 (9.7.4-2) without redolab: a copy of the data directory as the crash left it, the
# options beside this script, the server. It takes as much disk as the data directory, and ends with Ctrl-C.
#
#   [IMAGE=/data/directory/of/the/crash] [PROGRAM=/path/to/the/server] ./repeat.sh [/empty/folder/to/work/in]
#
# Without PROGRAM it is the server that redolab unpacked, with the libraries it was unpacked with.
set -eu
beside=$(cd "$(dirname "$0")" && pwd)
image=${IMAGE:-.lab/storage/native/images/mysql-9-512M-20261122-084009/data}
here=${1:-$(mktemp -d)}
mkdir -p "$here/tmp"
cp -a --reflink=auto "$image" "$here/data"
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
system=.lab/servers/mysql-9/root
loader=$system/usr/lib64/ld-linux-x86-64.so.2
if [ "$system" = / ] || [ ! -e "$loader" ]; then
    exec .lab/servers/mysql-9/root/usr/sbin/mysqld "$@"
fi
libraries=$(find "$system/usr/lib" "$system/usr/server/lib" -maxdepth 3 -type d 2>/dev/null | tr '\n' ':')
exec "$loader" --library-path "$libraries" .lab/servers/mysql-9/root/usr/sbin/mysqld "$@"
