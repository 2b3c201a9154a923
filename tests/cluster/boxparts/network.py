"""The network of a box: a namespace per host and one with the bridge, so the machine's own network sees none of it.

Who is where is written down beforehand (neighbours, forwarding table) instead of asked for by broadcast: a counter of bytes then counts
what programs send and nothing else, and a direction is cut by giving the sender an address at which nobody listens.
"""
import json
import os
import re

from boxparts.system import NAMESPACES, NOT_HERE, Failure, batch, inside, said, wait_until

CARD = "eth0"
NOBODY = "02:00:00:00:ff:ff"
UNITS = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
QUEUE_SECONDS = 0.05


def namespace(box, host):
    return f"hawser-box-{box}-{host}"


def card_address(index):
    return f"02:00:00:00:{index >> 8:02x}:{index & 255:02x}"


def parse_rate(text):
    """Returns bits per second."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmg]?bit)", text.lower())
    rate = float(found.group(1)) * UNITS[found.group(2)] if found else 0
    if not 8000 <= rate <= 100e9:
        raise Failure(f"'{text}' is no rate; say for example 10mbit, from 8kbit to 100gbit", 2)
    return round(rate)


def parse_delay(text):
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(us|ms|s)", text.lower())
    if not found or not 0 < float(found.group(1)) * {"us": 1e-6, "ms": 1e-3, "s": 1}[found.group(2)] <= 10:
        raise Failure(f"'{text}' is no delay; say for example 1ms, at most 10s", 2)
    return text.lower()


def choose_subnets(name, taken):
    """Returns a /24 and a /64 that follow from the name and differ from the machine's routes and other boxes' (`taken`)."""
    import hashlib
    import ipaddress
    digest = hashlib.sha256(name.encode()).digest()
    routes = json.loads(said("ip", "-j", "route", "show", "table", "all") or "[]")
    nets = [ipaddress.ip_network(net) for net in taken]
    for route in routes:
        if re.fullmatch(r"10\.[0-9.]+(/\d+)?", route.get("dst", "")):
            nets.append(ipaddress.ip_network(route["dst"], strict=False))
    start = int.from_bytes(digest[:2], "big")
    for step in range(65536):
        number = (start + step * 257) % 65536
        ipv4 = ipaddress.ip_network(f"10.{number >> 8}.{number & 255}.0/24")
        if not any(ipv4.overlaps(net) for net in nets if net.prefixlen >= 9):
            break
    ipv6 = ipaddress.ip_network((b"\xfd" + digest[2:7] + ipv4.network_address.packed[1:3] + bytes(8), 64))
    return str(ipv4), str(ipv6)


def shape(box, index, rate, delay):
    """Limits both directions of a host's link. rate: bits per second or None; delay: of the sent packets only."""
    for where, device, late in ((namespace(box, f"h{index}"), CARD, delay), (namespace(box, "switch"), f"p{index}", None)):
        lines = []
        if "qdisc noqueue" not in said("tc", "-n", where, "qdisc", "show", "dev", device, "root"):
            lines.append(f"qdisc del dev {device} root")
        if rate:
            burst = max(8192, round(rate / 8 * 0.002))
            limit = burst + max(32768, round(rate / 8 * QUEUE_SECONDS))
            lines.append(f"qdisc add dev {device} root handle 1: tbf rate {rate}bit burst {burst} limit {limit}")
        if late:
            lines.append(f"qdisc add dev {device} {'parent 1:1 handle 2:' if rate else 'root handle 2:'} netem delay {late} limit 100000")
        try:
            batch("tc", where, lines)
        except Failure as failure:
            if late and "kind is unknown" in str(failure):
                raise Failure("skipped: --delay needs netem (CONFIG_NET_SCH_NETEM), which this kernel has not", NOT_HERE) from None
            raise


def rate_of(box, index):
    """Returns what shape() set, as the kernel reports it, or None."""
    for row in json.loads(said("tc", "-j", "-n", namespace(box, f"h{index}"), "qdisc", "show", "dev", CARD)):
        if row["kind"] == "tbf":
            return row["options"]["rate"] * 8
    return None


def _quiet(ipv6):
    """Prepares a new namespace: no automatic addresses, no discovery, and therefore no packets but those of the test."""
    try:
        for key, value in {"disable_ipv6": int(not ipv6), "addr_gen_mode": 1, "accept_ra": 0, "accept_dad": 0,
                           "router_solicitations": 0}.items():
            with open(f"/proc/sys/net/ipv6/conf/default/{key}", "w", encoding="ascii") as file:
                file.write(str(value))
    except FileNotFoundError:
        if ipv6:
            raise Failure("skipped: --ipv6 needs IPv6, which this kernel has not", NOT_HERE) from None


def build(box, addresses, ipv6):
    """Makes the namespaces, links and tables. addresses[i] is the list of (address, prefix length) of host i."""
    switch, count = namespace(box, "switch"), len(addresses)
    hosts = [namespace(box, f"h{i}") for i in range(count)]
    for name in [switch, *hosts]:
        said("ip", "netns", "add", name)
        inside(name, lambda: _quiet(ipv6 and name != switch))
    lines = ["link add br0 type bridge stp_state 0 mcast_snooping 0", "link set br0 up"]
    for i, host in enumerate(hosts):
        lines += [f"link add p{i} type veth peer name {CARD} address {card_address(i)} netns {host}", f"link set p{i} master br0 up"]
    batch("ip", switch, lines)
    batch("bridge", switch, [line for i in range(count) for line in (
        f"link set dev p{i} learning off flood off", f"fdb replace {card_address(i)} dev p{i} master static")])
    for i, host in enumerate(hosts):
        lines = ["link set lo up", f"link set {CARD} up"]
        lines += [f"address add {ip}/{prefix} dev {CARD}" + (" nodad" if ":" in ip else "") for ip, prefix in addresses[i]]
        lines += [_neighbour(ip, card_address(j)) for j in range(count) if j != i for ip, _ in addresses[j]]
        batch("ip", host, lines)
    for i, host in enumerate(hosts):
        wait_until(lambda: _is_up(host, CARD) and _is_up(switch, f"p{i}"), 10, f"the link of h{i} does not come up")


def _is_up(where, device):
    """Returns whether a link is up; until then it loses packets."""
    return json.loads(said("ip", "-j", "-n", where, "link", "show", "dev", device))[0]["operstate"] == "UP"


def _neighbour(address, card):
    return f"neigh replace {address} lladdr {card} nud permanent dev {CARD}"


def cut(box, addresses, pairs, healed=False):
    """For each (a, b): drops every packet from a to b without a notice, as a broken switch does; or delivers them again."""
    for a in {a for a, _ in pairs}:
        batch("ip", namespace(box, f"h{a}"), [_neighbour(ip, card_address(b) if healed else NOBODY)
                                              for sender, b in sorted(pairs) if sender == a for ip, _ in addresses[b]])


def cuts(box, addresses):
    """Returns all (a, b) that are cut, as the kernel reports them."""
    owner = {ip: j for j, own in enumerate(addresses) for ip, _ in own}
    found = set()
    for a in range(len(addresses)):
        for row in json.loads(said("ip", "-j", "-n", namespace(box, f"h{a}"), "neigh", "show", "dev", CARD)):
            if row.get("lladdr") == NOBODY and row["dst"] in owner:
                found.add((a, owner[row["dst"]]))
    return found


def counters(box, host):
    rows = json.loads(said("ip", "-j", "-s", "-n", namespace(box, host), "link", "show", "dev", CARD))
    numbers = rows[0]["stats64"]
    return {"host": host, "interface": CARD, **{
        f"{way}_{what}": numbers[way][what] for way in ("tx", "rx") for what in ("bytes", "packets")}}


def existing():
    """Returns {box: hosts and switch} of all namespaces with names of boxes, whichever process made them."""
    found = {}
    for line in said("ip", "netns", "list").splitlines():
        name = re.fullmatch(r"hawser-box-(.+)-(switch|h\d+)", line.split()[0]) if line.split() else None
        if name:
            found.setdefault(name.group(1), []).append(name.group(2))
    return found


def current():
    """Returns (box, host) of the calling process, or (None, None)."""
    mine = os.stat("/proc/self/ns/net")
    for box, hosts in existing().items():
        for host in hosts:
            try:
                if os.path.samestat(os.stat(path(box, host)), mine):
                    return box, host
            except OSError:
                pass
    return None, None


def remove(box):
    for host in existing().get(box, []):
        said("ip", "netns", "delete", namespace(box, host))


def path(box, host):
    return f"{NAMESPACES}/{namespace(box, host)}"
