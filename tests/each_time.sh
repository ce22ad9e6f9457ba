#!/usr/bin/env bash
# `make test`. As root each process has namespaces of its own, where it sees no server of another: there is one lab on a machine.
# 1. What the tests take is fetched and built, beside the tests without the marker `server`.
# 2. Tests that need the network (marked `alone`) run one after the other, beside two processes without a network.
# 3. Two cores are few for that: what failed has a second try, alone. What passes only then is counted and named.
# `make test-fast` (argument `fast`): the tests without the markers `server` and `slow`.
set -u
cd "$(dirname "$0")/.."
pytest=.venv/bin/pytest
each="not vm and not thorough"
set_up=tests/test_set_up.py
apart=(unshare --pid --fork --kill-child --mount-proc)
if ! "${apart[@]}" --net true 2>/dev/null; then
    "$pytest" $set_up && "$pytest" -m "$each" --ignore=$set_up
    exit
fi
python="python=${apart[*]} --net .venv/bin/python"

# Threads of linear algebra wait for each other where other processes have the cores.
export OPENBLAS_NUM_THREADS=1
if [ "${1:-}" = fast ]; then
    exec "$pytest" -m "$each and not alone and not server and not slow" --ignore=$set_up --tx "2*popen//$python" --dist loadfile
fi
# Each process keeps what failed in a cache of its own.
caches=.pytest_cache/each-time
rm -rf $caches
said=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$said"' EXIT

"$pytest" -o cache_dir=$caches/no-server -m "$each and not alone and not server" --ignore=$set_up \
    --tx "popen//id=no-server-1//$python" --tx "popen//id=no-server-2//$python" --dist loadfile >"$said/no-server" 2>&1 &
beside=($!)
"$pytest" -m "$each" $set_up || exit

"${apart[@]}" "$pytest" -o cache_dir=$caches/network -m "$each and alone" --ignore=$set_up >"$said/network" 2>&1 &
beside+=($!)
"$pytest" -o cache_dir=$caches/servers -m "$each and not alone and server" --ignore=$set_up --tx "2*popen//$python" \
    --dist loadfile
status=$?
# By their ids: bash forgets in its table of jobs those that have ended.
for job in "${beside[@]}"; do
    wait "$job"
    ended=$?
    [ $ended -gt $status ] && status=$ended
done
cat "$said"/*

# 1: tests failed. Anything above is another matter, which no second try mends.
[ $status = 1 ] || exit $status
mapfile -t failed < <(.venv/bin/python -c '
import json, sys
for cache in sys.argv[1:]:
    print(*json.load(open(cache)), sep="\n")
' $caches/*/v/cache/lastfailed)
echo "${#failed[@]} tests failed beside others. Those that pass now, alone, pass only in a second try:"
"$pytest" -m "$each" -rp "${failed[@]}"
