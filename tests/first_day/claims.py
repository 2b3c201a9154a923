#!/usr/bin/env python3
"""Counts of claims in a table with words and an exposure: `train poisson` finds glmnet's sparse model with the logarithm of the exposure as
offset, and scikit-learn's PoissonRegressor, which takes rates with the exposure as weights. Predictions are counts for the exposure."""
import math
import os
import random
import sys

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import scratch  # noqa: E402
from certificate import read_model  # noqa: E402
from command import run  # noqa: E402
from peers import answers, glmnet, near, products, scikit  # noqa: E402

ROWS = 1500
AREAS, FUELS = ["city", "town", "village"], ["diesel", "petrol"]
COLUMNS = len(AREAS) + len(FUELS) + 3


def poisson(chance, mean):
    limit, count, product = math.exp(-mean), 0, chance.random()
    while product > limit:
        product *= chance.random()
        count += 1
    return count


def draw(chance):
    lines, matrix, exposure, counts = [], [], [], []
    for _ in range(ROWS):
        area, fuel = chance.choice(AREAS), chance.choice(FUELS)
        numbers = [round(chance.gauss(0, 1), 3) for _ in range(3)]
        years = round(chance.uniform(0.1, 1), 3)
        z = -0.5 + {"city": 0.6, "town": 0.1, "village": -0.3}[area] + 0.2 * (fuel == "diesel") + 0.4 * numbers[0] - 0.2 * numbers[2]
        counts.append(float(poisson(chance, years * math.exp(z))))
        exposure.append(years)
        lines.append([area, fuel] + [str(v) for v in numbers] + [str(years), "%.0f" % counts[-1]])
        matrix.append([(AREAS.index(area), 1.0), (3 + FUELS.index(fuel), 1.0)] + [(5 + k, v) for k, v in enumerate(numbers)])
    return lines, matrix, exposure, counts


def trained(*words):
    run("train", "poisson", "claims.csv", "--target", "claims", "--tol", "1e-13", "-q", "-o", "model", *words)
    w, b = read_model("model")
    return b, [w.get(j, 0.0) for j in range(COLUMNS)]


with scratch.folder():
    lines, matrix, exposure, counts = draw(random.Random(8))
    with open("claims.csv", "w", encoding="ascii") as file:
        file.write("area,fuel,age,power,bonus,years,claims\n" + "".join(",".join(line) + "\n" for line in lines))
    mine = trained("--exposure", "years", "--lambda", "0.01")
    predicted = [float(line) for line in run("predict", "model", "claims.csv", "--exposure", "years").split()]
    near("predictions", predicted, [years * math.exp(z) for years, z in zip(exposure, products(matrix, mine))], 1e-12)
    fit = glmnet(matrix, COLUMNS, counts, "poisson", [0.01], offset=[math.log(years) for years in exposure])
    if fit:
        near("glmnet: sparse, with exposure", [mine[0]] + mine[1], [fit.models[0][0]] + fit.models[0][1], 1e-5)

    # The squared penalty, on rates with weights: the weights of both are divided by their sum.
    with open("claims.csv", "w", encoding="ascii") as file:
        file.write("area,fuel,age,power,bonus,years,claims\n")
        for line, years, count in zip(lines, exposure, counts):
            file.write(",".join(line[:-1] + ["%.17g" % (count / years)]) + "\n")
    mine = trained("--weights", "years", "--lambda", "0.01", "--l1-ratio", "0")
    rates = [count / years for count, years in zip(counts, exposure)]
    for name, fit in answers(glmnet=lambda: glmnet(matrix, COLUMNS, rates, "poisson", [0.01], 0.0, weights=exposure),
                             scikit=lambda: scikit("PoissonRegressor", matrix, COLUMNS, rates, exposure, alpha=0.01, tol=1e-10,
                                                   max_iter=10000)).items():
        near(name + ": rates", [mine[0]] + mine[1], [fit.models[0][0]] + fit.models[0][1], 1e-4)
