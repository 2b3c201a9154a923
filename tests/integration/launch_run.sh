#!/usr/bin/env bash
# hawser run on one machine: places, streams, names, exit codes. The nodes are shell scripts that read the launcher's channel.
source "$(dirname "$0")/cli.bash"
cat >node <<'S'
#!/usr/bin/env bash
read -r -u 3 word key
if [[ $HAWSER_NODE == 0 ]]; then
    echo "address tcp:here:7070" >&3
    read -r -u 3 -t 0.2 more && echo "node 0 was told $more"
else
    read -r -u 3 manager address
fi
echo "node=$HAWSER_NODE nodes=$HAWSER_NODES name=$HAWSER_NODE_NAME local=$HAWSER_LOCAL word=$word key=${#key} address=${address:-own} args=$# $2"
echo "$key" >"key.$HAWSER_NODE"
echo "${HAWSER_JOB}" >"job.$HAWSER_NODE"
echo "$HAWSER_SOCKETS" >"sockets.$HAWSER_NODE"
ls "$TMPDIR" >"temporary.$HAWSER_NODE"
ls -l /proc/$$/fd | grep -c socket: >"open.$HAWSER_NODE"
tr '\0' '\n' <"/proc/$$/environ" | grep -c "$key" >"seen.$HAWSER_NODE"
tr '\0' ' ' <"/proc/$PPID/cmdline" | grep -c "$key" >>"seen.$HAWSER_NODE"
echo "to stderr" >&2
S
chmod +x node

mkdir temporary
TMPDIR=$scratch/temporary code 0 "$hawser" run -n 3 -- ./node one 'two words'
has out '^node=0 nodes=3 name=node-0 local=yes word=key key=64 address=own args=2 two words$'
has out '^\[1\] node=1 nodes=3 name=node-1 local=yes word=key key=64 address=tcp:here:7070 args=2 two words$'
has out '^\[2\] node=2 nodes=3 name=node-2 .* address=tcp:here:7070 '
lacks out 'was told'
for i in 0 1 2; do
    has err "^\[$i\] to stderr$"
    equal "$(cat key.$i)" "$(cat key.0)"
    equal "$(cat job.$i)" "$(cat job.0)"
    equal "$(cat sockets.$i)" @  # nodes of one host use abstract sockets: no folder remains to be removed
    equal "$(cat temporary.$i)" ""
    equal "$(cat open.$i)" 1 # only its own channel
    equal "$(tr '\n' ' ' <seen.$i)" "0 0 " # the key is in no environment and no command line
done
first=$(cat key.0)
code 0 "$hawser" run -n 2 -- ./node
[[ $(cat key.0) != "$first" ]] || complain "two jobs with one key"

# Streams: standard output of node 0 untouched, bytes and all; input goes to node 0 alone.
cat >echoes <<'S'
#!/usr/bin/env bash
if [[ $HAWSER_NODE == 0 ]]; then cat; else cat | wc -c; printf 'no end'; fi
S
chmod +x echoes
head -c 3000000 /dev/urandom >bytes
"$hawser" run -n 2 --output-dir logs -- ./echoes <bytes >out 2>err || complain "$(cat err)"
cmp -s bytes out || complain "node 0 did not pass its input on"
equal "$(cat logs/node-1.log)" $'0\nno end'
"$hawser" run -n 2 --no-prefix -- ./echoes </dev/null >out 2>err || complain "$(cat err)"
equal "$(cat out)" $'0\nno end'
code 0 "$hawser" run -n 2 -- bash -c 'for i in {1..3000}; do echo "$HAWSER_NODE line $i"; done' </dev/null
equal "$(grep -c '^\[1\] 1 line [0-9]*$' out)" 3000
equal "$(grep -c '^0 line [0-9]*$' out)" 3000

# Exit codes: the first failure's, named; the others have their grace.
code 0 "$hawser" run -n 4 -- true
code 8 "$hawser" run -n 3 --grace 0 -- bash -c '[[ $HAWSER_NODE == 2 ]] && exit 8; sleep 1000'
has err '^hawser run: node 2 \(node-2, pid [0-9]+\) ended with code 8$'
equal "$(wc -l <err)" 1
code 137 "$hawser" run -n 2 --grace 0 -- bash -c '[[ $HAWSER_NODE == 1 ]] && kill -9 $$; sleep 1000'
has err 'node 1 \(node-1, pid [0-9]+\) was killed by signal 9 \(KILL\); .* out of memory'
code 3 "$hawser" run -n 2 --grace 100 -- bash -c '[[ $HAWSER_NODE == 1 ]] && exit 3; sleep 0.5; echo by myself'
has out '^by myself$'
# A node that ignores SIGTERM is killed.
code 5 "$hawser" run -n 2 --grace 0 -- bash -c '[[ $HAWSER_NODE == 1 ]] && { sleep 0.3; exit 5; }; trap "" TERM; while :; do sleep 1; done'
code 127 "$hawser" run -n 2 -- ./missing
has err 'cannot run ./missing: No such file'
touch plain
code 126 "$hawser" run -n 2 -- ./plain

# A node that ends because another failed does not hide that failure, whatever is received first; of nodes that only blame each other, the most blamed is named.
blames() { printf 'case $HAWSER_NODE in %s esac' "$1"; }
code 5 "$hawser" run -n 3 -- bash -c "$(blames '0) echo "lost 2 it is silent" >&3; exit 8;; 1) exit 8;; 2) sleep 0.4; exit 5;;')" </dev/null
has err '^hawser run: node 2 \(node-2, pid [0-9]+\) ended with code 5$'
code 4 "$hawser" run -n 3 -- bash -c "$(blames '0|1) echo "lost 2 no such file" >&3; exit 4;; 2) sleep 0.4; exit 4;;')" </dev/null
has err '^hawser run: node 2 .* ended with code 4$'
lacks err '^hawser run: node [01]'
code 137 "$hawser" run -n 3 -- bash -c "$(blames '0|1) exit 8;; 2) sleep 0.4; kill -9 $$;;')" </dev/null
has err '^hawser run: node 2 .* was killed by signal 9'
code 8 "$hawser" run --grace 1 -n 4 -- bash -c "$(blames '0|2) echo "lost 1 it is silent" >&3; exit 8;; 1) sleep 1000;; 3) echo "lost 0 gone" >&3; exit 8;;')" </dev/null
has err '^hawser run: node 1 .* failed first, as node [02] saw it: it is silent$'
equal "$(grep -c '^hawser run:' err)" 1
code 8 "$hawser" run -n 2 -- bash -c 'exit 8' </dev/null
has err '^hawser run: node [01] .* ended with code 8$'
code 8 "$hawser" run -n 2 -- bash -c 'echo "lost 9 gone" >&3; echo "lost x" >&3; exit 8' </dev/null # such nodes are not there
has err '^hawser run: node [01] .* ended with code 8$'

# Processes that a node leaves running end with it.
code 0 "$hawser" run -n 2 -- bash -c 'sleep 4321.5 & echo $! >left.$HAWSER_NODE'
for pid in $(cat left.0 left.1); do ! grep -q . "/proc/$pid/cmdline" 2>/dev/null || complain "a process was left behind"; done

# Words.
code 2 "$hawser" run -n 2
says "missing argument"
code 2 "$hawser" run -- ./node
says "missing number of processes"
code 2 "$hawser" run -n 2 -- info x.model
says "runs as one process"
code 2 "$hawser" run -n 0 -- ./node
code 0 "$hawser" run -n 2 -- train --help
equal "$(grep -c '^usage: hawser train' out)" 1
has out '^\[1\] usage: hawser train'

# One process is alone; several that lost their channel are not.
small_problem
code 0 "$hawser" run -n 1 -- train lasso small.svm --lambda 0.1 --json --quiet
json out 'o["gap"] < 1e-3'

# Keys.
code 0 "$hawser" key job.key
equal "$(stat -c %a job.key)" 600
has job.key '^[0-9a-f]{64}$'
code 4 "$hawser" key job.key
says "not replaced"
finish
