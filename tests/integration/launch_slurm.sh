#!/usr/bin/env bash
# Places and trainings from srun, with PMIx and without, under a Slurm of the test's own: needs root, slurmctld, slurmd and munged.
long=${HAWSER_TEST_LONG:-} sanitizer=${HAWSER_SANITIZE:-} # cli.bash unsets these
top=$(cd "$(dirname "$0")/../.." && pwd)
source "$(dirname "$0")/cli.bash"
probe=$(dirname "$hawser")/../tests/place_probe
for program in slurmctld slurmd srun sinfo scancel munged; do
    PATH=$PATH:/usr/sbin command -v $program >/dev/null || { echo "no $program here"; exit 77; }
done
((EUID == 0)) || { echo "a Slurm of one's own needs root"; exit 77; }
export PATH=$PATH:/usr/sbin SLURM_CONF=$scratch/slurm.conf
host=$(hostname -s)
port=$((20000 + RANDOM % 10000)) # below those that the system gives to others
mkdir state spool munge && chmod 755 "$scratch" && chmod 700 munge
head -c 1024 /dev/urandom >munge/key && chmod 400 munge/key
chown -R "$(id -u)" munge
# Nodes find the port of node 0 by the job's number: let it not be that of another Slurm on this machine.
cat >slurm.conf <<C
ClusterName=box
FirstJobId=$((RANDOM + 1))
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$scratch/munge/socket
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
ReturnToService=2
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/spool
SlurmctldPidFile=$scratch/ctld.pid
SlurmdPidFile=$scratch/slurmd.pid
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmctldLogFile=$scratch/ctld.log
SlurmdLogFile=$scratch/slurmd.log
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName=$host NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
SlurmdParameters=config_overrides
C
down() {
    for name in slurmd ctld munge; do
        [[ -s $scratch/$name.pid ]] && kill "$(cat "$scratch/$name.pid")" 2>/dev/null
    done
    sleep 0.5
    rm -rf "$scratch"
}
trap down EXIT
munged --force --key-file "$scratch/munge/key" --socket "$scratch/munge/socket" --pid-file "$scratch/munge.pid" \
    --log-file "$scratch/munge.log" --seed-file "$scratch/munge/seed" || { cat munge.log; echo "munged does not start here"; exit 77; }
slurmctld -f slurm.conf && sleep 1 && slurmd -f slurm.conf -N "$host" || { cat ctld.log slurmd.log; echo "Slurm does not start here"; exit 77; }
for ((i = 0; i < 100; i++)); do sinfo -h -o %T 2>/dev/null | grep -q idle && break; sleep 0.2; done
sinfo -h -o %T 2>/dev/null | grep -q idle || { tail -5 ctld.log slurmd.log; echo "Slurm did not come up here"; exit 77; }

three() {
    code 0 timeout 120 "${@:2}"
    equal "$(grep -cE "^node=[0-2]/3 how=$1 " out)" 3
    for field in job address key; do
        equal "$(grep -o " $field=[^ ]*" out | sort -u | wc -l)" 1
    done
    equal "$(grep -o ' name=[^ ]*' out | sort -u | wc -l)" 3
}
mpi_pmix=0
if srun --mpi=list 2>&1 | grep -q pmix; then
    if timeout 120 srun --mpi=pmix -n 2 "$probe" 2>&1 | grep -q "use srun --mpi=pmix"; then
        echo "this build has no PMIx"
    else
        mpi_pmix=1
        three PMIx srun --mpi=pmix -n 3 "$probe"
    fi
fi
"$hawser" key job.key
code 0 timeout 120 srun --mpi=none -n 3 "$probe" --key-file job.key
equal "$(grep -cE '^node=[0-2]/3 how=srun job=slurm-[0-9]+\.0 ' out)" 3
equal "$(grep -o ' key=[^ ]*' out | sort -u)" " key=$(head -c 8 job.key).32"
node0=$(sed -n 's/^node=0.* address=tcp:\[::1\]:\([0-9]*\) .*/\1/p' out) # the probe says the port where node 0 has to listen
equal "$(sed -n 's/^node=[12].* address=localhost:\([0-9]*\) .*/\1/p' out | sort -u)" "$node0"
((node0 >= 20000 && node0 <= 29999)) || complain "port $node0"
timeout 120 srun --mpi=none -n 2 "$probe" >out 2>err && complain "two processes that each think they are alone"
has err 'SLURM_STEP_NUM_TASKS=2: srun started .* --mpi=pmix, or make a key'
code 0 timeout 120 srun --mpi=none -n 1 "$probe"
has out 'how=alone'

# Training: three tasks come to the model of one process.
"$hawser" data generate dense --rows 500 --cols 300 --seed 7 -o t.svm >/dev/null
words=(train lasso t.svm --index-base 1 --workers 3 --quiet)
endless=(--sync ssp:2 --exchange-every 1 --tol 1e-15 --slow 1:1000 --json)
"$hawser" "${words[@]}" -o one.st
cat >mine.py <<P
import os, sys, hawser, numpy
X = numpy.random.default_rng(0).normal(size=(200, 6))
y = X[:, 0] - 2 * X[:, 3]
alone = sys.argv[1] == "alone"
joining = {"key_file": "job.key"} if sys.argv[1] == "none" else {}
with hawser.Cluster(alone=alone, **joining) as cluster:
    assert cluster.nodes == (1 if alone else 3)
    found = [hawser.train("lasso", X, y, workers=3, lambda_=value).coefficients for value in (0.1, 0.01)]
    numpy.save("alone.npy" if alone else f"python{cluster.node}.npy", found)
P
python=
if [[ ! $sanitizer ]] && python=$(python3 "$top/python/tools/environment.py"); then
    export HAWSER_LIBRARY=${hawser%/*}/libhawser.so PYTHONPATH=$top/python
    code 0 "$python" mine.py alone
fi
for mpi in pmix none; do
    ((mpi_pmix)) || [[ $mpi == none ]] || continue
    more=()
    [[ $mpi == none ]] && more=(--key-file job.key)
    rm -f got.st
    code 0 timeout 120 srun --mpi=$mpi -n 3 "$hawser" "${words[@]}" --json -o got.st "${more[@]}"
    cmp -s <("$hawser" info --coefficients one.st) <("$hawser" info --coefficients got.st) || complain "srun --mpi=$mpi: another model"
    json out 'o["nodes"] == 3 and [w["node"] for w in o["worker"]] == [0, 1, 2]'

    # Two trainings of a Python script on the nodes that srun started, with the bits of one process.
    if [[ $python ]]; then
        rm -f python?.npy
        code 0 timeout 120 srun --mpi=$mpi -n 3 "$python" mine.py $mpi
        for ((i = 0; i < 3; i++)); do cmp -s alone.npy python$i.npy || complain "srun --mpi=$mpi: another model in Python on node $i"; done
    fi

    # The time limit of Slurm: the model so far is saved in time (Slurm reports the end from version 23.11 on; --time is for other versions).
    rm -f got.st
    code 0 env SLURM_JOB_END_TIME=$(($(date +%s) + 6)) timeout 150 srun --mpi=$mpi -n 3 --time=1 "$hawser" "${words[@]}" "${endless[@]}" -o got.st "${more[@]}"
    json out 'o["stop_reason"] == "time-limit"'
    "$hawser" info got.st | grep -q lambda || complain "srun --mpi=$mpi: no model at the job's end"

    # Older ones send SIGTERM to all tasks, and SIGKILL half a minute later; so does scancel, which need not be waited for.
    rm -f got.st trace.csv
    timeout 150 srun --mpi=$mpi -n 3 --time=1 "$hawser" "${words[@]}" "${endless[@]}" -o got.st --trace trace.csv "${more[@]}" >out 2>err &
    job=$!
    until_clock trace.csv $job
    if [[ ! $long ]]; then # from two sides, as at the time limit
        id=$(squeue -h -o %i | head -1)
        scancel --signal=TERM "$id"
        sleep 0.3
        scancel --signal=TERM "$id" 2>/dev/null
    fi
    wait $job && complain "srun --mpi=$mpi: an interrupted training that returns 0"
    has err 'interrupted; what was reached is saved in got.st'
    "$hawser" info got.st | grep -q lambda || complain "srun --mpi=$mpi: no model after SIGTERM: $(cat err)"
done

# deploy/hawser.sbatch: a signal to the script, as before the time limit, ends the training with a checkpoint, and so does Slurm's
# requeue, which signals all processes. The same command, and the job that Slurm starts again, go on to the same model.
mkdir bin
printf '#!/bin/sh\nsh -c "$4"\n' >bin/ssh # this machine stands for another one
chmod +x bin/ssh
ln -s "$hawser" bin/hawser
export PATH=$scratch/bin:$PATH
path=(train lasso t.svm --index-base 1 --workers 3 --path 6 --exchange-every 1)
"$hawser" "${path[@]}" -o whole.st >/dev/null
submit() {
    rm -f trace.csv
    sbatch --parsable --nodes=1 -o batch.out "$top/deploy/hawser.sbatch" hawser "${path[@]}" --slow 0:100 --checkpoint ck --trace trace.csv -o again.st
}
# await COMMAND...: waits until it succeeds.
await() {
    for ((i = 0; i < 600; i++)); do "$@" && return; sleep 0.1; done
    complain "$* never came true: $(cat batch.out)"
}
trains() { [[ -s trace.csv && $(wc -l <trace.csv) -gt $1 ]]; }
in_state() { [[ $(squeue -h -j "$id" -o %T 2>/dev/null) == "$1" ]]; }
id=$(submit)
await trains 3
scancel --batch --signal=TERM "$id"
await in_state ""
has batch.out 'goes on with the same command'
id=$(submit)
await trains 2
scontrol requeue "$id"
await in_state PENDING
has batch.out 'goes on from clock '
equal "$(grep -c 'goes on with the same command' batch.out)" 2
: >batch.out
scontrol update JobId="$id" StartTime=now
await in_state ""
has batch.out 'goes on from clock '
cmp -s <("$hawser" info --coefficients whole.st) <("$hawser" info --coefficients again.st) || complain "hawser.sbatch: another model"
equal "$(ls ck)" ""
finish
