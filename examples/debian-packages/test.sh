#!/bin/sh
# Runs the converter on a small index, whose result was worked out by hand. usage: test.sh CONVERTER
set -eu
converter=$1
here=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
fail() { echo "test.sh: $*" >&2; exit 1; }
same() { printf '%s\n' "$2" | diff -u - "$out/$1" >&2 || fail "$1 differs"; }

said=$("$converter" "$out" <"$here/fixture.txt")
[ "$said" = "6 packages, 9 features; 2 without a size, 1 of a second architecture left out" ] || fail "said: $said"

# Features of two rows or more are listed in the order of their first row. libc6 twice in one record counts once; words of continuation
# lines and of a second description do not count.
same features.txt 'sec=libs
prio=optional
arch=all
dep=libc6
dep=awk
rec=beta1
word=data
word=game
arch=native'
same counts.txt '3
3
3
2
1
2
2
3
2'
# alpha-data, beta1, gamma2, zeta and theta; ln 1000 = 6.907755 and so on. eta, the fifth, is for testing.
same train.svm '6.907755 1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1
2.302585 1:1 2:1 4:1 7:1 9:1
0.916291 9:1
2.995732 1:1 3:1 6:1 8:1
1.945910 2:1 3:1 8:1'
same test.svm '1.609438 1:1 5:1 7:1 9:1'

# An empty index is an error of its own, for which the demo checks.
code=0
"$converter" "$out" </dev/null 2>"$out/said" || code=$?
[ "$code" = 3 ] || fail "an empty index gave exit status $code"
grep -q 'apt-get update' "$out/said" || fail "an empty index is not explained"

# The last inputs are a line longer than any buffer, a missing directory and a full disk.
{ cat "$here/fixture.txt"; printf '\n\nPackage: long\nInstalled-Size: 3\nDepends: '; i=0
  while [ $i -lt 20000 ]; do printf 'dependency%d, ' $i; i=$((i + 1)); done; echo awk; } | "$converter" "$out" >"$out/said"
grep -q '^7 packages, 9 features' "$out/said" || fail "a long line: $(cat "$out/said")"
code=0
"$converter" "$out/missing" <"$here/fixture.txt" 2>"$out/said" || code=$?
[ "$code" = 1 ] || fail "a missing directory gave exit status $code"
if [ -e /dev/full ]; then
    rm "$out/train.svm" && ln -s /dev/full "$out/train.svm"
    code=0
    "$converter" "$out" <"$here/fixture.txt" 2>"$out/said" || code=$?
    [ "$code" = 1 ] || fail "a full disk gave exit status $code"
fi
