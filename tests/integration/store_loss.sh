#!/usr/bin/env bash
# A node of a store is killed during each kind of request: every other node that needs it ends soon and names it, whether it served or its clocks are waited
# for. One that needs it no more goes on until the launcher ends it.
source "$(dirname "$0")/cli.bash"
probe=$(dirname "$hawser")/../tests/store_probe
# Nodes 0 and 1 serve, node 2 only asks.
cases=(push/1 pull/0 push_pull/1 list/1 sparse/0 near/1 clock/0 clock/2 waiting/1 waiting/2)
# starts nodes that send requests of one kind
begin() {
    rm -f pids
    "$hawser" run -n "$1" -- "$probe" "$2" "$PWD/pids" >out 2>err </dev/null &
    launcher=$!
    for ((i = 0; i < 600; i++)); do
        [[ -f pids ]] && (($(wc -l <pids) == $1)) && break
        kill -0 $launcher 2>/dev/null || break
        sleep 0.1
    done
    sleep 0.1 # while requests are in flight
}
pid_of() { sed -n "s/^$1 //p" pids; }
# ends CASE LINES: checks that the nodes end with this many lines, and that no process is left.
ends() {
    wait $launcher && complain "$1: the job ended well"
    (($(grep -c 'probe: ' err) == $2)) || complain "$1: not one line a node: $(cat err)"
    while read -r _ pid; do
        for ((i = 0; i < 300; i++)); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
        ! kill -0 "$pid" 2>/dev/null || complain "$1: process $pid is still here"
    done <pids
}
for case in "${cases[@]}"; do
    kind=${case%/*} victim=${case#*/}
    begin 3 "$kind"
    kill -9 "$(pid_of "$victim")"
    ends "$case" 2
    for node in 0 1 2; do
        ((node == victim)) || has err "^\[$node\] probe: .*node $victim \(node-$victim\) was lost"
    done
    has err "node $victim \(node-$victim\) was lost.*the job was using the store" # as the node says that noticed it first
done
begin 3 push_pull
kill -9 "$(pid_of 2)"
ends "push_pull/2" 0
has err "node 2 \(node-2, pid [0-9]+\) was killed"
# Nodes that are killed at once are all named. The others are stopped until all of them have ended.
for kind in near waiting; do
    begin 4 $kind
    kill -STOP "$(pid_of 0)" "$(pid_of 1)"
    kill -9 "$(pid_of 2)" "$(pid_of 3)"
    for node in 2 3; do
        for ((i = 0; i < 600; i++)); do kill -0 "$(pid_of $node)" 2>/dev/null || break; sleep 0.05; done
    done
    kill -CONT "$(pid_of 0)" "$(pid_of 1)"
    ends "two, $kind" 2
    for node in 0 1; do
        has err "^\[$node\] probe: .*node ([23]) \(node-[23]\) was lost.*; lost too: node [23] \(node-[23]\)$"
    done
done
finish
