#!/usr/bin/env bash
# A node is killed after the run while others close the job, or read results of a stored or local state: each of them ends with one line that names it.
source "$(dirname "$0")/cli.bash"
probe=$(dirname "$hawser")/../tests/result_probe
check() {
    local kind=$1 how=$2
    rm -f pids
    "$hawser" run -n 3 -- "$probe" pids $kind $how --workers 6 >out 2>err </dev/null &
    local launcher=$! i node begins
    for ((i = 0; i < 600; i++)); do
        [[ -f pids ]] && (($(wc -l <pids) == 3)) && break
        kill -0 $launcher 2>/dev/null || break
        sleep 0.1
    done
    sleep 0.2 # while they wait, or read
    (($(wc -l <pids) == 3)) || complain "$kind, $how: not all nodes have run: $(cat err)"
    kill -0 $launcher 2>/dev/null || complain "$kind, $how: the others have not waited for node 2: $(cat err)"
    kill -9 "$(sed -n 's/^2 //p' pids)"
    wait $launcher && complain "$kind, $how: the job ended well"
    for node in 0 1; do
        begins=hawser
        [[ $how == read && $node == 0 ]] && begins=probe
        (($(grep -c "^\[$node\] $begins: " err) == 1)) || complain "$kind, $how: not one line from node $node: $(cat err)" # a reader closes the job, too
        has err "^\[$node\] $begins: node 2 \(node-2\) was lost"
    done
    has err "^\[1\] .*; the job was waiting until all nodes have read their results"
}
for kind in stored local; do
    check $kind close
    check $kind read
done
finish
