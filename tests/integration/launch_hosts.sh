#!/usr/bin/env bash
# hawser run --hosts: over a stand-in for ssh that runs the command here as a login shell would, and over a real sshd where there is one.
source "$(dirname "$0")/cli.bash"
trap '[[ -z ${sshd:-} ]] || kill "$sshd" 2>/dev/null; rm -rf "$scratch"' EXIT
cat >ssh-here <<'S'
#!/usr/bin/env bash
# ssh-here HOST COMMAND: a banner on both streams, another directory, hardly any environment.
host=$1; shift
case $host in
unknown) echo "ssh: Could not resolve hostname unknown: Name or service not known" >&2; exit 255 ;;
shut) echo "joe@shut: Permission denied (publickey)." >&2; exit 255 ;;
bare) echo "sh: 1: exec: hawser: not found" >&2; exit 127 ;;
slow) until grep -qs ash "$LOG.hosts"; do sleep 0.1; done; sleep 1 ;;
chatty) head -c 70000 /dev/zero; exec sleep 1000 ;;
babbler*) exec head -c 100000 /dev/zero ;;
mute) trap '' TERM; exec sleep 1000 ;;
esac
echo "$host" >>"$LOG.hosts"; printf '%s\n' "$*" >>"$LOG.command"
echo "Welcome to $host"; echo "motd" >&2
cd /; exec env -i PATH="$PATH" HOME="$HOME" TMPDIR="$TMPDIR" HAWSER_NODE=77 /bin/sh -c "$*"
S
cat >node <<'S'
#!/usr/bin/env bash
read -r -u 3 word key
if [[ $HAWSER_NODE == 0 ]]; then
    echo "address tcp:first:1" >&3
    cat; address=own
else
    read -r -u 3 manager address
fi
echo "node=$HAWSER_NODE/$HAWSER_NODES name=$HAWSER_NODE_NAME address=$address in=$PWD tol=$HAWSER_TOL local=$HAWSER_LOCAL sockets=${HAWSER_SOCKETS:+yes} [$1]"
echo "complaint" >&2
echo "$key" >>keys
exit "${HAWSER_TEST_CODE:-0}"
S
chmod +x ssh-here node
export LOG=$scratch/log TMPDIR=$scratch
run() { code "$1" "$hawser" run --ssh "$scratch/ssh-here" "${@:2}"; }

printf 'ash\njoe@birch slots=2\n' >hosts
echo "given" >input
HAWSER_TOL=0.5 run 0 --hosts hosts -- ./node "it's; \$HOME \"x\"" <input
has out '^given$'
has out "^node=0/3 name=ash address=own in=$scratch tol=0.5 local= sockets= \[it's; \\\$HOME \"x\"\]$"
has out "^\[birch-1\] node=1/3 name=birch-1 address=tcp:first:1 in=$scratch tol=0.5 local= sockets=yes "
has out "^\[birch-2\] node=2/3 name=birch-2 address=tcp:first:1 "
has err '^\[birch-2\] complaint$'
has err '^\[joe@birch\] motd$'
lacks out Welcome
equal "$(sort -u keys | wc -l)" 1
lacks log.command "$(head -1 keys)"
equal "$(sort log.hosts | tr '\n' ' ')" "ash joe@birch "
# A host that is slow to log in receives the address of node 0 all the same.
printf 'ash\nslow\n' >late
run 0 --hosts late -- ./node </dev/null
has out '^\[slow\] node=1/2 name=slow address=tcp:first:1 '
# Every node has a file of its own, however often and under whatever names its host is listed.
printf 'ash\njoe@birch\nash\nann@birch\n' >again
run 0 --hosts again --output-dir logs -- ./node </dev/null
equal "$(ls logs | tr '\n' ' ')" "ash-1.log ash-2.log birch-1.log birch-2.log "
for name in ash-2 birch-1 birch-2; do has logs/$name.log "name=$name "; done
printf 'ash-1\nash:2\n' >again
run 3 --hosts again --output-dir logs -- true
says "two nodes would be named ash-1"
run 0 -n 1 --hosts hosts -- true
run 2 -n 4 --hosts hosts -- true
says "3 slots"
# Another path of the command, and one that a shell would trip over.
mkdir "a 'b" && ln -s "$hawser" "a 'b/hawser"
run 0 --hosts hosts --remote "$scratch/a 'b/hawser" -- ./node </dev/null
# Input of any bytes and size.
printf 'ash\n' >one
head -c 2000000 /dev/urandom >bytes
run 0 --hosts one -- cat <bytes
cmp -s bytes out || complain "input of node 0 came changed"
# A directory that is not there.
mkdir gone
(cd gone && rmdir ../gone && exec "$hawser" run --hosts ../hosts --ssh "$scratch/ssh-here" -- true 2>../err) && complain "worked in no directory"

# Failures, by host.
HAWSER_TEST_CODE=7 run 7 --hosts hosts -- ./node </dev/null
has err 'hawser run: node [012] \((ash|birch-[12]), pid [0-9]+\) ended with code 7'
for host in unknown:resolve shut:Permission; do
    printf '%s\nash\n' "${host%:*}" >bad
    run 8 --grace 0 --hosts bad -- sleep 1000
    has err "hawser run: node 0 \(${host%:*}\): cannot log in to ${host%:*} by '.*ssh-here': .*${host#*:}"
done
printf 'ash\nbare\n' >bad
run 8 --grace 0 --hosts bad -- sleep 1000
has err "node 1 \(bare\): bare: hawser is not at the path .* --remote PATH"
printf 'ash\nchatty\n' >bad
run 8 --grace 0 --hosts bad -- sleep 1000
has err "node 1 \(chatty\)"
# A node that ignores SIGTERM, and many whose last messages arrive after they have ended: their group must not be taken for ours.
printf 'unknown\nmute\n' >bad
run 8 --grace 0 --hosts bad -- sleep 1000
printf 'babbler%d\n' {1..80} >bad
code 8 setsid --wait sh -c '"$0" run --grace 0 --hosts bad --ssh "$PWD/ssh-here" -- true; exit $?' "$hawser"
has err "prints text"
code 8 "$hawser" run --grace 0 --hosts one --ssh ./none -- true
has err "cannot be executed"
code 2 "$hawser" run --hosts one --ssh " " -- true
printf 'ash\n-oProxyCommand=true\n' >bad
run 3 --hosts bad -- true
says "bad:2: '-oProxyCommand=true' is not a host"

# If the connection breaks, the agent ends its nodes, and the launcher names the host.
cat >waits <<'S'
#!/usr/bin/env bash
echo $$ >"pid.$HAWSER_NODE"; echo $PPID >"agent.$HAWSER_NODE"
trap 'exit 9' TERM
while :; do sleep 0.1; done
S
chmod +x waits
# until_true COMMAND...: waits until it succeeds, a minute at most.
until_true() {
    for ((i = 0; i < 600; i++)); do "$@" && return; sleep 0.1; done
    return 1
}
all_there() { [[ -s agent.0 && -s agent.1 && -s agent.2 ]]; }
all_wait() { until_true all_there || complain "not all nodes have started"; }
is_gone() { ! kill -0 "$1" 2>/dev/null; }
all_gone() { # WHOM they would outlive
    local pid
    for pid in $(cat pid.* agent.*); do until_true is_gone "$pid" || complain "process $pid outlived $1"; done
}
no_folder() { ! compgen -G "$scratch/hawser-*" >/dev/null; }
launch() { # SSH OPTION...: nodes that wait
    "$hawser" run "${@:2}" --hosts hosts --ssh "$1" -- ./waits >out 2>err </dev/null &
    launcher=$!
    all_wait
}
kill_launcher() { # WHAT its nodes would outlive
    kill -9 $launcher
    wait $launcher 2>/dev/null
    all_gone "$1"
}
launch "$scratch/ssh-here" --grace 0
kill -9 "$(cat agent.1)"
wait $launcher
equal $? 8
has err 'node 1 \(birch-1, pid [0-9]+\): the connection to joe@birch is gone'
all_gone "their agents"
no_folder || complain "a killed agent left a folder"
rm -f pid.* agent.*
# A host that does not answer delays no other once the time for SIGKILL has passed.
launch "$scratch/ssh-here" --grace 0
kill -STOP "$(cat agent.1)" "$(cat pid.1)"
kill -9 "$(cat pid.0)"
until_true is_gone $launcher || { complain "a host that does not answer holds the launcher up"; kill -9 $launcher; }
wait $launcher
equal $? 137
has err '^hawser run: joe@birch does not answer; its nodes may still run there$'
lacks err 'ash does not answer'
kill -9 "$(cat pid.1)" "$(cat pid.2)"
rm -rf pid.* agent.* hawser-*
launch "$scratch/ssh-here"
kill_launcher "its launcher"
no_folder || complain "a folder was left"

# A real sshd, on a port of its own and with keys of its own.
server=$(command -v sshd || echo /usr/sbin/sshd)
if [[ -x $server ]] && command -v ssh ssh-keygen >/dev/null; then
    ssh-keygen -q -t ed25519 -N "" -f host_key && ssh-keygen -q -t ed25519 -N "" -f user_key
    port=$((20000 + RANDOM % 10000)) # below those that the system gives to others
    cat >sshd_config <<C
Port $port
ListenAddress 127.0.0.1
HostKey $scratch/host_key
AuthorizedKeysFile $scratch/user_key.pub
StrictModes no
UsePAM no
PidFile $scratch/sshd.pid
C
    mkdir -p /run/sshd 2>/dev/null
    "$server" -D -f sshd_config -E sshd.log &
    sshd=$!
    until_true grep -qs "Server listening" sshd.log
    ssh="ssh -o BatchMode=yes -F none -p $port -i $scratch/user_key -o UserKnownHostsFile=$scratch/known"
    printf '127.0.0.1 slots=3\n' >hosts
    code 8 "$hawser" run --grace 0 --hosts hosts --ssh "$ssh -o StrictHostKeyChecking=yes" -- true
    has err "cannot log in to 127.0.0.1 .*Host key verification failed"
    code 0 "$hawser" run --hosts hosts --ssh "$ssh -o StrictHostKeyChecking=accept-new" -- ./node x <input
    has out '^given$'
    has out '^\[127.0.0.1-3\] node=2/3 name=127.0.0.1-3 address=tcp:first:1 '
    rm -f pid.* agent.*
    launch "$ssh"
    kill_launcher "its launcher's ssh"
else
    echo "no sshd here: ssh itself was not tried"
fi
finish
