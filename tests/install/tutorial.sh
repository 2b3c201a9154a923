#!/usr/bin/env bash
# docs/tutorial.md on an installed Hawser: its program is compiled, its commands are run, and what they print is what the page says.
# usage: tutorial.sh BUILD
set -euo pipefail
page=$(realpath "$(dirname "$0")/../../docs/tutorial.md")
unset "${!HAWSER_@}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cmake --install "$1" --prefix "$scratch/usr" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
lib=$(dirname "$(find "$scratch/usr" -name libhawser.a)")
export PATH=$scratch/usr/bin:$PATH LD_LIBRARY_PATH=$lib PKG_CONFIG_PATH=$lib/pkgconfig

# Block n of commands is N.sh, what it prints N.text.
mkdir "$scratch/day"
awk -v to="$scratch" '
    /^```$/ { file = "" }
    file != "" { print >file }
    /^```c$/ { file = to "/day/kmeans.c" }
    /^```sh$/ { file = to "/" ++n ".sh" }
    /^```text$/ { file = to "/" n ".text" }' "$page"
# It is the example of the same name, but for empty lines and the comment at the top.
if ! diff <(grep -v '^$' "$scratch/day/kmeans.c") <(sed '1,/^ \*\/$/d' "$(dirname "$page")/../examples/kmeans.c" | grep -v '^$'); then
    echo "examples/kmeans.c (>) is not the program of docs/tutorial.md (<)"
    exit 1
fi
cd "$scratch/day"
blocks=0 failures=0
for commands in "$scratch"/[0-9].sh; do
    blocks=$((blocks + 1))
    timeout 120 bash -euo pipefail "$commands" >../out 2>&1 || { echo "exit status $? of:"; cat "$commands"; failures=$((failures + 1)); }
    diff "${commands%.sh}.text" ../out || { echo "in docs/tutorial.md block $blocks prints this (>) and not that (<)"; failures=$((failures + 1)); }
done
((blocks >= 5)) || { echo "docs/tutorial.md has $blocks blocks of commands"; exit 1; }
((failures == 0))
