#!/usr/bin/env bash
# Trainings by every installed launcher give the bits of one process; by hand; and the effects of a lost launcher or node.
source "$(dirname "$0")/cli.bash"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
trap 'for pid in $(jobs -p); do kill "$pid" 2>/dev/null; done; rm -rf "$scratch"' EXIT
"$hawser" data generate url -o u.svm --rows 3000 --cols 4000 >/dev/null 2>&1 || complain "no data"
words=(train lasso u.svm --lambda-ratio 0.1 --workers 4 --quiet)
weights() { "$hawser" info "$1" --coefficients | md5sum; }
"$hawser" "${words[@]}" -o one.model || complain "one process"
expected=$(weights one.model)
same() {
    local model=$1
    shift
    code 0 timeout 200 "$@" -o "$model"
    equal "$(weights "$model")" "$expected"
}
same run.model "$hawser" run -n 3 -- "${words[@]}"
printf 'ash\nbirch slots=2\n' >hosts
printf '#!/bin/sh\nshift\nexec sh -c "$*"\n' >ssh-here && chmod +x ssh-here
same hosts.model "$hawser" run --hosts hosts --ssh "$scratch/ssh-here" -- "${words[@]}" --interface lo </dev/null
code 0 "$hawser" run -n 2 -- "${words[@]}" --json
json out 'o["nonzeros"] > 0'
equal "$(wc -l <out)" 1
code 2 "$hawser" run -n 2 -- train lasso - --quiet <u.svm
has err '- is the standard input of one process, and each of 2 nodes reads its share of the input: name a file'
for mpirun in mpirun.openmpi mpirun.mpich; do
    command -v $mpirun >/dev/null || continue
    many=()
    [[ $mpirun == mpirun.openmpi ]] && many=(--oversubscribe)
    if timeout 100 $mpirun "${many[@]}" -n 2 "$hawser" "${words[@]}" 2>&1 | grep -q "build it with libpmix-dev"; then continue; fi
    same $mpirun.model $mpirun "${many[@]}" -n 3 "$hawser" "${words[@]}"
done

# By hand: the manager prints what to do.
"$hawser" key job.key
"$hawser" key other.key
port=$((20000 + RANDOM % 10000))
pids=()
for name in birch cedar; do
    "$hawser" node --join localhost:$port --key-file job.key --node-name $name >$name.out 2>&1 &
    pids+=($!)
done
same hand.model env HAWSER_SEED=1 "$hawser" "${words[@]}" --listen 3 --port-range $port --key-file job.key
for pid in "${pids[@]}"; do wait "$pid" || complain "a node by hand ended with $?: $(cat birch.out cedar.out)"; done
has err '^hawser: waiting for 2 more at .*:'$port
timeout 100 "$hawser" node --join localhost:$port --key-file other.key --join-timeout 5 >other.out 2>&1 &
other=$!
code 8 timeout 100 "$hawser" "${words[@]}" --listen 2 --port-range $port --key-file job.key --join-timeout 3
wait $other
equal $? 8
code 2 "$hawser" node
says "missing manager; usage: hawser node --join HOST:PORT --key-file FILE"
code 2 "$hawser" node --join localhost:1
says "key-file"
chmod 644 job.key
code 3 "$hawser" node --join localhost:1 --key-file job.key
says "chmod 600"

# A training that would go on for long; every node's process id by the children of the agent.
long=(train lasso u.svm --lambda-ratio 0.001 --tol 1e-14 --exchange-every 0.001 --slow 0:300 --workers 3 --time-limit 300 -o long.model)
begin() {
    rm -f long.model clocks.csv
    "$hawser" run -n 3 -- "${long[@]}" --trace clocks.csv >out 2>err </dev/null &
    launcher=$!
    until_clock clocks.csv $launcher
    agent=$(pgrep -P $launcher)
    nodes=($(pgrep -P "$agent"))
    equal ${#nodes[@]} 3
}
all_gone() {
    local pid
    for pid in "$agent" "${nodes[@]}"; do
        for ((i = 0; i < 300; i++)); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
        ! kill -0 "$pid" 2>/dev/null || complain "$1: process $pid is still here"
    done
}
begin
kill -9 $launcher
wait $launcher 2>/dev/null
all_gone "launcher killed"
for pause in 1 3 9; do # until the driver's status has reached node 1, which has no line of its own for that
    begin
    sleep $pause
    kill -9 "${nodes[2]}"
    wait $launcher
    (($? != 0)) || complain "a lost node and exit 0"
    all_gone "node killed"
    grep -q "^\[1\] .*the job was in" err && break
done
has err 'hawser run: node [0-2] \(node-[0-2], pid [0-9]+\) '
has err 'node-2.* was lost|node 2 .*lost'
# The phase of the job is known on every node.
has err "^\[1\] .*the job was in '[a-z]+'"
# The remaining node names all lost nodes. It is stopped until all of them have ended.
for _ in 1 2 3; do
    begin
    kill -STOP "${nodes[0]}"
    kill -9 "${nodes[1]}" "${nodes[2]}"
    for node in "${nodes[@]:1:2}"; do
        for ((i = 0; i < 600; i++)); do kill -0 "$node" 2>/dev/null || break; sleep 0.05; done
    done
    kill -CONT "${nodes[0]}"
    wait $launcher
    (($? != 0)) || complain "two lost nodes and exit 0"
    all_gone "two nodes killed"
    has err '^\[0\] hawser: node ([12]) \(node-[12]\) was lost: .*; lost too: node [12] \(node-[12]\)$'
done
# If all nodes fail together, each reports the error once, however it received it.
for _ in {1..8}; do
    code 5 "$hawser" run -n 6 -- train lasso u.svm --memory-limit 1M
    (($(grep -cE '^\[[0-5]\] hawser: (node [0-5] \(node-[0-5]\) has left the job: )?this node shares' err) == 6)) ||
        complain "not one line a node with the first cause: $(cat err)"
done
begin
kill -TERM $launcher
wait $launcher
equal $? 130
all_gone "SIGTERM"
[[ -s long.model ]] || complain "what was reached has not been saved"

# Few descriptors: they suffice, are raised if that is allowed, or an error says so.
"$hawser" data generate dense --rows 300 --cols 80 --seed 3 -o few.svm >/dev/null
few=(train lasso few.svm --index-base 1 --workers 3 --quiet -o few.st)
code 0 bash -c 'ulimit -n 32 && exec "$@"' few "$hawser" run -n 3 -- "${few[@]}"
code 0 bash -c 'ulimit -Sn 16 && exec "$@"' few "$hawser" run -n 3 -- "${few[@]}"
code 0 bash -c 'ulimit -Sn 32 && exec "$@"' few "$hawser" run -n 24 -- "${few[@]:0:6}" 24 --quiet
code 4 bash -c 'ulimit -n 40 && exec "$@"' few "$hawser" run -n 24 -- "${few[@]:0:6}" 24 --quiet
has err '24 nodes on one host need [0-9]+ descriptors in their agent, and .ulimit -Hn. allows 40'
code 4 "$hawser" run -n 24 -- bash -c 'ulimit -n 40 && exec "$@"' few "$hawser" "${few[@]:0:6}" 24 --quiet
has err 'a job of 24 nodes needs 48 descriptors in each, and .ulimit -Hn. allows 40'
finish
