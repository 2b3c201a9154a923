#!/bin/sh
# The experiments that need no hosts, in their smallest form: they run, and the claims of their pages hold. No times are checked.
set -eu
top=${HAWSER_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
[ -z "${HAWSER_SANITIZE:-}" ] || { echo "skipped: experiments are for optimised builds"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python=$(python3 "$top/python/tools/environment.py") # figures need its matplotlib
PATH=$(dirname "$python"):$PATH
"$top/experiments/alt/run" --quick --tiny --work "$work" --out "$work/alt" >"$work/said" || { cat "$work/said"; exit 1; }
"$top/experiments/pdb/run" --quick --out "$work/pdb" 2d
"$top/experiments/ps/run" --quick --out "$work/ps" --work "$work/data"
"$top/experiments/malt/run" --quick --out "$work/malt" --work "$work/data" 4 6 8 12 table-3
"$top/experiments/adaptive/run" --quick --out "$work/adaptive" --work "$work/data"
"$top/experiments/scale/run" --quick --out "$work/scale"
# The pages' tables of claims are those of the committed CSVs.
for script in adaptive/run alt/run alt/hosts malt/run pdb/run pet/run ps/run scale/run simulator/run; do
    page=README.md
    [ $script != alt/hosts ] || page=hosts.md
    mkdir -p "$work/committed/$script"
    cp "$top/experiments/${script%/*}/"*.csv "$top/experiments/${script%/*}/$page" "$work/committed/$script"
    "$top/experiments/$script" --claims --out "$work/committed/$script" >"$work/said"
    diff "$top/experiments/${script%/*}/$page" "$work/committed/$script/$page" || { echo "FAILED: $page is not of its CSVs: run $script --claims"; exit 1; }
done
python3 - "$work" "$top" <<'END'
import csv, pathlib, sys
work, top = map(pathlib.Path, sys.argv[1:])
sys.path[:0] = [str(top / "experiments"), str(top / "experiments/pdb")]
import claims, plot, predict

(work / "claims").mkdir()
(work / "claims/t.csv").write_text("setting,x\none,1.5\ntwo,4\n", encoding="utf-8")
xs = lambda *settings: lambda csv: [claims.last(csv["t"], setting=setting)["x"] for setting in settings]
ledger = claims.Ledger([claims.Claim("1", "less", xs("o*", "two"), "{:g} and {:g}", lambda a, b: a < b), claims.Claim("2", "more", xs("one"), "{:g}", lambda a: a > 2),
                        claims.Claim("3", "none", xs("three"), "{:g}", bool)], work / "claims")
ledger.close(work / "claims", work / "claims/page.md")
assert (work / "claims/page.md").read_text(encoding="utf-8").splitlines()[5:8] == ["| 1 | less | 1.5 and 4 | yes |", "| 2 | more | 1.5 | no |", "| 3 | none | - | - |"]
assert "| slow links | --auto is faster where links hold rounds up | at least" in (work / "adaptive/README.md").read_text(encoding="utf-8")

def rows(name):
    with open(work / f"{name}.csv", encoding="utf-8") as file:
        return list(csv.DictReader(file))

for name in ("figure-5-2", "figure-5-3", "figure-5-4", "figure-5-5", "slow", "sigma"):
    found = rows(f"alt/{name}")
    assert found and all(float(r["distance"]) >= 0 and float(r["bytes"]) > 0 for r in found), name
    assert all(0 < float(r["seconds_fastest"]) <= float(r["seconds_slowest"]) for r in found), name
    if name not in ("slow", "sigma"): # each setting in each of four panels of two problems
        assert plot.lines_of(work / f"alt/{name}.svg") == 2 * 4 * len({r["setting"] for r in found}), name
    assert name == "sigma" or f"({name}.svg)" in (work / "alt/README.md").read_text(encoding="utf-8"), name
chunks = rows("pdb/figure-2d")
assert len(chunks) == 3 * 2 * 6 and all(float(row["seconds"]) > 0 for row in chunks)
assert plot.lines_of(work / "pdb/figure-2d.svg") == 3 * 2 * 5
# The prediction saves nothing without skew or by reading everything first, and else the time that two alternately late workers can share.
for skew in ("even", "random", "straggler"):
    assert abs(predict.chunkwise(skew, 1, 6, 20, 0, False) - predict.barrier(skew, 1, 6, 20)) < 1e-9, skew
    assert predict.chunkwise(skew, 1, 6, 20, 1, True) <= predict.chunkwise(skew, 1, 6, 20, 0, True) + 1e-9
    assert predict.chunkwise(skew, 1, 6, 20, 0, True) <= predict.barrier(skew, 1, 6, 20) + 1e-9
assert abs(predict.chunkwise("even", 1, 6, 20, 2, True) - 20) < 1e-9
cell, = rows("adaptive/cells")
assert float(cell["auto"]) < 1.1 * float(cell["default"]) and cell["link"] == "10mbit", cell # exact: simulated seconds
assert float(cell["auto, second run"]) < float(cell["auto"]) and plot.lines_of(work / "adaptive/learning.svg") == 1, cell
delay, traffic = rows("ps/delay"), rows("ps/traffic")
objectives, by_row = [float(row["objective"]) for row in delay], rows("ps/rows")
assert plot.lines_of(work / "ps/rows.svg") == 6 and plot.lines_of(work / "ps/delay.svg") == 3 * 2
above, pace = [[float(row[field]) for row in by_row] for field in ("above", "ms_a_clock")]
assert len(by_row) == 3 and 0 <= above[0] < above[1] < above[2] < 0.2, above # bsp, delay:1 and delay:2 after 200 clocks
assert pace[0] > pace[1] > pace[2], pace # exact: simulated seconds
assert len(delay) == 6 and max(objectives) - min(objectives) < 1e-2, objectives
size = {(row["what"], row["setting"]): int(row["sent"]) for row in traffic}
for l1 in ("1e-9", "0.0003"):
    assert size[f"mini-batches, L1 {l1}", "key caching"] < size[f"mini-batches, L1 {l1}", "keys packed"], size
pushes = [size["mini-batches, L1 0.0003", "key caching" + way] for way in ("", ", pushes as bf16", ", pushes as int8")]
assert pushes[0] > pushes[1] > pushes[2], size
assert size["mini-batches, L1 0.0003", "key caching, KKT filter of the store"] < size["mini-batches, L1 0.0003", "keys packed"], size  # nodes run apart
assert size["dbpg, delay:1", "KKT filter"] < size["dbpg, delay:1", "no KKT filter"], size

# A clock takes at least what its unit takes, and only a single node sends nothing.
for row in rows("scale/scaling"):
    ideal = 0.01 if row["work"] == "weak" else 1 / int(row["nodes"])
    assert ideal <= float(row["clock_seconds"]) < 2 * ideal and (row["nodes"] == "1") == (float(row["bytes_busiest"]) == 0), row

def last(table, **fields):
    return [row for row in table if all(row[name] == value for name, value in fields.items())][-1]

# Vectors send what their graphs say: a model to each receiver and step, and Halton's graph of 8 (with a ring) 4/7 of all-to-all.
for label, receivers in (("one process", 0), ("2, all", 1), ("4, all", 3), ("8, all", 7)):
    row = last(rows("malt/figure-4"), setting=label, panel="batches of 10")
    assert abs(float(row["MB"]) - 8e-6 * 600 * receivers * int(row["step"])) < 1e-5 * float(row["MB"]) + 1e-12, row
layers = rows("malt/figure-6")
most, halton = [float(last(layers, setting=f"8, {flow}")["MB"]) for flow in ("all", "halton")]
assert abs(halton / most - 4 / 7) < 1e-4, (halton, most)
assert all(0.6 < float(last(layers, setting=label)["measure"]) < 0.7 for label in ("one process", "2, all", "8, all", "8, halton"))
assert all(abs(sum(float(row[part]) for part in ("learn", "scatter", "gather")) - 1) < 1e-4 for row in rows("malt/figure-8"))
errors = {row["setting"]: float(row["measure"]) for row in rows("malt/figure-12")}
assert len(errors) == 4 and all(0.9 < error < 1.2 for error in errors.values()), errors
assert "examples/malt/svm" in (work / "malt/README.md").read_text(encoding="utf-8")
END
programs=${HAWSER_BUILD:-$top/build/release}/experiments
hawser=${HAWSER_BINARY:-$top/build/release/src/hawser}
unset HAWSER_BINARY HAWSER_SOURCE HAWSER_BUILD HAWSER_SANITIZE # a program would take them for options
# Along Halton's graph 4, 8 and 16 replicas send 2/3, 4/7 and 5/15 of the bytes of all-to-all.
for nodes in 4 8 16; do
    for flow in all halton; do
        "$hawser" run -n $nodes --no-prefix -- "$programs/experiment_vectors" $flow bsp values $nodes 0 "$work/data/url-400x600.hwc" 5 2 >"$work/sent-$nodes-$flow"
    done
done
python3 - "$work" <<'END'
import json, sys
sent = lambda nodes, flow: sum(json.loads(line)["sent_bytes"] for line in open(f"{sys.argv[1]}/sent-{nodes}-{flow}", encoding="utf-8"))
for nodes, receivers in ((4, 2), (8, 4), (16, 5)):
    assert sent(nodes, "all") == 2 * 8 * 600 * nodes * (nodes - 1), nodes
    assert sent(nodes, "halton") * (nodes - 1) == sent(nodes, "all") * receivers, (nodes, sent(nodes, "halton"))
END
for bad in "chunks ready even 0.01" "chunks some even 0.01 3" "chunks ready odd 0.01 3" "chunks ready even 0 3" \
    "traffic no-such.svm 1 10 plain 1 exact" "traffic x 1 10 some 1 exact" "traffic $work/data/signs-300x600-1.svm 1 10 plain 1 f64" \
    "vectors all bsp values 8 0 no-such.svm 16 12" "vectors all bsp models 1 0 x 16 12" "vectors all bsp values 0 0 x 16 12" "vectors all bsp rows 1 0 x 16 12" \
    "vectors ring bsp values 1 0 $work/data/url-400x600.hwc 16 12" "factors all bsp values 20 10 600 5 3" "factors all bsp rows 20 10 600 5" \
    "clicks all bsp rows 600 5 3 0.05" "clicks all never values 600 5 3 0.05"; do
    # shellcheck disable=SC2086 # words
    ! "$programs/experiment_"$bad 2>"$work/said" || { echo "FAILED: accepted: $bad"; exit 1; }
    [ "$(wc -l <"$work/said")" = 1 ] || { echo "FAILED: not one line about: $bad"; cat "$work/said"; exit 1; }
done
echo "all as expected"
