#!/bin/sh
# Installs the build into an empty prefix and builds a separate program on it: by pkg-config and by find_package, shared and
# static. usage: test.sh BUILD COMPILER GENERATOR
set -eu
build=$1 compiler=$2 generator=$3
here=$(cd "$(dirname "$0")" && pwd)
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
fail() { echo "install: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$prefix/usr" >"$prefix/log" 2>&1 || { cat "$prefix/log" >&2; fail "cmake --install"; }
lib=$(dirname "$(find "$prefix/usr" -name libhawser.a)")
for file in "$lib/libhawser.so" "$lib/libhawser.so.0" "$lib/pkgconfig/hawser.pc" "$lib/cmake/hawser/hawserConfig.cmake" \
    "$prefix/usr/include/hawser/hawser.h"; do
    [ -e "$file" ] || fail "$file is missing"
done
readelf -d "$lib/libhawser.so" | grep -q 'SONAME.*\[libhawser\.so\.0\]' || fail "SONAME is not libhawser.so.0"
foreign=$(nm -D --defined-only "$lib/libhawser.so" | awk '$2 ~ /[A-Z]/ && $3 !~ /^hawser_/ {print $3}')
[ -z "$foreign" ] || fail "the shared library exports what is not hawser_: $foreign"
if grep -rqF "$build" "$lib/pkgconfig" "$lib/cmake"; then fail "an installed file names the build directory"; fi

export PKG_CONFIG_PATH="$lib/pkgconfig" LD_LIBRARY_PATH="$lib"
# The words of pkg-config are to be split.
# shellcheck disable=SC2046
"$compiler" -std=c17 -Wall -Wextra -Wpedantic -Werror "$here/consumer.c" -o "$prefix/shared" $(pkg-config --cflags --libs hawser)
# shellcheck disable=SC2046
"$compiler" -std=c17 "$here/consumer.c" -o "$prefix/static" $(pkg-config --cflags hawser) "$lib/libhawser.a" \
    $(pkg-config --static --libs-only-l hawser | sed 's/-lhawser//') -pthread
for how in shared static; do "$prefix/$how" >/dev/null || fail "the $how program by pkg-config: exit status $?"; done
ldd "$prefix/shared" | grep -q 'libhawser\.so\.0' || fail "the shared program does not use the shared library"
if ldd "$prefix/static" | grep -q libhawser; then fail "the static program uses the shared library"; fi

# The examples by the words that hello.c has for it.
words=$(sed -n 's/.*`cc hello\.c \(.*\)`.*/\1/p' "$here/../../examples/hello.c")
[ -n "$words" ] || fail "examples/hello.c does not say how it is built"
for example in "$here"/../../examples/*.c; do
    eval "\"\$compiler\" \"\$example\" -o \"\$prefix/example\" $words" || fail "$(basename "$example") is not built by: cc $words"
done

for header in "$prefix"/usr/include/hawser/*.h; do
    printf '#include <hawser/%s>\n' "$(basename "$header")" >"$prefix/one.c"
    "$compiler" -std=c17 -Wall -Wextra -Wpedantic -Werror -I"$prefix/usr/include" -fsyntax-only "$prefix/one.c" ||
        fail "$(basename "$header") does not stand alone"
done

# C++ reads the headers, and fills their structs with designated initialisers; fields that are not named are zero.
for cxx in g++ clang++; do
    command -v $cxx >/dev/null || continue
    for header in "$prefix"/usr/include/hawser/*.h; do
        printf '#include <hawser/%s>\n' "$(basename "$header")" >"$prefix/one.cc"
        $cxx -std=c++20 -Wall -Wextra -pedantic -Werror -I"$prefix/usr/include" -fsyntax-only "$prefix/one.cc" ||
            fail "$(basename "$header") is not C++ ($cxx)"
    done
    # shellcheck disable=SC2046
    $cxx -std=c++20 -Wall -Wextra -pedantic -Werror -Wno-missing-field-initializers "$here/consumer.cc" -o "$prefix/cxx" \
        $(pkg-config --cflags --libs hawser) || fail "consumer.cc is not built by $cxx"
    [ "$("$prefix/cxx" --workers 3)" = 30 ] || fail "the program in C++ ($cxx) is wrong"
done

if ! { cmake -G "$generator" -S "$here" -B "$prefix/consumer" -DCMAKE_PREFIX_PATH="$prefix/usr" -DCMAKE_C_COMPILER="$compiler" &&
    cmake --build "$prefix/consumer"; } >"$prefix/log" 2>&1; then
    cat "$prefix/log" >&2
    fail "the program by find_package"
fi
for kind in hawser hawser_static; do
    "$prefix/consumer/with_$kind" >/dev/null || fail "the program with hawser::$kind: exit status $?"
done

binary=$prefix/usr/bin/hawser
if [ -x "$binary" ]; then
    "$binary" version >/dev/null || fail "the installed command does not run"
    for file in man/man1/hawser.1 bash-completion/completions/hawser zsh/site-functions/_hawser \
        fish/vendor_completions.d/hawser.fish; do
        [ -s "$prefix/usr/share/$file" ] || fail "share/$file is missing or empty"
    done
    bash -n "$prefix/usr/share/bash-completion/completions/hawser" || fail "the completion is no shell script"
fi
if [ -x "$binary-sim" ]; then
    printf '%s\n' '1 1:1 2:3' '2 1:2' '3 2:1' >"$prefix/data.svm"
    "$binary-sim" --help | grep -q -e --latency || fail "hawser-sim has no help"
    "$binary-sim" --nodes 3 -- train lasso "$prefix/data.svm" --json | grep -q '"simulated": *{"nodes": *3' ||
        fail "the installed hawser-sim does not train"
elif [ -x "$binary" ]; then
    fail "hawser-sim is not installed beside hawser"
    # A C program on simulated nodes: three blocks add 1 + 2 + ... + 5, each with data of its own.
    if [ -e "$lib/pkgconfig/hawser-sim.pc" ]; then
        # shellcheck disable=SC2046
        "$compiler" -std=c17 -Wall -Wextra "$here/simulated.c" -o "$prefix/simulated" $(pkg-config --cflags --libs hawser-sim)
        for program in "$prefix/simulated" "$prefix/consumer/simulated"; do
            [ "$("$program" --workers 1)" = "calls 5 x 15" ] || fail "$program alone is wrong"
            "$binary-sim" --nodes 3 --seed 4 -- "$program" >"$prefix/out" || fail "$program on simulated nodes: exit status $?"
            [ "$(grep -c '^calls 5 x 45$' "$prefix/out")" = 3 ] || fail "$program on simulated nodes is wrong"
            grep -q '"simulated":{"nodes":3' "$prefix/out" || fail "hawser-sim -- $program says nothing of the simulation"
        done
        # shellcheck disable=SC2046
        "$compiler" -std=c17 -DTHREAD_LOCAL "$here/simulated.c" -o "$prefix/refused" $(pkg-config --cflags --libs hawser-sim)
        for refused in "$prefix/refused calls" "/bin/sh not"; do
            # shellcheck disable=SC2086
            set -- $refused
            if "$binary-sim" -- "$1" 2>"$prefix/err" >"$prefix/out"; then fail "hawser-sim runs $1"; fi
            grep -q -w -e "$2" "$prefix/err" || fail "hawser-sim does not say why it refuses $1: $(cat "$prefix/err")"
        done
    fi
fi
