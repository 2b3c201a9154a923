#!/usr/bin/env python3
"""A key is in no memory that a core dump would have: servers, their clients, and nodes that join by hand. Neither its bytes nor its digits."""
import os
import re
import secrets
import subprocess
import sys
import tempfile
import time

BINARY = os.environ["HAWSER_BINARY"]
for name in ("HAWSER_BUILD", "HAWSER_SANITIZE"):  # the suite's, and no options
    os.environ.pop(name, None)


def dumped(pid):
    """Returns the contents of all memory of a process that a core dump may have."""
    found, ranges = [], []
    with open(f"/proc/{pid}/smaps", encoding="utf-8") as file:
        for line in file:
            head = re.match(r"([0-9a-f]+)-([0-9a-f]+) (r...) ", line)
            if head:
                ranges.append((int(head[1], 16), int(head[2], 16)))
            if line.startswith("VmFlags:") and ranges and " dd" in line:
                ranges.pop()
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for begin, end in ranges:
            try:
                memory.seek(begin)
                found.append(memory.read(end - begin))
            except (OSError, ValueError, OverflowError):
                pass  # the kernel's own pages
    return found


def check(pid, key, what):
    pages = dumped(pid)
    assert sum(map(len, pages)) > 100000, what
    for form in (key, key.hex().encode()):
        assert not any(form in page for page in pages), f"{what}: the key is in memory that is dumped"


def until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def main():
    if not os.path.exists("/proc/self/smaps"):
        print("no /proc/self/smaps")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        key, path, address = secrets.token_bytes(32), os.path.join(folder, "key"), os.path.join(folder, "address")
        with open(path, "w", opener=lambda name, flags: os.open(name, flags, 0o600), encoding="utf-8") as file:
            file.write(key.hex() + "\n")
        started = []
        try:
            started.append(subprocess.Popen([BINARY, "serve", "--key-file", path, "--interface", "127.0.0.1", "--address-file", address, "--quiet"],
                                            stdout=subprocess.DEVNULL))
            until(lambda: os.path.exists(address) and os.path.getsize(address) > 0)
            with open(address, encoding="utf-8") as file:
                where = file.read().strip()
            subprocess.run([BINARY, "store", "make", "t", "--at", where, "--key-file", path, "--keys", "0..9"], check=True)
            check(started[0].pid, key, "hawser serve")
            # A node that waits for another one has opened its net.
            started.append(subprocess.Popen([BINARY, "train", "lasso", os.devnull, "--listen", "2", "--interface", "127.0.0.1", "--key-file", path],
                                            stderr=subprocess.PIPE, text=True))
            line = started[1].stderr.readline()
            assert "waiting for" in line, line
            check(started[1].pid, key, "a node by hand")
            started[1].stderr.close()
        finally:
            for process in started:
                process.kill()
                process.wait()


main()
