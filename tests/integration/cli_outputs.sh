#!/usr/bin/env bash
# No input is ever overwritten, whatever option or name it has, and no two outputs are one file.
source "$(dirname "$0")/cli.bash"
small_problem
code 0 "$hawser" train lasso small.svm -q -o m.st
for ((i = 0; i < 120; i++)); do echo 1; done >weights
cp weights offset
for ((i = 0; i < 6; i++)); do echo 1; done >factors
cp factors upper
printf 'a\nb\nc\nd\ne\nf\n' >names
echo 'tol = 1e-5' >run.conf
cp small.svm validation.svm
mkdir sub
ln -s ../small.svm sub/link.svg
ln small.svm hard.svg
md5sum -- *.svm weights offset factors upper names run.conf m.st >before
all=(train lasso small.svm --index-base 1 --validation validation.svm --weights weights --offset offset --penalty-factors factors
     --upper upper --names names --config run.conf --init m.st --quiet)
code 0 "$hawser" "${all[@]}" -o fine.st --trace fine.csv
for key in output trace log-json; do
    for file in validation.svm weights offset factors upper names run.conf m.st ./weights sub/../m.st "$PWD/names"; do
        [[ $key == output && $file == *m.st ]] && continue # a training may continue from its own model
        code 2 "$hawser" "${all[@]}" "--$key" "$file"
        says "--$key: '$file' would overwrite the file of --(validation|weights|offset|penalty-factors|upper|names|config|init)"
    done
    code 2 "$hawser" "${all[@]}" "--$key" ./small.svm
    says "--$key: './small.svm' would overwrite the input 'small.svm'"
done
for link in sub/link.svg hard.svg; do
    code 2 "$hawser" "${all[@]}" --plot "$link"
    says "--plot: '$link' would overwrite the input"
done
# A glob's files are inputs too.
cp small.svm part1.svm
code 2 "$hawser" train lasso 'part*.svm' --quiet -o part1.svm
says "--output: 'part1.svm' would overwrite the input 'part1.svm', which part\*.svm matches"
# Two outputs with one path are refused, whether the file exists or not, and under other names too.
code 2 "$hawser" train lasso small.svm --quiet -o new --trace sub/../new
says "--output and --trace would write one file, 'sub/../new'"
[[ ! -e new ]] || complain "something was written"
code 2 "$hawser" train lasso small.svm --quiet --log-json fine.csv --trace ./fine.csv
says "--trace and --log-json would write one file"
code 0 "$hawser" train lasso small.svm --quiet --log-json /dev/null --trace /dev/null
# The other commands.
code 2 "$hawser" predict m.st small.svm -o m.st
says "would overwrite the input 'm.st'"
code 2 "$hawser" data convert small.svm -o ./small.svm
says "would overwrite the input"
code 0 "$hawser" data convert small.svm -o m.mtx
code 2 "$hawser" data convert m.mtx --target m.mtx.target -o m.mtx
says "would overwrite the input"
cp m.mtx.target n.mtx.target
code 2 "$hawser" data convert m.mtx --target n.mtx.target -o n.mtx
says "'n.mtx.target' would overwrite the file of --target"
cp small.svm p.2.svm
code 2 "$hawser" data split p.2.svm -o p --parts 3
says "'p.2.svm' would overwrite the input"
[[ ! -e p.1.svm ]] || complain "a part was written before the refusal"
cp small.svm p.test.svm
code 2 "$hawser" data split p.test.svm -o p --fraction 0.5
code 2 "$hawser" data generate dense --rows 5 --cols 3 -o g.csv --truth ./g.csv
says "--output and --truth would write one file"
code 2 "$hawser" data generate dense --rows 5 --cols 3 -o g.mtx --truth ./g.mtx.target
says "--truth and --output would write one file, 'g.mtx.target'"
[[ ! -e g.mtx && ! -e g.mtx.target ]] || complain "a problem was written beside its refusal"
# Node N's part of a history is FILE.N: neither an input nor a file of node 0.
cp small.svm h.1
echo precious >h
md5sum h h.1 >>before
code 2 "$hawser" run -n 2 -- train lasso h.1 --quiet --record-history h
has err "--record-history: 'h.1' would overwrite the input 'h.1'"
code 2 "$hawser" run -n 2 -- train lasso small.svm --quiet --record-history h --validation h.1
has err "--record-history: 'h.1' would overwrite the file of --validation"
code 2 "$hawser" run -n 2 -- train lasso small.svm --quiet --record-history t --trace t.1
has err "--trace and --record-history would write one file, 't.1'"
code 0 "$hawser" train lasso h.1 --quiet --record-history alone
# Node 0 alone writes, so only node 0 needs the path; if it refuses, all nodes end with its message.
mkdir -p 0/sub 1
printf '#!/bin/sh\ncd "$HAWSER_NODE" && exec "$@"\n' >apart
chmod +x apart
code 0 "$hawser" run -n 2 -- ./apart "$hawser" train lasso "$PWD/small.svm" --quiet -o sub/m.st --trace sub/trace --plot sub/p.svg \
    --log-json sub/log
for file in m.st trace p.svg log; do [[ -s 0/sub/$file ]] || complain "no $file"; done
for key in output trace plot log-json; do
    code 4 "$hawser" run -n 2 -- train lasso small.svm --quiet "--$key" nowhere/file.svg
    equal "$(grep -c nowhere/file.svg err)" "$(grep -c '^\[' err)"
done
# Servers read the key and the tables to load; the tables may be saved to the same file.
code 0 "$hawser" key key
echo tables >tables
md5sum key tables >>before
for words in "--address-file key" "--address-file ./tables --load tables" "-o key" "--address-file tables -o ./tables"; do
    # shellcheck disable=SC2086
    code 2 "$hawser" serve --key-file key --load tables $words
    says "would (overwrite the file of --(key-file|load)|write one file)"
done
code 3 "$hawser" serve --key-file key --load tables -o tables # the file has no tables
md5sum --quiet -c before || complain "a file that is read was written"
finish
