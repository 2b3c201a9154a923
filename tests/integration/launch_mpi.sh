#!/usr/bin/env bash
# Places from Open MPI's and MPICH's mpirun, if they are installed; unknown environments are refused.
source "$(dirname "$0")/cli.bash"
probe=$(dirname "$hawser")/../tests/place_probe
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
tried=0
# three COMMAND...: three places of one job, by that launcher.
three() {
    local how=$1
    shift
    tried=$((tried + 1))
    code 0 timeout 120 "$@"
    equal "$(grep -cE "^node=[0-2]/3 how=$how " out)" 3
    for field in job address key; do
        equal "$(grep -o " $field=[^ ]*" out | sort -u | wc -l)" 1
    done
    equal "$(grep -o ' name=[^ ]*' out | sort -u | wc -l)" 3
    equal "$(grep -o '^node=[^ ]*' out | sort -u | wc -l)" 3
    has out ' key=[0-9a-f]{8}\.32 '
}
for mpirun in mpirun.openmpi mpirun; do
    "$mpirun" --version 2>/dev/null | grep -q "Open MPI" || continue
    "$probe" </dev/null >/dev/null || complain "the probe does not run"
    if timeout 120 "$mpirun" --oversubscribe -n 2 "$probe" 2>&1 | grep -q "build it with libpmix-dev"; then
        echo "this build has no PMIx"
        break
    fi
    three PMIx "$mpirun" --oversubscribe -n 3 "$probe"
    code 0 timeout 120 "$mpirun" --oversubscribe -n 1 "$probe"
    has out '^node=0/1 how=alone '
    code 0 timeout 120 "$mpirun" --oversubscribe -n 2 "$probe" --alone
    equal "$(grep -c '^node=0/1 how=alone ' out)" 2
    # The lifeline reports a launcher that dies.
    : >met
    PROBE_WAIT=$scratch/ended "$mpirun" --oversubscribe -n 2 "$probe" >met 2>/dev/null &
    launcher=$!
    for ((i = 0; i < 600; i++)); do (($(wc -l <met) == 2)) && break; sleep 0.1; done
    kill -9 $launcher
    wait $launcher 2>/dev/null
    for ((i = 0; i < 600; i++)); do [[ -f ended && $(wc -l <ended) == 2 ]] && break; sleep 0.1; done
    equal "$(sort ended | tr '\n' ' ')" "node 0 saw its launcher's end node 1 saw its launcher's end "
    break
done
for mpirun in mpirun.mpich mpirun; do
    "$mpirun" --version 2>/dev/null | grep -q HYDRA || continue
    three 'mpirun \(PMI\)' "$mpirun" -n 3 "$probe"
    # mpirun ends by SIGPIPE (141) if the process ends before it has read its launcher's input; the probe reads none.
    for _ in 1 2 3 4 5; do
        ended=0
        timeout 120 "$mpirun" -n 1 "$probe" </dev/null >out 2>err || ended=$?
        ((ended != 141)) && break
    done
    equal $ended 0
    has out '^node=0/1 how=alone '
    # Without its descriptor a process cannot find the others.
    timeout 120 "$mpirun" -n 2 env -u PMI_FD "$probe" >out 2>err && complain "two processes that each think they are alone"
    has err 'PMI_SIZE=2: .* one of several, but it cannot find the others; .*--alone'
    break
done
((tried > 0 || failures > 0)) || { echo "neither Open MPI's nor MPICH's mpirun is here"; exit 77; }
finish
