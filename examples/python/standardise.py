"""Data that change before a model learns from them: `python3 standardise.py FILE`, also under `hawser run -n 4 --`.

Algorithm 5 of Alt in two units: one sums the columns over all workers, the next one standardises the rows in place. Least squares by
gradient descent then reads these. The first column of FILE is the target."""
import sys
import hawser
import numpy


@hawser.unit(updates="sums")
def add_up(rows, sums):  # for each column: how many, their sum, the sum of their squares
    for row in rows:
        sums[0] += 1
        sums[1] += row
        sums[2] += row**2


@hawser.unit(updates="rows")
def standardise(rows, sums):  # a copy of the worker's rows, which all later units read
    mean = sums[1] / sums[0]
    deviation = numpy.sqrt(sums[2] / sums[0] - mean**2)
    for i in range(len(rows)):
        rows[i] = (rows[i] - mean) / numpy.where(deviation > 0, deviation, 1.0)


@hawser.unit(updates="w b", reports="squares")
def descend(rows, rows_target, sums, w, b):
    rate, squares, change, constant = 1 / (sums[0, 0] * (len(w) + 1)), 0.0, numpy.zeros(len(w)), 0.0
    for i in range(len(rows)):
        error = rows_target[i] - (rows[i] * w).sum() - b[0]
        change += rate * error * rows[i]
        constant += rate * error
        squares += error**2
    w += change
    b[0] += constant
    return squares


if len(sys.argv) != 2:
    sys.exit(__doc__)
program = hawser.Program("standardise")
program.data("rows", sys.argv[1], target="0")
program.replicated("sums", (3, "rows"))
program.replicated("w", "rows")
program.replicated("b", 1)
program.unit(add_up)
program.unit(standardise)
program.loop("descent", clocks=500).unit(descend)
found = program.run()
if found.node == 0:
    print(f"root of the mean squared error {(found.metrics['squares'] / found['sums'][0, 0]) ** 0.5:.6f}")
    numpy.savetxt(sys.stdout, found["w"], "%.6f")
