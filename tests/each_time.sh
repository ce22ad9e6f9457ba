#!/usr/bin/env bash
# `make test`. As root three tests at a time, each process where the others and their servers are not seen: there is one lab on a
# machine. Two cores are few for that: what fails beside another has to pass alone. First what needs the network, beside it
# what needs no server; those that come after find the servers fetched.
set -u
cd "$(dirname "$0")/.."
pytest=.venv/bin/pytest
each="not vm and not thorough"
no_server=(
    tests/timeline tests/runs tests/records tests/results tests/querylogs/digest tests/models/recovery_time
    tests/watching/test_shipped_recoveries.py tests/sizing/test_shipped.py
)

apart=(unshare --net --pid --fork --kill-child --mount-proc)
if ! "${apart[@]}" true 2>/dev/null; then
    "$pytest" -m "$each and alone" && exec "$pytest" -m "$each and not alone"
    exit 1
fi
python="python=${apart[*]} .venv/bin/python"

said=$(mktemp)
trap 'rm -f "$said"' EXIT
"$pytest" -m "$each and not alone" --tx "popen//id=no-server//$python" --dist loadfile "${no_server[@]}" >"$said" 2>&1 &
beside=$!
"$pytest" -m "$each and alone"
alone=$?
wait "$beside"
first=$?
cat "$said"
[ "$alone" = 0 ] || exit "$alone"

"$pytest" -m "$each and not alone" --tx "3*popen//$python" --dist loadfile "${no_server[@]/#/--ignore=}"
second=$?
if [ "$first" != 0 ] || [ "$second" != 0 ]; then
    echo "once more, alone:"
    exec "$pytest" -m "$each and not alone" --last-failed --last-failed-no-failures none
fi
