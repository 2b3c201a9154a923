#!/bin/sh
# The experiments that need hosts, in their smallest form: they run, and the claims of their pages hold. No times are checked.
set -eu
top=${HAWSER_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
[ -z "${HAWSER_SANITIZE:-}" ] || { echo "skipped: experiments are for optimised builds"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "skipped: hosts in a box need root"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$top/experiments/alt/hosts" --quick --work "$work" --out "$work/alt" 5-3 5-4
"$top/experiments/malt/run" --quick --work "$work" --out "$work/malt" 10
"$top/experiments/pet/run" --quick --work "$work" --out "$work/pet" 9
python3 - "$work" <<'END'
import csv, pathlib, sys
import xml.etree.ElementTree as xml
work = pathlib.Path(sys.argv[1])

def rows(name):
    with open(work / f"{name}.csv", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    page = (work / name).parent / ("hosts.md" if "hosts" in name else "README.md")
    assert f"({pathlib.Path(name).name}.svg)" in page.read_text(encoding="utf-8"), name
    lines = xml.parse(work / f"{name}.svg").findall(".//{http://www.w3.org/2000/svg}polyline")
    assert found and len(lines) >= 6, (name, len(lines))
    return found

def of(table, label):
    return [row for row in table if row["setting"] == label]

sync = rows("alt/hosts-5-3")
assert all(int(row["lead"]) <= {"BSP": 0, "SSP 3": 2}.get(row["setting"].split(",")[0], 10**9) for row in sync)
assert {row["setting"] for row in rows("alt/hosts-5-4")} == {"no filter", "random", "round-robin", "absolute", "relative"}
malt = rows("malt/figure-10")
fall = lambda label: [(row["panel"], row["clock"], row["objective"]) for row in of(malt, label)]
assert fall("all") == fall("Halton") != [], "BSP over another topology came to something else"
assert fall("MALT's Halton (emulated)") != fall("all")
assert all(float(row["card_MB"]) >= 0 for row in malt)
pet = rows("pet/figure-9")
paced = lambda label: [(row["clock"], row["objective"]) for row in of(pet, label)]
assert paced("BSP burst") == paced("BSP burst, paced") != [], "pacing changed a result under BSP"
assert float(of(pet, "budget: absolute")[-1]["card_MB"]) < float(of(pet, "SSP continuous")[-1]["card_MB"])
END

# The program that emulates MALT's dataflows agrees with Hawser where both do the same: all nodes send to all nodes, in step.
programs=${HAWSER_BUILD:-$top/build/release}/experiments
unset HAWSER_BINARY HAWSER_SOURCE HAWSER_BUILD HAWSER_SANITIZE # a program would take them for options
"$programs/experiment_svm" "$work/url-400x600.hwc" 16 12 8 --workers 8 >"$work/trained"
"$programs/experiment_emulate" all "$work/url-400x600.hwc" 16 12 8 >"$work/emulated"
python3 - "$work/trained" "$work/emulated" <<'END'
import json, sys
trained, emulated = [json.load(open(path, encoding="utf-8"))["objective"] for path in sys.argv[1:]]
assert abs(trained - emulated) <= 1e-9 * trained, (trained, emulated)
END
for bad in "no-such.svm 16 12" "$work/url-400x600.hwc 16" "$work/url-400x600.hwc 0 12" "$work/url-400x600.hwc 16 x"; do
    # shellcheck disable=SC2086 # words
    ! "$programs/experiment_svm" $bad --workers 2 2>"$work/said" || { echo "FAILED: accepted: $bad"; exit 1; }
    [ "$(wc -l <"$work/said")" = 1 ] || { echo "FAILED: not one line about: $bad"; cat "$work/said"; exit 1; }
done
echo "all as expected"
