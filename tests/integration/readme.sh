#!/usr/bin/env bash
# The commands of the README and of the page on a first day work as they are printed, one after the other, in an empty folder.
top=$(realpath "$(dirname "$0")/../..")
source "$(dirname "$0")/cli.bash"
mkdir bin
ln -s "$hawser" bin/hawser

# try PAGE FOLDER: runs the blocks of shell that call the command, and nothing else.
try() {
    sed -n '/^```sh$/,/^```$/p' "$top/$1" | grep -v '^```' | grep -v '^script/' >block.sh
    (($(grep -c '^hawser' block.sh) >= 6)) || complain "$1 has $(grep -c '^hawser' block.sh) commands"
    mkdir "$2"
    (cd "$2" && PATH=$scratch/bin:$PATH timeout 200 bash -euo pipefail ../block.sh >../out 2>../err) || complain "a command of $1 fails: $(tail -2 err)"
    lacks err 'hawser: .*(unknown|cannot|error)'
}

try README.md minute
equal "$(wc -l <minute/day.txt)" 400
has out '^r2 +0\.[89]'
try docs/first-day.md day
equal "$(wc -l <day/predictions.txt)" 400
has out '^r2 +0\.[89]'
has out 'weather=sun$'
grep -q '<svg' day/cv.svg || complain "cv.svg is no drawing"
finish
