"""Runs as files: what a program has reached, and where it goes on."""
import dataclasses
import io
import json
import os
import pathlib
import zipfile
from typing import Any

import numpy as np

from .._changes import PolicyChange
from .._dataset import Array
from .._errors import BadInput, FileError

FORMAT = 1
KEPT = ("metrics", "stop_reason", "clocks", "seconds", "workers", "nodes", "bytes_exchanged", "not_repeatable", "log_view", "ended", "program")


def to_bytes(run: Any) -> bytes:
    """Returns a hawser.Run as the bytes of an .npz file: an array for each state, the facts as JSON, and the position."""
    facts = {name: getattr(run, name) for name in KEPT}
    facts |= {"format": FORMAT, "changes": [dataclasses.asdict(change) for change in run.changes], "trace": run.trace}
    arrays: dict[str, Any] = {f"state.{name}": values for name, values in run.states.items()}
    arrays["run"] = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    arrays["position"] = np.frombuffer(run.position or b"", np.uint8)
    made = io.BytesIO()
    np.savez(made, **arrays)
    return made.getvalue()


def from_bytes(given: bytes, where: str) -> tuple[dict[str, Array], dict[str, Any]]:
    """Returns the states and the other fields of a hawser.Run."""
    try:
        with np.load(io.BytesIO(given), allow_pickle=False) as arrays:
            facts = json.loads(arrays["run"].tobytes())
            states = {name.removeprefix("state."): arrays[name] for name in arrays.files if name.startswith("state.")}
            position = arrays["position"].tobytes() or None
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise BadInput(f"{where}: it is no whole file of a hawser.Run: {error}") from error
    if facts.pop("format") != FORMAT:
        raise BadInput(f"{where}: another version of hawser has written it; run the program from the start")
    changes = tuple(PolicyChange(**change) for change in facts.pop("changes"))
    return states, {**facts, "trace": tuple(facts.pop("trace")), "changes": changes, "position": position}


def write(path: Any, given: bytes) -> None:
    """Writes a file whole, or leaves the one that is there."""
    path = pathlib.Path(path)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        try:
            with open(part, "wb") as file:
                file.write(given)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise FileError(f"{path}: it cannot be written: {error.strerror or error}") from error


def read(path: Any) -> bytes:
    """Returns the bytes of a file."""
    try:
        return pathlib.Path(path).read_bytes()
    except OSError as error:
        raise FileError(f"{path}: it cannot be read: {error.strerror or error}") from error


__all__ = ["from_bytes", "read", "to_bytes", "write"]
