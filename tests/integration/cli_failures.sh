#!/usr/bin/env bash
# Wrong input, files that cannot be written, full disks, Ctrl-C: one clear line, the documented exit code, no half-written file.
source "$(dirname "$0")/cli.bash"
small_problem

code 4 "$hawser" train lasso absent.svm
says "absent.svm"
code 3 "$hawser" train lasso /dev/null
printf '1 1:2\n1 1:x\n' >bad.svm
code 3 "$hawser" train lasso bad.svm
says "bad.svm:2"
printf '1 1:nan\n' >bad.svm
code 3 "$hawser" train lasso bad.svm
printf 'a,b\n1,2\n3\n' >bad.csv
code 3 "$hawser" train lasso bad.csv
says "bad.csv:3"
mkdir folder
code 3 "$hawser" train lasso folder
says "is a directory"
code 3 "$hawser" info small.svm
code 4 "$hawser" info absent.st
code 4 "$hawser" predict absent.st small.svm
code 3 "$hawser" predict small.csv small.svm

# Paths are checked before the training, and a failed training leaves no file.
code 4 "$hawser" train lasso small.svm -o absent/m.st
says "absent/m.st"
lacks err "clock"
code 4 "$hawser" train lasso small.svm --trace absent/t.csv
code 4 "$hawser" train lasso small.svm --plot absent/p.svg
code 4 "$hawser" train lasso small.svm --log-json absent/e.jsonl
code 4 "$hawser" train lasso small.svm -o folder
if ((EUID != 0)); then
    mkdir locked && chmod 500 locked
    code 4 "$hawser" train lasso small.svm -o locked/m.st
    chmod 700 locked
fi
code 0 "$hawser" train lasso small.svm --lambda 0.05 -o m.st --quiet
if [[ -e /dev/full ]]; then
    TMPDIR=$scratch code 4 "$hawser" train lasso small.svm -o /dev/full --quiet
    says "No space left"
    code 4 "$hawser" train lasso small.svm --trace /dev/full --quiet
    says "/dev/full"
    code 4 "$hawser" train lasso small.svm --log-json /dev/full --quiet
    code 4 "$hawser" predict m.st small.svm -o /dev/full
    got=0
    "$hawser" predict m.st small.svm >/dev/full 2>err || got=$?
    equal "$got" 4
    got=0
    "$hawser" train lasso small.svm --quiet --json >/dev/full 2>err || got=$?
    equal "$got" 4
fi
head -c 200 m.st >cut.st
code 3 "$hawser" info cut.st
equal "$(find . -name '*.tmp*' -o -name '.*.st*' | wc -l)" 0

# Ctrl-C: the model so far is saved and named, for each of the three signals; a second signal ends the process at once.
code 0 "$hawser" data generate dense --rows 2000 --cols 400 --seed 2 -o long.hwc
long=("$hawser" train lasso long.hwc --lambda-ratio 1e-5 --tol 1e-15 --solver cd --exchange-every 0.02 --workers 2 --json)
for signal in INT TERM HUP; do
    rm -f i.st t.csv
    # A shell's background commands ignore SIGINT; Python starts this one as a terminal would.
    python3 - "$signal" "${long[@]}" -o i.st --trace t.csv <<'P'
import os, signal, subprocess, sys, time
number = getattr(signal, "SIG" + sys.argv[1])
child = subprocess.Popen(sys.argv[2:], stdout=open("out", "w"), stderr=open("err", "w"),
                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
def clock_is_over():
    rows = open("t.csv").read().split("\n")[1:-1] if os.path.exists("t.csv") else []
    return any(int(row.split(",")[0]) > 0 for row in rows)
end = time.monotonic() + 60
while time.monotonic() < end and child.poll() is None and not clock_is_over():
    time.sleep(0.05)
child.send_signal(number)
open("code", "w").write(str(child.wait()))
P
    equal "$(cat code)" 130
    says "interrupted; what was reached is saved in i.st"
    json out 'o["stop_reason"] == "signal" and o["repeatable"] is False'
    code 0 "$hawser" info i.st
    has out "^algorithm +lasso"
done

# A second Ctrl-C, here while a slow clock keeps the first one waiting, ends the process at once.
rm -f t.csv
python3 - "${long[@]}" --exchange-every 1 --slow 0:1000 -o second.st --trace t.csv <<'P' || complain "a second Ctrl-C"
import os, signal, subprocess, sys, time
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=open("err", "w"),
                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
def until(condition):
    end = time.monotonic() + 60
    while time.monotonic() < end and child.poll() is None and not condition():
        time.sleep(0.01)
until(lambda: os.path.exists("t.csv") and open("t.csv").read().count("\n") > 1)
child.send_signal(signal.SIGINT)
until(lambda: "once more" in open("err").read())
time.sleep(0.2)  # a signal that follows at once counts as the first one
child.send_signal(signal.SIGINT)
code, err = child.wait(), open("err").read()
# The first one may have saved the model by then, but half a model would be wrong.
if code != 130 or not ("ended by SIGINT at once" in err or "hawser: interrupted" in err):
    sys.exit(f"exit {code}: {err}")
P
[[ ! -e second.st ]] || "$hawser" info second.st >/dev/null || complain "a process that was ended left half a model"

# A limit that ends a training is no failure.
code 0 "${long[@]}" --max-clocks 3 -o l.st
json out 'o["stop_reason"] == "clocks" and o["clocks"] >= 3'
# Progress without a terminal: lines, and none under --quiet.
has err "^hawser: clock [0-9]+ .*objective"
lacks err "$(printf '\r')"
code 0 "${long[@]}" --max-clocks 3 --quiet
lacks err "clock"
# On a terminal: a bar that is redrawn.
if command -v script >/dev/null; then
    script -qec "$hawser train lasso long.hwc --lambda-ratio 1e-5 --max-clocks 30" session >/dev/null 2>&1 </dev/null
    has session "\] clock [0-9]+ .*objective"
    has session "clocks/s"
fi
# A mapped cache that is truncated during the training ends it with one line, not with a crash.
code 0 "$hawser" data generate dense --rows 2000 --cols 400 --seed 2 -o cut.hwc
rm -f t.csv
"$hawser" train lasso cut.hwc --lambda-ratio 1e-5 --tol 1e-15 --solver cd --workers 2 --quiet --trace t.csv >out 2>err &
child=$!
until_clock t.csv $child
truncate -s 4096 cut.hwc
wait "$child"
equal "$?" 3
says "cut.hwc was truncated by another program"
# A log that cannot be written is reported by name.
if [[ -e /dev/full ]]; then
    code 4 "$hawser" train lasso small.svm --log-json /dev/full --quiet
    says "/dev/full"
fi
# No output may replace an input.
cp small.svm kept.svm
for key in output plot trace log-json; do
    ln -sf small.svm link.svg
    code 2 "$hawser" train lasso small.svm "--$key" link.svg --quiet
    says "--$key: 'link.svg' would overwrite the input"
done
code 2 "$hawser" predict m.st small.svm -o small.svm
cmp -s small.svm kept.svm || complain "an input was overwritten"
finish
