#!/usr/bin/env bash
# The commands of the README and of the page on a first day work as they are printed, one after the other, in an empty folder.
top=$(realpath "$(dirname "$0")/../..")
source "$(dirname "$0")/cli.bash"
mkdir bin
ln -s "$hawser" bin/hawser
ln -s "$(dirname "$hawser")/hawser-sim" bin/hawser-sim

# try PAGE FOLDER: runs the blocks of shell that call the command, and nothing else.
try() {
    sed -n '/^```sh$/,/^```$/p' "$top/$1" | grep -v '^```' | grep -v '^script/' >block.sh
    (($(grep -c '^hawser' block.sh) >= 6)) || complain "$1 has $(grep -c '^hawser' block.sh) commands"
    mkdir "$2"
    cp reviews.txt new.txt "$2"
    (cd "$2" && PATH=$scratch/bin:$PATH timeout 200 bash -euo pipefail ../block.sh >../out 2>../err) || complain "a command of $1 fails: $(tail -2 err)"
    lacks err 'hawser: .*(unknown|cannot open|error)'
}

# Texts of the reader's own: two kinds of words, each in half of the documents.
words() { awk -v rows="$1" 'BEGIN { srand(rows); for (r = 0; r < rows; r++) for (w = 0; w < 20; w++)
    printf "%s%d%s", r % 2 ? "river" : "engine", rand() * 30, w < 19 ? " " : "\n" }'; }
words 200 >reviews.txt
words 11 >new.txt
try README.md minute
has out '^ *perplexity +[0-9]'
equal "$(wc -l <minute/day.txt)" 400
has out '^r2 +0\.[89]'
try docs/first-day.md day
equal "$(wc -l <day/predictions.txt)" 400
has out '^r2 +0\.[89]'
has out 'weather=sun$'
grep -q '<svg' day/cv.svg || complain "cv.svg is no drawing"
finish
