#!/usr/bin/env bash
# shellcheck disable=SC2016 # what is in single quotes is for the shell of a host
# tests/cluster/box does what docs/box.md says, and leaves nothing. No times are checked: counters, files and processes are.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
box=$here/box traffic=$here/traffic
export BOX_NAME=test-$$
other=$BOX_NAME-other
work=$(mktemp -d)
code=0
"$box" status >"$work/said" 2>&1 || code=$?
if ((code == 77)); then
    cat "$work/said"
    rm -rf "$work"
    exit 77
fi

finish() {
    local result=$?
    ((result == 0)) || echo "FAILED in: $part"
    "$box" down >/dev/null
    "$box" down --name "$other" >/dev/null
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM
part=start
begin() { part=$1; echo "- $part"; }
die() { echo "$*"; exit 1; }
same() { [[ $1 == "$2" ]] || die "wanted '$2', got '$1'"; }
# until COMMAND...: waits for it to be true; a deadline is a failure.
until_true() {
    local tries
    for ((tries = 0; tries < 600; tries++)); do
        if "$@"; then return 0; fi
        sleep 0.05
    done
    die "never came true: $*"
}
status_of() { local code=0; "$@" >"$work/out" 2>"$work/err" || code=$?; echo "$code"; }
field() { python3 -S -c 'import json, sys; print(eval("said" + sys.argv[1], {"said": json.load(sys.stdin)}))' "$1"; }
sent() { "$box" bytes "$1" | sed 's/.*"tx_bytes": \([0-9]*\),.*/\1/'; }
got() { "$box" bytes "$1" | sed 's/.*"rx_bytes": \([0-9]*\),.*/\1/'; }
gone() { ! kill -0 "$1" 2>/dev/null; }
writer_of() { field "['pid']" <"${TMPDIR:-/tmp}/hawser-box-$BOX_NAME/capture-$1.json"; }
alive() { kill -0 "$1" 2>/dev/null; }
# Everything that exists under a box's name.
remains() {
    ip netns list | grep -E "^hawser-box-$1-(switch|h[0-9]+)( |\$)" || true
    find /sys/fs/cgroup -maxdepth 2 -name "hawser-box-$1" 2>/dev/null || true
    find "${TMPDIR:-/tmp}" /dev/shm -maxdepth 1 -name "hawser-box-$1" || true
}
nothing_left() { same "$(remains "$1")" ""; }
links() { ip -o link show; ip -4 route show table all; ip netns list | grep -c -v "hawser-box-" || true; }
heard() { # FROM TO [NAME]: prints what TO hears of a datagram that FROM sends it. What TO tells itself comes after, without a wait.
    rm -f "$work/ready"
    "$box" run "$2" -- "$traffic" listen "$work/ready" >"$work/heard" &
    local pid=$!
    until_true test -e "$work/ready"
    "$box" run "$1" -- "$traffic" tell "${3:-$2}" "from $1"
    "$box" run "$2" -- "$traffic" tell "${3:-$2}" end
    wait $pid
    cat "$work/heard"
}
met() { # HEARD-BY-H0 HEARD-BY-H1 HEARD-BY-H2: everybody tells everybody else, and these are heard
    rm -f "$work"/met.*
    same "$("$box" run all -- "$traffic" meet "$work/met" 3 | sort)" "$(printf 'h0: %s\nh1: %s\nh2: %s' "$@")"
}
transfer() { # FROM TO BYTES [TEXT]
    rm -f "$work/ready"
    "$box" run "$2" -- "$traffic" serve "$work/ready" >"$work/served" &
    local pid=$!
    until_true test -e "$work/ready"
    "$box" run "$1" -- "$traffic" send "$2" "$3" "${4:-x}"
    wait $pid
    same "$(cat "$work/served")" "$3"
}

begin "who may not is told so, in one line, with status 77"
nothing_left "$BOX_NAME"
plain=/usr/bin/python3
for words in "up 2" "run h0 -- true" "status" "slow h0 5" "rate h0 off" "stop h0" "cont h0" "kill h0" "cut h0" "heal h0" "bytes h0" \
    "capture h0 stop" "ssh-wrapper" "down" "down --all"; do
    # shellcheck disable=SC2086
    same "$(status_of setpriv --bounding-set -sys_admin --inh-caps -sys_admin "$box" $words)" 77
    same "$(wc -l <"$work/err") $(grep -c '^box: skipped: ' "$work/err")" "1 1"
    if [[ -x $plain ]] && setpriv --reuid 65534 --clear-groups test -r "$box"; then
        # shellcheck disable=SC2086
        same "$(status_of setpriv --reuid 65534 --clear-groups "$plain" "$box" $words)" 77
        same "$(wc -l <"$work/err") $(grep -c '^box: skipped: ' "$work/err")" "1 1"
    fi
done
nothing_left "$BOX_NAME"

begin "wrong words are refused"
for words in "" "up" "up 0" "up 251" "up two" "up 2 --rate fast" "up 2 --rate 0mbit" "up 2 --delay 1" "up 2 --name A_b" "up 2 --cgroup v3" \
    "fly" "status -- true"; do
    # shellcheck disable=SC2086
    same "$words: $(status_of "$box" $words)" "$words: 2"
done
same "$(status_of "$box" bytes h0)" 1
grep -q "there is no box '$BOX_NAME'" "$work/err"
nothing_left "$BOX_NAME"

begin "up: three hosts that the machine's own network does not see"
before=$(links)
"$box" up 3 >"$work/up"
grep -q "^box '$BOX_NAME': 3 hosts, h0 (10\." "$work/up"
same "$(links)" "$before"
same "$(status_of "$box" up 2)" 1
grep -q 'is up already, with 3 hosts' "$work/err"
for words in "run h3 -- true" "run h0" "slow h0 0" "slow h0 fast" "rate h0 -1" "kill h0 NOSUCH" "cut h0 h0" "bytes h1,h7" "capture all x"; do
    # shellcheck disable=SC2086
    same "$words: $(status_of "$box" $words)" "$words: 2"
done

begin "run: streams, exit status, name, signals"
same "$(echo hello | "$box" run h1 -- sh -c 'cat; hostname; echo not this >&2' 2>/dev/null)" "$(printf 'hello\nh1')"
same "$(cd "$work" && "$box" run h1 -- pwd)" "$work"
same "$(status_of "$box" run h0 -- sh -c 'exit 43')" 43
same "$(status_of "$box" run h0 -- nonesuch)" 127
same "$(status_of "$box" run h0 -- "$work")" 126
same "$("$box" run h0 -- ls /sys/class/net | tr '\n' ' ')" "eth0 lo "
same "$("$box" run h0,h1 -- cat /proc/sys/kernel/random/boot_id | cut -d' ' -f2 | sort -u | wc -l)" 2
"$box" run h0 -- sh -c 'echo kept >/dev/shm/note'
same "$("$box" run h0 -- cat /dev/shm/note)" kept
same "$(status_of "$box" run h1 -- cat /dev/shm/note)" 1
"$box" run h0 -- sleep 1000 &
pid=$!
until_true grep -q '^sleep' "/proc/$pid/comm"
kill -TERM $pid
code=0
wait $pid || code=$?
same "$code" 143
"$box" run all -- sh -c 'echo one; echo two >&2; printf three; [ "$(hostname)" != h1 ] || exit 5; exit 0' >"$work/out" 2>"$work/err" || code=$?
same "$code" 5
same "$(sort "$work/out" "$work/err" | tr '\n' ',')" \
    "h0: one,h0: three,h0: two,h1: one,h1: three,h1: two,h2: one,h2: three,h2: two,"
# What a command leaves in the background does not hold the others up.
same "$("$box" run h0,h1 -- sh -c 'sleep 1000 & echo done' | sort | tr '\n' ',')" "h0: done,h1: done,"
"$box" kill all >/dev/null
for signal in TERM KILL; do
    "$box" run all -- sh -c "echo \$\$ >$work/pid.\$(hostname); exec sleep 1000" &
    pid=$!
    until_true test -s "$work/pid.h0" -a -s "$work/pid.h1" -a -s "$work/pid.h2"
    kill -$signal $pid
    wait $pid 2>/dev/null || true
    for host in h0 h1 h2; do until_true gone "$(cat "$work/pid.$host")"; done
    rm -f "$work"/pid.*
done

begin "everybody reaches everybody, and nobody else hears of it"
met "h1 h2" "h0 h2" "h0 h1"
h0=$(sent h0) h1=$(got h1) h2=$(sent h2)/$(got h2)
transfer h0 h1 3000000
sent=$(($(sent h0) - h0))
same $(($(got h1) - h1)) $sent
same "$("$box" bytes h0 | field "['interface']")" eth0
same "$(sent h2)/$(got h2)" "$h2"
((sent >= 3000000 && sent <= 3300000)) || die "$sent bytes for 3000000"

begin "rate: both ends, what passes is what it allows"
"$box" rate h0 20mbit
same "$("$box" status --json | field "['hosts'][0]['rate']")" 20000000
for way in "h0 h1" "h1 h0"; do
    read -r from to <<<"$way"
    before_bytes=$(sent "$from") began=$(date +%s%N)
    transfer "$from" "$to" 1500000
    # A machine that is busy makes this longer, never shorter; without the limit it would be a hundredth.
    allowed=$((($(date +%s%N) - began) * 20 / 8000 + 100000))
    (($(sent "$from") - before_bytes <= allowed)) || die "more passed than 20 Mbit/s allow"
done
same "$("$box" run h0 -- tc -s -j qdisc show dev eth0 | field "[0]['overlimits'] > 0")" True
"$box" rate h0 off
same "$("$box" status --json | field "['hosts'][0]['rate']")" None
same "$("$box" run h0 -- tc -j qdisc show dev eth0 | field "[0]['kind']")" noqueue

begin "cut and heal: one direction, both, everybody"
"$box" cut h0 h1 --one-way
met "h1 h2" "h2" "h0 h1"
"$box" status >"$work/out"
grep -q 'cannot reach h1' "$work/out"
"$box" heal h0 h1 --one-way
met "h1 h2" "h0 h2" "h0 h1"
"$box" cut h0 h1
met "h2" "h2" "h0 h1"
"$box" heal h1 h0
met "h1 h2" "h0 h2" "h0 h1"
"$box" cut h2
met "h1" "h0" ""
"$box" heal h2
met "h1 h2" "h0 h2" "h0 h1"
"$box" cut h2 --one-way
met "h1" "h0" "h0 h1"
"$box" heal all
met "h1 h2" "h0 h2" "h0 h1"
# A connection that is cut in the middle goes on when healed.
rm -f "$work/ready"
"$box" run h1 -- "$traffic" serve "$work/ready" >"$work/served" &
pid=$!
until_true test -e "$work/ready"
at=$(sent h0)
(echo first; until [[ -e $work/go || ! -d $work ]]; do sleep 0.05; done; echo second) |
    "$box" run h0 -- python3 -c 'import socket, sys
peer = socket.create_connection(("h1", 7007))
for line in iter(sys.stdin.buffer.readline, b""): peer.sendall(line)' &
sender=$!
passed() { (($(sent h0) > at)); }
until_true passed
"$box" cut h0 h1
at=$(sent h0)
touch "$work/go"
until_true passed
"$box" heal h0 h1
wait $sender $pid
same "$(cat "$work/served")" 13

begin "capture: what passes in plain is seen"
"$box" capture h1 "$work/h1.pcap"
same "$(status_of "$box" capture h1 "$work/again.pcap")" 1
"$box" kill h1 >/dev/null # the capture is no process of the host
transfer h0 h1 200000 "the-known-pattern "
"$box" capture h1 stop >"$work/captured"
same "$(field "['dropped']" <"$work/captured")" 0
python3 - "$work/h1.pcap" "$(field "['packets']" <"$work/captured")" <<'PYTHON'
import struct, sys
data = open(sys.argv[1], "rb").read()
assert struct.unpack("<IHHiIII", data[:24]) == (0xA1B2C3D4, 2, 4, 0, 0, 262144, 1)
at, packets, payload = 24, 0, b""
while at < len(data):
    _, _, length, whole = struct.unpack("<IIII", data[at:at + 16])
    frame = data[at + 16:at + 16 + length]
    assert length == whole == len(frame)
    if frame[12:14] == b"\x08\x00" and frame[23] == 6 and struct.unpack(">H", frame[36:38])[0] == 7007:
        inner = frame[14:14 + struct.unpack(">H", frame[16:18])[0]]
        payload += inner[20 + (inner[32] >> 4) * 4:]
    at, packets = at + 16 + length, packets + 1
assert packets == int(sys.argv[2]), (packets, sys.argv[2])
assert len(payload) >= 200000 and payload.startswith(b"the-known-pattern the-known-pattern "), (len(payload), payload[:40])
PYTHON
"$box" capture h1 "$work/h1.pcap"
transfer h0 h1 200000 "something else "
"$box" capture h1 stop >"$work/captured"
if grep -q the-known-pattern "$work/h1.pcap"; then die "a pattern that was not sent"; fi
same "$(status_of "$box" capture h1 stop)" 1
grep -q 'is not being captured' "$work/err"
"$box" capture h1 "$work/h1.pcap"
writer=$(writer_of h1)
kill -KILL "$writer"
until_true gone "$writer"
same "$(status_of "$box" capture h1 stop)" 1
grep -q 'ended early' "$work/err"

begin "ssh: a stand-in"
ssh=$("$box" ssh-wrapper)
same "$(echo 'to cat' | "$ssh" -o BatchMode=yes -q root@h2 'cat; hostname; echo $((1+2)); echo not this >&2' 2>/dev/null | tr '\n' ,)" "to cat,h2,3,"
same "$("$ssh" h1 echo "'a  b'" c)" "a  b c"
same "$(status_of "$ssh" h1 exit 9)" 9
same "$(status_of "$ssh" h1 'kill -9 $$')" 255
same "$(status_of "$ssh" nowhere true)" 255
same "$(status_of "$ssh" -t h1 true)" 255
same "$(SECRET=1 "$ssh" h1 'echo "${SECRET-none}"')" none
same "$("$ssh" "$("$box" status --json | field "['hosts'][1]['addresses'][0]")" hostname)" h1
same "$(head -c 5000000 /dev/zero | "$ssh" h1 cat | wc -c)" 5000000
same "$(status_of "$ssh" h1 exit 4 </dev/zero)" 4
same "$("$ssh" h1 'cat; echo read' <&-)" read
same "$(echo lost | "$ssh" -n h1 cat)" ""
same "$("$box" run h0 -- "$ssh" h1 hostname)" h1 # from within, as a driver on h0 would
"$box" cut h1
same "$(status_of "$ssh" h1 true)" 255
"$box" heal h1
# Whoever reads its input learns that the client has gone; whoever does not is not ended, as with ssh.
mkfifo "$work/open"
"$ssh" h1 "echo \$\$ >$work/reader; cat; echo over >$work/over; exec sleep 1000" <>"$work/open" &
client=$!
until_true test -s "$work/reader"
kill -KILL $client
wait $client 2>/dev/null || true
until_true test -s "$work/over"
alive "$(cat "$work/reader")"
"$box" kill h1 >/dev/null
until_true gone "$(cat "$work/reader")"

brakes() { # MODE: stop, cont, kill, slow
    begin "stop, cont, kill ($1)"
    rm -f "$work"/count "$work"/pid.*
    "$box" run h0 -- sh -c "echo \$\$ >$work/pid.a; (setsid sh -c 'echo \$\$ >$work/pid.b; exec sleep 1000' &); n=0; while :; do n=\$((n + 1)); echo \$n >$work/count; done" &
    local pid=$! count
    until_true test -s "$work/pid.a" -a -s "$work/pid.b" -a -s "$work/count"
    "$box" stop h0
    same "$("$box" status --json | field "['hosts'][0]['stopped'], said['hosts'][1]['stopped']")" "(True, False)"
    count=$(cat "$work/count")
    sleep 0.3
    same "$(cat "$work/count")" "$count"
    "$box" cont h0
    moved() { [[ $(cat "$work/count") != "$count" ]]; }
    until_true moved
    same "$("$box" run h1 -- hostname)" h1
    "$box" kill h1 >/dev/null
    alive $pid
    "$box" kill h0 STOP >/dev/null
    "$box" kill h0 CONT >/dev/null
    "$box" stop h0
    "$box" kill h0 >"$work/out" # also who is stopped
    grep -qE '^h0: [2-9] processes$' "$work/out"
    code=0
    wait $pid 2>/dev/null || code=$?
    same "$code" 137
    gone "$(cat "$work/pid.a")"
    until_true gone "$(cat "$work/pid.b")"
    same "$("$box" run h0 -- hostname)" h0
    rm -f "$work/trapped"
    "$box" run h0 -- sh -c "trap 'exit 21' USR1; : >$work/trapped; while :; do sleep 0.05; done" &
    pid=$!
    until_true test -e "$work/trapped"
    "$box" kill h0 USR1 >/dev/null
    code=0
    wait $pid || code=$?
    [[ $code == 21 ]] || die "USR1 gave $code"
}
throttled() {
    find /sys/fs/cgroup -maxdepth 4 -path "*/hawser-box-$BOX_NAME/h0/cpu.stat" -exec grep -h nr_throttled {} + | awk '{n += $2} END {print n + 0}'
}
burn() { "$box" run h0 -- python3 -c 'import time
while time.process_time() < 0.4: pass'; }
begin "slow: the kernel throttles"
code=$(status_of "$box" slow h0 25)
if ((code == 77)); then
    cat "$work/err"
else
    same "$code" 0
    same "$("$box" status --json | field "['hosts'][0]['cpu_percent']")" 25.0
    burn
    count=$(throttled)
    ((count > 0)) || die "a host with a quarter of a CPU was never held back"
    "$box" slow h0 off
    same "$("$box" status --json | field "['hosts'][0]['cpu_percent']")" None
    sleep 0.3 # the kernel counts a period when it ends, and the last one of a quarter may still run
    count=$(throttled)
    burn
    same "$(throttled)" "$count"
fi
brakes auto

begin "two at once"
"$box" up 2 --name "$other" --ipv6 --rate 100mbit >/dev/null
same "$("$box" run --name "$other" h1 -- hostname)" h1
"$box" run --name "$other" h1 -- sleep 1000 &
pid=$!
until_true grep -q '^sleep' "/proc/$pid/comm"
"$box" kill all >/dev/null
alive $pid
export BOX_NAME=$other
same "$(heard h0 h1 "$("$box" status --json | field "['hosts'][1]['addresses'][1]")")" "from h0" # by IPv6
export BOX_NAME=test-$$
"$box" status --all >"$work/out"
grep -q "^box '$other': 2 hosts" "$work/out"
grep -q "^box '$BOX_NAME': 3 hosts" "$work/out"

begin "down leaves nothing"
"$box" run h2 -- sleep 1000 &
mine=$!
"$box" run h1 -- sh -c "setsid sleep 1000 & echo \$! >$work/daemon"
"$box" capture h0 "$work/h0.pcap"
writer=$(writer_of h0)
"$box" stop h2
until_true test -s "$work/daemon"
"$box" down
nothing_left "$BOX_NAME"
until_true gone "$(cat "$work/daemon")"
wait $mine 2>/dev/null || true
until_true gone "$writer"
alive $pid
same "$("$box" run --name "$other" h0 -- hostname)" h0
"$box" down --name "$other"
until_true gone $pid
wait $pid 2>/dev/null || true
nothing_left "$other"
"$box" down >/dev/null # twice is no mistake

for mode in v1 none; do
    begin "up --cgroup $mode"
    if [[ $(status_of "$box" up 2 --cgroup $mode) != 0 ]]; then
        [[ $mode == v1 ]] || die "$(cat "$work/err")"
        continue
    fi
    if [[ $mode == none ]]; then
        same "$(status_of "$box" slow h0 25)" 77
        grep -q 'no cgroup with a CPU quota' "$work/err"
        "$box" capture h0 "$work/h0.pcap"
        writer=$(writer_of h0)
        "$box" run h1 -- sleep 1000 &
        pid=$!
    fi
    brakes $mode
    "$box" down
    nothing_left "$BOX_NAME"
done
wait $pid 2>/dev/null || true
until_true gone "$writer"

begin "a delay that the kernel cannot make is said, and leaves nothing"
code=$(status_of "$box" up 2 --delay 2ms)
if ((code == 77)); then
    grep -q 'netem' "$work/err"
    nothing_left "$BOX_NAME"
else
    same "$code" 0
    "$box" run h0 -- tc qdisc show dev eth0 >"$work/out"
    grep -q 'netem.*delay 2' "$work/out"
    "$box" rate h0 10mbit
    same "$("$box" run h0 -- tc qdisc show dev eth0 | grep -cE 'tbf|netem')" 2
    same "$(heard h1 h1)" "from h1"
    "$box" down
fi

begin "interrupted: nothing left"
for pause in 0.1 0.2 0.3; do
    for signal in INT TERM; do
        code=0
        timeout --preserve-status --signal=$signal --kill-after=30 $pause "$box" up 10 >/dev/null 2>"$work/err" || code=$?
        ((code == 0)) && "$box" down
        nothing_left "$BOX_NAME"
    done
done

begin "killed: down removes what is there, and so does the next up"
for pause in 0.1 0.2 0.3 0.4; do
    timeout --signal=KILL $pause "$box" up 10 >/dev/null 2>&1 || true
    "$box" down >/dev/null
    nothing_left "$BOX_NAME"
    timeout --signal=KILL $pause "$box" up 10 >/dev/null 2>&1 || true
    code=$(status_of "$box" up 2)
    if ((code == 0)); then
        same "$("$box" run all -- hostname | sort | tr '\n' ,)" "h0: h0,h1: h1,"
    else
        grep -q 'is up already' "$work/err" # it was too quick to be killed
    fi
    "$box" down
    nothing_left "$BOX_NAME"
done
echo "all is well"
