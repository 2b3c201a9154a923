#!/bin/sh
# The experiments that need hosts, in their smallest form: they run, and the claims of their pages hold. No times are checked.
set -eu
top=${HAWSER_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
[ -z "${HAWSER_SANITIZE:-}" ] || { echo "skipped: experiments are for optimised builds"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "skipped: hosts in a box need root"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python=$(python3 "$top/python/tools/environment.py") # figures need its matplotlib
PATH=$(dirname "$python"):$PATH
"$top/experiments/alt/hosts" --quick --work "$work" --out "$work/alt" 5-3 5-4
"$top/experiments/malt/run" --quick --work "$work" --out "$work/malt" 10
"$top/experiments/pet/run" --quick --work "$work" --out "$work/pet" 8 9
"$top/experiments/simulator/run" --quick --work "$work" --out "$work/simulator"
python3 - "$work" "$top" <<'END'
import csv, math, pathlib, sys
work, top = map(pathlib.Path, sys.argv[1:])
sys.path.insert(0, str(top / "experiments"))
import plot

def rows(name):
    with open(work / f"{name}.csv", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    page = (work / name).parent / ("hosts.md" if "hosts" in name else "README.md")
    assert f"({pathlib.Path(name).name}.svg)" in page.read_text(encoding="utf-8"), name
    curves = {(row.get("panel", row.get("problem")), row["setting"]) for row in found}
    # Each is in three panels (PET's figure 8: two); PET's figure 9 has the links' rates of four settings in one more.
    wanted = 2 * len(curves) if name == "pet/figure-8" else 3 * len(curves) + 4 * ("pet" in name)
    assert plot.lines_of(work / f"{name}.svg") == wanted > 4, (name, len(curves))
    return found

def of(table, label):
    return [row for row in table if row["setting"] == label]

sync = rows("alt/hosts-5-3")
assert all(int(row["lead"]) <= {"BSP": 0, "SSP 3": 2}.get(row["setting"].split(",")[0], 10**9) for row in sync)
assert {row["setting"] for row in rows("alt/hosts-5-4")} == {"no filter", "random", "round-robin", "absolute", "relative"}
malt = rows("malt/figure-10")
fall = lambda label: [(row["panel"], row["clock"], row["objective"]) for row in of(malt, label)]
assert fall("all") == fall("Halton") != [], "BSP over another topology came to something else"
assert len(of(malt, "vectors: halving")) == len(of(malt, "vectors: Halton")) == len(of(malt, "vectors: all")) > 0
assert all(float(row["card_MB"]) >= 0 for row in malt)
stale = rows("pet/figure-8")
assert {row["panel"] for row in stale} == {"lasso", "matrix factorisation", "topics (LDA)"} and len({row["setting"] for row in stale}) == 3
assert all(math.isfinite(float(row["seconds"])) for row in stale)
pet = rows("pet/figure-9")
paced = lambda label: [(row["clock"], row["objective"]) for row in of(pet, label)]
assert paced("BSP burst") == paced("BSP burst, paced") != [], "pacing changed a result under BSP"
with open(work / "simulator/hosts.csv", encoding="utf-8") as file:
    sent, = csv.DictReader(file)
assert 0.9 < float(sent["bytes_ratio"]) < 1.05 and 0.9 < float(sent["busiest_ratio"]) < 1.05, sent
assert float(of(pet, "budget: absolute")[-1]["card_MB"]) < float(of(pet, "SSP continuous")[-1]["card_MB"])
END

# Vectors agree with a program where both do the same, in step: all nodes send to all nodes. MALT's own dataflows agree with models that were mixed
# one after another in one process: along halving (node i sends to i + 4, i + 2, i + 1), and one half of its Halton, in which each sends to all.
programs=${HAWSER_BUILD:-$top/build/release}/experiments
hawser=${HAWSER_BINARY:-$top/build/release/src/hawser}
unset HAWSER_BINARY HAWSER_SOURCE HAWSER_BUILD HAWSER_SANITIZE # a program would take them for options
"$programs/experiment_svm" "$work/url-400x600.hwc" 16 12 8 --workers 8 >"$work/trained"
for flow in "all 8" "halved 8" "all 4"; do
    "$hawser" run -n "${flow#* }" --no-prefix -- "$programs/experiment_vectors" "${flow% *}" bsp values 8 0 "$work/url-400x600.hwc" 16 12 8 >"$work/$flow"
done
python3 - "$work" <<'END'
import json, sys
read = lambda name: [json.loads(line) for line in open(f"{sys.argv[1]}/{name}", encoding="utf-8")]
found = {name: sorted(each["measure"] for each in read(name)) for name in ("all 8", "halved 8", "all 4")}
trained = read("trained")[-1]["objective"]
for name, least, most in (("all 8", trained, trained), ("halved 8", 0.2039765248, 0.4149224094), ("all 4", 0.5335943296, 0.5335943296)):
    assert abs(found[name][0] - least) < 1e-9 and abs(found[name][-1] - most) < 1e-9, (name, found[name], least, most)
END
for bad in "no-such.svm 16 12" "$work/url-400x600.hwc 16" "$work/url-400x600.hwc 0 12" "$work/url-400x600.hwc 16 x"; do
    # shellcheck disable=SC2086 # words
    ! "$programs/experiment_svm" $bad --workers 2 2>"$work/said" || { echo "FAILED: accepted: $bad"; exit 1; }
    [ "$(wc -l <"$work/said")" = 1 ] || { echo "FAILED: not one line about: $bad"; cat "$work/said"; exit 1; }
done
echo "all as expected"
