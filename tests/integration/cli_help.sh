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
equal "$(wc -l <<<"$commands")" 25
while read -r command; do
    code 0 "$hawser" help $command
    has out "^usage: hawser $command"
    cp out page
    code 0 "$hawser" $command --help
    cmp -s out page || complain "$command --help is not help $command"
done <<<"$commands"
code 0 "$hawser" help data
has out "hawser data split"
code 0 "$hawser" train lasso --help
has out "^usage: hawser train lasso"
cp out page
code 0 "$hawser" help lasso
cmp -s out page || complain "help lasso is not train lasso --help"
code 0 "$hawser" help train lasso
cmp -s out page || complain "help train lasso is not train lasso --help"
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
for topic in exit-codes sync options cluster shared-store store formats json trace models; do
    code 0 "$hawser" help "$topic"
    (($(wc -l <out) > 3)) || complain "help $topic is short"
done
code 2 "$hawser" help synk
says "did you mean 'sync'"

# Every row of every page is in `help options`, in the manual and in the completion, and is a topic of its own.
"$hawser" help options >all
"$hawser" man >manual
sed 's/\\//g' manual >plain
"$hawser" completion bash >bash
"$hawser" completion zsh >zsh
"$hawser" completion fish >fish
keys=$( (while read -r command; do "$hawser" help $command; done <<<"$commands"; "$hawser" help lasso) |
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
completions() { # WORD...: what bash would offer for the last word
    bash -c 'source ./bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hawser; printf "%s\n" "${COMPREPLY[@]}"' x "$@"
}
equal "$(completions hawser tra)" train
equal "$(completions hawser data con)" convert
equal "$(completions hawser train las)" lasso
equal "$(completions hawser train lasso --lambda-r)" --lambda-ratio
equal "$(completions hawser train lasso --merge ad)" add
equal "$(completions hawser data generate --tru)" --truth
if command -v zsh >/dev/null; then zsh -n zsh || complain "the completion for zsh does not parse"; fi
if command -v fish >/dev/null; then fish -n fish || complain "the completion for fish does not parse"; fi
code 2 "$hawser" completion tcsh
says "bash, zsh and fish"

# The manual page formats without a word of complaint.
if command -v groff >/dev/null; then
    groff -man -Tascii -ww manual >text 2>complaints || complain "groff fails"
    [[ ! -s complaints ]] || complain "groff: $(head -3 complaints)"
    has text "hawser - train models"
elif command -v mandoc >/dev/null; then
    mandoc -man manual >text || complain "mandoc fails"
fi

# A disk that is full under the help is said.
if [[ -e /dev/full ]]; then
    "$hawser" help options >/dev/full 2>err && complain "help into a full disk succeeded"
    says "standard output"
fi
finish
