# shellcheck shell=bash
# The suites of script/test; each runs in a shell of its own under `set -euo pipefail`.

build_of() { # PRESET
    cmake --preset "$1" -DHAWSER_TESTS=ON
    cmake --build --preset "$1"
    echo "pass build of $1"
}

ctest_of() { # PRESET JOBS ARGUMENTS...
    local preset=$1 jobs=$2 steady=()
    shift 2
    cmake --preset "$preset" -DHAWSER_TESTS=ON
    cmake --build --preset "$preset"
    # The thread sanitizer of older compilers cannot live with an address space as randomised as today's.
    if [[ $preset == tsan ]] && setarch -R true 2>/dev/null; then steady=(setarch -R); fi
    "${steady[@]}" ctest --preset "$preset" -j "$jobs" "$@"
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
