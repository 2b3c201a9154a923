#!/usr/bin/env bash
# Poisson regression where there is little to learn from or too much, and exposures in every format: what is refused and with which words.
source "$(dirname "$0")/cli.bash"

printf 'y,x,e,s\n1,1,2,1\n0,2,1,1\n3,3,0.5,-1\n2,4,4,1\n0,1.5,1,0\n5,2.2,3,1\n' >counts.csv
cut -d, -f1,2 counts.csv >plain.csv

# The answer without columns that matter: the log of the mean, weights and exposures included.
code 0 "$hawser" train poisson counts.csv --ignore e,s --lambda 100 --tol 1e-9 --json -o mean
json out 'o["nonzeros"] == 0 and abs(o["intercept"] - math.log(11 / 6)) < 1e-12 and o["deviance_ratio"] == 0 and o["stop_reason"] == "gap"'
code 0 "$hawser" predict mean plain.csv
awk '{ if ($1 < 1.8333333 || $1 > 1.8333334) exit 1 }' out || complain "the mean is not 11/6: $(cat out)"
code 0 "$hawser" train poisson counts.csv --ignore s --exposure e --lambda 100 --json
json out 'abs(o["intercept"] - math.log(11 / 11.5)) < 1e-12'
printf 'y,x,w\n1,1,2\n0,2,1\n3,3,0\n2,4,5\n' >weights.csv
code 0 "$hawser" train poisson weights.csv --weights w --lambda 100 --json
json out 'abs(o["intercept"] - math.log(12 / 8)) < 1e-12'

# Targets.
code 3 "$hawser" train poisson counts.csv --target s
says 'row 3: the target is -1, and a Poisson regression needs counts of 0 or more'
printf 'y,x\none,1\ntwo,2\n' >words.csv
code 3 "$hawser" train poisson words.csv
says 'the target has words'
printf '0,1\n0,2\n0,3\n' >zeros.csv
code 3 "$hawser" train poisson zeros.csv --header no
says 'all targets with weight are zero: the best intercept of a Poisson regression is then minus infinity'
code 0 "$hawser" train poisson zeros.csv --header no --no-intercept --lambda 0 --json
json out 'o["objective"] <= 1e-6 and o["stop_reason"] == "gap" and "fit counts that are all zero: the optimum is at infinity" in o["notes"][0]'
code 0 "$hawser" train poisson zeros.csv --header no --no-intercept --lambda 0.1 --json
json out 'o["stop_reason"] == "gap" and o["nonzeros"] == 1'
printf '0,1\n0,2\n0,3\n1,2\n0,0\n0,1\n0,4\n' >one.csv
code 3 "$hawser" train poisson one.csv --header no --cv 7
says 'all targets with weight are zero in a fold of --cv'
printf '0.25,1\n1.5,2\n2,3\n' >shares.csv
code 0 "$hawser" train poisson shares.csv --header no --json
json out 'o["stop_reason"] == "gap"'
printf '2,1\n2,2\n2,5\n' >equal.csv
for options in "" "--lambda 0" "--workers 3" "--path 5"; do
    # shellcheck disable=SC2086
    code 0 "$hawser" train poisson equal.csv --header no --json -o equal $options
    json out 'o["objective"] == 0 and o["gap"] == 0 and o["deviance_ratio"] == 0 and abs(o["intercept"] - math.log(2)) < 1e-12'
done
code 0 "$hawser" evaluate equal equal.csv --header no --json
json out 'o["mean_deviance"] < 1e-25 and o["d2"] is None'
code 3 "$hawser" evaluate mean counts.csv --target s --json
says 'row 3: the target is -1, and counts are 0 or more'
printf 'y,x\n-2,1\n1,2\n' >negative.csv
code 3 "$hawser" train poisson plain.csv --validation negative.csv --lambda 1 --quiet
says 'row 1 of the validation data: the target -2 is no count: it must be 0 or more'

# Numbers beyond what exp can hold.
printf '800\n0\n1\n' >far.txt
printf '1,1\n2,2\n0,5\n' >three.csv
code 7 "$hawser" train poisson three.csv --header no --offset far.txt --no-intercept --lambda 0.1 -o far
says 'row 1: the offset is 800, and exp of it is not finite; lower the offsets, or fit an intercept'
[[ ! -e far ]] || complain "a model of infinite objective was saved"
code 0 "$hawser" train poisson three.csv --header no --offset far.txt --lambda 0.1 --json
json out 'o["stop_reason"] == "gap" and o["intercept"] < -700'
printf '1,1000\n2,-1000\n0,500\n' >steep.csv
for options in --intercept --no-intercept; do
    code 0 "$hawser" train poisson steep.csv --header no --lambda 1e-6 --tol 1e-9 --json $options -o steep
    json out 'o["stop_reason"] == "gap" and o["gap"] <= 1e-9 * 0.5'
done
# A start whose means overflow is no point to stay at.
code 0 "$hawser" train poisson three.csv --header no --no-intercept --lambda 1e-6 --json -o start
python3 - start <<'P'
import json, struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
length = struct.unpack("<Q", data[:8])[0]
header, body = json.loads(data[8:8 + length]), data[8 + length:]
at = header["coefficients.value"]["data_offsets"][0]
body[at:at + 8] = struct.pack("<d", 1e4)
for key in ("hawser.checksum", "hawser.format"):
    header["__metadata__"].pop(key, None)
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
open(sys.argv[1], "wb").write(struct.pack("<Q", len(text)) + text + body)
P
for workers in 1 2; do
    code 0 "$hawser" train poisson three.csv --header no --no-intercept --lambda 1e-6 --json --init start --workers $workers -o after
    json out 'o["stop_reason"] == "gap" and o["objective"] < 2'
done

# A sigma' that is too small: rounds that diverge are taken back, and an overflow names the option.
python3 - <<'P'
import math, random
chance = random.Random(4)
with open("alike.csv", "w") as file:
    for _ in range(200):
        factor = chance.gauss(0, 1)
        row = [factor + chance.gauss(0, 0.3) for _ in range(40)]
        file.write(",".join(map(str, [int(math.exp(min(0.5 + 0.3 * sum(row[:4]), 5)))] + [round(x, 4) for x in row])) + "\n")
P
small() {
    code "$1" "$hawser" train poisson alike.csv --header no --workers 4 --lambda 0.01 -o small --json "${@:2}"
}
small 0 --sigma 0.01
json out 'o["stop_reason"] == "gap"'
for sync in bsp ssp:1 tap; do
    small 7 --sigma 1e-30 --sync $sync
    says 'at lambda 0.01: numbers overflowed under --sigma 1e-30 [(]4 workers in step need 4[)]; leave --sigma out, or raise it; the best certified model is in small'
done
code 7 "$hawser" run -n 2 -- "$hawser" train poisson alike.csv --header no --workers 4 --lambda 0.01 -o small --sigma 1e-30
has err 'numbers overflowed under --sigma 1e-30'

# Exposures: the line, the other options, the other algorithms, new data.
code 3 "$hawser" train poisson counts.csv --exposure s --ignore e
says 'counts.csv:4:9: the exposure is -1; exposures are above 0'
printf 'y,x,e\n1,1,2\n0,2,0\n' >zero.csv
code 3 "$hawser" train poisson zero.csv --exposure e
says 'zero.csv:3:5: the exposure is 0; exposures are above 0'
printf '1\n2\n-3\n4\n5\n6\n' >bad.txt
code 3 "$hawser" train poisson plain.csv --exposure bad.txt
says 'bad.txt: the exposure of row 3 is -3; exposures are above 0'
code 3 "$hawser" train poisson counts.csv --exposure nowhere
says "the exposure 'nowhere' is neither a column"
code 2 "$hawser" train poisson counts.csv --exposure e --offset s
says 'offset s and --exposure e both set the offset of a row; give one'
for algorithm in lasso logistic linear; do
    code 2 "$hawser" train $algorithm counts.csv --exposure e
    says "exposure e: $algorithm has no log link"
done
code 0 "$hawser" train lasso plain.csv -o line
code 2 "$hawser" predict line counts.csv --exposure e
says 'exposure e: lasso has no log link'
code 0 "$hawser" train poisson counts.csv --ignore s --exposure e --lambda 0.01 -o rate --tol 1e-10
code 2 "$hawser" predict rate counts.csv
says 'rate: the model was trained with --exposure e; give --exposure for these data, or --exposure none'
code 0 "$hawser" predict rate counts.csv --exposure e
cp out with
code 0 "$hawser" predict rate counts.csv --exposure none
paste with out <(tail -n +2 counts.csv | cut -d, -f3) | awk '{ d = $1 - $2 * $3; if (d > 1e-12 * $1 || d < -1e-12 * $1) exit 1 }' ||
    complain "a mean is not its rate times its exposure"

# Every format, and its logarithm as an offset: one model.
tail -n +2 counts.csv | cut -d, -f3 >exposure.txt
python3 -c 'import math; print(*(repr(math.log(float(line))) for line in open("exposure.txt")), sep="\n")' >log.txt
tail -n +2 plain.csv | awk -F, '{ print $1 " 1:" $2 }' >plain.svm
"$hawser" data convert counts.csv --ignore s --exposure e -o counts.hwc
python3 - <<'P'
import struct
rows = [line.split(",")[:3] for line in open("counts.csv").read().split()[1:]]
header = ("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, 3), }" % len(rows)).ljust(117) + "\n"
open("counts.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                               b"".join(struct.pack("<3d", *map(float, row)) for row in rows))
P
model() {
    code 0 "$hawser" "$@" --lambda 0.01 --tol 1e-10 --json -o other
    json out 'abs(o["objective"] - float(open("expected").read())) < 1e-12'
}
code 0 "$hawser" train poisson counts.csv --ignore s --exposure e --lambda 0.01 --tol 1e-10 --json
python3 -c 'import json; print(json.loads(open("out").readlines()[-1])["objective"])' >expected
model train poisson plain.csv --exposure exposure.txt
model train poisson plain.csv --offset log.txt
model train poisson plain.svm --index-base 1 --exposure exposure.txt
model train poisson counts.npy --exposure 2
model train poisson counts.hwc
gzip -kf counts.csv
model train poisson counts.csv.gz --ignore s --exposure e
model run -n 3 -- "$hawser" train poisson counts.csv --ignore s --exposure e
code 3 "$hawser" run -n 2 -- "$hawser" train poisson counts.csv --exposure s --ignore e
has err 'the exposure is -1; exposures are above 0'

# A prediction beyond the range of numbers is an error, after those of the rows before it; no file is left.
printf 'y,x\n1,0\n2,1\n4,2\n9,3\n' >steep.csv
code 0 "$hawser" train poisson steep.csv --lambda 0.01 -o steep
printf 'x\n1\n2\n1e6\n3\n' >far.csv
code 3 "$hawser" predict steep far.csv
says "row 3: the prediction is inf, beyond the range of numbers"
[[ $(wc -l <out) == 2 ]] || complain "not the rows before the one that overflows: $(cat out)"
code 3 "$hawser" predict steep far.csv -o predictions
[[ ! -e predictions ]] || complain "a file of some predictions is left"

# Policies of a parameter server are refused by name, a history of the others is true.
for sync in delay:2 dc:0; do
    code 2 "$hawser" train poisson plain.csv --sync $sync
    says "sync $sync is for weights that a parameter server keeps"
done
for sync in bsp ssp:1 tap; do
    code 0 "$hawser" train poisson plain.csv --workers 2 --sync $sync --check --record-history history.$sync --lambda 0.01
    code 0 "$hawser" check history.$sync
done
code 0 "$hawser" plan poisson plain.csv --workers 2
finish
