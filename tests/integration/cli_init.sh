#!/usr/bin/env bash
# A training that is started again continues from its own model: --init and -o of one file, by names of columns, on one node and several.
source "$(dirname "$0")/cli.bash"
small_problem
objective_of() { tail -1 out | sed 's/.*"objective":\([^,]*\).*/\1/'; }

# X does not exist yet: refused, but zeros with --init-if-exists; then X is read, and replaced.
words=(lasso small.csv --lambda 0.05 --tol 1e-9 --json)
code 4 "$hawser" train "${words[@]}" --init x.st -o x.st
says "x.st: cannot open"
code 2 "$hawser" train "${words[@]}" --init-if-exists -o x.st
says "--init-if-exists does nothing here: there is no --init MODEL"
code 0 "$hawser" train "${words[@]}" --init x.st --init-if-exists -o x.st
says "--init: 'x.st' does not exist yet; the training starts from zero"
objective=$(objective_of)
code 0 "$hawser" train "${words[@]}" --init x.st --init-if-exists -o x.st --trace trace
lacks err "does not exist"
lacks err "anew"
python3 - "$objective" <<'P' || complain "the training did not start at its model: $(head -3 trace)"
import csv, sys
first = next(float(row["objective"]) for row in csv.DictReader(open("trace")) if row["objective"])
sys.exit(not abs(first - float(sys.argv[1])) < 1e-8)
P
equal "$(find . -name 'x.st*' | wc -l)" 1

# A plan takes and refuses what the training does, on several nodes too.
plan=(lasso small.csv --lambda 0.05)
for launch in "" "run -n 2 --"; do
    code 0 "$hawser" $launch plan "${plan[@]}" --init x.st
    has out "lasso"
    code 0 "$hawser" $launch plan "${plan[@]}" --init none.st --init-if-exists
    has err "'none.st' does not exist yet"
done
code 4 "$hawser" plan "${plan[@]}" --init none.st
says "none.st: cannot open"
code 2 "$hawser" plan "${plan[@]}" --init betas=x.st
says "lasso does not start from 'betas'"

# A damaged X is refused, with the flag too, and stays as it is.
head -c 400 x.st >y.st
cp y.st y.before
for flag in --quiet --init-if-exists; do
    code 3 "$hawser" train "${words[@]}" --init y.st "$flag" -o y.st
    says "y.st: not a whole model file"
done
cmp -s y.st y.before || complain "a damaged model was replaced"
code 4 "$hawser" train "${words[@]}" --init . --init-if-exists
says "a model must be a plain file"

# By name: the same columns in another order start at the same objective, as does a new column; a missing one is refused.
python3 - <<'P'
import csv
rows = list(csv.DictReader(open("small.csv")))
for name, columns in {"same": "y a b c d e f", "swapped": "y d b f a e c", "wider": "y new d b f a e c", "less": "y b c d e f"}.items():
    for kind in "number", "label":
        with open(f"{name}.{kind}.csv", "w") as out:
            out.write(columns.replace(" ", ",") + "\n")
            for n, row in enumerate(rows):
                values = dict(row, new=str(n % 3), y=row["y"] if kind == "number" else str(int(float(row["y"]) > 0)))
                out.write(",".join(values[column] for column in columns.split()) + "\n")
P
begin_at_once() { # KIND WORDS...: prints the distance of the objective after one clock from the optimum, if the training starts at the optimum's model
    local kind=$1
    shift
    code 0 "$hawser" train "$@" "same.$kind.csv" --tol 1e-9 --quiet --json -o start.st
    local best data launch
    best=$(objective_of)
    for data in swapped wider; do
        for launch in "" "run -n 3 --"; do
            # shellcheck disable=SC2086
            code 0 "$hawser" $launch train "$@" "$data.$kind.csv" --init start.st --max-clocks 1 --quiet --json
            json out "abs(o['objective'] - $best) < 1e-4 * abs($best)"
        done
    done
    code 3 "$hawser" train "$@" "less.$kind.csv" --init start.st
    says "the model has a coefficient for the column 'a', which the data do not have"
}
begin_at_once number lasso --lambda 0.05
begin_at_once number linear
begin_at_once label logistic --lambda 0.01

printf '%s\n' a a d e f c >names
code 3 "$hawser" train lasso small.svm --names names --init start.st
says "two columns are named 'a'"

# Node 0 reads the file and decides for all nodes: the folders of the others have another X, or none.
mkdir -p 0 1 2
cp x.st 0/x.st
echo "no model" >1/x.st
# shellcheck disable=SC2016
printf '#!/bin/sh\ncd "$HAWSER_NODE" && exec "$@"\n' >apart
chmod +x apart
apart=("$hawser" run -n 3 -- ./apart "$hawser" train lasso "$PWD/small.csv" --lambda 0.05 --tol 1e-9 --init x.st --init-if-exists
    -o x.st)
code 0 "${apart[@]}" --max-clocks 1 --json
json out "abs(o['objective'] - $objective) < 1e-8"
rm 0/x.st
code 0 "${apart[@]}"
has err "--init: 'x.st' does not exist yet; the training starts from zero"
equal "$(cat 1/x.st)" "no model"
[[ -s 0/x.st && ! -e 2/x.st ]] || complain "another node than 0 wrote"
head -c 300 x.st >0/x.st
code 3 "${apart[@]}"
has err "x.st: not a whole model file"

# A file of numbers: a model cannot stand beside it, and no output may overwrite it.
seq 1 5 >numbers
code 2 "$hawser" train lasso small.csv --init coefficients=numbers --init x.st
says "'x.st,coefficients=numbers' has a model, which sets the states, and files of states; give one of them"
code 2 "$hawser" train lasso small.csv --init alpha=numbers -o ./numbers
says "--output: './numbers' would overwrite a file of --init; name another file"

# A path and its folds start at zero, which is printed; the first lambda starts at the model.
code 0 "$hawser" train lasso small.csv --path 5 --init x.st -o x.st
says "--init: 'x.st' is where the first lambda starts; the path begins anew"
code 0 "$hawser" train lasso small.csv --path 5 --cv 3 --init x.st -o x.st
says "'x.st' is where the first lambda starts; the path and the folds of --cv begin anew"
finish
