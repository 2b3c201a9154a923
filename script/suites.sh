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

fuzz() {
    cmake --preset fuzz -DHAWSER_TESTS=ON
    cmake --build --preset fuzz
    local fuzzer name corpus work seconds=5 code=0
    [[ ${HAWSER_TEST_LONG:-} ]] && seconds=60
    work=$(mktemp -d)
    for fuzzer in build/fuzz/tests/fuzz_*; do
        [[ -x $fuzzer ]] || continue
        name=${fuzzer##*/fuzz_} corpus=()
        [[ -d tests/fuzz/corpus/$name ]] && corpus=("tests/fuzz/corpus/$name")
        mkdir -p "$work/$name"
        if "$fuzzer" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 \
            -artifact_prefix="build/logs/$name-" "$work/$name" "${corpus[@]}"; then
            echo "pass $name"
        else
            echo "fail $name (its input is in build/logs)"
            code=1
        fi
    done
    rm -rf "$work"
    return $code
}

demo() {
    script/demo --generated
    echo "pass demo with generated input"
}
