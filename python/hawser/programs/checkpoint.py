"""Runs as files: what a program has reached, and where it goes on."""
import dataclasses
import hashlib
import io
import json
import os
import pathlib
from typing import Any

import numpy as np

from .._changes import PolicyChange
from .._errors import BadInput, FileError
from .._numbers import Array

FORMAT = 1
KEPT = ("metrics", "stop_reason", "clocks", "seconds", "workers", "nodes", "bytes_exchanged", "not_repeatable", "log_view", "ended", "program")


def to_bytes(run: Any) -> bytes:
    """Returns a hawser.Run as the bytes of an .npz file: an array for each state, the facts as JSON, and the position."""
    position = run.position or b""
    facts = {name: getattr(run, name) for name in KEPT}
    facts |= {"format": FORMAT, "changes": [dataclasses.asdict(change) for change in run.changes], "trace": run.trace,
              "digest": _digest(run.states, position)}
    arrays: dict[str, Any] = {f"state.{name}": values for name, values in run.states.items()}
    arrays["run"] = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    arrays["position"] = np.frombuffer(position, np.uint8)
    made = io.BytesIO()
    np.savez(made, **arrays)
    return made.getvalue()


def _digest(states: dict[str, Array], position: bytes) -> str:
    """Returns a digest of the arrays. Those of the .npz file itself do not cover its names."""
    found = hashlib.sha256(position)
    for name, values in sorted(states.items()):
        found.update(repr((name, values.dtype.str, values.shape)).encode())
        found.update(np.ascontiguousarray(values).data)
    return found.hexdigest()


def from_bytes(given: bytes, where: str) -> tuple[dict[str, Array], dict[str, Any]]:
    """Returns the states and the other fields of a hawser.Run."""
    try:
        with np.load(io.BytesIO(given), allow_pickle=False) as arrays:
            facts = dict(json.loads(arrays["run"].tobytes()))
            states = {name.removeprefix("state."): arrays[name] for name in arrays.files if name.startswith("state.")}
            position = arrays["position"].tobytes()
        if facts.pop("format") != FORMAT:
            raise BadInput(f"{where}: another version of hawser has written it; run the program from the start")
        if facts.pop("digest") != _digest(states, position):
            raise ValueError("its arrays are damaged")
        changes = tuple(PolicyChange(**change) for change in facts.pop("changes"))
        kept = {name: facts[name] for name in KEPT}
        return states, {**kept, "trace": tuple(facts["trace"]), "changes": changes, "position": position or None}
    except BadInput:
        raise
    except Exception as error:  # numpy and zipfile raise many for damaged files
        raise BadInput(f"{where}: it is no whole file of a hawser.Run: {error}") from error


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


def check_place(path: Any) -> None:
    """Refuses at once a file that could not be written when the run has ended."""
    path = pathlib.Path(path)
    if path.is_dir():
        raise FileError(f"{path}: it is a folder; name a file")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise FileError(f"{path}: it cannot be written: {'its folder may not be written to' if path.parent.is_dir() else 'its folder does not exist'}")


def read(path: Any) -> bytes:
    """Returns the bytes of a file."""
    try:
        return pathlib.Path(path).read_bytes()
    except OSError as error:
        raise FileError(f"{path}: it cannot be read: {error.strerror or error}") from error


__all__ = ["check_place", "from_bytes", "read", "to_bytes", "write"]
