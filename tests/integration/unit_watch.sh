#!/usr/bin/env bash
# A unit, or another function of the user, that does not return is named, again and again, and ends the job where --unit-timeout asks for that.
set -euo pipefail
probe=$HAWSER_BUILD/tests/stuck_probe hawser=$HAWSER_BINARY
unset HAWSER_BUILD HAWSER_SANITIZE # a job takes them for options
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT; cd "$work"

fail() { echo "$1"; cat err; exit 1; }
# expect EXIT WORDS...: checks the command's exit status and the text of err.
run() { local wanted=$1 got=0; shift; timeout 120 "$@" > out 2> err || got=$?; [[ $got == "$wanted" ]] || fail "exit $got, not $wanted: $*"; }
says() { grep -qE "$1" err || fail "nothing says '$1'"; }

# It is named, and again when that time has doubled; its job ends well.
run 0 "$probe" 1 1.1 --workers 2 --unit-warning 0.2
[[ $(grep -cE "hawser: unit 'spin', block 1, clock 2, on node 0.*, has computed for [0-9.]+ s without returning" err) -ge 2 ]] || fail "not named twice"
! grep -q "block 0" err || fail "block 0 only waited"
# So on one thread for two blocks, and under the other policies.
run 0 "$probe" 0 0.4 --workers 2 --threads 1 --unit-warning 0.2; says "unit 'spin', block 0, clock 2"
run 0 "$probe" 1 0.4 --workers 2 --sync ssp:2 --unit-warning 0.2; says "unit 'spin', block 1, clock 2"
run 0 "$probe" 1 0.4 --workers 2 --sync tap --unit-warning 0.2; says "unit 'spin', block 1, clock 2"
# A derived state that is rebuilt for long is named, too.
run 0 "$probe" 1 0.4 rebuild --workers 2 --unit-warning 0.2; says "hawser: rebuild of state 'v', block 1, .*, has computed for"
# So are the other functions of a user: the driver's, and those that merge and store.
run 0 "$probe" 0 0.4 observer --workers 2 --unit-warning 0.2; says "hawser: observer of 'loop', clock 2, on node 0, has computed for"
run 0 "$probe" 0 0.4 test --workers 2 --unit-warning 0.2; says "hawser: stop test of loop 'loop', clock 2, on node 0, has"
run 0 "$probe" 0 0.4 test --workers 2 --unit-warning 0.2 --sync ssp:1; says "hawser: stop test of loop 'loop', clock 2"
run 0 "$probe" 0 0.4 branch --workers 2 --unit-warning 0.2; says "hawser: test of branch 'which', clock 0, on node 0, has"
run 0 "$probe" 0 0.4 merge --workers 2 --unit-warning 0.2; says "hawser: merge function of state 'v', block 1, clock [23], on node 0, has"
run 0 "$probe" 0 0.4 merge --workers 2 --unit-warning 0.2 --sync tap; says "hawser: merge function of state 'v', block 1"
run 0 "$probe" 0 0.4 function --workers 1 --unit-warning 0.2; says "hawser: table function 'slow', table 't', on node 0, has computed for"
run 0 "$probe" 0 0.4 check --workers 1 --unit-warning 0.2; says "hawser: check of table function 'slow', on node 0, has computed for"
run 0 "$probe" 0 0.4 filter --workers 1 --unit-warning 0.2; says "hawser: filter 'lazy', table 't', on node 0, has computed for"
run 0 "$probe" 0 0.4 done --workers 1 --unit-warning 0.2; says "hawser: .done. of a task, on node 0, has computed for"
# A unit that returns in time is not named, and none is without the option.
run 0 "$probe" 1 0.4 --workers 2; [[ ! -s err ]] || fail "somebody was named"
run 0 "$probe" 1 0.4 --workers 2 --unit-warning 0; [[ ! -s err ]] || fail "somebody was named"
run 0 "$probe" 1 0.3 --workers 2 --unit-timeout 60; [[ ! -s err ]] || fail "somebody was named"
# It ends the job.
run 8 "$probe" 1 0 --workers 2 --unit-timeout 0.5
says "unit 'spin', block 1, clock 2, on node 0.*--unit-timeout allows 0.5 s, so the job ends"
for what in observer test branch merge function check filter done; do
    run 8 "$probe" 0 0 $what --workers 2 --unit-timeout 0.5; says "0.5 s, so the job ends"
done
# Over nodes the node of the block prints the line, and the others receive it.
for block in 0 3; do
    run 8 "$hawser" run -n 2 -- "$probe" $block 0 --workers 4 --unit-timeout 0.5 --unit-warning 0.2
    says "unit 'spin', block $block, clock 2, on node $((block / 2)) .*, has computed for [0-9.]+ s without returning; it may"
    says "probe: .*node $((block / 2)).*unit 'spin', block $block, clock 2"
done
run 8 "$hawser" run -n 2 -- "$probe" 0 0 test --workers 4 --unit-timeout 0.5
says "probe: .*node 0.*stop test of loop 'loop', clock 2"
# However long such a function of the driver or of a block takes, the network goes on: no node is lost.
slow() { timeout 120 "$hawser" run -n 2 -- "$probe" "$1" 2.5 "$2" --workers 4 --failure-timeout 1 > "out.$1.$2" 2>&1 || echo "exit $?" >> "out.$1.$2"; }
for case in "0 observer" "0 test" "0 branch" "0 merge" "3 unit"; do slow $case & done
wait
for out in out.*; do [[ ! -s $out ]] || { cat "$out"; fail "a node was lost: $out"; }; done
