#!/usr/bin/env bash
# Help, manual page and completion: every row is in each of them, every command has a page.
source "$(dirname "$0")/cli.bash"

code 2 "$hawser"
has err "usage: hawser"
for words in "help" "--help" "-h"; do
    code 0 "$hawser" $words
    has out "usage: hawser"
done
code 0 "$hawser" version
has out "^hawser [0-9]+\.[0-9]+\.[0-9]+"
code 0 "$hawser" --version
has out "^hawser [0-9]"

commands=$("$hawser" help | sed -n 's/^  \(data [a-z]*\|store [a-z]*\|[a-z]*\)  .*/\1/p')
equal "$(wc -l <<<"$commands")" 26
# The usual options fit on a screen; all of them are below titles, each once.
short() {
    lacks out ' $'
    (($(wc -l <out) <= 40 && $(wc -L <out) <= 80)) || complain "the help of $1 has $(wc -l <out) lines of up to $(wc -L <out) columns"
}
all_of() {
    lacks out ' $'
    (($(wc -L <out) <= 80)) || complain "--help-all of $1 has $(wc -L <out) columns"
    equal "$(grep -E '^[^ ].*:$' out | sort | uniq -d)" ""
    equal "$(sed -nE 's/^  (-., )?--(\[no-\])?([^ ]+).*/\3/p' out | sort | uniq -d)" ""
    equal "$(grep -cE '^[0-9.]+:$' out)" 0
}
while read -r command; do
    code 0 "$hawser" help $command
    has out "^usage: hawser $command"
    short "$command"
    cp out page
    code 0 "$hawser" $command --help
    cmp -s out page || complain "$command --help is not help $command"
    code 0 "$hawser" $command --help-all
    has out "^usage: hawser $command"
    has out "^Options of every command:"
    all_of "$command"
done <<<"$commands"
for algorithm in $("$hawser" completion bash | sed -n "s/.*compgen -W 'algorithms \(.*\) coming-from .*/\1/p"); do
    for command in train plan; do
        code 0 "$hawser" $command "$algorithm" --help
        has out "^usage: hawser $command $algorithm"
        short "$command $algorithm"
        code 0 "$hawser" $command "$algorithm" --help-all
        all_of "$command $algorithm"
    done
    algorithms="${algorithms-} $algorithm"
done
[[ ${algorithms-} == *lasso* ]] || complain "no page of lasso was checked"
code 0 "$hawser" help data
has out "hawser data split"
code 0 "$hawser" help store
has out "^hawser store stat$"
code 0 "$hawser" train lasso --help
has out "^usage: hawser train lasso"
has out "hawser train lasso --help-all"
cp out page
code 0 "$hawser" help lasso
cmp -s out page || complain "help lasso is not train lasso --help"
code 0 "$hawser" help train lasso
cmp -s out page || complain "help train lasso is not train lasso --help"
code 0 "$hawser" train lasso --help-all
cp out page
for flag in lambda lambda-ratio l1-ratio tol workers sync exchange-every filter quota merge max-clocks seed json quiet trace plot \
    output log-view log-json config init validation; do
    grep -qE -- "--(\[no-\])?$flag( |$)" page || complain "train lasso --help has no --$flag"
done
for number in 0 1 2 3 4 5 6 7 8 130; do
    code 0 "$hawser" help exit-codes
    has out "^  $number "
done
code 0 "$hawser" help algorithms
has out "^lasso: "
for topic in exit-codes sync options cluster shared-store store formats json trace measures models; do
    code 0 "$hawser" help "$topic"
    (($(wc -l <out) > 3)) || complain "help $topic is short"
done
code 0 "$hawser" help sync
for policy in bsp ssp:S tap delay:T dc:D; do
    has out "^  $policy "
done
code 2 "$hawser" help train lasso json
says "unexpected argument 'json'; usage: hawser help"
code 2 "$hawser" help synk
says "did you mean 'sync'"

# The first day of `hawser help` works as it is printed, in a folder of its own.
code 0 "$hawser" help
sed -n '/^A first day/,/^$/s/^  //p' out >day.sh
equal "$(wc -l <day.sh)" 6
mkdir day bin
ln -s "$hawser" bin/hawser
(cd day && PATH=$PWD/../bin:$PATH bash -e ../day.sh >../said 2>&1) || complain "the first day fails: $(tail -3 said)"
equal "$(wc -l <day/day.txt)" 400
grep -qE '^r2 +0\.9' said || complain "the first day's model does not predict"

# Words of other software: what the page offers exists, and a mistaken word gets the same answer.
code 0 "$hawser" help coming-from
sed -E 's/^  [^ ]+ +//' out >ours
"$hawser" help options >all
for flag in $(grep -oE -- '--(no-)?[a-zA-Z0-9-]+' ours | sort -u); do
    grep -qE -- "--(\[no-\])?${flag#--}( |$)" all || [[ $flag == --no-intercept ]] || complain "coming-from offers $flag, which does not exist"
done
for word in $(grep -oE 'train [a-z]+' ours | cut -d ' ' -f 2 | sort -u); do
    "$hawser" train "$word" --help >page || complain "coming-from offers train $word"
done
has out "^  lambda.min.ratio +--lambda-min-ratio$"
code 2 "$hawser" train lasso small.svm --alpha 1
says "unknown option --alpha: lasso has none; of the algorithms, these have it: lda; glmnet's alpha is --l1-ratio; scikit-learn's alpha is --lambda"
code 2 "$hawser" train svm small.svm --standardize
says "unknown option --standardize: svm has none; of the algorithms, these have it: .*lasso.*softmax"
code 2 "$hawser" plan kmeans small.svm --no-intercept
says "unknown option --no-intercept: kmeans has none; of the algorithms, these have it: .*svm"
code 2 "$hawser" train logistic small.svm --class_weight=balanced
says "scikit-learn's class_weight is --class-weight"
code 2 "$hawser" train lasso small.svm --learning-rate 1
says "XGBoost's learning_rate is --step"
code 2 "$hawser" train ridge small.svm
says "no algorithm 'ridge'; scikit-learn's Ridge is train lasso --l1-ratio 0"
code 2 "$hawser" predict_proba small.svm
says "no command 'predict_proba'; scikit-learn's predict_proba is predict --proba"
code 2 "$hawser" train logistic small.svm --scoring roc_auc
says "scikit-learn's scoring is --cv-metric"
code 2 "$hawser" train lasso small.svm --foldid f
says "glmnet's foldid is --folds FILE"
code 2 "$hawser" train lasso small.svm --lamda 1
says "did you mean --lambda"
code 0 "$hawser" help lambda.1se
has out "glmnet's lambda.1se is --cv-rule 1se"

# The meaning of each word of an option comes from the rows of its table.
for pair in "filter:round-robin" "sync:delay:N" "encoding:bf16" "merge:average" "format:matrix-market"; do
    code 0 "$hawser" help "${pair%%:*}"
    grep -qE "^  ${pair#*:} +[a-z0-9]" out || complain "help ${pair%%:*} does not say what ${pair#*:} is"
done

# Every row of every page is in `help options`, in the manual and in the completion, and is a topic of its own.
"$hawser" help options >all
"$hawser" man >manual
sed 's/\\//g' manual >plain
"$hawser" completion bash >bash
"$hawser" completion zsh >zsh
"$hawser" completion fish >fish
keys=$( (while read -r command; do "$hawser" $command --help-all; done <<<"$commands"; "$hawser" train lasso --help-all) |
    sed -nE 's/^  (-., )?--(\[no-\])?([a-z0-9-]+)( .*)?$/\3/p' | sort -u)
(($(wc -l <<<"$keys") > 40)) || complain "only $(wc -l <<<"$keys") keys found"
while read -r key; do
    grep -qE -- "--(\[no-\])?$key( |$)" all || complain "$key is not in help options"
    grep -qE -- "--(\[no-\])?$key( |$)" plain || complain "$key is not in the manual"
    grep -qE -- " --$key( |')" bash || complain "$key is not in the completion for bash"
    grep -qE -- " -l $key( |$)" fish || complain "$key is not in the completion for fish"
    "$hawser" help "$key" >page || complain "help $key"
done <<<"$keys"

bash -n bash || complain "the completion for bash does not parse"
completions() { # WORD...: prints bash's completions of the last word
    bash -c 'source ./bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hawser; printf "%s\n" "${COMPREPLY[@]}"' x "$@"
}
equal "$(completions hawser tra)" train
equal "$(completions hawser data con)" convert
equal "$(completions hawser store g)" get
equal "$(completions hawser store put --key-f)" --key-file
while read -r first second; do # every command by its words
    completions hawser "${first:0:2}" | grep -qx "$first" || complain "bash does not offer $first"
    equal "$(completions hawser '' | grep -cx "$first")" 1
    equal "$(grep -cF -- "'__fish_use_subcommand' -a '$first' -d" fish)" 1
    [[ -n $second ]] || continue
    completions hawser "$first" "${second:0:2}" | grep -qx "$second" || complain "bash does not offer $first $second"
    equal "$(grep -cE -- "_from $first; and not [^']*' -a '$second' -d" fish)" 1
done <<<"$commands"
equal "$(completions hawser train las)" lasso
equal "$(completions hawser train lasso --lambda-r)" --lambda-ratio
equal "$(completions hawser train lasso --merge ad)" add
equal "$(completions hawser data generate --tru)" --truth
equal "$(completions hawser train kmeans --init cen)" centres=
equal "$(completions hawser plan softmax --init '' | grep = | tr '\n' ' ')" "coefficients= intercepts= "
equal "$(completions hawser train lasso --init ./fis)" ./fish
has fish "__fish_seen_subcommand_from train; and __fish_seen_subcommand_from svm' -l init -a 'coefficients= intercepts='"
if command -v zsh >/dev/null; then zsh -n zsh || complain "the completion for zsh does not parse"; fi
if command -v fish >/dev/null; then fish -n fish || complain "the completion for fish does not parse"; fi
code 2 "$hawser" completion tcsh
says "bash, zsh and fish"

# All keys of --json are in `help json`, and no others.
small_problem
awk '{ $1 = ($1 > 0) ? 1 : -1; print }' small.svm >classes.svm
awk '{ $1 = ($1 > 0) ? int($1) + 1 : 0; print }' small.svm >counts.svm
printf '0 1:2 3:1\n0 2:4\n' >words.svm
"$hawser" help json >page
for words in "train lasso small.svm" "train lasso small.svm --cv 3" "train lasso small.svm --cv 3 --cv-metric mae" "train lasso small.svm --cv 3 --max-clocks 1" "train logistic classes.svm --cv 3" "train linear small.svm" \
    "train logistic classes.svm --validation classes.svm" "train lasso small.svm --validation small.svm" \
    "train poisson counts.svm --cv 3" "train poisson counts.svm --validation counts.svm" \
    "train kmeans small.svm --clusters 2 --validation small.svm" "train svm classes.svm --validation classes.svm" \
    "train softmax classes.svm --validation classes.svm" "train lda words.svm --iterations 3" \
    "train svm small.svm --loss epsilon --validation small.svm" "run -n 2 -- train lasso small.svm"; do
    # shellcheck disable=SC2086
    code 0 "$hawser" $words --quiet --json
    tail -1 out >>lines
done
python3 - lines page <<'P' || complain "help json is not what --json prints"
import json, re, sys
def keys(o):
    if isinstance(o, list):
        return {key for one in o for key in keys(one)}
    return {key for k, v in o.items() for key in {k} | (keys(v) if k != "options" else set())} if isinstance(o, dict) else set()
printed = set().union(*(keys(json.loads(line)) for line in open(sys.argv[1])))
text = set(re.findall(r"[A-Za-z_0-9]+", open(sys.argv[2]).read()))
told = {word for word in text if "_" in word and not word.isupper()}
print("not in the help:", sorted(printed - text), "not printed:", sorted(told - printed), file=sys.stderr)
sys.exit(bool(printed - text or told - printed))
P

# The manual page formats without a warning.
if command -v groff >/dev/null; then
    groff -man -Tascii -ww manual >text 2>complaints || complain "groff fails"
    [[ ! -s complaints ]] || complain "groff: $(head -3 complaints)"
    has text "hawser - train models"
elif command -v mandoc >/dev/null; then
    mandoc -man manual >text || complain "mandoc fails"
fi

# A full disk is reported by the help.
if [[ -e /dev/full ]]; then
    "$hawser" help options >/dev/full 2>err && complain "help into a full disk succeeded"
    says "standard output"
fi
finish
