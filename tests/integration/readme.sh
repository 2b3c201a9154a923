#!/usr/bin/env bash
# The commands of the README work as they are printed, one after the other, in an empty folder.
readme=$(realpath "$(dirname "$0")/../../README.md")
source "$(dirname "$0")/cli.bash"

sed -n '/^## The command/,/^## The library/p' "$readme" | sed -n '/^```sh$/,/^```$/p' | grep -v '^```' >block.sh
(($(grep -c '^hawser' block.sh) >= 6)) || complain "the README has $(grep -c '^hawser' block.sh) commands"
mkdir bin day
ln -s "$hawser" bin/hawser
(cd day && PATH=$scratch/bin:$PATH timeout 200 bash -euo pipefail ../block.sh >../out 2>../err) || complain "a command of the README fails: $(tail -2 err)"
lacks err 'hawser: .*(unknown|cannot|error)'
equal "$(wc -l <day/predictions.txt)" 400
has out '^r2 +0\.[89]'
has out 'weather=sun$'
grep -q '<svg' day/cv.svg || complain "cv.svg is no drawing"
finish
