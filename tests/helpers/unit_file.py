"""Unit files of systemd."""


def unit_lines(path):
    """Returns {key: [values]} of a unit."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if "=" in line and not line.startswith("#"):
                key, value = line.strip().split("=", 1)
                found.setdefault(key, []).append(value)
    return found
