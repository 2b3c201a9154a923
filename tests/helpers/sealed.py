"""Lines of files of decisions and of settings, with the checksum that src/adapt/line.c expects."""
import json

ALL = 2**64 - 1


def step(state, value):
    state = (state ^ value) * 0x9FB21C651E98DF25 & ALL
    return state ^ state >> 32


def digest(data):
    """hw_hash of base/hash.h."""
    words = [int.from_bytes(data[at:at + 8], "little") for at in range(0, len(data), 8)] + ([0] if len(data) % 8 == 0 else [])
    lanes, four = [step(0, k + 1) for k in range(4)], len(data) // 32 * 4
    for place, word in enumerate(words[:four]):
        lanes[place % 4] = step(lanes[place % 4], word)
    found = step(0, len(data))
    for word in (*lanes, *words[four:]):
        found = step(found, word)
    return step(found, len(data))


def is_sealed(line):
    """Returns whether a line ends with the checksum of the text before it."""
    text, found, seal = line.rpartition(',"checksum":"')
    return found != "" and seal == f'{digest(text.encode()):016x}"}}\n'


def sealed(fields):
    """The line of an object with these fields, as it stands in a file."""
    text = json.dumps({key: value for key, value in fields.items() if key != "checksum"}, separators=(",", ":"), ensure_ascii=False)[:-1]
    return f'{text},"checksum":"{digest(text.encode()):016x}"}}\n'
