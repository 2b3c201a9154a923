#!/usr/bin/env bash
# data info, convert, split, generate: written data are read back unchanged.
source "$(dirname "$0")/cli.bash"
small_problem

code 0 "$hawser" data info small.svm
has out "^rows +120"
code 0 "$hawser" data info small.csv --json
json out 'o["rows"] == 120 and o["columns"] == 6 and o["target_name"] == "y" and o["named"] and o["format"] == "csv"'
code 0 "$hawser" data info small.svm --json
json out 'o["stored"] == 720 and o["index_base"] == 1 and o["format"] == "svmlight"'

# Each format and back: the same rows, to the last bit.
canonical() { "$hawser" data convert "$1" "${@:3}" -o "$2" --quiet || complain "convert $1 to $2"; }
canonical small.svm first.svm --index-base 1
for format in hwc csv npy mtx; do
    canonical small.svm "there.$format" --index-base 1
done
canonical there.hwc back.svm
cmp -s first.svm back.svm || complain "svm - hwc - svm is not what it was"
canonical there.csv back.svm
python3 - <<'P' || complain "svm - csv - svm is not what it was"
def numbers(path):
    return [[float(w.split(":")[-1]) for w in line.split()] for line in open(path)]
assert numbers("first.svm") == numbers("back.svm") == numbers("small.svm")
P
code 0 "$hawser" data info there.hwc --json
json out 'o["format"] == "cache" and o["rows"] == 120 and o["stored"] == 720'
code 4 "$hawser" data convert small.svm -o absent/x.svm
if [[ -e /dev/full ]]; then
    ln -s /dev/full full.svm
    code 4 "$hawser" data convert small.svm -o full.svm
fi

# Parts are runs of rows in order; a fraction is a partition, the same for the same seed.
code 0 "$hawser" data split first.svm --parts 3 -o part --index-base 1
cat part.1.svm part.2.svm part.3.svm | cmp -s - first.svm || complain "the parts are not the whole"
equal "$(wc -l <out)" 3
code 0 "$hawser" data split first.svm --fraction 0.25 --seed 4 -o one --index-base 1
equal "$(wc -l <one.test.svm)" 30
equal "$(wc -l <one.train.svm)" 90
sort one.test.svm one.train.svm | cmp -s - <(sort first.svm) || complain "train and test are not the whole"
code 0 "$hawser" data split first.svm --fraction 0.25 --seed 4 -o two --index-base 1
cmp -s one.test.svm two.test.svm || complain "the same seed draws other rows"
code 0 "$hawser" data split first.svm --fraction 0.25 --seed 5 -o two --index-base 1
! cmp -s one.test.svm two.test.svm || complain "another seed draws the same rows"
code 0 "$hawser" data split small.csv --target y --fraction 0.5 --to csv -o c
equal "$(head -1 c.test.csv)" "$(head -1 c.train.csv)"
# Lines of a CSV file are copied, with its header, words, gaps, quotes and line ends; any option on columns makes numbers of them.
python3 - <<'P'
rows = ["%d,%s,\"a, \"\"%d\"\"\",2026-01-%02d\r\n" % (i, "" if i % 7 == 0 else "Gr\u00fcn", i % 3, 1 + i % 28) for i in range(90)]
open("raw.csv", "w", newline="", encoding="utf-8").write("\ufeffn,word,quoted,day\r\n" + "\r\n".join(["".join(rows[:40]), "".join(rows[40:]).rstrip("\r\n")]))
open("rows", "w", newline="", encoding="utf-8").writelines(rows)
open("bare.csv", "w").writelines("%d,%d\n" % (i, i * i) for i in range(9))
P
gzip -k raw.csv
for input in raw.csv raw.csv.gz; do
    code 0 "$hawser" data split $input --fraction 0.2 --seed 4 -o raw
    equal "$(cat out)" "raw.train.csv	72 rows
raw.test.csv	18 rows"
    for part in train test; do
        equal "$(head -n 1 raw.$part.csv)" "n,word,quoted,day"$'\r'
        tail -n +2 raw.$part.csv | sed 's/\r*$/\r/' >raw.$part
    done
    LC_ALL=C sort raw.train raw.test | cmp -s - <(LC_ALL=C sort rows) || complain "train and test are not the lines of $input"
done
# A quote that nothing closes is refused where it opens, and nothing is written.
for seed in 1 2 3 4; do
    place=$(python3 - $seed <<'P'
import random, sys
draw = random.Random(int(sys.argv[1]))
at, end = draw.randrange(1, 40), draw.choice(["\n", "\r\n"])
rows = ["n,word,m"] + [f"{i},{draw.choice(['z', 'u v'])},{draw.random()}" for i in range(60)]
rows[at + 1] = '%d,"%s,1' % (at, draw.choice(["never closed", 'a ""b""', "5 x"]))
open("torn.csv", "w", newline="").write(end.join(rows) + end)
print(f"{at + 2}:{len(str(at)) + 2}")
P
)
    code 3 "$hawser" data split torn.csv --parts 2 -o torn
    says "torn.csv:$place: no quote closes the field that begins here"
    [[ ! -e torn.1.csv && ! -e torn.2.csv ]] || complain "a torn row was written"
done
code 0 "$hawser" data split raw.csv --parts 4 -o raw
cat raw.[1-4].csv | sed 's/\r*$/\r/' | grep -v '^n,' | cmp -s - rows || complain "the parts are not the lines"
code 0 "$hawser" data split bare.csv --parts 2 -o bare
cat bare.1.csv bare.2.csv | cmp -s - bare.csv || complain "the parts of a file without names are not its lines"
code 0 "$hawser" data split raw.csv --parts 2 --dates day --missing level -o raw
has err "words and dates were written as columns of numbers"
equal "$(cut -f 1 out)" "raw.1.svm
raw.2.svm"
cp raw.csv raw.train.csv
code 2 "$hawser" data split raw.train.csv --fraction 0.5 -o raw
says "would overwrite the input"
cmp -s raw.csv raw.train.csv || complain "the input was overwritten"
code 2 "$hawser" data split raw.csv --parts 91 -o raw
says "the input has only 90 rows"
# The formats of --to are the rows that can be written.
"$hawser" data split small.csv --target y --parts 2 --to hwc -o cached >out
code 0 "$hawser" data info cached.2.hwc --json
grep -q '"format":"cache"' out || complain "--to hwc writes another format: $(cat out)"
code 2 "$hawser" data split small.csv --parts 2 --to idx -o c
says 'svm|csv|mtx|npy|hwc'

# The bounds in the help are the checked ones: the largest size is refused for its memory, the next one for its number.
code 5 "$hawser" data generate dense --rows 4294967294 --cols 1073741822 -o g.svm
says "generating 4294967294 x 1073741822 needs about"
code 2 "$hawser" data generate dense --rows 4294967295 --cols 1 -o g.svm
says '\[1,4294967294\]'
code 2 "$hawser" data generate dense --rows 1 --cols 1073741823 -o g.svm
says '\[1,1073741822\]'

# Generated problems have the requested size, the same bits for a seed, and a truth that explains the target.
for kind in dense url; do
    code 0 "$hawser" data generate $kind --rows 300 --cols 200 --nonzeros 10 --seed 3 -o g.svm --truth truth
    cp g.svm again.svm
    code 0 "$hawser" data generate $kind --rows 300 --cols 200 --nonzeros 10 --seed 3 -o g.svm
    cmp -s g.svm again.svm || complain "$kind: the same seed gives other bits"
    python3 - <<'P' || complain "$kind: size or truth"
w = [float(line) for line in open("truth")]
assert len(w) == 200 and sum(v != 0 for v in w) == 10
rows = open("g.svm").read().split("\n")[:-1]
assert len(rows) == 300
y = [float(r.split()[0]) for r in rows]
p = [sum(float(v) * w[int(j) - 1] for j, v in (e.split(":") for e in r.split()[1:])) for r in rows]
my, mp = sum(y) / 300, sum(p) / 300
cov = sum((a - my) * (b - mp) for a, b in zip(y, p))
assert cov ** 2 / sum((a - my) ** 2 for a in y) / sum((b - mp) ** 2 for b in p) > 0.9
P
done
# A split prints the same messages as any other reading of its input.
printf 'y,a,b\n1,2,3\n2,,4\n3,4,5\n4,5,6\n' >gaps.csv
code 0 "$hawser" data split gaps.csv --missing drop --parts 2 -o gaps
has err "^hawser: 1 rows with missing values were dropped$"
printf '1 2:1 3:2\n2 2:3 3:4\n3 3:1\n4 2:1\n' >guess.svm
code 0 "$hawser" data split guess.svm --parts 2 -o guess --delimiter ';'
has err "cannot tell whether column indices start at 0 or 1"
has err "--delimiter"
code 0 "$hawser" data split guess.svm --parts 2 -o guess --delimiter ';' --quiet
equal "$(cat err)" ""
finish
