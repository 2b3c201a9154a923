#!/usr/bin/env python3
"""train --init NAME=FILE: a training that starts from the numbers of files has the same bits as one that starts from the model with these numbers, in one
process and on two nodes; names, shapes and numbers that do not fit are refused."""
import os
import random
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import certificate
import command

COLUMNS = 4
TRAININGS = {
    "lasso": (("--target", "y", "--ignore", "c,z", "--lambda", "0.05"), "1"),
    "logistic": (("--target", "c", "--ignore", "y,z", "--lambda", "0.02", "--positive", "1"), "1"),
    "linear": (("--target", "y", "--ignore", "c,z", "--step", "0.01"), "200"),
    "multitask": (("--target", "y,z", "--ignore", "c", "--lambda", "0.05", "--tol", "1e-15"), "1"),
    "kmeans": (("--ignore", "y,z,c", "--clusters", "3"), "2"),
    "svm": (("--target", "c", "--ignore", "y,z", "--solver", "primal"), "1"),
    "softmax": (("--target", "c", "--ignore", "y,z", "--lambda", "0.01"), "1"),
}


def write_npy(path, rows, cols, numbers):
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {cols}), }}".ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(numbers)}d", *numbers))


def write_text(path, numbers):
    with open(path, "w") as file:
        file.writelines(f"{number!r}\n" for number in numbers)


def make_data():
    draw = random.Random(11)
    with open("d.csv", "w") as file:
        file.write("y,z,c,p,q,r,s\n")
        for _ in range(90):
            x = [draw.gauss(0, 1) for _ in range(COLUMNS)]
            y, z = 2 * x[0] - x[2] + 0.2 * draw.gauss(0, 1), x[1] + 0.2 * draw.gauss(0, 1)
            file.write(",".join(map(repr, [y, z, (y > 0) + (z > 0)] + x)) + "\n")


def train(algorithm, *words, launch=(), clocks=None, code=0):
    own, most = TRAININGS[algorithm]
    out = subprocess.run((command.HAWSER, *launch, "train", algorithm, "d.csv", *own, "--workers", "2", "--max-clocks", clocks or most, *words, "-q"),
                         capture_output=True, text=True, env=command.CLEAN, timeout=100)
    assert out.returncode == code, (algorithm, words, out.returncode, out.stderr)
    return out.stderr


def tensors(path):
    return {name: value for name, value in certificate.read_tensors(path).items()}


def files_of(algorithm, model):
    """Writes a model's numbers to files, as .npy or as text, and returns the option."""
    if algorithm == "kmeans":
        (rows, cols), centres = model["centres"]
        write_npy("centres.npy", rows, cols, centres)
        return ("--init", "centres=centres.npy")
    if algorithm in ("svm", "softmax"):
        (rows, cols), numbers = model["coefficients"]
        write_npy("w.npy", rows, cols, numbers)
        write_text("b.txt", model["intercepts"][1])
        return ("--init", "coefficients=w.npy", "--init", "intercepts=b.txt")
    index, values = model["coefficients.index"][1], model["coefficients.value"][1]
    outputs = len(values) // len(index)
    dense = [0.0] * (outputs * COLUMNS)
    for o in range(outputs):
        for k, column in enumerate(index):
            dense[o * COLUMNS + column] = values[o * len(index) + k]
    write_text("w.txt", dense)
    return ("--init", "coefficients=w.txt")


def files_start_as_their_model():
    for algorithm in command.some(TRAININGS, 2):
        train(algorithm, "-o", "m")
        files = files_of(algorithm, tensors("m"))
        train(algorithm, "--init", "m", "-o", "by_model")
        train(algorithm, *files, "-o", "by_files")
        train(algorithm, *files, "-o", "by_nodes", launch=("run", "-n", "2", "--"))
        expected = tensors("by_model")
        assert tensors("by_files") == expected, (algorithm, tensors("by_files"), expected)
        assert tensors("by_nodes") == expected, (algorithm, "on two nodes")
        assert expected != tensors("m"), (algorithm, "the start makes no difference")


def what_does_not_fit_is_refused():
    write_text("three", [1.0] * 3)
    write_text("seven", [1.0] * 7)
    write_npy("wrong.npy", 2, 2, [1.0] * 4)
    write_npy("nan.npy", 1, 4, [1.0, float("nan"), 1.0, 1.0])
    for algorithm, words, code, said in (
            ("lasso", ("--init", "coefficients=three"), 3, "three"), ("lasso", ("--init", "coefficients=wrong.npy"), 3, "wrong.npy"),
            ("lasso", ("--init", "coefficients=nan.npy"), 7, "nan.npy: number 1 is not finite"), ("lasso", ("--init", "coefficients=absent"), 4, "absent"),
            ("lasso", ("--init", "alpha=three"), 2, "lasso does not start from 'alpha'; give --init MODEL, or NAME=FILE with one of the names: coefficients"),
            ("lasso", ("--init", "coefficients=seven", "--init", "m"), 2, "give one of them"),
            ("lasso", ("--init", "coefficients=seven", "--init-if-exists"), 2, "there is no --init MODEL"),
            ("svm", ("--init", "coefficients=seven"), 3, "seven"), ("svm", ("--init", "intercepts=three", "--no-intercept"), 2, "--no-intercept"),
            ("svm", ("--init", "intercepts=three", "--solver", "dual"), 2, "--solver dual and joint start from numbers of the rows"),
            ("softmax", ("--init", "intercepts=seven"), 3, "seven"), ("softmax", ("--init", "centres=seven"), 2, "coefficients intercepts"),
            ("kmeans", ("--init", "centres=seven"), 3, "seven"), ("kmeans", ("--init", "centres=seven", "--centres", "d.csv"), 2, "give one of them"),
            ("kmeans", ("--init", "centres=seven", "--starts", "2"), 3, "seven")):
        err = train(algorithm, *words, code=code)
        assert said in err and len(err.splitlines()) == 1, (algorithm, words, err)


def nodes_with_other_numbers_are_refused():
    for node in range(2):
        os.mkdir(str(node))
        write_text(f"{node}/w.txt", [1.0, 2.0, 3.0, float(node)])
    data = os.path.abspath("d.csv")
    script = f'cd "$HAWSER_NODE" && exec {command.HAWSER} train lasso {data} {" ".join(TRAININGS["lasso"][0])} --workers 2 --init coefficients=w.txt'
    out = subprocess.run((command.HAWSER, "run", "-n", "2", "--", "/bin/sh", "-c", script), capture_output=True, text=True, env=command.CLEAN, timeout=100)
    assert out.returncode == 6 and "begins with numbers of the digest" in out.stderr, (out.returncode, out.stderr)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        make_data()
        files_start_as_their_model()
        what_does_not_fit_is_refused()
        nodes_with_other_numbers_are_refused()
        os.chdir("/")


main()
