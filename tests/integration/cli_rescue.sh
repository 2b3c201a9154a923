#!/usr/bin/env bash
# A model that cannot be written at the end of a training is not lost: it is saved once that is possible, otherwise under TMPDIR and named in the last line, with exit code 4.
source "$(dirname "$0")/cli.bash"
small_problem
export TMPDIR=$scratch/tmp
mkdir tmp
words=("$hawser" train lasso "$scratch/small.svm" --lambda 0.05 --json --plot "$scratch/p.svg" --trace "$scratch/t.csv")
good() { # checks that FILE is the model of this training
    code 0 "$hawser" evaluate "$1" small.svm
    has out "r2 +0\.99"
}
rescued() { # checks that the last line names the saved model
    equal "$(grep -c "trying for .* s more (--grace)" err)" "$1"
    tail -1 err | sed -n "s/^hawser: .*; the model is in '\(.*\)' instead$/\1/p"
}

# A folder that was removed before the model is written stands for every other reason; it exists again later, or not.
attempt() { # COMMAND...: runs it with -o gone/m.st, and removes the folder while it trains
    rm -rf gone t.csv
    mkdir gone
    "$@" -o gone/m.st --quiet --json --trace t.csv >out 2>err &
    child=$!
    until_clock t.csv $child
    rmdir gone
}
code 0 "$hawser" data generate dense --rows 500 --cols 100 --seed 2 -o long.hwc
long=("$hawser" train lasso long.hwc --lambda-ratio 1e-5 --tol 1e-15 --solver cd --exchange-every 0.02 --workers 2 --slow 1:20)
for launch in "" "$hawser run -n 2 --"; do
    # shellcheck disable=SC2086
    attempt $launch "${long[@]}" --grace 60
    kill -TERM "$child"
    for ((i = 0; i < 3000; i++)); do
        grep -q "trying for" err && break
        sleep 0.01
    done
    mkdir gone
    got=0
    wait "$child" || got=$?
    equal "$got" 130
    has err "interrupted; what was reached is saved in gone/m.st"
    code 0 "$hawser" info gone/m.st
done
attempt "${long[@]}" --time-limit 3 --grace 0.5
got=0
wait "$child" || got=$?
equal "$got" 4
file=$(rescued 1)
json out "o['model'] == '$file' and o['stop_reason'] == 'time-limit'"
code 0 "$hawser" info "$file"
[[ $file == "$TMPDIR"/hawser-*/m.st && $(stat -c %a "${file%/*}") == 700 ]] || complain "'$file'"

# A file that would grow beyond a limit does not end the process; if no folder accepts the model, the last line reports it.
(ulimit -f 1 && TMPDIR=/proc "$hawser" train lasso small.svm --path 50 --grace 0 -o m.st --quiet 2>err)
equal "$?" 4
tail -1 err | grep -q "the model is lost$" || complain "$(cat err)"
[[ ! -e m.st ]] || complain "a file beyond its limit was kept"

# A disk that is full, and one that is full only for a while.
if unshare -rm true 2>/dev/null; then
    mkdir disk
    # shellcheck disable=SC2016
    inside() { HAWSER_TEST_TMP=$TMPDIR unshare -rm bash -c 'mount -t tmpfs -o size=64k none disk && cat /dev/zero >disk/zeros 2>/dev/null
        rm -f err
        "$@" >out 2>err & child=$!
        if [[ $FREE == yes ]]; then
            until grep -q "trying for" err; do sleep 0.01; done
            rm disk/zeros
        fi
        wait $child; echo $? >status; ls disk >there' inside "$@"; }
    FREE=yes inside "${words[@]}" --grace 60 -o disk/m.st
    equal "$(cat status) $(cat there)" "0 m.st"
    says "disk/m.st: cannot write.*: No space left on device; free space or write elsewhere; trying for 52.5 s more \(--grace\)"
    json out "o['model'] == 'disk/m.st'"
    FREE=no inside "${words[@]}" --grace 0.4 -o disk/m.st
    equal "$(cat status) $(cat there)" "4 zeros"
    file=$(rescued 1)
    good "$file"
    [[ -s p.svg && -s t.csv ]] || complain "the plot or the trace is missing"
fi
finish
