#!/usr/bin/env python3
"""A small input takes a small part of the machine: what unpacks to gigabytes without a row, an index far off and a line of sizes that nothing
follows are refused with their line, within bounds of memory. Nodes of a host share what is free."""
import contextlib
import gzip
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile

HAWSER = os.environ["HAWSER_BINARY"]
SANITIZED = bool(os.environ.get("HAWSER_SANITIZE"))
CLEAN = {key: value for key, value in os.environ.items() if not key.startswith("HAWSER_")}
BANNER = b"%%MatrixMarket matrix coordinate real general\n"
TEXT = (20 if SANITIZED else 130) << 20  # what an endless row is unpacked to
FAR = b"1 1:1\n# a comment\n\n0 3:1 2147483647:1\n1 2:1\n"


def call(words, most=None):
    """Returns exit code and errors; `most`: MiB that the process may take."""
    with open("err", "w+", encoding="utf-8") as err:
        process = subprocess.Popen([HAWSER, *words], stdout=subprocess.DEVNULL, stderr=err, env=CLEAN)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        text = err.read()
    if most is not None and not SANITIZED:
        assert usage.ru_maxrss >> 10 <= most, (words, usage.ru_maxrss, text)
    return process.returncode, text


def refused(words, code, *parts, most=48):
    found, text = call(words, most)
    assert found == code, (words, found, text)
    assert text.count("\n") == 1, (words, text)
    for part in parts:
        assert part in text, (words, part, text)


def pack(kind, path, *pieces):
    """Pieces are bytes and how often they stand there."""
    if kind == "zst":
        with open(path, "wb") as out, subprocess.Popen(["zstd", "-qc"], stdin=subprocess.PIPE, stdout=out) as zstd:
            for text, times in pieces:
                write(zstd.stdin, text, times)
            zstd.stdin.close()
        return
    with gzip.open(path, "wb", 1) if kind == "gz" else lzma.open(path, "wb", preset=0) as out:
        for text, times in pieces:
            write(out, text, times)


def write(out, text, times):
    block = text * min(times, 1 << 20)
    while times > 0:
        some = min(times, 1 << 20)
        out.write(block[:some * len(text)])
        times -= some


def endless_rows():
    for kind in ["gz", "xz"] + (["zst"] if shutil.which("zstd") else []):
        name = "x." + kind
        pack(kind, name, (b"\0", TEXT))
        refused(["data", "info", name], 3, f"hawser: {name}:1:1: is a zero byte, which text cannot have")
        pack(kind, name, (b"1,2\n3,4\n", 1), (b"\0", TEXT))
        refused(["data", "info", name], 3, f"hawser: {name}:3:1: is a zero byte")
        if SANITIZED:
            continue
        for row, line in ((b"7", 1), (b"1 1:1\n", 2), (b"\xef\xbb\xbf", 1), (b"\n\n\n", 4))[:4 if kind == "gz" else 1]:
            pack(kind, name, (row, 1), (b" " if b":" in row else b"7", TEXT))
            refused(["train", "lasso", name], 3, f"{name}:{line}: no row ends within ", "is this an archive of text?", most=200)
    if not SANITIZED:
        for rows, lines, line in ((b"1,2\n3,4\n", b"\n", 3), (b"1 1:1\n2 1:2\n", b"# a comment\n", 3), (BANNER + b"2 2 1\n", b"% a comment\n", 3)):
            pack("gz", "x.gz", (rows, 1), (lines, (80 << 20) // len(lines)))
            code, text = call(["data", "info", "x.gz"], 400)
            found = re.fullmatch(r"hawser: x\.gz:(\d+): no row ends within .*; is this an archive of text\?\n", text)
            assert code == 3 and found and line <= int(found[1]) <= 1 << 20, (lines, code, text)
        pack("gz", "x.gz", (BANNER, 1), (b"%\n", TEXT // 2))
        refused(["data", "info", "x.gz"], 3, "no row ends within", most=200)
        with open("x.gz", "rb") as file:
            piped = subprocess.run([HAWSER, "data", "info", "-"], stdin=file, capture_output=True, text=True, env=CLEAN, check=False)
        assert piped.returncode == 3 and "standard input:" in piped.stderr, piped.stderr
    with open("zeros", "wb") as out:
        out.truncate(TEXT)
    refused(["data", "info", "zeros"], 3, "zeros:1:1: is a zero byte")
    with open("later", "wb") as out:
        out.write(b"1 1:1\n2 1:2\n")
        out.truncate(TEXT)
    refused(["data", "info", "later"], 3, "later:3:1: is a zero byte", most=48 + (TEXT >> 20))


def wide_rows_are_read():
    """Long text is no error, packed or not."""
    row = b"1," + b"0,2." * (1 << 20) + b"5\n"
    for kind in ("gz", "xz"):
        pack(kind, "wide." + kind, (row, 3))
        code, text = call(["data", "info", "wide." + kind])
        assert code == 0, text


def far_columns():
    with open("far.svm", "wb") as out:
        out.write(FAR)
    pack("gz", "far.gz", (FAR, 1))
    pack("xz", "far.xz", (FAR, 1))
    for name in ("far.svm", "far.gz", "far.xz"):
        for words in (["train", "lasso", name], ["data", "info", name], ["data", "convert", name, "-o", "out.hwc"]):
            refused(words, 3, f"hawser: {name}:4: makes 2147483647 columns of an input with {len(FAR)} bytes of text, "
                    f"which may have {(1 << 24) + 16 * len(FAR)}; ")
    refused(["train", "lasso", "far.svm", "--memory-limit", "100M"], 5, "the load needs at least 16384")
    code, text = call(["run", "-n", "3", "--", "train", "lasso", "far.svm"])
    assert code == 3 and text.count("far.svm:4: makes 2147483647 columns") >= 3, text
    with open("far.svm", "wb") as out:
        out.write(b"1 1:1\n0 17000000:1\n")
    refused(["data", "info", "far.svm"], 3, "far.svm:2: makes 17000000 columns")
    code, text = call(["data", "info", "far.svm", "--memory-limit", "1G"], most=200)
    assert code == 0, text
    with open("far.svm", "wb") as out:
        out.write(b"1 1:1\n0 16000000:1\n")
    code, text = call(["data", "info", "far.svm"], most=200)
    assert code == 0, text


def claimed_sizes():
    for head, line in ((BANNER + b"%\n2147483647 3 1\n", 3), (BANNER + b"3 2147483647 1\n", 2), (b"2147483647\n3\n1\n", 1),
                       (b"3\n2147483647\n1\n", 2)):
        what = "rows" if head.find(b"2147483647") < head.rfind(b"3") - 8 else "columns"
        with open("m", "wb") as out:
            out.write(head + b"1 1 1\n")
        pack("gz", "m.gz", (head + b"1 1 1\n", 1))
        for name in ("m", "m.gz"):
            refused(["data", "info", name], 3, f"hawser: {name}:{line}: makes 2147483647 {what} of an input")
        code, text = call(["run", "-n", "2", "--", "train", "lasso", "m"])
        assert code == 3 and f"m:{line}: makes 2147483647" in text, text
    pack("gz", "m.gz", (BANNER + b"2147483647 2147483647 2147483647\n", 1), (b"1 1 1\n", 1))
    refused(["data", "info", "m.gz"], 3, "m.gz:2: makes 2147483647 rows")
    head = b"\x93NUMPY\x01\x00v\x00"
    for shape, code, words in (("(3, 2)", 3, "other data follow the numbers"), ("(4000000000, 4000000000)", 5, "the load needs about")):
        facts = ("{'descr': '<f8', 'fortran_order': False, 'shape': %s, }" % shape).encode().ljust(117) + b"\n"
        pack("gz", "n.gz", (head + facts, 1), (b"\0", TEXT))
        refused(["data", "info", "n.gz"], code, words)
    pack("gz", "names.gz", (b"1\n", TEXT // 2))
    with open("m", "wb") as out:
        out.write(BANNER + b"2 2 1\n1 1 1\n")
    if not SANITIZED:
        refused(["data", "info", "m", "--names", "names.gz"], 3, "names.gz: has more than 67117056 bytes of names for 2 columns", most=200)
    with open("empty.csv", "wb") as out:  # empty lines are not rows
        out.write(b",".join([b"1"] * 20000) + b"\n" + b"\n" * (1 << 20))
    code, text = call(["data", "info", "empty.csv", "--memory-limit", "300M"], most=300)
    assert code == 0, text


def memory_group(limit):
    """Makes a control group, in either hierarchy; returns None if that is impossible."""
    for root, file in (("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")):
        path = os.path.join(root, f"hawser-claims-{os.getpid()}")
        if not os.path.exists(os.path.join(root, "cgroup.procs")):
            continue
        with contextlib.suppress(OSError):
            os.mkdir(path)
            try:
                with open(os.path.join(path, file), "w", encoding="ascii") as out:
                    out.write(str(limit))
                return path
            except OSError:
                os.rmdir(path)
    return None


def nodes_share_what_is_free():
    group = memory_group(90 << 20) if not SANITIZED else None
    if group is None:
        print("skipped: needs control groups of memory, and a command without sanitizers")
        return
    with open("large.svm", "w", encoding="ascii") as out:
        for i in range(20000):
            out.write(f"{i % 3} " + " ".join(f"{1 + (i * 7 + j * 131) % 50000 + j * 50000}:{1 + j}.5" for j in range(100)) + "\n")
    join = f'echo $$ >{group}/cgroup.procs; exec "$@"'
    try:
        job = subprocess.run(["sh", "-c", join, "sh", HAWSER, "run", "-n", "3", "--", "train", "lasso", "large.svm"], capture_output=True,
                             text=True, env=CLEAN, timeout=120, check=False)
        assert job.returncode == 5, (job.returncode, job.stderr)
        assert "the load needs a" in job.stderr and "SIGKILL" not in job.stderr and "lost" not in job.stderr, job.stderr
    finally:
        os.rmdir(group)


def main():
    os.chdir(sys.argv[1])
    endless_rows()
    wide_rows_are_read()
    far_columns()
    claimed_sizes()
    nodes_share_what_is_free()


if len(sys.argv) > 1:
    main()
else:
    with tempfile.TemporaryDirectory() as scratch:
        sys.argv.append(scratch)
        main()
