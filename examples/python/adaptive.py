"""Logistic regression by gradient, under a sync that tightens when it must: `python3 adaptive.py FILE`, also under `hawser run -n 4 --`.

The first column of FILE is the label, 1 or 0. Workers begin under ssp:3, where none waits for the slowest one. When the loss stops to fall,
the loop goes on under bsp, where each step has the newest numbers, until the loss stops to fall there, too."""
import sys
import hawser
import numpy


@hawser.unit(updates="sums")
def add_up(rows, sums):  # for each column: how many, their sum, the sum of their squares
    for row in rows:
        sums[0] += 1
        sums[1] += row
        sums[2] += row**2


@hawser.unit(updates="scaled")
def standardise(rows, sums, scaled):  # once, before the loop reads them
    mean = sums[1] / sums[0]
    deviation = numpy.sqrt(sums[2] / sums[0] - mean**2)
    for i in range(len(rows)):
        scaled[i] = (rows[i] - mean) / numpy.where(deviation > 0, deviation, 1.0)


@hawser.unit(updates="w b", reports="loss")
def step(scaled, scaled_target, sums, w, b):
    loss, gradient, constant = 0.0, numpy.zeros(len(w)), 0.0
    for i in range(len(scaled)):
        margin = (scaled[i] * w).sum() + b[0]
        error = scaled_target[i] - 1 / (1 + numpy.exp(-margin))
        loss += numpy.log1p(numpy.exp(-abs(margin))) + max(margin, 0.0) - scaled_target[i] * margin
        gradient += error * scaled[i]
        constant += error
    rate = 2 / (sums[0, 0] * (len(w) + 1))
    w += rate * gradient
    b[0] += rate * constant
    return loss


@hawser.condition
def settled(progress):  # remembers the least loss, the clocks since then, and whether the loop is under bsp
    if progress.clock == 0 or progress["loss"] < (1 - 1e-4) * progress.memory[0]:
        progress.memory[0], progress.memory[1] = progress["loss"], 0
    progress.memory[1] += 1
    if progress.memory[1] > 8 and progress.memory[2] == 0:
        progress.set_sync("descent", "bsp")
        progress.memory[1], progress.memory[2] = 0, 1
    return progress.memory[1] > 8


if len(sys.argv) != 2:
    sys.exit(__doc__)
program = hawser.Program("adaptive")
program.data("rows", sys.argv[1], target="0")
program.transformed("scaled", "rows", "rows")
program.replicated("sums", (3, "rows"))
program.replicated("w", "rows")
program.replicated("b", 1)
program.unit(add_up)
program.unit(standardise)
program.loop("descent", test=settled, remembers=3, sync="ssp:3").unit(step)
found = program.run()
if found.node == 0:
    for change in found.changes:
        print(change)
    print(f"loss {found.metrics['loss'] / found['sums'][0, 0]:.6f}, intercept {found['b'][0]:.4f}, coefficients", found["w"].round(4))
