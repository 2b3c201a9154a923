#!/usr/bin/env bash
# A node is killed while units reduce: every other node ends soon and names it, whether shares are sent straight to all or are combined between nodes.
# A request to stop ends all blocks after the same reduction. The histories of both are checked.
source "$(dirname "$0")/cli.bash"
probe=$(dirname "$hawser")/../tests/reduce_probe
# begin NUMBERS OPTION...: three nodes of two blocks reduce.
begin() {
    local numbers=$1; shift
    rm -f pids history*
    "$hawser" run -n 3 -- "$probe" "$numbers" "$PWD/pids" --workers 6 --record-history "$PWD/history" "$@" >out 2>err </dev/null &
    launcher=$!
    for ((i = 0; i < 600; i++)); do
        [[ -f pids ]] && (($(wc -l <pids) == 3)) && break
        kill -0 $launcher 2>/dev/null || break
        sleep 0.1
    done
    sleep 0.1 # while it reduces
}
pid_of() { sed -n "s/^$1 //p" pids; }
for case in 10/all/0 10/halton/1 5000/all/2 5000/tree/0 5000/tree/1 5000/servers:2/1 5000/servers:3/2; do
    IFS=/ read -r numbers topology victim <<<"$case"
    begin "$numbers" --topology "$topology"
    kill -9 "$(pid_of "$victim")"
    wait $launcher && complain "$case: the job ended well"
    (($(grep -c 'probe: ' err) == 2)) || complain "$case: not one line a node: $(cat err)"
    for node in 0 1 2; do
        ((node == victim)) || has err "^\[$node\] probe: .*node $victim \(node-$victim\) was lost.*the job was in '(rounds|reducing|its beginning)', clock 0"
    done
    got=0; "$hawser" check history >checked 2>&1 || got=$?
    ((got == 10)) || complain "$case: the history is judged with $got: $(cat checked)"
    has checked "consistent up to the loss of node $victim"
done
for case in 10/all/0 5000/tree/2; do
    IFS=/ read -r numbers topology victim <<<"$case"
    begin "$numbers" --topology "$topology"
    kill -TERM "$(pid_of "$victim")"
    wait $launcher || complain "$case: the job failed: $(cat err)"
    (($(grep -c 'stop after equal reductions' out) == 3)) || complain "$case: $(cat out err)"
    "$hawser" check history >checked 2>&1 || complain "$case: $(cat checked)"
    has checked "reduction  .*all blocks contribute to each reduction and get the same result"
done
finish
