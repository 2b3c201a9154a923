#!/usr/bin/env bash
# A node of a store is killed: every other one ends with its name, and soon, whether it served or asked.
source "$(dirname "$0")/cli.bash"
probe=$(dirname "$hawser")/../tests/store_probe
for victim in 0 1 2; do
    rm -f pids
    "$hawser" run -n 3 -- "$probe" "$PWD/pids" >out 2>err </dev/null &
    launcher=$!
    for ((i = 0; i < 600; i++)); do [[ -f pids ]] && (($(wc -l <pids) == 3)) && break; sleep 0.1; done
    kill -9 "$(pgrep -P "$(pgrep -P $launcher)" | sed -n "$((victim + 1))p")"
    wait $launcher
    (($? != 0)) || complain "node $victim was killed and the job ended well"
    has err 'probe: .*node-[0-2].* was lost|probe: .*node [0-2].*lost'
    while read -r pid; do
        for ((i = 0; i < 300; i++)); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
        ! kill -0 "$pid" 2>/dev/null || complain "process $pid is still here"
    done <pids
done
finish
