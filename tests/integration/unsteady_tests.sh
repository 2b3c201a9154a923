#!/usr/bin/env bash
# script/suites.sh runs a failed test once more. Made projects of ctest have a test of each kind.
suites=$(realpath "$(dirname "$0")/../../script/suites.sh")
source "$(dirname "$0")/cli.bash"
source "$suites"

# project TEST...: writes tests that ctest runs in the current folder. Each is a name and a command of sh, with a colon between them.
project() {
    local each
    rm -rf ./*
    for each in "$@"; do
        printf 'add_test("%s" sh -c [==[%s]==])\n' "${each%%:*}" "${each#*:}"
    done >CTestTestfile.cmake
}
# runs CODE ARGUMENTS...: runs the project, and checks the exit code.
runs() {
    local got=0 code=$1
    shift
    (set -euo pipefail; run_steadily 2 ctest --test-dir "$PWD" --output-on-failure "$@") >log 2>&1 || got=$?
    [[ $got == "$code" ]] || complain "exit $got instead of $code: $(sed 's/^/> /' log)"
}
once='test -e seen || { touch seen; echo was not seen; exit 1; }'
report='test -e found || { touch found; echo "==1==ERROR: AddressSanitizer: heap-use-after-free"; exit 1; }'

project "steady:true" "at.once:$once" "steady.too:true"
runs 0
has log '^unsteady: at.once$'
has log '^was not seen$'
has log '^\| .*Test +#2: at.once \.+ +Passed'
has log '^67% tests passed, 1 tests failed out of 3$'
lacks log '^\| .*steady'

project "fails:echo no; exit 1" "at.once:$once"
runs 8
has log '^unsteady: at.once$'
has log '^failed twice: fails$'
has log '^\| no$'

# The second run is of the same test where some are left out.
project "left:true" "left.too:true" "steady:true" "fails:echo no; exit 1" "at.once:$once" "other:true" "more:true"
runs 8 -R . -E '^left'
has log '^unsteady: at.once$'
has log '^failed twice: fails$'

# What a sanitizer reports is proof, even if the test would pass later.
project "steady:true" "reports:$report" "races:echo WARNING: ThreadSanitizer: data race; exit 66" "at.once:$once"
runs 8
has log '^not run again: reports has a report of a sanitizer$'
has log '^not run again: races has a report of a sanitizer$'
has log '^unsteady: at.once$'
lacks log '^\| .*(reports|races)'
for line in 'a.c:3:5: runtime error: signed integer overflow' 'ERROR: LeakSanitizer: detected memory leaks' \
    'SUMMARY: UndefinedBehaviorSanitizer: undefined-behavior'; do
    project "reports:echo '$line'; exit 1"
    runs 8
    has log '^not run again: reports has'
done

# A report in the output of one test is not another's.
project "steady:true" "reports:sleep 0.2; $report" "at.once:$once"
runs 8
has log '^unsteady: at.once$'

# Many failures are no chance; a program that is missing is none either.
project "a:exit 1" "b:exit 1" "c:exit 1" "d:exit 1" "e:exit 1" "f:exit 1"
runs 8
lacks log '^(\||failed twice)'
project "at.once:$once"
echo 'add_test(missing "/nowhere/program")' >>CTestTestfile.cmake
runs 8
lacks log '^unsteady'
project "steady:true"
runs 0
lacks log '^\|'
finish
