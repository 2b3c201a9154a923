#!/usr/bin/env bash
# Recorded trainings and hawser check: complete histories are accepted, under every policy, filter and encoding, on threads and nodes; others are refused.
source "$(dirname "$0")/cli.bash"

code 0 "$hawser" data generate dense --rows 300 --cols 80 --seed 1 -o d.svm
for options in "--sync bsp" "--sync ssp:2" "--sync tap" "--sync ssp:1 --filter absolute --quota 200" "--sync bsp --filter fifo --quota 300" \
    "--sync ssp:1 --encoding int8" "--merge average" "-k 1"; do
    # shellcheck disable=SC2086
    code 0 "$hawser" train lasso d.svm --lambda-ratio 0.1 -k 3 --exchange-every 0.5 --max-clocks 150 $options -o m.st --record-history h
    code 0 "$hawser" check h
    has out '^verified: [0-9]+ records'
    has out 'read-my-writes'
done
for over in "bsp all" "bsp tree" "ssp:2 tree" "tap servers:1"; do
    code 0 "$hawser" run -n 3 -- train lasso d.svm --lambda-ratio 0.1 -k 5 --sync "${over% *}" --topology "${over#* }" --exchange-every 0.5 \
        --max-clocks 60 -o m.st --record-history h
    code 0 "$hawser" check h
    code 0 "$hawser" check h h.2 h.1 --json
    has out '"holds":true'
    code 3 "$hawser" check h h.1
    says 'lacks the file of node 2'
    mv h.1 away
    code 3 "$hawser" check h
    says 'lacks the file of node 1'
    rm -f away
done

# Trainings over a parameter server: linear and logistic regression by descent, delayed block proximal gradient.
awk '{ $1 = ($1 > 0) ? 1 : -1; print }' d.svm >l.svm
for sync in bsp ssp:2 delay:1 delay:3 tap dc:0 dc:2; do
    for train in "linear d.svm --max-clocks 40" "linear d.svm --max-clocks 40 --exchange weights" "linear d.svm --solver minibatch --epochs 5" \
        "logistic l.svm --solver dbpg --groups 2 --max-clocks 200" "logistic l.svm --solver gd --certify-every 7 --max-clocks 150" \
        "logistic l.svm --solver minibatch --epochs 9 --certify-every 5"; do
        for run in "" "run -n 3 --"; do
            case "$run/$sync/$train" in run*/ssp:2/*gd* | run*/delay:3/*dbpg* | run*/dc:0/*dbpg* | /*) ;; *) continue ;; esac
            # shellcheck disable=SC2086
            code 0 "$hawser" $run train $train -k 4 --sync $sync -o m.st --record-history h
            code 0 "$hawser" check h
            has out '^verified: [0-9]+ records'
            case $sync in
            ssp:* | delay:*) has out 'ssp-(visible|bounded-difference) ' ;;
            dc:*) has out 'read-constraint ' ;;
            bsp) has out '  bsp ' ;;
            esac
        done
    done
done

# A node dies: the records up to its loss are accepted, and the files of the others name the lost node.
for train in "lasso d.svm --lambda-ratio 1e-5 --tol 1e-15 --sync tap --exchange-every 0.002 --max-clocks 10000000" \
    "linear d.svm --solver minibatch --epochs 10000000 --sync ssp:2" "linear d.svm --solver minibatch --epochs 10000000 --sync dc:0"; do
    for node in 0 2; do
        part=h
        [ $node = 0 ] || part=h.$node
        rm -f h h.*
        # shellcheck disable=SC2086
        "$hawser" run -n 3 -- train $train -k 4 -o m.st --record-history h >out 2>err &
        child=$!
        while [ "$(stat -c %s $part 2>/dev/null || echo 0)" -lt 60000 ] && kill -0 $child 2>/dev/null; do sleep 0.02; done
        writer=$(find /proc/[0-9]*/fd -lname "$PWD/$part" 2>/dev/null | head -1)
        kill -KILL "$(echo "$writer" | cut -d/ -f3)"
        wait $child
        code 10 "$hawser" check h h.1 h.2
        has out "^[0-9]+ records of [0-9]+ streams of a job that ended in 'peer lost': consistent up to the loss of node $node\$"
        has out "node $node has left [0-9]+ records and no end record"
        code 10 "$hawser" check h h.1 h.2 --json
        has out "\"holds\":true.*\"ended\":\"peer lost\",\"lost\":\\[$node\\]"
        : >$part
        code 10 "$hawser" check h h.1 h.2
        has out "node $node has left no file"
        rm $part
        code 10 "$hawser" check $(ls h h.1 h.2 2>/dev/null)
        has out "node $node has left no file"
    done
done

# Files that are not histories, or incomplete ones.
mkdir -p folder
code 3 "$hawser" check folder
says 'folder is a directory'
mkfifo pipe
code 3 timeout 20 "$hawser" check pipe
says 'pipe is no plain file'
: >empty
code 3 "$hawser" check empty
says 'empty is not a history'
code 3 "$hawser" check d.svm
says 'd.svm is not a history'
code 4 "$hawser" check nothing.there
code 0 "$hawser" train lasso d.svm --lambda-ratio 0.1 -k 2 -o m.st --record-history whole
head -c 1500 whole >part
code 3 "$hawser" check part
says 'part is not whole'
code 2 "$hawser" train lasso d.svm --lambda-ratio 0.1 -o same --record-history same
code 4 "$hawser" train lasso d.svm --lambda-ratio 0.1 -o m.st --record-history no/such/place

# The history of a killed job is refused.
"$hawser" train linear d.svm --solver minibatch --epochs 10000000 -k 2 --sync ssp:2 -o m.st --record-history killed >out 2>err &
child=$!
while [ "$(stat -c %s killed 2>/dev/null || echo 0)" -lt 1000 ] && kill -0 $child 2>/dev/null; do sleep 0.05; done
kill -KILL $child 2>/dev/null
wait $child 2>/dev/null
code 3 "$hawser" check killed
says 'killed is not whole'
finish
