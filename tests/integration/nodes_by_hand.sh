#!/usr/bin/env bash
# Nodes that are started by hand: over IPv4 and IPv6, rejected processes and their messages, losses, and a node that reads forever.
. "$(dirname "$0")/cli.bash"
"$hawser" data generate dense --rows 400 --cols 60 --seed 4 -o dense.svm >/dev/null || exit 1
"$hawser" key key && "$hawser" key other
words=(train lasso dense.svm --workers 3 --quiet --key-file key --failure-timeout 2)
endless=(--exchange-every 1 --tol 1e-15 --slow 1:1000)
port=$((20000 + RANDOM % 10000)) # below those that the system gives to others
started=()
# spawn NAME WORDS...: in the background, its streams in NAME.out and NAME.err, its process in the variable NAME.
spawn() {
    local name=$1
    shift
    : >"$name.out" >"$name.err" # drops the output of an earlier process of this name
    "$hawser" "$@" >"$name.out" 2>"$name.err" &
    started+=($!)
    printf -v "$name" %s $!
}
trap 'kill -9 "${started[@]}" 2>/dev/null; rm -rf "$scratch"' EXIT
# ends NAME STATUS: checks that it ends with that status.
ends() {
    local got=0
    wait "${!1}" || got=$?
    ((got == $2)) || complain "$1: exit $got instead of $2 ($(head -c 400 "$1.err"))"
}
# heard FILE PATTERN: waits until the file has it.
heard() {
    for ((i = 0; i < 600; i++)); do grep -qsE -- "$2" "$1" && return; sleep 0.05; done
    complain "no '$2' in $1: $(head -c 400 "$1")"
}
member() { spawn "$1" node --key-file key --failure-timeout 2 --join-timeout 30 "${@:2}"; }
manager() { # NODES WORDS...: on the next port
    port=$((port + 1))
    spawn first "${words[@]}" --listen "$1" --port-range $port --join-timeout 30 "${@:2}"
    heard first.err 'waiting for [0-9]+ more at'
}
coefficients() { "$hawser" info --coefficients "$1"; }
"$hawser" "${words[@]:0:6}" -o one.st || complain "one process"

# Over both kinds of addresses, literal and by name, the model of one process.
addresses=(127.0.0.1)
if grep -qs " lo$" /proc/net/if_inet6; then addresses+=(::1); else echo "no IPv6 here"; fi
for address in "${addresses[@]}"; do
    host=$address
    [[ $address == *:* ]] && host="[$address]"
    manager 3 --interface "$address" -o "many.st" --json
    has first.err "at .*tcp:${host//[\[\]]/.}:$port "
    member second --join "$host:$port" --node-name birch --interface "$address"
    member third --join "$host:$port" --node-name birch --interface "$address" # names are only for users: numbers distinguish nodes
    ends first 0; ends second 0; ends third 0
    cmp -s <(coefficients one.st) <(coefficients many.st) || complain "$address: another model"
    json first.out 'o["accepts"][0]["admitted"] == 2 and all(g["wrong_key"] + g["unfit"] + g["late"] + g["late_messages"] + g["foreign_messages"] == 0 and g["last"] is None for g in o["accepts"])'
    rm -f many.st
done

# A rejected process gets the reason; the waiting manager prints it too, at most once in a while; and it is counted.
manager 2 --interface 127.0.0.1 --json --log-view
(exec 3<>/dev/tcp/127.0.0.1/$port) # a probe connects and disconnects, which is neither counted nor reported
code 8 "$hawser" node --join 127.0.0.1:$port --key-file other --join-timeout 30
says "refused: .* does not have the key of job"
heard first.err '^hawser: rejected .*127.0.0.1.*: .* does not have the key of job "by-hand"$'
for _ in 1 2 3; do (exec 3<>/dev/tcp/127.0.0.1/$port && echo "GET / HTTP/1.0 and something longer than a head" >&3 && cat <&3 >/dev/null 2>&1); done # garbage: one line was printed already
code 8 "$hawser" node --join 127.0.0.1:$port --key-file other --join-timeout 30
equal "$(grep -c 'hawser: rejected ' first.err)" 1
member second --join 127.0.0.1:$port --interface 127.0.0.1
ends first 0; ends second 0
json first.out 'o["accepts"][0]["wrong_key"] == 2 and o["accepts"][0]["unfit"] == 3 and o["accepts"][0]["admitted"] == 1 and "key" in o["accepts"][0]["last"]'
has first.out '^rejected at node 0: 2 wrong key, 3 malformed, 0 timed out, 0 evicted; the last one was .*key'
lacks first.out 'rejected at node 1'

# One process too many; a port without a listener; a host that does not exist.
manager 2 --interface 127.0.0.1 "${endless[@]}"
member second --join 127.0.0.1:$port --interface 127.0.0.1
heard first.err 'waiting'
code 8 "$hawser" node --join 127.0.0.1:$((port + 1)) --key-file key --join-timeout 0.5
says "127.0.0.1:$((port + 1))"
for join in 127.0.0.1:99999 127.0.0.1:0 127.0.0.1:7000x; do
    code 2 "$hawser" node --join "$join" --key-file key --join-timeout 30
    has err "\"$join\" has no port: one from 1 to 65535 follows the last colon"
done
code 8 "$hawser" node --join nowhere.invalid:7000 --key-file key --join-timeout 0.5
says "nowhere.invalid"
code 8 "$hawser" node --join 127.0.0.1:$port --key-file key --join-timeout 30
says "has its 2 nodes already"
heard first.err "rejected .*is one too many"

# The member is lost, then, in another job, the manager.
kill -9 "$second"
ends first 8
has first.err "^hawser: node 1 \\(.*\\) was lost: .*; the job was in '.*', clock [0-9]+"
lacks first.err 'no model is saved'
manager 2 --interface 127.0.0.1 "${endless[@]}" --tol 1e-14 --path 9e9,8e9,1e-3 --trace path.csv -o path.st
member second --join 127.0.0.1:$port --interface 127.0.0.1
heard path.csv '^[0-9]+,[^,]*,[0-9.]+,0\.[0-9]+,' # the gap of the third lambda
kill -9 "$second"
ends first 8
has first.err "^hawser: node 1 \\(.*\\) was lost: .*; 2 of the path's 3 members were finished, and the model has them; it is in path.st"
[[ $("$hawser" info path.st --path | grep -cE '^ *[0-9]') == 2 ]] || complain "other members than the finished ones"
manager 3 --interface 127.0.0.1 "${endless[@]}" --trace trace.csv
member second --join 127.0.0.1:$port --interface 127.0.0.1
member third --join 127.0.0.1:$port --interface 127.0.0.1
heard trace.csv '^3,'
kill -9 "$first"
ends second 8; ends third 8
has second.err '^hawser: node 0 \(.*\) was lost: .*; the job was in'
has third.err '^hawser: node 0 \(.*\) was lost: '

# A node that reads an input without a writer lives, but the others wait for it no longer than --timeout.
mkdir stuck && mkfifo stuck/dense.svm
manager 3 --interface 127.0.0.1 --timeout 1
member second --join 127.0.0.1:$port --interface 127.0.0.1
(cd stuck && exec "$hawser" node --key-file ../key --join 127.0.0.1:$port --interface 127.0.0.1 >../third.out 2>../third.err) &
third=$!
started+=($third)
ends first 8; ends second 8
has second.err 'timed out after 1 s \(--timeout\) waiting for node [0-2] \(.*\), which is alive'
has first.err '^hawser: node [12] \(.*\) lives, but has kept the others waiting for [0-9.]+ s; the job is reading the input; it ends after 1 s \(--timeout\)'
has first.err 'timed out after 1 s \(--timeout\) waiting for node [12] \(.*\), which is alive; the job was reading the input'
kill -0 $third 2>/dev/null || complain "the node that reads has ended by itself: $(cat third.err)"

# A node that a signal ends while it reads is named with the signal on all others, and in JSON.
manager 3 --interface 127.0.0.1 --timeout 4 --json --log-json events
member second --join 127.0.0.1:$port --interface 127.0.0.1
(cd stuck && exec "$hawser" node --key-file ../key --join 127.0.0.1:$port --interface 127.0.0.1 >../third.out 2>../third.err) &
third=$!
started+=($third)
heard first.err 'lives, but has kept the others waiting'
kill -TERM $third
ends third 130; ends first 8; ends second 8
for name in first second; do has $name.err 'node [12] \(.*\) has left the job: it was ended by SIGTERM'; done
json first.out 'o["stop_reason"] == "node-lost" and o["nodes"] == 3 and "it was ended by SIGTERM" in o["error"] and o["model"] is None'
json events 'o["event"] == "end" and o["stop_reason"] == "node-lost" and "it was ended by SIGTERM" in o["error"]'
finish
