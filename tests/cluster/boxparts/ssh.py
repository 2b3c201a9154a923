"""A stand-in for `ssh HOST COMMAND`, as a launcher sees it: without network and keys, otherwise like OpenSSH.

The far side has an environment of its own, a shell that gets the words joined by blanks, and pipes to the client. When the client goes,
however it goes, the far side finds its input ended and its output closed, and is told nothing else.
"""
import os
import pwd
import selectors

from boxparts.enter import enter
from boxparts.network import cuts
from boxparts.system import default_signals, execute

FAILED = 255
WITH_VALUE, PLAIN = "BbcDEeFIiJLlmOopQRSWw", "46AaCfGgKkMNnqsTtVvXxYy"
REFUSED = "fGLDMNORSsWtJ"  # these need a terminal, a tunnel or a background process, which this stand-in lacks


def say(text):
    os.write(2, f"ssh: {text}\r\n".encode())
    return FAILED


def parse(words):
    """Returns (host, command words, no input?) or a message. Options may precede or follow the host."""
    host, quiet, at = None, False, 0
    while at < len(words):
        word = words[at]
        at += 1
        if host is not None and (not word.startswith("-") or word == "--"):
            return host, words[at - (word != "--"):], quiet
        if not word.startswith("-") or word == "-":
            host = word.rpartition("@")[2]
            continue
        if word == "--":
            continue
        for place, letter in enumerate(word[1:], 2):
            if letter in REFUSED or letter not in WITH_VALUE + PLAIN:
                return f"a box's ssh has no -{letter}"
            quiet = quiet or letter == "n"
            if letter in WITH_VALUE:
                at += 0 if word[place:] else 1
                break
    return (host, [], quiet) if host else "usage: ssh [options] host command"


def find(box, name):
    """Finds a host by its name or one of its addresses."""
    for i, addresses in enumerate(box.addresses):
        if name.strip("[]") in [f"h{i}", *(ip for ip, _ in addresses)]:
            return f"h{i}"
    return None


def session(box, words):
    parsed = parse(words)
    if isinstance(parsed, str):
        return say(parsed)
    host, command, quiet = find(box, parsed[0]), " ".join(parsed[1]), parsed[2]
    if not host:
        return say(f"Could not resolve hostname {parsed[0]}: Name or service not known")
    if not command:
        return say("a box's ssh has no terminal; give a command")
    lost, there, here = cuts(box.name, box.addresses), int(host[1:]), box.here()
    others = {int(here[1:])} if here else set(range(len(box.addresses)))
    others.discard(there)
    if others and all((there, other) in lost or (other, there) in lost for other in others):
        return say(f"connect to host {parsed[0]} port 22: No route to host")
    return _relay(*_start(box, host, command), quiet)


def _start(box, host, command):
    """Starts the remote side. Returns (pid, its input, its output, its errors)."""
    pipes = [os.pipe() for _ in range(3)]
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            for target, mine in enumerate((pipes[0][0], pipes[1][1], pipes[2][1])):
                os.dup2(mine, target)
            enter(box, host)
            user = pwd.getpwuid(os.getuid())
            os.environ.clear()
            os.environ.update(HOME=user.pw_dir, USER=user.pw_name, LOGNAME=user.pw_name, SHELL="/bin/sh",
                              PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            os.chdir(user.pw_dir if os.path.isdir(user.pw_dir) else "/")
            default_signals()
            execute(["/bin/sh", "-c", command])
        except BaseException as error:  # no exception may return into the client's code
            os.write(2, f"box: {error}\n".encode())
        os._exit(FAILED)
    for mine in (pipes[0][0], pipes[1][1], pipes[2][1]):
        os.close(mine)
    return pid, pipes[0][1], pipes[1][0], pipes[2][0]


class Input:
    """Copies the input to the command as fast as the command reads it. A command that reads nothing must not stop its output."""

    def __init__(self, streams, target, quiet):
        self.streams, self.target, self.held = streams, target, b""
        os.set_blocking(target, False)
        if quiet:
            os.close(target)
        else:
            streams.register(0, selectors.EVENT_READ, self.read)

    def read(self):
        try:
            self.held = os.read(0, 65536)
        except OSError:
            self.held = b""
        self.streams.unregister(0)
        if self.held:
            self.streams.register(self.target, selectors.EVENT_WRITE, self.write)
        else:
            os.close(self.target)

    def write(self):
        try:
            self.held = self.held[os.write(self.target, self.held):]
        except BlockingIOError:
            return
        except BrokenPipeError:  # the command does not read: go on without input
            self.streams.unregister(self.target)
            os.close(self.target)
            return
        if not self.held:
            self.streams.unregister(self.target)
            self.streams.register(0, selectors.EVENT_READ, self.read)


def _relay(pid, far_in, far_out, far_err, quiet):
    """Waits until the command has ended and no process holds its output. Like ssh, it also waits for background processes of the command."""
    streams = selectors.PollSelector()  # epoll refuses plain files
    Input(streams, far_in, quiet)
    outputs = {far_out: 1, far_err: 2}
    for descriptor in outputs:
        streams.register(descriptor, selectors.EVENT_READ)
    while outputs:
        for key, _ in streams.select():
            if key.fd not in outputs:
                key.data()
                continue
            data = os.read(key.fd, 65536)
            if not data:
                streams.unregister(key.fd)
                del outputs[key.fd]
            while data:
                try:
                    data = data[os.write(outputs[key.fd], data):]
                except BrokenPipeError:
                    return FAILED  # no process reads the output: the connection closes
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return code if code >= 0 else FAILED
