"""The arguments of the command: the meaning of each, and how the command ends."""
import argparse
import json
import os
import signal
import sys

from boxparts import network, state
from boxparts.system import (
    ENDINGS, Failure, default_signals, require_namespaces, require_root, send, signal_number, stopped, wait_until)

ABOUT = "A cluster in a box: hosts made of network namespaces on this machine, to be shaped, slowed, stopped, cut off and thrown away."

HELP = """\
  box up N              N hosts, h0 to hN-1, joined by a switch      [--rate 100mbit] [--delay 1ms] [--ipv6] [--cgroup v2|v1|none]
  box run H -- CMD      runs a command on a host, or on several at once
  box status            the hosts, and what has been done to them     [--all] [--json]
  box slow H PERCENT    how much of one CPU a host gets, or 'off'
  box rate H RATE       how fast its link is, both ways, or 'off'
  box stop H            freezes all its processes; box cont H lets them go on
  box kill H [SIGNAL]   signals all its processes (KILL)
  box cut H [H2]        loses all packets between H and H2, or everybody; --one-way: only those that H sends
  box heal H [H2]       undoes that
  box bytes H           what has passed its network card, as JSON
  box capture H FILE    writes what passes it to a pcap file, until 'box capture H stop'
  box ssh-wrapper       prints the path of a program that stands in for ssh within the box
  box down              ends the box's processes and removes it        [--all]

H is a host (h0), several (h0,h2) or all. --name NAME, or $BOX_NAME, chooses between several boxes. Exit status 77: not possible here
(it needs root). docs/box.md has more."""


def parser():
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--name", default=argparse.SUPPRESS)
    top = argparse.ArgumentParser(prog="box", usage="box COMMAND ...", description=ABOUT, epilog=HELP, parents=[common],
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True, help=argparse.SUPPRESS)

    def add(name, *positional):
        one = commands.add_parser(name, parents=[common], prog=f"box {name}", allow_abbrev=False)
        for argument in positional:
            one.add_argument(argument.strip("[]"), **({"nargs": "?"} if argument.startswith("[") else {}))
        return one

    one = add("up")
    one.add_argument("count", type=int, metavar="N")
    one.add_argument("--rate")
    one.add_argument("--delay")
    one.add_argument("--ipv6", action="store_true")
    one.add_argument("--cgroup", choices=("auto", "v2", "v1", "none"), default="auto")
    add("run", "host")
    for name, *positional in (("slow", "host", "percent"), ("rate", "host", "rate"), ("stop", "host"), ("cont", "host"),
                              ("kill", "host", "[signal]"), ("bytes", "host"), ("capture", "host", "file"), ("ssh-wrapper",)):
        add(name, *positional)
    for name in ("cut", "heal"):
        add(name, "host", "[other]").add_argument("--one-way", action="store_true")
    one = add("status")
    one.add_argument("--all", action="store_true")
    one.add_argument("--json", action="store_true")
    add("down").add_argument("--all", action="store_true")
    return top


def up(box, asked):
    rate = network.parse_rate(asked.rate) if asked.rate else None
    delay = network.parse_delay(asked.delay) if asked.delay else None
    state.up(box, asked.count, rate, delay, asked.ipv6, asked.cgroup)
    first, last = box.addresses[0][0][0], box.addresses[-1][0][0]
    print(f"box '{box.name}': {len(box.hosts)} hosts, {box.hosts[0]} ({first}) to {box.hosts[-1]} ({last})"
          + (f", links of {asked.rate}" if rate else "") + (f", {asked.delay} late" if delay else ""))


def run(box, asked):
    from boxparts import enter
    if not asked.words:
        raise Failure("usage: box run HOST -- COMMAND ...", 2)
    hosts = box.chosen(asked.host)
    if len(hosts) == 1 and asked.host != "all":
        enter.run_here(box, hosts[0], asked.words)
    return enter.run_all(box, hosts, asked.words)


def slow(box, asked):
    percent = None
    if asked.percent != "off":
        try:
            percent = float(asked.percent.rstrip("%"))
        except ValueError:
            percent = 0
        if not 1 <= percent <= 100000:
            raise Failure(f"'{asked.percent}' is no percentage of a CPU from 1; say for example 25, or off", 2)
    for host in box.chosen(asked.host):
        box.groups.limit(host, percent)


def rate(box, asked):
    wanted = None if asked.rate == "off" else network.parse_rate(asked.rate)
    for host in box.chosen(asked.host):
        network.shape(box.name, int(host[1:]), wanted, box.about["delay"])


def _others(box, asked):
    """Returns the chosen hosts. Refuses the host of this process, which could not continue itself."""
    hosts = box.chosen(asked.host)
    if box.here() in hosts:
        raise Failure(f"{box.here()} cannot {asked.command} itself", 2)
    return hosts


def stop(box, asked):
    for host in _others(box, asked):
        if box.groups.exist():
            box.groups.freeze(host, True)
        else:
            _stop_one_by_one(box, host)


def _stop_one_by_one(box, host):
    """Stops processes until no new one is found, because a process that is not stopped yet may start others."""
    stopped = set()

    def all_stopped():
        new = box.pids([host])[host] - stopped
        for pid in new:
            send(pid, signal.SIGSTOP)
        stopped.update(new)
        return not new

    wait_until(all_stopped, 20, f"{host} does not stop")


def cont(box, asked):
    for host in box.chosen(asked.host):
        if box.groups.exist():
            box.groups.freeze(host, False)
        else:
            for pid in box.pids([host])[host]:
                send(pid, signal.SIGCONT)


def kill(box, asked):
    number = signal_number(asked.signal or "KILL")
    for host in _others(box, asked):
        was_frozen, freezes = box.groups.frozen(host), box.groups.exist()
        try:
            if freezes and not was_frozen:
                box.groups.freeze(host, True)  # no process starts another or reuses a pid meanwhile
        except Failure:
            pass  # a process in it sleeps uninterruptibly; signals reach it later
        seen = {pid for pid in box.pids([host])[host] if send(pid, number)}
        if freezes and (number == signal.SIGKILL or not was_frozen):
            box.groups.freeze(host, False)
        if number == signal.SIGKILL:
            def dead():
                left = box.pids([host])[host]
                for pid in left:
                    if send(pid, number):
                        seen.add(pid)
                return not left

            wait_until(dead, 20, f"the processes of {host} do not die")
        print(f"{host}: {len(seen)} processes")


def _pairs(box, asked):
    pairs = set()
    for host in box.chosen(asked.host):
        for other in box.chosen(asked.other) if asked.other else box.hosts:
            a, b = int(host[1:]), int(other[1:])
            if a != b:
                pairs.update([(a, b)] if asked.one_way else [(a, b), (b, a)])
    if not pairs:
        raise Failure(f"{asked.host} has nobody else to be cut from", 2)
    return pairs


def cut(box, asked):
    network.cut(box.name, box.addresses, _pairs(box, asked))


def heal(box, asked):
    network.cut(box.name, box.addresses, _pairs(box, asked), healed=True)


def count_bytes(box, asked):
    for host in box.chosen(asked.host):
        print(json.dumps(network.counters(box.name, host)))


def capture(box, asked):
    from boxparts import capture as tap
    if len(box.chosen(asked.host)) != 1 or asked.host == "all":
        raise Failure("one host a capture", 2)
    if asked.file != "stop":
        tap.begin(box, asked.host, asked.file)
        return 0
    done = tap.end(box, asked.host)
    print(json.dumps(done))
    if done["dropped"]:
        print(f"box: {done['file']} lacks {done['dropped']} packets: they came faster than they could be written", file=sys.stderr)
    return 1 if done["dropped"] else 0


def ssh_wrapper(box, _):
    """Returns the path of the wrapper. Its file name is ssh, so its directory can also be put into PATH."""
    import shlex
    directory = os.path.join(box.directory, "bin")
    script = os.path.join(directory, "ssh")
    if not os.path.exists(script):
        os.makedirs(directory, exist_ok=True)
        words = ["env", f"TMPDIR={state.place()}", sys.executable, "-S", os.path.realpath(sys.argv[0]), "--name", box.name, "ssh"]
        with open(script + ".new", "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nexec {shlex.join(words)} \"$@\"\n")
        os.chmod(script + ".new", 0o755)
        os.replace(script + ".new", script)
    print(script)


def describe(box):
    found = []
    lost = network.cuts(box.name, box.addresses)
    pids = box.pids(box.hosts)
    for i, host in enumerate(box.hosts):
        found.append({
            "host": host, "addresses": [ip for ip, _ in box.addresses[i]], "processes": len(pids[host]),
            "stopped": box.groups.frozen(host) if box.groups.exist() else bool(pids[host]) and all(map(stopped, pids[host])),
            "cpu_percent": box.groups.limited(host), "rate": network.rate_of(box.name, i),
            "cut_to": [f"h{b}" for a, b in sorted(lost) if a == i]})
    return {"name": box.name, "delay": box.about["delay"], "hosts": found}


def status(box, asked):
    said = []
    for name in state.names() if asked.all else [box.name]:
        try:
            said.append(describe(state.Box(name).load()))
        except (Failure, OSError) as failure:  # another box may be removed meanwhile
            if not asked.all:
                raise
            said.append({"name": name, "left_over": str(failure)})
    if asked.json:
        print(json.dumps(said if asked.all else said[0]))
        return
    for one in said:
        if "left_over" in one:
            print(f"box '{one['name']}': left over; box down --name {one['name']}")
            continue
        print(f"box '{one['name']}': {len(one['hosts'])} hosts" + (f", {one['delay']} late" if one["delay"] else ""))
        for row in one["hosts"]:
            notes = [f"{row['processes']} processes"]
            notes += ["stopped"] if row["stopped"] else []
            notes += [f"{row['cpu_percent']:g} % of a CPU"] if row["cpu_percent"] else []
            notes += [f"{row['rate'] / 1e6:g} Mbit/s"] if row["rate"] else []
            notes += [f"cannot reach {', '.join(row['cut_to'])}"] if row["cut_to"] else []
            print(f"  {row['host']:<4} {' '.join(row['addresses'])}  {', '.join(notes)}")


def down(box, asked):
    for name in state.names() if asked.all else [box.name]:
        if not state.down(state.Box(name)) and not asked.all:
            print(f"there is no box '{name}'")


COMMANDS = {"up": up, "run": run, "slow": slow, "rate": rate, "stop": stop, "cont": cont, "kill": kill, "cut": cut, "heal": heal,
            "bytes": count_bytes, "capture": capture, "ssh-wrapper": ssh_wrapper, "status": status, "down": down}


def open_streams():
    """Opens closed standard streams, because otherwise the first pipe would take their number."""
    while True:
        descriptor = os.open(os.devnull, os.O_RDWR)
        if descriptor > 2:
            os.close(descriptor)
            return
        os.set_inheritable(descriptor, True)


def main(words):
    if len(words) > 2 and words[0] == "--name" and words[2] == "ssh":  # from the wrapper; the words that follow are ssh's
        from boxparts import ssh
        require_root()
        return ssh.session(state.Box(words[1]).load(), words[3:])
    at = words.index("--") if "--" in words else len(words)
    asked = parser().parse_args(words[:at])
    asked.words = words[at + 1:]
    if asked.words and asked.command != "run":
        raise Failure(f"box {asked.command} takes no command", 2)
    require_root()
    box = state.Box(getattr(asked, "name", None) or os.environ.get("BOX_NAME") or "default")
    try:
        if asked.command in ("up", "down", "status"):
            require_namespaces()
        else:
            box.load()
    except Failure:
        require_namespaces()
        raise
    return COMMANDS[asked.command](box, asked) or 0


def interrupted(number, _):
    """Ignores further signals, so that the cleanup is not interrupted again."""
    for other in ENDINGS:
        signal.signal(other, signal.SIG_IGN)
    raise KeyboardInterrupt(number)


def run_command(words):
    """Returns the exit status."""
    for caught in ENDINGS:
        if signal.getsignal(caught) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(caught, interrupted)
    open_streams()
    try:
        result = main(words)
        if sys.stdout:
            sys.stdout.flush()
        return result
    except Failure as failure:
        print(f"box: {failure}", file=sys.stderr)
        return failure.code
    except BrokenPipeError:
        default_signals()
        os.kill(os.getpid(), signal.SIGPIPE)
        return 1
    except OSError as error:
        print(f"box: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as interrupt:
        return 128 + (interrupt.args[0] if interrupt.args else signal.SIGINT)
