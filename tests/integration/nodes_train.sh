#!/usr/bin/env bash
# Training over several processes of this machine: the bits of one process, an input of which each reads its share, ends of all kinds.
counts=(2 3 4)
[[ -z ${HAWSER_SANITIZE:-} ]] || counts=(3) # it has the code paths of 2 and 4
. "$(dirname "$0")/cli.bash"
hawser() { "$hawser" "$@"; }
export hawser
fail() { complain "$@"; }

hawser data generate url --rows 3000 --cols 4000 --seed 3 -o url.svm >/dev/null || exit 1
hawser data generate dense --rows 400 --cols 60 --seed 4 -o dense.csv >/dev/null || exit 1
hawser data convert url.svm -o url.hwc >/dev/null || exit 1

# same NAME WORDS...: coefficients of 2, 3 and 4 processes are those of one, to the last digit, whatever transport links them.
same() {
    local name=$1 nodes transports=(auto auto shm unix tcp)
    shift
    hawser train lasso "$@" --workers 4 --quiet -o one.st || fail "$name: one process"
    hawser info --coefficients one.st >one.txt
    for nodes in "${counts[@]}"; do
        hawser run -n $nodes -- train lasso "$@" --workers 4 --transport ${transports[nodes]} --quiet -o many.st >out 2>err || fail "$name: $nodes processes: $(cat err)"
        hawser info --coefficients many.st | cmp -s - one.txt || fail "$name: $nodes processes have other coefficients"
        rm -f many.st
    done
}
same sparse url.svm --lambda-ratio 0.05
same path url.svm --path 4
same cross-validated dense.csv --path 4 --cv 3
same rounds url.svm --lambda-ratio 0.1 --exchange-every 0.5
same filtered url.svm --lambda-ratio 0.2 --filter absolute --quota 4000
same averaged dense.csv --lambda-ratio 0.2 --merge average
awk -F, 'BEGIN { OFS = "," } NR > 1 { for (j = 2; j <= NF; j++) if ((NR * 7 + j * 13) % 11 == 0) $j = "" } { print }' dense.csv >holes.csv
same missing holes.csv --lambda-ratio 0.1 --missing mean
same means holes.csv --lambda-ratio 0.1 --missing mean --type f32
hawser data convert dense.csv -o dense.npy >/dev/null || exit 1
hawser data convert url.svm -o url.mtx >/dev/null || exit 1
awk '{ print $1 }' url.svm >url.targets
same coordinates url.mtx --target url.targets --lambda-ratio 0.05
hawser run -n 3 -- train lasso url.mtx --target url.targets --lambda-ratio 0.5 --workers 3 --json --quiet >out 2>err || fail "coordinates: $(cat err)"
tail -1 out | python3 -c '
import json, sys
it = json.loads(sys.stdin.readline())
read = [w["rows_read"] for w in it["worker"]]
assert min(read) > 0 and max(read) < 1.3 * sum(read) / 3, read
' || fail "coordinates: not read in shares"
same array dense.npy --lambda-ratio 0.1
same mapped url.hwc --lambda-ratio 0.05
same single url.svm --lambda-ratio 0.05 --type f32
same elastic dense.csv --lambda-ratio 0.1 --l1-ratio 0.6 --standardize
hawser train lasso url.svm --lambda-ratio 0.3 --quiet -o start.st
same started url.svm --lambda-ratio 0.05 --init start.st
printf '%s\n' $(seq 60 | sed 's/^7$/0/; s/^[0-9][0-9]$/1/') >factors
same unpenalised dense.csv --lambda-ratio 0.2 --penalty-factors factors

# --topology auto, which is tree for nine nodes of one host and servers:N for nodes on four hosts, changes no bit of a model.
for words in "kmeans dense.csv --clusters 3 --seed 5" "lasso url.svm --lambda-ratio 0.1 --exchange-every 0.5"; do
    for over in "9 auto" "9 all" "4 servers:4" "4 auto"; do
        hawser run -n ${over% *} -- train $words --workers 9 --topology ${over#* } --quiet -o "${over// /_}.st" >out 2>err || fail "$words over $over: $(cat err)"
    done
    for file in 9_all.st 4_servers:4.st 4_auto.st; do
        hawser info --coefficients $file >this.txt
        hawser info --coefficients 9_auto.st | cmp -s - this.txt || fail "$words: $file differs from 9 nodes with --topology auto"
    done
done
hawser run -n 9 -- plan lasso url.svm --workers 9 --physical >out 2>err || fail "a plan over nine nodes: $(cat err)"
grep -q "^  topology tree, chosen: " out || fail "nine nodes of a host do not choose a tree"
grep -Eq "^    tree \(1 host\): [0-9.]+ updates per clock instead of 8 out of the busiest node" out || fail "the plan does not compare a tree with all"

# ssp and tap give no bits, but the optimum; each process has read its share and holds less than all of the data.
for sync in ssp:2 tap; do
    hawser run -n 3 -- train lasso url.svm --lambda-ratio 0.1 --workers 3 --sync $sync --json --quiet >out 2>err || fail "$sync: $(cat err)"
    tail -1 out | python3 -c '
import json, sys
it = json.loads(sys.stdin.readline())
assert it["stop_reason"] == "gap", it["stop_reason"]
assert it["nodes"] == 3 and [w["node"] for w in it["worker"]] == [0, 1, 2]
rows = [w["rows_read"] for w in it["worker"]]
assert sum(rows) == 3000 and max(rows) < 1.3 * 1000, rows
assert len(it["links"]) == 6 and all(l["transport"] == "shm" for l in it["links"]), it["links"]
' || fail "$sync: figures"
done

# The requested transport is used, with the same bits, in small pieces too; or each node that notices refuses it with one line.
hawser train lasso url.svm --lambda-ratio 0.05 --workers 3 --quiet -o one.st || fail "transports: one process"
hawser info --coefficients one.st >one.txt
transports="shm unix tcp"
if hawser run -n 2 -- train lasso url.svm --lambda-ratio 0.5 --workers 2 --transport ucx --quiet -o many.st >out 2>err; then
    transports+=" ucx"
else
    grep -q "UCX is asked for (--transport ucx), but" err || fail "ucx: $(cat err)"
    echo "without ucx: $(head -1 err)"
fi
for transport in $transports; do
    for node in 2 3; do
        hawser run -n $node -- train lasso url.svm --lambda-ratio 0.05 --workers 3 --transport $transport --json --quiet -o many.st >out 2>err ||
            fail "transports: $transport: $(cat err)"
        tail -1 out | python3 -c '
import json, sys
transports = {l["transport"] for l in json.loads(sys.stdin.readline())["links"]}
assert transports == {sys.argv[1]}, transports' $transport || fail "transports: $transport was not used"
        hawser info --coefficients many.st | cmp -s - one.txt || fail "transports: $transport: other coefficients"
        rm -f many.st
    done
done
cat >mixed <<'END'
#!/bin/sh
if [ "$HAWSER_NODE" = 0 ]; then transport=shm; else transport=$1; fi
exec "$HAWSER_TEST_COMMAND" train lasso url.svm --lambda-ratio 0.5 --workers 2 --quiet --transport $transport -o mixed.st
END
chmod +x mixed
for transport in unix tcp; do
    HAWSER_TEST_COMMAND=$hawser timeout 60 "$hawser" run -n 2 -- ./mixed $transport >out 2>err && fail "shm and $transport: not refused"
    grep -qe "asks for shared memory on its host (--transport shm)" -e "which --transport tcp asks for" err || fail "shm and $transport: $(cat err)"
    [[ ! -e mixed.st ]] || fail "shm and $transport: a model was written"
done
hawser run -n 2 -- train lasso url.svm --lambda-ratio 0.5 --transport pigeon >out 2>err && fail "an unknown transport"
grep -q "auto, shm, unix, tcp or ucx\|auto|shm|unix|tcp|ucx" err || fail "an unknown transport: $(cat err)"

# Memory that is shared with nodes of the same host counts for the limit of each, also during a load.
hawser run -n 3 -- train lasso dense.csv --lambda-ratio 0.5 --workers 3 --memory-limit 2M --quiet >out 2>err && fail "shared memory beyond the limit"
grep -q "shares 2.0 MiB of memory with other nodes of its host and may take 2.0 MiB in all; raise --memory-limit" err || fail "shared memory: $(cat err)"
hawser run -n 3 -- train lasso dense.csv --lambda-ratio 0.5 --workers 3 --threads 1 --memory-limit 6M --quiet >out 2>err && fail "a load into shared memory"
grep -q "the load needs .* and 4.0 MiB may be taken" err || fail "a load into shared memory: $(cat err)"
hawser run -n 3 -- train lasso dense.csv --lambda-ratio 0.5 --workers 3 --threads 1 --memory-limit 6M --transport unix --quiet >out 2>err ||
    fail "the same without shared memory: $(cat err)"

# A limit ends all nodes, and the printed figures are true of the saved model.
hawser run -n 3 -- train lasso url.svm --lambda-ratio 0.001 --tol 1e-12 --workers 3 --max-clocks 2 -o limit.st --json --quiet >out 2>err ||
    fail "limit: $(cat err)"
hawser train lasso url.svm --lambda-ratio 0.001 --tol 1e-12 --workers 3 --max-clocks 2 -o limit1.st --json --quiet >out1 2>err
python3 - out out1 <<'END' || fail "limit: not what one process says"
import json, sys
a, b = (json.loads(open(name).read().splitlines()[-1]) for name in sys.argv[1:])
assert a["stop_reason"] == b["stop_reason"] == "clocks"
assert abs(a["objective"] - b["objective"]) <= 1e-9 * b["objective"], (a["objective"], b["objective"])
assert abs(a["gap"] - b["gap"]) <= 1e-6 * b["gap"], (a["gap"], b["gap"])
END

# A signal to the launcher ends the run at an agreed clock; the model is saved.
"$hawser" run -n 3 -- train lasso url.svm --lambda-ratio 0.0001 --tol 1e-15 --workers 3 --sync ssp:1 -o signal.st --trace trace.csv --quiet >out 2>err &
launcher=$!
for _ in $(seq 200); do
    [[ -s trace.csv ]] && (($(wc -l <trace.csv) > 3)) && break
    sleep 0.1
done
kill -TERM $launcher 2>/dev/null
wait $launcher
code=$?
# On a quick machine it may have ended before.
if ((code != 0)); then
    ((code == 130)) || fail "a signal: exit code $code: $(cat err)"
fi
hawser info signal.st >/dev/null || fail "a signal: no model"

# A bad line is found by the node that reads it, and reported by all nodes.
{ head -n 2990 url.svm; echo "1 5:nonsense"; } >bad.svm
hawser run -n 3 -- train lasso bad.svm --lambda-ratio 0.1 --quiet >out 2>err && fail "a bad line was read"
grep -q 'bad.svm:2991:5' err || fail "a bad line: $(cat err)"
(($(grep -c 'bad.svm:2991:5' err) == 3)) || fail "a bad line: not told by all: $(cat err)"

# Other options, or another input, elsewhere: refused by name.
cat >odd <<'END'
#!/bin/sh
[ "$HAWSER_NODE" = 1 ] && exec "$hawser" train lasso url.svm --lambda-ratio 0.2 --workers 3 --quiet
exec "$hawser" train lasso url.svm --lambda-ratio 0.1 --workers 3 --quiet
END
chmod +x odd
hawser run -n 3 -- ./odd >out 2>err && fail "other options were taken"
grep -q 'lambda-ratio = 0.2' err || fail "other options: $(cat err)"
finish
