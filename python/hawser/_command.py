"""The command `hawser` of a wheel: the program inside the package."""
import os
import pathlib
import sys


def main() -> None:
    program = pathlib.Path(__file__).parent / "bin" / "hawser"
    if not program.exists():
        sys.exit("hawser: the command is not in this package, as it is in a wheel; a build has it as build/release/src/hawser")
    os.execv(program, ["hawser", *sys.argv[1:]])
