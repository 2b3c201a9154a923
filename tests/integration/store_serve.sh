#!/usr/bin/env bash
# Stand-alone servers: use by hand, groups of programs that attach, detach and are killed, a server that is killed, files.
source "$(dirname "$0")/cli.bash"
probe=$(dirname "$hawser")/../tests/store_probe
shared=$(dirname "$hawser")/../examples/shared
serving=$(dirname "$hawser")/../examples/serving
probe_named=$(dirname "$hawser")/../tests/table_probe
running=()
trap 'for pid in "${running[@]}"; do kill -9 "$pid" 2>/dev/null; done; rm -rf "$scratch"' EXIT
# await COMMAND...: waits until it succeeds, or 60 seconds have passed.
await() { for ((i = 0; i < 600; i++)); do "$@" && return; sleep 0.1; done; complain "in vain: $*"; }
# groups_are N: checks the number of groups besides stat's own. It must be awaited, since servers notice the end of a program a moment later.
groups_are() { "${store[@]}" stat --json 2>/dev/null | grep -q "\"groups\":$1"; }
# serve N OPTIONS...: starts servers and sets HAWSER_AT to their address.
serve() {
    local nodes=$1
    shift
    rm -f at
    if ((nodes == 1)); then
        "$hawser" serve --key-file key --address-file at "$@" >serve.out 2>serve.err </dev/null &
    else
        "$hawser" run -n "$nodes" -- serve --key-file key --address-file at "$@" >serve.out 2>serve.err </dev/null &
    fi
    server=$!
    running+=("$server")
    await test -s at
    export HAWSER_AT=127.0.0.1:$(sed 's/.*://' at)
}
# ends STATUS: asks the servers to end, and checks their status.
ends() {
    local got=0
    kill -TERM "$server"
    wait "$server" || got=$?
    equal "$got" "$1"
}
code 0 "$hawser" key key
code 0 "$hawser" key other
export HAWSER_KEY_FILE=key
store=("$hawser" store)

# ---- too few descriptors
code 4 bash -c 'ulimit -n 12 && exec "$@"' few "$hawser" serve --key-file key
has err 'a server of tables needs 32 descriptors in all, and .ulimit -Hn. allows 12; raise'
serve 1
for few in 5 8 9; do
    code 4 bash -c 'ulimit -n '$few' && exec "$@"' few "${store[@]}" stat
    has err 'Too many open files; see .ulimit -n., and raise it'
done
ends 0

# ---- by hand
serve 2 -o end.safetensors
equal "$(head -1 serve.out)" "$(cat at)"
[[ $(grep -c 'listening on .*127\.0\.0\.1:' serve.err) == 2 ]] || complain "not two servers say where they listen: $(cat serve.err)"
code 0 "${store[@]}" make w --keys 0..9 --width 2
code 0 "${store[@]}" make w --keys 0..9 --width 2
code 0 "${store[@]}" make numbers --type i64
code 0 "${store[@]}" make ada --type f32 --function adagrad --parameters 0.1,1e-8 --keys 5..8
code 0 "${store[@]}" put w 3=0.1,1e-300 4=1,-2.7 3=0.1,1e-300
code 0 "${store[@]}" put numbers 18446744073709551615=-9223372036854775808 7=9
seq 1000 | sed 's/$/ 5/' >lines
code 0 "${store[@]}" put numbers - <lines
code 0 "${store[@]}" get w 2..4
equal "$(cat out)" $'2 0 0\n3 0.1 1e-300\n4 1 -2.7'
code 0 "${store[@]}" put ada 6=0.1
code 0 "${store[@]}" get ada 6
equal "$(cat out)" "6 0.1"
code 0 "${store[@]}" get numbers
(($(wc -l <out) == 1001)) || complain "get numbers: $(wc -l <out) lines"
equal "$(tail -1 out)" "18446744073709551615 -9223372036854775808"
code 0 "${store[@]}" get numbers 999.. 7 --json
equal "$(head -1 out)" '{"key": 999, "values": [5]}'
equal "$(tail -1 out)" '{"key": 7, "values": [5]}'
code 0 "${store[@]}" get w
cp out before
code 0 "${store[@]}" put w - <before
code 0 "${store[@]}" get w
cmp -s out before || complain "get and put are not each other's inverse"
code 0 "${store[@]}" stat
has out "^table 'w': f64, width 2, add, keys 0..9; 10 keys"
await groups_are 0
code 0 "${store[@]}" stat --json
json out 'len(o["servers"]) == 2 and [t["name"] for t in o["tables"]] == ["w", "numbers", "ada"]'
json out 'sum(o["tables"][1]["keys"]) == 1001 and all(s["requests"] > 0 for s in o["servers"])'

# ---- what is wrong is one line
code 2 "${store[@]}" make w --keys 0..9 --width 3
says "table 'w' exists with another width"
code 2 "${store[@]}" make w --keys 0..8 --width 2
says "table 'w' exists with another range of keys"
code 2 "${store[@]}" make a --function adagrad
says "'adagrad' takes 2 parameters \(rate, epsilon\), and not 0"
code 2 "${store[@]}" make hawser.checksum --keys 0..9
says "are taken by what files say"
code 2 "${store[@]}" make w.keys --keys 0..9
code 2 "${store[@]}" make a --keys 9..3
says "keys = '9..3'"
code 2 "${store[@]}" get nothing
says "the servers have no table 'nothing'; they have 'w', 'numbers', 'ada'"
code 2 "${store[@]}" get w 5..12
says "'5..12' is neither a key nor a range"
code 3 "${store[@]}" put w 3=1
says "key 3: '1': expected 2 finite numbers of type f64"
code 3 "${store[@]}" put w 3=1,nan
code 3 "${store[@]}" put w 3=0x1p4,1
says "key 3: '0x1p4,1': expected 2 finite numbers of type f64"
code 3 "${store[@]}" put w "3= 1,1"
code 3 "${store[@]}" put numbers 3=1.5
says "type i64"
code 3 "${store[@]}" put numbers 3=0x10
says "key 3: '0x10': expected a finite number of type i64$"
code 3 "${store[@]}" put numbers "3= 1"
printf '1 5\nx\n' | code 3 "${store[@]}" put numbers -
code 8 "${store[@]}" stat --key-file other
says "key"
code 2 env -u HAWSER_KEY_FILE "${store[@]}" stat
says "missing key of the servers"
code 2 env -u HAWSER_AT "${store[@]}" stat
says "give --at HOST:PORT"
code 8 "${store[@]}" stat --at 127.0.0.1:1 --join-timeout 0.2
says "cannot join 127.0.0.1:1"
code 2 env -u HAWSER_KEY_FILE "$hawser" serve
says "give --key-file FILE"
code 4 "$hawser" serve --key-file key --dir no/such
code 2 "${store[@]}" gett w
says "did you mean 'hawser store get'"
code 2 "${store[@]}" save ../up
says "is not a valid file name in the servers' directory"
for name in $'two\nlines' $'red\e[31m' $'a\rb'; do
    code 2 "${store[@]}" save "$name"
    says "has a newline or another control character"
    code 2 "${store[@]}" load "$name"
    says "has a newline or another control character"
done
cp key key.before
for other in key lines; do
    code 2 "${store[@]}" save $other
    says "$other exists and is not a file of a store's tables: save under another name"
done
ln -s key link
code 2 "${store[@]}" save link
mkdir folder
code 2 "${store[@]}" save folder
cmp -s key key.before || complain "save has written over the key"
[[ -L link && -d folder ]] || complain "save has written over a link or a folder"
has serve.err "hawser: rejected "

# ---- files, at another number of servers
code 0 "${store[@]}" save now.safetensors
code 0 "${store[@]}" save now.safetensors # over itself
code 0 "$hawser" info now.safetensors
has out "^now.safetensors: tables of a store, for 'hawser serve --load', not a model; [0-9]+ tensors$"
code 0 "${store[@]}" put w 3=9,9
code 0 "${store[@]}" load now.safetensors
code 0 "${store[@]}" get w
cmp -s out before || complain "another table after loading"
cp now.safetensors bad.safetensors
size=$(stat -c %s bad.safetensors)
printf '\377' | dd of=bad.safetensors bs=1 seek=$((size - 40)) conv=notrunc 2>/dev/null
code 3 "${store[@]}" load bad.safetensors
says "bad.safetensors: the checksum does not match"
sed 's/"w"/"v"/g; s/w.memory/v.memory/g' now.safetensors >bad.safetensors
code 3 "${store[@]}" load bad.safetensors
code 0 "${store[@]}" stat
! grep -q "'v'" out || complain "a damaged file made a table"
# One that has another table of a name makes none of its others.
"$hawser" serve --key-file key --address-file at.other -o other.safetensors >/dev/null 2>&1 &
apart=$!
running+=("$apart")
await test -s at.other
for table in "apart --keys 0..5" "w --keys 0..5" "later"; do
    # shellcheck disable=SC2086
    code 0 "${store[@]}" make $table --at "127.0.0.1:$(sed 's/.*://' at.other)"
done
kill -TERM "$apart"
wait "$apart"
code 3 "${store[@]}" load other.safetensors
says "table 'w' is 'F64 add width 1 keys 0 to 5' in ./other.safetensors and 'F64 add width 2 keys 0 to 9' here"
code 0 "${store[@]}" stat
lacks out "'(apart|later)'"
code 4 "${store[@]}" load none
ends 0
[[ -s end.safetensors ]] || complain "nothing was saved in the end"
serve 3 --load end.safetensors
code 0 "${store[@]}" get w
cmp -s out before || complain "another table at three servers"
code 0 "${store[@]}" get numbers ..18446744073709551615
(($(wc -l <out) == 1001)) || complain "three servers: $(wc -l <out) keys"
code 0 "${store[@]}" stat --json
json out 'len(o["servers"]) == 3 and o["tables"][2]["function"] == "adagrad"'

# ---- what tables may take: rows of 80 bytes each, as they count
serve 1 -o large.safetensors
code 0 "${store[@]}" make s
seq 14000 | sed 's/$/ 1/' >lines
code 0 "${store[@]}" put s - <lines
ends 0
code 5 "$hawser" serve --key-file key --load large.safetensors --memory-limit 1M
says "table 's': what the file has beyond what it replaces would take up to 1.068 MiB here, and tables have 0 of 1 MiB already"
code 5 env HAWSER_MEMORY_LIMIT=1M "$hawser" serve --key-file key --load large.safetensors
serve 1 --memory-limit 1M
code 0 "${store[@]}" make s
seq 13000 | sed 's/$/ 1/' >lines
code 0 "${store[@]}" put s - <lines
seq 13001 13200 | sed 's/$/ 1/' >lines
code 5 "${store[@]}" put s - <lines
says "server 0: table 's': what this push adds would take up to 0.01526 MiB here, and tables have 0.9918 of 1 MiB already \\(--memory-limit"
equal "$(wc -l <err)" 1
code 0 "${store[@]}" get s
equal "$(wc -l <out)" 13000
code 0 "${store[@]}" put s 13000=7
code 0 "${store[@]}" get s 12999..14000
equal "$(cat out)" $'12999 1\n13000 7'
code 5 "${store[@]}" make d --keys 0..9999
says "table 'd': its keys would take up to 0.07629 MiB here"
code 0 "${store[@]}" make d --keys 0..99
seq 13001 13090 | sed 's/$/ 1/' >lines
code 0 "${store[@]}" put s - <lines
code 0 "${store[@]}" stat
has out "^0 .* 1048000 +1048576$"
code 0 "${store[@]}" stat --json
json out 'o["servers"][0]["counted"] == 13090 * 80 + 800 and o["servers"][0]["limit"] == 1 << 20 and o["servers"][0]["refused"] > 0'
code 5 "${store[@]}" load large.safetensors
says "table 's': what the file has beyond what it replaces would take up to 0.06943 MiB here"
code 0 "${store[@]}" get s
equal "$(wc -l <out)" 13090
has out "^13000 7$"
code 0 "${store[@]}" stat --json
json out 'o["servers"][0]["counted"] == 13090 * 80 + 800'
ends 0
# Tables that cannot be written at the end are kept until they can be written; a second signal ends the wait.
for nodes in 1 2; do
    mkdir place
    serve "$nodes" -o place/kept.safetensors
    code 0 "${store[@]}" make s
    code 0 "${store[@]}" put s 3=7
    mv place away
    kill -TERM "$server"
    await grep -q 'place/kept.safetensors.*the servers keep the tables and try until' serve.err
    equal "$(grep -c 'keep the tables' serve.err)" 1
    mv away place
    wait "$server" || complain "exit status $? of servers that could write in the end"
    serve 1 --load place/kept.safetensors
    code 0 "${store[@]}" get s
    equal "$(cat out)" "3 7"
    ends 0
    rm -r place
done
mkdir place
serve 1 -o place/kept.safetensors
rm -r place
kill -INT "$server"
await grep -q 'the servers keep the tables and try until' serve.err
sleep 0.2 # a signal that follows at once counts as the first one
ends 130
has serve.err 'ended by SIGTERM at once; what was not saved by then is lost'
# One of two servers lacks memory for its share, the other has it: both keep their rows. A file that fits in place of the present rows is loaded.
serve 1 -o large.safetensors
code 0 "${store[@]}" make s
seq 52000 | sed 's/$/ 1/' >lines
code 0 "${store[@]}" put s - <lines
ends 0
serve 2 --memory-limit 3M # of which they share one
code 0 "${store[@]}" make s
seq 60000 75999 | sed 's/$/ 3/' >lines
code 0 "${store[@]}" put s - <lines
code 5 "${store[@]}" load large.safetensors
says "table 's': what the file has beyond what it replaces would take up to"
code 0 "${store[@]}" get s
cmp -s out lines || complain "a file that did not fit has changed a table"
seq 60000 99999 | sed 's/$/ 4/' >lines
code 0 "${store[@]}" put s - <lines
code 0 "${store[@]}" save full.safetensors
code 0 "${store[@]}" put s 60000=5
code 0 "${store[@]}" load full.safetensors
code 0 "${store[@]}" get s
cmp -s out lines || complain "another table after loading"
code 0 "${store[@]}" stat --json
json out 'sum(s["counted"] for s in o["servers"]) == 40000 * 80'
ends 0

# ---- programs
serve 3 --load end.safetensors
code 0 "$shared" look "$HAWSER_AT" key
equal "$(cat out)" "key 0 has been counted 0 times, key 999 0 times"
"$shared" count "$HAWSER_AT" key >one 2>&1 &
one=$!
code 0 "$hawser" run -n 2 -- "$shared" count "$HAWSER_AT" key
wait $one || complain "the other group: $(cat one)"
code 0 "$shared" look "$HAWSER_AT" key
equal "$(cat out)" "key 0 has been counted 300 times, key 999 300 times"
# The requested transport is used, or an error is printed.
code 0 "$shared" look "$HAWSER_AT" key --transport unix
code 1 "$shared" look "$HAWSER_AT" key --transport ucx
has err "^shared: .*asks for UCX .*stand-alone servers cannot|UCX is asked for"
code 1 "$shared" look "$HAWSER_AT" other
has err "^shared: .*key"
ends 0

# ---- servers of a program, with a function that clients know by name
own() { # N
    rm -f at
    "$hawser" run -n "$1" -- "$serving" serve key at >serve.out 2>serve.err </dev/null &
    server=$!
    running+=("$server")
    await test -s at
    export HAWSER_AT=127.0.0.1:$(sed 's/.*://' at)
}
own 2
code 0 "$serving" push "$HAWSER_AT" key
code 0 "$hawser" run -n 2 -- "$serving" push "$HAWSER_AT" key
code 0 "${store[@]}" get bounded 6..9
equal "$(cat out)" $'6 10\n7 -5\n8 10\n9 -5'
code 0 "${store[@]}" put bounded 6=99
code 0 "${store[@]}" get bounded 6
equal "$(cat out)" "6 99"
code 0 "${store[@]}" stat
has out "^table 'bounded': f64, width 1, bounded, keys 0..99"
code 1 "$probe_named" "$HAWSER_AT" key bounded f64 3 1
has err "the lower bound is above the upper one"
code 1 "$probe_named" "$HAWSER_AT" key bounded f32 1 3
has err "table 'probe': 'bounded' is not for values of type f32"
code 1 "$probe_named" "$HAWSER_AT" key unbounded f64 1 3
has err "there is no function 'unbounded'; there are add, .*, bounded"
ends 0
code 1 env HAWSER_RECORD_HISTORY=history "$serving" serve key at
has err "stand-alone servers keep none"
code 2 env HAWSER_RECORD_HISTORY=history "$hawser" serve --key-file key
has err "^hawser: HAWSER_RECORD_HISTORY: .*stand-alone servers keep none"
code 4 env HAWSER_RECORD_HISTORY= HAWSER_TIMEOUT= "$hawser" serve --key-file key --load nowhere
lacks err "passes it over|keep none"
code 4 env HAWSER_SEED=1 HAWSER_TIMEOUT=9 HAWSER_LAMBDA=1 "$hawser" serve --key-file key --load nowhere
equal "$(grep -c 'passes it over' err)" 1
has err "HAWSER_(SEED|TIMEOUT), HAWSER_(SEED|TIMEOUT): 'hawser serve' has no such option"
code 4 env HAWSER_TIMEOUT=9 "$hawser" serve --key-file key --load nowhere --quiet
lacks err "passes it over"
for pair in "key key" "key ./key"; do
    # shellcheck disable=SC2086
    code 1 "$serving" serve $pair
    has err "^serving: address_file = '(./)?key' is the file of the key; name another"
done
[[ -s key ]] || complain "the key is gone"
code 1 "$serving" serve none at
has err "^serving: .*none"
serve 1
code 1 env HAWSER_RECORD_HISTORY=history "$serving" push "$HAWSER_AT" key
has err "needs the servers' records too"
code 1 "$serving" push "$HAWSER_AT" key
has err "there is no function 'bounded'"
ends 0

# ---- a client that was stopped for long reports that, whatever it was doing, and not a lost server
lines_of() { [[ -f $1 ]] && (($(wc -l <"$1") == $2)); }
for kind in push waiting; do
    serve 1 --failure-timeout 0.5
    rm -f pids
    "$probe" $kind "$PWD/pids" "$HAWSER_AT" key >frozen.out 2>frozen.err </dev/null &
    frozen=$!
    running+=("$frozen")
    await lines_of pids 1
    sleep 0.3
    kill -STOP $frozen
    await groups_are 0
    kill -CONT $frozen
    got=0
    wait $frozen || got=$?
    ((got != 0)) || complain "a client that was lost ended well"
    has frozen.err "this program did not run for [0-9.]+ s \(it was stopped, .*server 0 of the store \(.*\) has ended the connection"
    lacks frozen.err "server .* was lost"
    ends 0
done

# ---- a node of a group is killed: its group ends, and no other
serve 2
rm -f pids others
"$hawser" run -n 2 -- "$probe" waiting "$PWD/pids" "$HAWSER_AT" key >group.out 2>group.err </dev/null &
group=$!
"$probe" push "$PWD/others" "$HAWSER_AT" key >other.out 2>other.err </dev/null &
other=$!
running+=("$other")
await lines_of pids 2
await lines_of others 1
await groups_are 2
kill -9 "$(sed -n 's/^1 //p' pids)"
got=0
wait $group || got=$?
((got != 0)) || complain "a group without a node ended well"
(($(grep -c 'probe: ' group.err) == 1)) || complain "not one line: $(cat group.err)"
has group.err "^\[0\] probe: .*(node 1 \(node-1\) was lost|server [01] of the store: this group has ended: its node 1)"
await groups_are 1
kill -0 $other || complain "the other group has ended: $(cat other.err)"
code 0 "$shared" count "$HAWSER_AT" key

# ---- a server is killed: all groups and the other server end, each with one line
victim=$(pgrep -P "$server" | while read -r agent; do pgrep -P "$agent"; done | tail -1)
[[ -n $victim ]] || victim=$(pgrep -P "$server" | tail -1)
kill -9 "$victim"
got=0
wait $other || got=$?
equal "$got" 3
(($(wc -l <other.err) == 1)) || complain "not one line: $(cat other.err)"
has other.err "^probe: .*server [01] of the store(: .*lost| \(.*\) was lost)"
got=0
wait "$server" || got=$?
((got != 0)) || complain "servers without one of them ended well"
has serve.err "node 1.*lost|lost.*node 1|killed"
finish
