# shellcheck shell=bash
# The suites of script/test; each runs in a shell of its own under `set -euo pipefail`.

# failed_tests LOG: prints the name of each test that failed in an output of ctest, and "report" if a sanitizer reported in it.
failed_tests() {
    awk 'function out() { if (name != "") print name, report; name = report = "" }
        /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
            out()
            if ($0 ~ /\*\*\*(Failed|Timeout|Exception)/) {
                split(substr($0, index($0, "#") + 1), words, /: *| +/)
                name = words[2]
            }
        }
        /tests passed, .* out of/ { out() }
        /ERROR: (Address|Leak)Sanitizer|WARNING: ThreadSanitizer|SUMMARY: [A-Za-z]*Sanitizer|runtime error:/ { report = "report" }
        END { out() }' "$1"
}

# run_steadily JOBS COMMAND...: runs ctest. A test that failed is run once more, alone, after all others. If it passes then, it counts as
# passed and is named as unsteady. A sanitizer's report is proof, so such a test is not run again. If more than a few fail, none is.
# Lines of second runs begin with "| ", because the suite's totals are those of the first run.
run_steadily() {
    local jobs=$1 few=5 first code=0 each name report failed=()
    shift
    first=$(mktemp)
    "$@" -j "$jobs" 2>&1 | tee "$first" || code=$?
    mapfile -t failed < <(failed_tests "$first")
    # Tests that could not be started are among ctest's failed ones only.
    grep -q "tests passed, ${#failed[@]} tests failed out of" "$first" || few=0
    rm -f "$first"
    ((code == 0 || ${#failed[@]} == 0 || ${#failed[@]} > few)) && return "$code"
    code=0
    for each in "${failed[@]}"; do
        read -r name report <<<"$each"
        if [[ $report ]]; then
            echo "not run again: $name has a report of a sanitizer"
            code=8
        elif "$@" -j 1 -R "^${name//./\\.}\$" --no-tests=error 2>&1 | sed 's/^/| /'; then
            echo "unsteady: $name"
        else
            echo "failed twice: $name"
            code=8
        fi
    done
    return "$code"
}

ctest_of() { # PRESET JOBS ARGUMENTS...
    local preset=$1 jobs=$2 fixed=() targets=() limit=400 # of a test that has no other, so that one that hangs ends and is named within the budget
    shift 2
    [[ ${HAWSER_TEST_LONG:-} ]] && limit=1500
    cmake --preset "$preset" -DHAWSER_TESTS=ON
    # A suite of unit tests alone needs neither the commands nor the examples.
    mapfile -t targets < <(ctest --preset "$preset" -N "$@" | sed -n 's/^ *Test *#[0-9]*: //p' | sed 's/^unit\./test_/')
    [[ "${targets[*]}" == *.* ]] && targets=(all)
    cmake --build --preset "$preset" --target "${targets[@]}"
    # The thread sanitizer of older compilers cannot live with an address space as randomised as today's.
    if [[ $preset == tsan ]] && setarch -R true 2>/dev/null; then fixed=(setarch -R); fi
    run_steadily "$jobs" "${fixed[@]}" ctest --preset "$preset" --timeout "$limit" "$@"
}

# clang JOBS: compiles all sources, because warnings are errors, and links only the programs that sim_repeats runs.
clang() {
    local limit=400 objects
    [[ ${HAWSER_TEST_LONG:-} ]] && limit=1500
    cmake --preset clang -DHAWSER_TESTS=ON
    mapfile -t objects < <(ninja -C build/clang -t targets all | sed -n 's/: C_COMPILER__.*//p')
    cmake --build --preset clang --target "${objects[@]:?}" hawser hawser-sim test_sim_{jobs,programs,stores,serve,vectors,checkpoints}
    run_steadily "$1" ctest --preset clang --timeout "$limit" -R '^integration\.sim_repeats$' --no-tests=error
}

# one_fuzzer FUZZER SECONDS FOLDER: what it finds lies in build/logs.
one_fuzzer() {
    local name=${1##*/fuzz_} log=$3/$(basename "$1").log corpus=()
    [[ -d tests/fuzz/corpus/$name ]] && corpus=("tests/fuzz/corpus/$name")
    mkdir -p "$3/$name"
    if "$1" -max_total_time="$2" -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 -artifact_prefix="build/logs/$name-" \
        "$3/$name" "${corpus[@]}" >"$log" 2>&1; then
        echo "pass $name"
    else
        tail -n 40 "$log"
        echo "fail $name (its input is in build/logs)"
    fi
}

fuzz() { # JOBS
    cmake --preset fuzz -DHAWSER_TESTS=ON
    cmake --build --preset fuzz --target fuzzers
    local seconds=5 work fuzzer
    [[ ${HAWSER_TEST_LONG:-} ]] && seconds=60
    work=$(mktemp -d)
    for fuzzer in build/fuzz/tests/fuzz_*; do
        [[ -x $fuzzer && ! -d $fuzzer ]] && printf '%s\0' "$fuzzer"
    done | xargs -0 -P "$1" -I{} bash -c 'source script/suites.sh; one_fuzzer "$@"' one {} "$seconds" "$work"
    rm -rf "$work"
}

demo() {
    script/demo --generated
    echo "pass demo with generated input"
}
