#!/usr/bin/env python3
"""What a simulated node can reach of the real machine: each name that libhawser.a leaves to other libraries is wrapped or listed as harmless, and
each function of net.h is wrapped. So a new call of threads, time or other processes is noticed before a world depends on the real ones."""
import fnmatch
import os
import re
import subprocess
import sys

source, build = os.environ["HAWSER_SOURCE"], os.environ["HAWSER_BUILD"]
if os.environ.get("HAWSER_SANITIZE"):
    print("a sanitized library has names of its own")
    sys.exit(77)
NOT_WRAPPED = {  # of net.h
    "hw_net_short_incarnation": "pure", "hw_net_transport_new": "calls the others", "hw_net_transport_arrived": "calls the others"}


def names(option):
    table = subprocess.run(["nm", option, f"{build}/src/libhawser.a"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r" [A-Zuvw] (\S+)$", table, re.M))


with open(f"{source}/src/sim/wraps.txt", encoding="utf-8") as file:
    wrapped = file.read().split()
with open(f"{source}/src/sim/harmless.txt", encoding="utf-8") as file:
    harmless = [name for line in file if not line.startswith("#") for name in line.partition(":")[2].split()]
assert wrapped == sorted(set(wrapped)), "wraps.txt is not in order"

defined, undefined = names("--defined-only"), names("-u")
foreign = undefined - {name for name in defined}
unknown = {name for name in foreign if name not in wrapped and not any(fnmatch.fnmatchcase(name, pattern) for pattern in harmless)}
assert not unknown, f"wrap these in src/sim, or list them in harmless.txt with the reason: {' '.join(sorted(unknown))}"
assert len(foreign) > 200, "nm has found no library"
both = [name for name in wrapped if any(fnmatch.fnmatchcase(name, pattern) for pattern in harmless)]
assert not both, f"wrapped and harmless: {both}"

with open(f"{source}/src/transport/net/net.h", encoding="utf-8") as file:
    header = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
calls = set(re.findall(r"\b(hw_net_\w+)\(", header)) - set(NOT_WRAPPED)
assert len(calls) > 20
assert calls <= set(wrapped), f"net.h has calls that are not wrapped: {' '.join(sorted(calls - set(wrapped)))}"
# A wrap of a name that no other object calls has no effect: the call would be within one object. Programs call the rest of hawser_*.
idle = [name for name in wrapped if name not in undefined and not name.startswith("hawser_") and name not in calls]
assert not idle, f"wrapped, but the library does not call it from another object: {idle}"
