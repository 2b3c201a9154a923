#!/usr/bin/env bash
# Files that are not models, models of other software, and models of other data.
source "$(dirname "$0")/cli.bash"
small_problem
python3 - <<'P'
import json, struct
header = json.dumps({"__metadata__": {"format": "pt"}, "embed.weight": {"dtype": "BF16", "shape": [2, 3, 4], "data_offsets": [0, 48]},
                     "scale": {"dtype": "F32", "shape": [], "data_offsets": [48, 52]}}).encode()
open("other.safetensors", "wb").write(struct.pack("<Q", len(header)) + header + bytes(52))
open("bare.safetensors", "wb").write(struct.pack("<Q", 2) + b"{}")
P
code 0 "$hawser" info other.safetensors
has out "^other.safetensors: a safetensors file of other software, not a model of Hawser; 2 tensors$"
has out "^embed.weight +BF16 +\[2, 3, 4\]$"
has out "^scale +F32 +\[\]$"
code 0 "$hawser" info bare.safetensors
has out "0 tensors"
code 3 "$hawser" info other.safetensors --coefficients
says "no coefficients to print"
for command in predict evaluate; do
    code 3 "$hawser" "$command" other.safetensors small.svm
    says "other.safetensors: a safetensors file of other software, not a model of Hawser; 'hawser info' lists its tensors"
    code 3 "$hawser" "$command" small.svm small.svm
    says "not a whole model file"
done
code 0 "$hawser" train lasso small.svm -q -o m.st
code 0 "$hawser" info m.st
has out "^algorithm +lasso"

# A header that names two columns alike is refused; fields without a name are not.
printf 'y,a,b,a\n1,2,3,4\n2,3,4,5\n' >twice.csv
code 3 "$hawser" train lasso twice.csv -q
says "twice.csv: the header names two columns 'a' \(numbers 1 and 3, from 0\); rename one"
printf 'y,a,,\n1,2,3,4\n2,3,4,5\n' >unnamed.csv
code 0 "$hawser" train lasso unnamed.csv --lambda 0.1 -q
# Without --target the first column is the target, even if another column is called 0; the model finds it again.
python3 - <<'P'
rows = [(3 * a - b, a, b, 0) for a in range(1, 9) for b in range(3)]
for name, head in (("digits.csv", "y,0,1,2\n"), ("plain.csv", "")):
    open(name, "w").write(head + "".join(f"{y},{a},{b},{c}\n" for y, a, b, c in rows))
P
for file in digits.csv plain.csv; do
    code 0 "$hawser" train lasso $file --lambda 0.01 -q -o $file.st
    code 0 "$hawser" predict $file.st $file -q
    cp out $file.out
done
cmp -s digits.csv.out plain.csv.out || complain "a header of digits changes the target"
code 0 "$hawser" info digits.csv.st
# Names that a model file could not keep are refused before they are used.
printf 'y,a,caf\xe9\n1,2,3\n2,3,5\n' >latin.csv
code 3 "$hawser" train lasso latin.csv -q -o latin.st
says "latin.csv: the name of column 2 \(from 0\) is not UTF-8; convert the file, for example: iconv"
iconv -f ISO-8859-1 -t UTF-8 latin.csv >utf8.csv
code 0 "$hawser" train lasso utf8.csv -q -o utf8.st
code 0 "$hawser" predict utf8.st utf8.csv -q
# A file counted from 1 with a model counted from 0, and the reverse.
printf '1 0:1 2:2\n2 1:1 2:-1\n3 0:2 1:5\n5 2:7\n' >from0.svm
printf '1 1:1 3:2\n2 2:1 3:-1\n3 1:2 2:5\n5 3:7\n' >from1.svm
code 0 "$hawser" train lasso from0.svm --lambda 0.01 -q -o from0.st
code 0 "$hawser" train lasso from1.svm --index-base 1 --lambda 0.01 -q -o from1.st
code 0 "$hawser" predict from0.st from0.svm
lacks err "counted from 1"
cp out right
code 0 "$hawser" predict from0.st from1.svm
says "from1.svm: its columns look as if they were counted from 1 .* --index-base 1"
code 0 "$hawser" predict from0.st from1.svm --index-base 1
cmp -s out right || complain "--index-base 1 does not read the file as it is counted"
lacks err "counted from 1"
code 3 "$hawser" predict from1.st from0.svm
says "column index 0, but columns are counted from 1; see --index-base"
code 0 "$hawser" predict from1.st from0.svm --index-base 0
cmp -s out right || complain "--index-base 0 does not read the file as it is counted"

# The target's column is that of the training, whatever file in the present directory has its name or number; a file of targets is not reused.
python3 - <<'P'
import random
random.seed(8)
rows = [(random.gauss(0, 1), random.gauss(0, 1)) for _ in range(60)]
lines = [f"{a},{b},{3 * a - 2 * b + 50}" for a, b in rows]
open("bare.csv", "w").write("\n".join(lines) + "\n")
open("named.csv", "w").write("a,b,price\n" + "\n".join(lines) + "\n")
open("sides.csv", "w").write("\n".join(line.rsplit(",", 1)[0] for line in lines) + "\n")
open("targets", "w").write("".join(line.rsplit(",", 1)[1] + "\n" for line in lines))
P
plain() { # MODEL: writes it as an older release wrote it, without the fact whether the target was a column or a file
    python3 - "$1" <<'P'
import json, struct, sys
raw = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", raw[:8])[0]
head = json.loads(raw[8:8 + size])
for key in ("target_from", "hawser.checksum", "hawser.format"):
    del head["__metadata__"][key]
text = json.dumps(head).encode()
text += b" " * (-len(text) % 8)
open("old_" + sys.argv[1], "wb").write(struct.pack("<Q", len(text)) + text + raw[8 + size:])
P
}
code 0 "$hawser" train lasso bare.csv --target 2 --header no --lambda 0.001 -q -o bare.st
code 0 "$hawser" train lasso named.csv --target price --lambda 0.001 -q -o named.st
code 0 "$hawser" train lasso sides.csv --target targets --header no --lambda 0.001 -q -o sides.st
for model in bare named sides; do plain $model.st; done
for thing in none folder file; do
    rm -rf 2 price
    case $thing in folder) mkdir 2 price ;; file) cp targets 2 && cp targets price ;; esac
    for model in bare named old_bare old_named; do
        code 0 "$hawser" evaluate $model.st "${model#old_}.csv" --json
        json out "o['r2'] > 0.999"
    done
done
rm -rf 2 price
for model in sides old_sides; do
    code 0 "$hawser" evaluate $model.st bare.csv --target 2 --json
    json out "o['r2'] > 0.999"
    code 0 "$hawser" evaluate $model.st named.csv --header yes --json
    json out "o['r2'] < 0.999" # not the targets of other rows: the first column is the target, as in any CSV
done

# Missing values are read as the means of the training data, one row at a time or all together.
cat >gaps.csv <<'T'
y,a,b
1,2,10
2,,14
3,6,
6,10,12
T
printf 'y,a,b\n0,,3\n' >one.csv
printf 'y,a,b\n0,,3\n0,100,3\n0,,\n' >three.csv
code 0 "$hawser" train lasso gaps.csv --missing mean --lambda 0.01 -q -o gaps.st
code 0 "$hawser" info gaps.st --coefficients
cp out weights
code 0 "$hawser" predict gaps.st one.csv
cp out first
code 0 "$hawser" predict gaps.st three.csv
cp out three.out
# A cache keeps the means with the data that they filled.
code 0 "$hawser" data convert gaps.csv --missing mean -q -o gaps.hwc
code 0 "$hawser" train lasso gaps.hwc --lambda 0.01 -q -o cached.st
code 0 "$hawser" predict cached.st three.csv --missing mean -q
cmp -s out three.out || complain "a cache has lost what missing values were read as"
equal "$(head -1 out)" "$(cat first)"
python3 - weights out <<'P' || complain "a missing value is not the training mean"
import sys
w = dict(reversed(line.split("\t")) for line in open(sys.argv[1]).read().splitlines())
b, a, c = (float(w.get(key, 0)) for key in ("(intercept)", "a", "b"))
got = [float(line) for line in open(sys.argv[2])]
want = [b + 6 * a + 3 * c, b + 100 * a + 3 * c, b + 6 * a + 12 * c]
sys.exit(not (a != 0 and all(abs(p - q) < 1e-6 for p, q in zip(got, want))))
P
code 0 "$hawser" train lasso gaps.csv --missing mean --lambda 0.01 -q --validation one.csv --json
python3 - out weights <<'P' || complain "validation does not use the training means"
import json, sys
w = dict(reversed(line.split("\t")) for line in open(sys.argv[2]).read().splitlines())
b, a, c = (float(w.get(key, 0)) for key in ("(intercept)", "a", "b"))
sys.exit(abs(json.loads(open(sys.argv[1]).read())["validation_mse"] - (b + 6 * a + 3 * c) ** 2) > 1e-6)
P
code 0 "$hawser" train lasso gaps.csv --missing zero --lambda 0.01 -q -o zero.st
code 2 "$hawser" predict zero.st one.csv --missing mean
says "--missing mean: zero.st does not keep the means of its training data; train with --missing mean, or use zero or drop"
code 0 "$hawser" predict zero.st one.csv
code 0 "$hawser" train lasso gaps.csv --missing drop --lambda 0.01 -q -o drop.st
code 3 "$hawser" predict drop.st one.csv
says "a value is missing"
# Names that do not fit into a model file are refused before the training, so no training is lost for them.
{ head -c 95000000 /dev/zero | tr '\0' a; printf '\nb\nc\nd\ne\nf\n'; } >long.names
code 3 "$hawser" train lasso small.svm --index-base 1 --names long.names --lambda 0.1 -o long.st
says "the longest is the name of a column, 'aaaa"
[ ! -e long.st ] || complain "a model was written"
rm long.names
# Columns without names are called alike by options, messages, coefficients and plots: as the file counts them, with the target.
python3 - <<'P'
import random, struct
chance = random.Random(5)
rows = [[chance.gauss(0, 1) for _ in range(5)] for _ in range(60)]
for row in rows:
    row[2] = 2 * row[0] - 3 * row[4]
open("wide.csv", "w").write("".join(",".join(map(repr, row)) + "\n" for row in rows))
head = "{'descr': '<f8', 'fortran_order': False, 'shape': (60, 5), }".ljust(117) + "\n"
open("wide.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<300d", *sum(rows, [])))
open("wide.svm", "w").write("".join("%r 1:%r 2:%r 3:%r 4:%r\n" % (r[2], r[0], r[1], r[3], r[4]) for r in rows))
P
for data in "wide.csv --target 2" "wide.npy --target -3" "wide.csv --target 2 --ignore 1"; do
    for launch in "" "run -n 3 --"; do
        code 0 "$hawser" $launch train lasso $data --lambda 0.01 -o wide.st
        has out "^target +column 2$"
        code 0 "$hawser" info wide.st --coefficients --top 2
        equal "$(cut -f 2 out | tr '\n' ' ')" "(intercept) 4 0 "
    done
done
code 0 "$hawser" train lasso wide.csv --target 2 --ignore "$(cut -f 2 out | tail -n 1)" --lambda 0.01 -o less.st -q
code 0 "$hawser" info less.st --coefficients --top 1
has out "	4$"
code 0 "$hawser" train lasso wide.svm --lambda 0.01 -o wide.st -q
code 0 "$hawser" info wide.st --coefficients --top 2
equal "$(cut -f 2 out | tr '\n' ' ')" "(intercept) 4 1 "
sed 's/^\([^,]*,[^,]*,[^,]*,\)[^,]*/\1/' wide.csv >gap.csv
code 3 "$hawser" train lasso gap.csv --target 2 -q
says "gap.csv:1:[0-9]*: a value is missing in column 3; use --missing"
code 3 "$hawser" train lasso gap.csv --target 2 --missing mean -q
says "every value of column 3 is missing, so it has no mean; leave it out .--ignore."
code 3 "$hawser" run -n 3 -- train lasso gap.csv --target 2 --missing mean -q
has err "gap.csv: every value of column 3 is missing"
printf '0\n0\n0.5\n0\n' >bounds
code 3 "$hawser" train lasso wide.csv --target 2 --lower bounds -q
says "bounds:3: 0.5 for column 3 excludes zero"
code 2 "$hawser" train lasso wide.csv --target 2 --ignore 2 -q
says "ignore: column 2 of wide.csv is the target"
finish
