#!/bin/sh
# Checks the protocol models with Spin: the model must hold, and each mutation of it (in the shorter form every sixth) must be refused.
set -u
source=${HAWSER_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
command -v spin >/dev/null && command -v gcc >/dev/null || { echo "skipped: spin and gcc are needed (script/setup)"; exit 77; }
room=$(mktemp -d) || exit 1
trap 'rm -rf "$room"' EXIT
cd "$room" || exit 1
failed=0
mutants=0
level=-O0 # most have few states, and their compiler takes longer than they do

# check MODEL holds|refused OPTIONS...
check() {
    model=$1 want=$2
    shift 2
    if [ "$want" = refused ]; then
        mutants=$((mutants + 1))
        [ "${HAWSER_TEST_LONG:-}" ] || [ $((mutants % 6)) = 1 ] || return 0
    fi
    rm -f pan pan.*
    if ! spin -a "$@" "$source/models/$model" >spin.log 2>&1 || ! gcc $level -w -DSAFETY -DMEMLIM=1024 -o pan pan.c; then
        cat spin.log
        echo "FAIL $model $*: does not compile"
        failed=1
        return
    fi
    ./pan -m100000 >pan.log 2>&1
    if grep -q "search not completed\|max search depth too small\|out of memory" pan.log && ! grep -q "errors: [1-9]" pan.log; then
        got=incomplete
    elif grep -q "errors: 0" pan.log; then
        got=holds
    elif grep -q "errors: [1-9]" pan.log; then
        got=refused
    else
        got=nothing
    fi
    states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.log)
    if [ "$got" = "$want" ]; then
        echo "ok   $model $*: $got, $states states"
    else
        cat pan.log
        echo "FAIL $model $*: $got where it should be: $want"
        failed=1
    fi
}

# The same for one with a million states and more, in the longer form.
check_large() {
    [ "${HAWSER_TEST_LONG:-}" ] || return 0
    level=-O2
    check "$@"
    level=-O0
}

check ssp.pml holds -DS=0
check ssp.pml holds -DS=1
check ssp.pml holds -DS=2
check_large ssp.pml holds -DS=1 -DBLOCKS=3
check ssp.pml refused -DS=1 -DLOOSE
check ssp.pml refused -DS=2 -DLOOSE
check ssp.pml refused -DS=1 -DMUTANT=1
check ssp.pml refused -DS=1 -DMUTANT=2
check ssp.pml holds -DS=1 -DMUTANT=3 -DLOOSE
check ssp.pml refused -DS=1 -DMUTANT=4
for slack in 0 1 2; do
    check stages.pml holds -DS=$slack
done
check stages.pml holds -DS=0 -DBLOCKS=3
check stages.pml refused -DS=1 -DLOOSE
check stages.pml holds -DS=1 -DOWN=0
check stages.pml refused -DS=1 -DOWN=0 -DMUTANT=1
for mutant in 1 2 3 4 5; do
    check stages.pml refused -DMUTANT=$mutant
done
check stages.pml refused -DS=1 -DMUTANT=6
for slack in 0 1 2; do
    check branches.pml holds -DS=$slack
done
check branches.pml holds -DS=1 -DBLOCKS=3
for mutant in 1 2 4 5; do
    check branches.pml refused -DMUTANT=$mutant
done
check branches.pml refused -DS=0 -DMUTANT=3
check slot.pml holds -DSLOTS=1
check_large slot.pml holds -DSLOTS=2
check_large slot.pml holds -DSLOTS=2 -DPUTS=4
for mutant in 1 2 3 4 5; do
    check slot.pml refused -DMUTANT=$mutant
done
check edge.pml holds
check edge.pml holds -DWAITS
check edge.pml holds -DDIES
check edge.pml holds -DWAITS -DDIES
check edge.pml holds -DMOST=2
check edge.pml holds -DMOST=3 -DSCATTERS=5
check edge.pml holds -DMOST=2 -DDIES
for mutant in 1 2 3 6; do
    check edge.pml refused -DMUTANT=$mutant
done
check edge.pml refused -DWAITS -DDIES -DMUTANT=4
check edge.pml refused -DWAITS -DMUTANT=5
for mutant in 2 3 6 7 8; do # 1 needs a sum that an acknowledgement finds
    check edge.pml refused -DMOST=2 -DMUTANT=$mutant
done
check edge.pml refused -DMOST=2 -DDIES -DMUTANT=4
check edge.pml refused -DMOST=2 -DMUTANT=5
for sums in -UDELTAS -DDELTAS; do # three slots and one receiver, then two slots and two receivers
    check vector_slot.pml holds -DRECEIVERS=1 $sums
    check vector_slot.pml holds -DRECEIVERS=1 -DMOST=3 -DSCATTERS=5 $sums
    check vector_slot.pml holds -DRECEIVERS=1 -DMOST=3 -DDIES $sums
done
check vector_slot.pml holds -DRECEIVERS=1 -DMOST=3 -DKILLED
check_large vector_slot.pml holds -DSLOTS=2 -DSCATTERS=3 -DDIES
check_large vector_slot.pml holds -DSCATTERS=3 -DMOST=3
check_large vector_slot.pml holds -DSLOTS=2 -DSCATTERS=3 -DDELTAS -DKILLED
check vector_slot.pml refused -DSLOTS=2 -DSCATTERS=3 -DMUTANT=2
for mutant in 1 3 4 6; do
    check vector_slot.pml refused -DRECEIVERS=1 -DMUTANT=$mutant
done
check vector_slot.pml refused -DRECEIVERS=1 -DMOST=3 -DDELTAS -DMUTANT=5
check vector_slot.pml refused -DSLOTS=2 -DSCATTERS=3 -DDIES -DMUTANT=7
check chunks.pml holds -DDELAY=0
check chunks.pml holds -DDELAY=1
check chunks.pml holds -DDELAY=0 -DWORKERS=3 -DITERATIONS=2
check chunks.pml refused -DDELAY=0 -DWORKERS=3 -DITERATIONS=2 -DBARRIER
for mutant in 1 2 3 4 5 6; do
    check chunks.pml refused -DMUTANT=$mutant
done
check view.pml holds
check view.pml holds -DNODES=4
for mutant in 1 2 3 4; do
    check view.pml refused -DMUTANT=$mutant
done
check members.pml holds
check members.pml holds -DLOSSES=3
for mutant in 1 2 3 4; do
    check members.pml refused -DMUTANT=$mutant
done
check moving.pml holds -DS=0 -DEACH=2
check moving.pml holds -DS=1
check moving.pml holds -DTAP
check moving.pml holds -DBLOCKS=3
check_large moving.pml holds -DBLOCKS=3 -DTAP
check moving.pml holds -DDRAWN -DS=1
check moving.pml holds -DDRAWN -DTAP
check_large moving.pml holds -DDRAWN -DEACH=2
check_large moving.pml holds -DDRAWN -DBLOCKS=3 -DPERIOD=2
check moving.pml refused -DLOOSE
check moving.pml refused -DTAP -DMUTANT=1
for mutant in 2 3 4 5 6; do
    check moving.pml refused -DMUTANT=$mutant
done
exit $failed
