"""Ports for processes that are told where to listen."""
import socket

HELD = []  # sockets of free_port


def free_port():
    """A port that no other process is given: a bound socket that does not listen lets in one that reuses the address."""
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind(("127.0.0.1", 0))
    HELD.append(one)
    return one.getsockname()[1]
