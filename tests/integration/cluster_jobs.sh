#!/usr/bin/env bash
# Jobs on a cluster that `hawser run` has started: each has the bits of a training of its own, whatever the jobs before it were, and so has a job of a
# forked child. If a node is killed between two jobs or within one, every other node fails this job and the next one with its name, and closes the cluster.
counts=(2 3)
[[ -z ${HAWSER_SANITIZE:-} ]] || counts=(3)
sanitizer=${HAWSER_SANITIZE:-none}
source "$(dirname "$0")/cli.bash"
probe=$(dirname "$hawser")/../tests/cluster_probe
python3 - <<'P'
import random
draw = random.Random(3)
with open("d.csv", "w") as out:
    for i in range(150):
        out.write(",".join([str(i % 3)] + ["%.6f" % (draw.gauss(0, 1) + (i % 3) * (j % 2)) for j in range(8)]) + "\n")
P

# Job K: algorithm, then its options as the probe takes them.
jobs=("lasso workers=4,lambda-ratio=0.05" "kmeans workers=3,clusters=3,seed=2" "softmax workers=5,lambda-ratio=0.1"
    "lasso workers=6,lambda-ratio=0.01,topology=tree,exchange-every=0.5" "kmeans workers=4,clusters=4,seed=7,init-method=random")
words=()
for k in "${!jobs[@]}"; do
    read -r algorithm options <<<"${jobs[k]}"
    words+=("train:$algorithm:d.csv:$options")
    input=(d.csv)
    [[ $algorithm != kmeans ]] || input+=(--target none)
    code 0 "$hawser" train "$algorithm" "${input[@]}" $(sed 's/[^,]*/--&/g; s/[=,]/ /g' <<<"$options") --quiet -o "alone.$k"
    "$hawser" info --coefficients "alone.$k" >"alone.$k.txt" || complain "no model of job $k alone"
done
# Job 3 is done by a child of each node, which is alone. The race detector follows no thread that begins after a fork beside others.
[[ $sanitizer == *thread* ]] || words[2]=fork:${words[2]#train:}
for count in "${counts[@]}"; do
    code 0 "$hawser" run -n $count -- "$probe" "${words[@]}"
    for k in "${!jobs[@]}"; do
        for ((node = 0; node < count; node++)); do
            cmp "model.$((k + 1)).$node" "model.$((k + 1)).0" || complain "$count nodes, job $k: node $node has another model"
        done
        "$hawser" info --coefficients "model.$((k + 1)).0" | cmp -s - "alone.$k.txt" || complain "$count nodes, job $k: other coefficients than alone"
    done
    equal "$(grep -c 'probe: closed$' err)" $count
    rm -f model.*
done

# loss NODES KILLED WORD...: kills a node once all have written their pids, and lets the others go on.
loss() {
    local nodes=$1 killed=$2 i
    shift 2
    rm -f pids go
    "$hawser" run -n $nodes --grace 100 -- "$probe" "$@" >out 2>err </dev/null &
    local launcher=$!
    for ((i = 0; i < 600; i++)); do
        [[ -f pids ]] && (($(wc -l <pids) == nodes)) && break
        kill -0 $launcher 2>/dev/null || break
        sleep 0.1
    done
    (($(wc -l <pids) == nodes)) || complain "$*: not all nodes have got there: $(cat err)"
    kill -9 "$(sed -n "s/^$killed //p" pids)"
    touch go
    wait $launcher && complain "$*: the launcher says that all is well"
}
# lost NODE KILLED JOB [TEXT]: the node has failed this job with the loss of that one, and then this text.
lost() {
    has err "^\[$1\] probe: job $3: node $2 \(node-$2\) was lost: .*the job was .*${4-}"
    (($(grep -c "^\[$1\] probe: job $3: " err) == 1)) || complain "node $1: not one line for job $3: $(cat err)"
}
short=train:lasso:d.csv:workers=4,lambda-ratio=0.5
later="this cluster runs no job any more since that loss, [0-9.]+ s ago"
loss 3 2 $short wait $short $short
for node in 0 1; do
    lost $node 2 3 # the loss may be noticed while the job is opened
    lost $node 2 4 "$later"
    has err "^\[$node\] probe: closed$"
    lacks err "^\[$node\] probe: job [12]:"
done
loss 2 0 $short run $short
lost 1 0 2
lost 1 0 3 "$later"
has err "^\[1\] probe: closed$"
finish
