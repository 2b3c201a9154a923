#!/usr/bin/env bash
# Vectors on processes: every transport gives the same bits, and a replica that is killed ends the others by its name.
# What is half-written is not taken.
set -euo pipefail
probe=$HAWSER_BUILD/tests/vector_probe slot_probe=$HAWSER_BUILD/tests/slot_probe hawser=$HAWSER_BINARY
unset HAWSER_BUILD HAWSER_SANITIZE # a job takes them for options
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT; cd "$work"
[[ -x $probe ]] || { echo "skipped: $probe is not built"; exit 77; }

fail() { echo "$1"; cat out err; exit 1; }
arrays() { grep -ohE 'array .*' out err | sort | uniq -c | awk '{ print $1 }'; }

# Under bsp all replicas have the same array after the finish, over each transport, and in each run.
for way in shm unix tcp; do
    timeout 120 "$hawser" run -n 4 -- "$probe" bsp 40 --transport "$way" > out 2> err || fail "exit $? over $way"
    [[ $(arrays) == 4 ]] || fail "over $way not all four replicas print the same array"
    grep -ohE 'array .*' out err | sort -u >> all
done
[[ $(sort -u all | wc -l) == 1 ]] || { cat all; fail "transports differ"; }

# Under each sync it is the same on all replicas, and the history is as promised.
for sync in tap bsp ssp:2; do
    timeout 120 "$hawser" run -n 3 -- "$probe" "$sync" 40 --record-history "$sync" > out 2> err || fail "exit $? under $sync"
    [[ $(arrays) == 3 ]] || fail "under $sync not all three replicas print the same array"
    "$hawser" check "$sync" > checked 2>&1 || { cat checked; fail "the history under $sync is refused"; }
done

# A sender is stopped and continued, or killed, within the write of a slot: its receiver never takes the half-written slot.
rounds=5 kills=2
[[ -z ${HAWSER_TEST_LONG:-} ]] || rounds=100 kills=100
timeout 120 "$hawser" run -n 2 -- "$slot_probe" stop 4 $rounds --transport shm > out 2> err ||
    fail "exit $? with a sender that stops"
for ((i = 0; i < kills; i++)); do
    code=0
    timeout 120 "$hawser" run -n 2 -- "$slot_probe" kill $((1 + i * 4 % 6)) 0 --transport shm > out 2> err || code=$?
    [[ $code != 0 && $code != 124 ]] || fail "exit $code, and node 0 was killed within a write"
    grep -qE '^\[1\] .*node 0 \(node-0\) was lost' err || fail "node 1 does not name the node that was killed within a write"
    ! grep -q 'line [0-9]' err || fail "node 1 took a slot that was half-written"
done

# A replica is killed between its scatter and its gather.
for sync in bsp ssp:1 tap; do
    code=0
    timeout 120 "$hawser" run -n 3 -- "$probe" "$sync" 2000 1 7 > out 2> err || code=$?
    [[ $code != 0 && $code != 124 ]] || fail "exit $code under $sync, and node 1 was killed"
    grep -qE 'node 1 \(node-1\) was lost' err || fail "no node names the killed node under $sync"
    for node in 0 2; do # one may hear first that the other has left for that reason
        grep -qE "^\[$node\] .*(node 1 \(node-1\) was lost|node $((2 - node)) \(node-$((2 - node))\) has left)" err || fail "node $node does not name the killed node under $sync"
    done
    grep -q 'array ' out && fail "a replica has a result without node 1 under $sync"
done
exit 0
