#!/usr/bin/env bash
# A node of a store is killed, during each kind of request: every other one ends with its name, and soon, whether it served or asked.
source "$(dirname "$0")/cli.bash"
probe=$(dirname "$hawser")/../tests/store_probe
# Nodes 0 and 1 serve, node 2 only asks.
cases=(push/1 pull/0 push_pull/2 list/1 sparse/0 near/1 clock/0 clock/2 waiting/1 waiting/2)
for case in "${cases[@]}"; do
    kind=${case%/*} victim=${case#*/}
    rm -f pids
    "$hawser" run -n 3 -- "$probe" "$kind" "$PWD/pids" >out 2>err </dev/null &
    launcher=$!
    for ((i = 0; i < 600; i++)); do
        [[ -f pids ]] && (($(wc -l <pids) == 3)) && break
        kill -0 $launcher 2>/dev/null || break
        sleep 0.1
    done
    sleep 0.1 # into the middle of it
    kill -9 "$(sed -n "s/^$victim //p" pids)"
    wait $launcher
    (($? != 0)) || complain "$case: the job ended well"
    for node in 0 1 2; do
        ((node == victim)) || has err "^\[$node\] probe: .*node $victim \(node-$victim\) (was lost.*the job was using the store|is lost)"
    done
    (($(grep -c 'probe: ' err) == 2)) || complain "$case: not one line a node: $(cat err)"
    while read -r _ pid; do
        for ((i = 0; i < 300; i++)); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
        ! kill -0 "$pid" 2>/dev/null || complain "$case: process $pid is still here"
    done <pids
done
finish
