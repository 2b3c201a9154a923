#!/usr/bin/env python3
"""The tensors of a linear model: files of the earlier layout are still read, and the lines of 'hawser help models' predict from new ones."""
import json
import os
import struct
import subprocess
import sys
import tempfile
import types

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import certificate
import command

OLD = os.path.join(os.environ["HAWSER_SOURCE"], "tests", "old_models")
DATA = os.path.join(OLD, "data.csv")
TRAININGS = {"pairs": ["--lambda", "0.5"], "dense": ["--lambda", "0.1", "--l1-ratio", "0"], "none": ["--lambda", "100"],
             "path": ["--path", "5", "--validation", DATA]}


def recorded(name):
    with open(os.path.join(OLD, name)) as file:
        return file.read()


def near(found, expected, name):
    """The same numbers except for rounding, which a later release may do in another order."""
    assert len(found) == len(expected) and all(abs(a - b) <= 1e-12 * (1 + abs(b)) for a, b in zip(found, expected)), (name, found, expected)


def earlier_files():
    """Each gives the predictions and coefficients that the command gave when it wrote them, and can start a training."""
    for name, words in TRAININGS.items():
        old, new = os.path.join(OLD, name + ".safetensors"), name + ".safetensors"
        assert command.run("predict", old, DATA) == recorded(name + ".predictions"), name
        assert command.run("info", "--coefficients", old) == recorded(name + ".coefficients"), name
        command.run("train", "lasso", DATA, *words, "-q", "-o", new)
        tensors = certificate.read_tensors(new)
        before = certificate.read_tensors(old)
        near(tensors["intercept"][1], before["intercept"][1], name)
        columns, values = tensors["coefficients.index"], tensors["coefficients.value"]
        assert "coefficients" not in tensors and list(columns[1]) == sorted(set(columns[1])), name
        assert values[0] == ([1, columns[0][0]] if columns[1] else [0]), (name, values)
        assert all(values[1]), (name, "a zero is stored")
        (was, _), (now, _) = certificate.read_model(old), certificate.read_model(new)
        assert list(was) == list(now), name
        near(now.values(), was.values(), name)
        command.run("train", "lasso", DATA, "--lambda", "0.2", "--init", old, "-q", "-o", "again")
    offsets, columns, values = (certificate.read_tensors("path.safetensors")["path." + end] for end in ("offsets", "index", "value"))
    assert values[0] == [1, offsets[1][-1]] and columns[0] == [offsets[1][-1]]


def lines_of_help():
    text = command.run("help", "models").split("\n")
    first = next(i for i, line in enumerate(text) if line.startswith("  import numpy"))
    last = next(i for i in range(first, len(text)) if not text[i])
    assert last - first == 5, text[first:last]
    return "\n".join(line[2:] for line in text[first:last])


def own_safetensors(numpy):
    """Stands in for the library where it is not installed."""
    def load_file(path):
        return {name: numpy.array(values).reshape(shape) for name, (shape, values) in certificate.read_tensors(path).items()}

    module = types.ModuleType("safetensors")
    module.numpy = types.ModuleType("safetensors.numpy")
    module.numpy.load_file = load_file
    sys.modules["safetensors"], sys.modules["safetensors.numpy"] = module, module.numpy


def help_predicts():
    try:
        import numpy
    except ImportError:
        print("skipped: the lines of 'help models' need numpy")
        return
    try:
        import safetensors.numpy  # noqa: F401
    except ImportError:
        own_safetensors(numpy)
    lines = lines_of_help()
    X = numpy.loadtxt(DATA, delimiter=",", skiprows=1)[:, 1:]
    for name in TRAININGS:
        os.replace(name + ".safetensors", "model.safetensors")
        scope = {"X": X}
        exec(lines, scope)
        expected = numpy.array([float(line) for line in command.run("predict", "model.safetensors", DATA).split()])
        assert scope["p"].shape == (len(X), 1) and abs(scope["p"][:, 0] - expected).max() <= 1e-12 * abs(expected).max(), name


def refused(name, change, words):
    """A file whose tensors do not belong together, as other software may write it: without a checksum."""
    with open(name, "rb") as file:
        raw = file.read()
    size = struct.unpack("<Q", raw[:8])[0]
    header, body = json.loads(raw[8:8 + size]), bytearray(raw[8 + size:])
    for key in ("hawser.checksum", "hawser.format"):
        del header["__metadata__"][key]
    change(header, body)
    text = json.dumps(header).encode()
    with open("wrong", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)
    for call in (["predict", "wrong", DATA], ["info", "--coefficients", "wrong"], ["train", "lasso", DATA, "--init", "wrong"]):
        done = subprocess.run([command.HAWSER, *call], capture_output=True, text=True, env=command.CLEAN, timeout=60)
        assert done.returncode == 3 and words in done.stderr, (call, done.returncode, done.stderr)


def same_column_twice(header, body):
    at = header["coefficients.index"]["data_offsets"][0]
    body[at + 8:at + 16] = body[at:at + 8]


def two_outputs(header, body):
    del body
    header["coefficients.value"]["shape"].reverse()


def fewer_columns(header, body):
    del body
    entry = header["coefficients.index"]
    end = entry["data_offsets"][1]
    header["rest"] = {"dtype": "I64", "shape": [1], "data_offsets": [end - 8, end]}
    entry["shape"], entry["data_offsets"][1] = [2], end - 8


def other_name(header, body):
    del body
    header["constant"] = header.pop("intercept")


def wrong_files():
    refused("pairs.safetensors", same_column_twice, "do not ascend")
    refused("pairs.safetensors", two_outputs, "the model has no coefficients")
    refused("pairs.safetensors", fewer_columns, "the model has no coefficients")
    refused("path.safetensors", other_name, "the model has no intercept")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    earlier_files()
    wrong_files()
    help_predicts()
print("all as expected")
