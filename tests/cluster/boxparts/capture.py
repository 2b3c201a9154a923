"""Writes the packets of a host's network card to a pcap file until it is stopped.

The writer is no process of the host: its socket was opened there, and it goes on when the host is stopped or killed.
"""
import json
import os
import select
import signal
import socket
import struct
import time

from boxparts.network import CARD, namespace
from boxparts.system import Failure, inside, send, started, wait_until

ETH_P_ALL, SO_RCVBUFFORCE, SOL_PACKET, PACKET_STATISTICS = 3, 33, 263, 6
LONGEST = 262144


def _note(box, host):
    return os.path.join(box.directory, f"capture-{host}.json")


def writer(box, host):
    """Returns the pid of the host's capture, or None. The pid alone does not suffice, because another process may have it by now."""
    try:
        with open(_note(box, host), encoding="utf-8") as file:
            note = json.load(file)
    except (OSError, ValueError):
        return None
    return note["pid"] if started(note["pid"]) == note["started"] else None


def begin(box, host, path):
    if writer(box, host):
        raise Failure(f"{host} is being captured already; box capture {host} stop")
    try:
        file = open(path, "wb")
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None
    ready, tell = os.pipe()
    if os.fork() == 0:
        try:
            os.close(ready)
            os.setsid()
            if box.groups.exist():
                box.groups.join("tools")
            _write(box, host, file, os.path.abspath(path), tell)
        finally:
            os._exit(1)
    os.close(tell)
    if os.read(ready, 1) != b"+":
        raise Failure(f"cannot capture {host}")


def end(box, host):
    """Stops the capture and returns what it wrote, when all of it is in the file."""
    pid = writer(box, host)
    if not os.path.exists(_note(box, host)):
        raise Failure(f"{host} is not being captured")
    if pid:
        send(pid, signal.SIGTERM)
        wait_until(lambda: not writer(box, host), 30, f"the capture of {host} does not end")
    with open(_note(box, host), encoding="utf-8") as file:
        note = json.load(file)
    os.unlink(_note(box, host))
    if "packets" not in note:
        raise Failure(f"the capture of {host} ended early; {note['file']} may lack packets")
    return {key: note[key] for key in ("file", "packets", "bytes", "dropped")}


def _write(box, host, file, path, tell):
    tap = inside(namespace(box.name, host), lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)))
    tap.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
    tap.bind((CARD, ETH_P_ALL))
    tap.setblocking(False)
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    note = {"pid": os.getpid(), "started": started(os.getpid()), "file": path}
    _save(box, host, note)
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, LONGEST, 1))
    file.flush()
    os.write(tell, b"+")
    os.close(tell)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(null, descriptor)
    packets, size = 0, 0
    while True:
        last = bool(stopping)  # packets that arrived before the signal are still read
        try:
            while True:
                packet = tap.recv(LONGEST)
                now = time.time()
                file.write(struct.pack("<IIII", int(now), int(now % 1 * 1e6), len(packet), len(packet)) + packet)
                packets, size = packets + 1, size + len(packet)
        except BlockingIOError:
            pass
        file.flush()
        if last:
            break
        select.select([tap], [], [], 0.2)
    _, dropped = struct.unpack("II", tap.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
    file.close()
    _save(box, host, {**note, "packets": packets, "bytes": size, "dropped": dropped})
    os._exit(0)


def _save(box, host, note):
    draft = _note(box, host) + ".new"
    with open(draft, "w", encoding="utf-8") as file:
        json.dump(note, file)
    os.replace(draft, _note(box, host))
