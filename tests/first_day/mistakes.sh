#!/usr/bin/env bash
# Mistakes of a first day: each is refused by one line that names the place and what to do, and leaves no file.
source "$HAWSER_SOURCE/tests/integration/cli.bash"

python3 - <<'P'
import random
random.seed(1)
rows = [["town", "rooms", "area", "price"]]
for _ in range(60):
    rooms, area = random.randint(1, 6), random.uniform(20, 200)
    rows.append([random.choice(["Bonn", "Graz", "Lyon"]), str(rooms), f"{area:.1f}", f"{3 * area + 10 * rooms + random.gauss(0, 5):.1f}"])
def put(name, line=None):
    with open(name, "w") as file:
        for i, row in enumerate(rows):
            print(line if line and i == 20 else ",".join(row), file=file)
put("houses.csv")
put("typo.csv", "Bonn,3,12o.5,400")
put("thousands.csv", 'Bonn,3,"1,250.5",400')
put("gap.csv", "Bonn,,120.5,400")
for row in rows[1:]:
    row[1] = "$" + row[1]
put("dollars.csv")
open("mac.csv", "w").write("\r".join(map(",".join, rows)) + "\r")
open("lines.csv", "w").write('note,price\n"one\nnote",3\n"never closed,4\nx,5\n')
P
printf 'town,rooms\nBonn,3\n' >narrow.csv
printf 'town,rooms,area\nKyiv,3,70\n' >later.csv
train=("$hawser" train lasso --target price --lambda 1 -o model)
code 0 "${train[@]}" houses.csv
cp model kept

# mistake STATUS PATTERN COMMAND...: it is refused by this line alone, prints nothing, and the model and the folder are as before.
mistake() {
    local status=$1 pattern=$2 before
    shift 2
    before=$(ls)
    code "$status" "$@"
    says "$pattern"
    equal "$(wc -l <err)" 1
    equal "$(wc -c <out)" 0
    equal "$(ls)" "$before"
    cmp -s model kept || complain "the model has changed: $*"
}
touch out err
mistake 3 "houses.csv: the target 'prize' is neither .* nor a file; its columns are town, rooms, area, price" "$hawser" train lasso houses.csv \
    --target prize -o new
mistake 2 "unknown option --alpha: lasso has none; .*; glmnet's alpha is --l1-ratio" "${train[@]}" houses.csv --alpha 0.5
mistake 2 "no algorithm 'laso'; did you mean 'lasso'" "$hawser" train laso houses.csv -o new
mistake 3 "typo.csv:21: column 2 'area' has numbers .* and words .*'12o.5'.*--categories area" "${train[@]}" typo.csv
mistake 3 "thousands.csv:21:9: a comma is in the number; write a decimal point, and no groups" "${train[@]}" thousands.csv
mistake 3 "gap.csv:21:6: a value is missing in column 1 'rooms'; use --missing zero, mean or drop" "${train[@]}" gap.csv
mistake 3 "the target has words \('Bonn', ...\), and a regression needs numbers; 'hawser train logistic'" "$hawser" train lasso houses.csv \
    --target town -o new
mistake 3 "narrow.csv: has no column 'area', which the model needs" "$hawser" predict model narrow.csv -o new
mistake 3 "later.csv:2:1: column 0 'town' has a word that the training data did not have; --unseen zero .*\"Kyiv\"" "$hawser" predict model \
    later.csv -o new
mistake 2 "ignore is given twice, as 'town' and 'rooms', .*; where several columns are meant, write one list: --ignore town,rooms" \
    "${train[@]}" houses.csv --ignore town --ignore rooms
mistake 3 "dollars.csv:2:6: column 1 'rooms' has a number with a sign of currency or percent; write the number alone, or .*categories" \
    "${train[@]}" dollars.csv
mistake 3 "mac.csv: its lines end in carriage returns alone; convert them" "${train[@]}" mac.csv
mistake 3 "lines.csv:4:1: no quote closes the field that begins here" "${train[@]}" lines.csv
mistake 3 "houses.csv:2:1: the weight is not a number" "${train[@]}" houses.csv --weights town
mistake 3 "houses.csv: not a whole model file" "$hawser" predict houses.csv model -o new
mistake 2 "categories = 'rooms': the model says which of its columns are words or dates; leave --categories out" "$hawser" predict model \
    houses.csv --categories rooms -o new
finish
