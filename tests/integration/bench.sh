#!/bin/sh
# The benchmarks in their smallest form: they run, and print what their readers rely on. No times are checked.
set -eu
top=${HAWSER_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
[ -z "${HAWSER_SANITIZE:-}" ] || { echo "skipped: benchmarks are for optimised builds"; exit 77; }
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
work=$(mktemp -d)
trap 'code=$?; [ "$code" = 0 ] || tail -n 30 "$work/err" >&2 || true; rm -rf "$work"; exit "$code"' EXIT # the last call has said why

"$top/bench/consistency/run" --quick --tiny --work "$work" --json >"$work/consistency"
python3 - "$work/consistency" <<'END'
import json, sys
said = json.loads(open(sys.argv[1]).readlines()[-1])
assert said["bench"] == "consistency" and said["blocks"] == 8 and len(said["problems"]) == 2
for problem in said["problems"]:
    assert 0 <= problem["optimum"] < problem["zero_objective"], problem
    settings = {row["setting"]: row for row in problem["settings"]}
    assert {"bsp, H 1", "ssp:2, H 0.1", "tap, H 1", "ssp:2, H 0.2, absolute", "ssp:2, H 0.2, average"} <= set(settings)
    for row in settings.values():
        assert {"passes", "bytes", "seconds_slowest", "seconds_modelled", "cpu_seconds", "ratios"} <= set(row), row
        assert 0 <= row["last_distance"] < 1, row  # every policy makes progress
    slow = {row["sync"]: row for row in problem["one_slow_worker"]}
    assert slow["bsp"]["lead"] == 0 and slow["ssp:2"]["lead"] <= 2 < slow["tap"]["lead"], slow
END

"$top/bench/vector/run" --quick --only-hawser --work "$work" --json >"$work/vector"
python3 - "$work/vector" <<'END'
import json, sys
said = json.loads(open(sys.argv[1]).readlines()[-1])
assert said["bench"] == "vector" and [row["bytes"] for row in said["rows"]] == [4096, 16384] and all(row["seconds"]["hawser"] > 0 for row in said["rows"]), said
END

"$top/bench/recovery/run" --quick --work "$work" --json >"$work/recovery"
python3 - "$work/recovery" <<'END'
import json, sys
said = json.loads(open(sys.argv[1]).readlines()[-1])
assert said["bench"] == "recovery" and said["kills"] == 2 and said["cost"]["taken"] > 0 and said["cost"]["wait_seconds"] >= 0, said
assert list(said["recovery"]) == ["all", "detection", "start", "load", "restore", "clock"], said
whole = said["recovery"]["all"]["median"]
assert abs(sum(part["median"] for name, part in said["recovery"].items() if name != "all") - whole) < 1e-6 * whole, said  # of two, the median is the mean
END

kernels=${HAWSER_BUILD:-$top/build/release}/bench/bench_kernels
for wrong in "--data" "--data --json" "--jsno" "--small --data x.npy" "x.npy"; do
    status=0
    "$kernels" $wrong >"$work/out" 2>"$work/err" || status=$?
    if [ "$status" != 2 ] || [ -s "$work/out" ] || [ "$(wc -l <"$work/err")" != 1 ] || ! grep -q "^bench_kernels: " "$work/err"; then
        echo "bench_kernels $wrong: exit status $status, said $(cat "$work/err")"
        exit 1
    fi
done

"$kernels" --small --json >"$work/kernels"
python3 - "$work/kernels" <<'END'
import json, sys
said = json.loads(open(sys.argv[1]).readlines()[-1])
rows = {f"{layout} {name} {arithmetic}" for layout in ("dense", "sparse") for arithmetic in ("f64", "f32")
        for name in ("row dots", "row axpys", "row distances", "distances", "product", "transposed product")
        if (layout, name) != ("sparse", "row distances")}
assert rows | {"kernels", "read memory", "dense scan", "sparse scan", "dense Gram"} <= set(said), said
assert all(line["one"] > 0 and line["two"] > 0 for line in said.values() if isinstance(line, dict)), said
END

"$top/bench/load.py" --quick --binary "${HAWSER_BUILD:-$top/build/release}/bench/bench_load" --json >"$work/load" 2>"$work/err"
python3 - "$work/load" <<'END'
import json, sys
said = json.loads(open(sys.argv[1]).readlines()[-1])
assert [result["file"] for result in said["results"]] == ["sparse.svm", "dense.csv"], said
for result in said["results"]:
    assert 1 <= result["megabytes"] < 2, result
    for reader in result["readers"].values():
        assert reader["mb_per_second"] > 0 and reader["mb_per_cpu_second"] > 0 and reader["peak_mib"] > 1, result
assert {"hawser", "hawser (rows)"} <= set(said["results"][0]["readers"]) and "hawser" in said["results"][1]["readers"], said
END

build=${HAWSER_BUILD:-$top/build/release}
some="lasso, dense, .npy;k-means, f64;read csv"
"$top/bench/compare" --quick --only "$some" --work "$work" --json "$build" "$build" >"$work/compare" 2>"$work/err"
mkdir -p "$work/slow/src" # a build whose trainings take 5 s and end elsewhere
cat >"$work/slow/src/hawser" <<END
#!/bin/sh
"$build/src/hawser" "\$@" | sed -E 's/("cpu_seconds":) *[-0-9.e]+/\\15/; s/("objective":) *[-0-9.e]+/\\19/'
END
chmod +x "$work/slow/src/hawser"
"$top/bench/compare" --quick --only "two workers" --work "$work" --json "$build" "$work/slow" >"$work/slower" 2>"$work/err"
python3 - "$work/compare" "$work/slower" <<'END'
import json, sys
same, slow = (json.loads(open(path).readlines()[-1]) for path in sys.argv[1:])
assert [row["line"] for row in same["rows"]] == ["lasso, dense, .npy", "lasso, dense, .npy, two workers", "k-means, f64", "read csv"], same
for row in same["rows"]:
    assert row["old"] > 0 and row["new"] > 0 and abs(row["ratio"] * row["old"] - row["new"]) < 1e-9 and not row["objectives_differ"], row
    assert (row["objectives"][0] is None) == (not row["line"].startswith("lasso")) and row["objectives"][0] == row["objectives"][1], row
assert slow["slower"] == ["lasso, dense, .npy, two workers"] and slow["rows"][0]["new"] >= 5 and slow["rows"][0]["objectives_differ"], slow
END
if "$top/bench/compare" --quick "$work" "$build" >"$work/out" 2>"$work/err" || ! grep -q "^bench/compare: $work/src/hawser: no command" "$work/err"; then
    echo "a folder without a build was taken: $(cat "$work/err")"
    exit 1
fi

printf '#!/bin/sh\n[ "$1" = latency ] && echo 1000 2000 || echo 4 1\n' >"$work/peer"
chmod +x "$work/peer"
transport=${HAWSER_BUILD:-$top/build/release}/bench/bench_transport
"$top/bench/transport/run" --quick --program "$transport" --peer "$work/peer" --json >"$work/transport"
if [ "$(grep -c "^shm .*stream, 1048576 B: .* x it; a bare ring .* x it" "$work/transport")" != 2 ]; then
    echo "a megabyte through shared memory is not held against memcpy and the ring"
    exit 1
fi
if "$transport" --quick --peer /bin/false tcp >"$work/out" 2>"$work/err" || ! grep -q "peer: '/bin/false latency 64 100'" "$work/err"; then
    echo "a peer that fails was taken: $(cat "$work/err")"
    exit 1
fi
python3 - "$work/transport" <<'END'
import json, sys
rows = json.loads(open(sys.argv[1]).readlines()[-1])["rows"]
for transport in ["shm", "unix", "tcp", "tcp+tls"] + ["ucx"] * any(row["transport"] == "ucx" for row in rows):
    for busy in (False, True):
        mine = [row for row in rows if (row["transport"], row["busy"]) == (transport, busy)]
        assert [row["what"] for row in mine] == ["latency"] + 4 * ["stream"] + (["idle"] if not busy else []), mine
        assert all(row["ratio"] > 0 for row in mine if row["what"] != "idle"), mine
        assert [row["transport"] == "tcp" and row["what"] != "idle" for row in mine] == ["peer_ratio" in row for row in mine], mine
        assert all((row["peer_us_p50"], row["peer_us_p99"]) == (1000, 2000) for row in mine[:1] if transport == "tcp"), mine
        for row in mine[1:5] if transport == "tcp" else []:
            assert abs(row["peer_mb_per_s"] * 1e6 - row["bytes"] * row["peer_messages_per_s"]) <= 1e5 + row["bytes"], row
END

cat >"$work/store_peer" <<'END'
#!/bin/sh
[ "$1" != shm ] || { echo none; exit; }
[ -z "$LD_PRELOAD" ] || { python3 -c 'import socket; socket.socket()' && echo 5 5 5 5 5; exit; }
case $2 in small) echo 1 2 3 4 5 ;; idle) echo 0.5 ;; *) echo 1 2 3 ;; esac
END
chmod +x "$work/store_peer"
"$top/bench/store/run" --quick --hawser "$build/src/hawser" --program "$build/bench/bench_store" --peer "ps-lite=$work/store_peer" --json \
    --preload "$build/bench/libbench_reno.so" --cases range,keys,keys-again,sparse,sparse-again,sparse-8,hashed,small,small-16,idle >"$work/store"
"$top/bench/store/run" --quick --hawser "$build/src/hawser" --program "$build/bench/bench_store" --ways tcp --sizes 1x1 --cases wide,wide-again \
    >"$work/wide"
if [ "$(grep -c '^    hawser .*push MB/s .*pull' "$work/wide")" != 2 ]; then
    echo "wide keys are not measured: $(cat "$work/wide")"
    exit 1
fi
control='import socket; print(socket.socket().getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode())'
if [ "$(LD_PRELOAD=$build/bench/libbench_reno.so python3 -c "$control")" != reno ]; then
    echo "peers do not get Hawser's congestion control"
    exit 1
fi
if "$top/bench/store/run" --quick --hawser "$build/src/hawser" --program "$build/bench/bench_store" --peer x=/bin/false --cases small \
    --ways tcp --sizes 1x1 >"$work/out" 2>"$work/err" || ! grep -q "/bin/false tcp small 1 1 200: exit status 1" "$work/err"; then
    echo "a peer that fails was taken: $(cat "$work/err")"
    exit 1
fi
printf '#!/bin/sh\necho 1 2 3\n' >"$work/static_peer" # none of its sockets gets the congestion control
chmod +x "$work/static_peer"
if [ "$(cat /proc/sys/net/ipv4/tcp_congestion_control)" = bbr ] &&
    { "$top/bench/store/run" --quick --hawser "$build/src/hawser" --program "$build/bench/bench_store" --peer "x=$work/static_peer" --cases sparse \
        --preload "$build/bench/libbench_reno.so" --ways tcp --sizes 1x1 >"$work/out" 2>"$work/err" || ! grep -q "no socket of this program got reno" "$work/err"; }; then
    echo "a peer without Hawser's congestion control was taken for one with it: $(cat "$work/err")"
    exit 1
fi
python3 - "$work/store" <<'END'
import json, sys
rows = json.loads(open(sys.argv[1]).readlines()[-1])["rows"]
cases = ["range", "keys", "keys-again", "sparse", "sparse-again", "sparse-8", "hashed", "small", "small-16", "idle"]
paced = open("/proc/sys/net/ipv4/tcp_congestion_control").read().strip() == "bbr"
found = [(row["transport"], row["servers"], row["workers"], row["case"]) for row in rows]
sizes = [("inproc", 1)] + [(transport, n) for transport in ("shm", "unix", "tcp") for n in (1, 2)]
assert found == [(transport, n, n, case) for transport, n in sizes for case in cases], found
for row in rows:
    assert all(number > 0 for number in row["hawser"].values()), row
    assert ("ps-lite" in row) == (row["transport"] != "inproc"), row
    has_bare = row["transport"] != "inproc" and row["servers"] == 1 and row["case"] not in (
        "sparse-8", "small-16", "hashed", "idle")
    assert ("bare" in row) == has_bare, row
    assert ("ps-lite/reno" in row) == (paced and row["transport"] == "tcp"), row
    assert all(low <= row[name][key] <= high for name in row["spread"] for key, (low, high) in row["spread"][name].items()), row
    if "ps-lite/reno" in row and row["case"] == "range":
        assert abs(row["ps-lite/reno"]["push_mb_per_s"] - 0.8 * row["workers"]) < 1e-9, row
    if "ps-lite" in row and row["case"] == "range":
        assert abs(row["ps-lite"]["pull_mb_per_s"] - 2 * row["workers"]) < 1e-9, row
        assert abs(row["ratios"]["ps-lite"]["push_mb_per_s"] * 4 * row["workers"] - row["hawser"]["push_mb_per_s"]) < 1e-6, row
END

"$top/bench/history/run" --quick --hawser "$build/src/hawser" --work "$work" --json >"$work/history"
python3 - "$work/history" <<'END'
import json, sys
rows = json.loads(open(sys.argv[1]).readlines()[-1])["rows"]
assert len(rows) == 5, rows
for row in rows:
    assert row["history_bytes"] > 80 * row["clocks"] and abs(row["cpu_ratio"] * row["cpu"] - row["cpu_recorded"]) < 1e-9, row
END
