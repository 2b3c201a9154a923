"""Answers of other software to the question that Hawser is asked: glmnet (R) and scikit-learn, each only where it is installed. Matrices are
lists of rows, each a list of (column, value)."""
import functools
import math
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy
    import sklearn.linear_model
except ImportError:
    sklearn = None

GLMNET = r"""
suppressMessages({library(Matrix); library(glmnet)})
read <- function(name) if (file.exists(name)) scan(name, quiet = TRUE) else NULL
shape <- read("shape"); t <- read("entries"); y <- read("y"); more <- list()
x <- sparseMatrix(i = t[c(TRUE, FALSE, FALSE)] + 1, j = t[c(FALSE, TRUE, FALSE)] + 1, x = t[c(FALSE, FALSE, TRUE)], dims = shape)
if (mean(x != 0) > 0.3) x <- as.matrix(x)
for (name in c("weights", "offset", "lower.limits", "upper.limits", "penalty.factor", "foldid"))
    if (!is.null(read(name))) more[[name]] <- read(name)
how <- readLines("how"); lambda <- read("lambda"); alpha <- read("alpha")
glmnet.control(fdev = 0, devmax = 1)
words <- c(list(x = x, y = y, family = how[1], alpha = alpha, lambda = lambda, standardize = FALSE, thresh = 1e-13, maxit = 1e7), more)
if (how[2] == "cv") {
    found <- do.call(cv.glmnet, c(words, list(type.measure = how[3])))
    fit <- found$glmnet.fit
    write(format(c(found$lambda.min, found$lambda.1se), digits = 17), "choices", 1)
    write(format(rbind(found$lambda, found$cvm, found$cvsd), digits = 17), "errors", 3)
} else fit <- do.call(glmnet, words)
stopifnot(fit$jerr == 0)
write(format(rbind(fit$a0, as.matrix(fit$beta)), digits = 17), "found", shape[2] + 1)
"""


@functools.lru_cache(maxsize=None)
def have_glmnet():
    return shutil.which("Rscript") is not None and subprocess.run(("Rscript", "-e", "library(glmnet)"), capture_output=True,
                                                                  check=False).returncode == 0


def skip(why):
    print("skipped:", why)
    sys.exit(77)


class Fit:
    """Coefficients and intercepts by lambda, and what a cross-validation chose."""

    def __init__(self, models, choices=None, errors=None):
        self.models, self.choices, self.errors = models, choices, errors


def unscaled(rows, columns, y, lam, alpha):
    """glmnet's elastic net for numbers: it divides y by its deviation and leaves the weight of the squares as it is, which is undone here."""
    mean = math.fsum(y) / len(y)
    scale = math.sqrt(math.fsum((v - mean) ** 2 for v in y) / len(y))
    first, second = lam * alpha / scale, lam * (1 - alpha)
    fit = glmnet(rows, columns, [v / scale for v in y], "gaussian", [first + second], first / (first + second))
    return fit and Fit([(b * scale, [v * scale for v in w]) for b, w in fit.models])


def glmnet(rows, columns, y, family, lambdas, alpha=1.0, measure=None, **more):
    """Fits at the lambdas, which descend, without standardization. `more` are weights, offset, lower_limits, upper_limits, penalty_factor and
    foldid; a measure cross-validates by it. glmnet divides factors by their mean, which is undone. Returns None where it is missing."""
    if not have_glmnet():
        return None
    factor = sum(more["penalty_factor"]) / columns if "penalty_factor" in more else 1.0
    with tempfile.TemporaryDirectory() as folder:
        def put(name, values):
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write("\n".join("%.17g" % v for v in values) + "\n")

        def numbers(name):
            with open(os.path.join(folder, name), encoding="ascii") as file:
                return [float(word) for word in file.read().split()]

        put("shape", (len(rows), columns))
        put("entries", [v for i, row in enumerate(rows) for j, x in row for v in (i, j, x)])
        put("y", y)
        put("alpha", [alpha])
        put("lambda", [v * factor for v in lambdas])
        for name, values in more.items():
            put(name.replace("_", "."), values)
        with open(os.path.join(folder, "how"), "w", encoding="ascii") as file:
            file.write("%s\n%s\n%s\n" % (family, "cv" if measure else "fit", measure))
        done = subprocess.run(("Rscript", "-e", GLMNET), cwd=folder, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
        flat = numbers("found")
        models = [(flat[at], flat[at + 1:at + 1 + columns]) for at in range(0, len(flat), columns + 1)]
        if not measure:
            return Fit(models)
        flat = numbers("errors")
        return Fit(models, numbers("choices"), [flat[at:at + 3] for at in range(0, len(flat), 3)])


MGAUSSIAN = r"""
suppressMessages(library(glmnet))
read <- function(name) scan(name, quiet = TRUE)
shape <- read("shape"); lambda <- read("lambda"); alpha <- read("alpha")
x <- matrix(read("x"), shape[1], byrow = TRUE); y <- matrix(read("y"), shape[1], byrow = TRUE)
glmnet.control(fdev = 0, devmax = 1)
fit <- glmnet(x, y, family = "mgaussian", alpha = alpha, lambda = lambda, weights = read("weights"), penalty.factor = read("factors"),
              standardize = FALSE, thresh = 1e-14, maxit = 1e7)
stopifnot(fit$jerr == 0, length(fit$lambda) == length(lambda))
for (k in seq_along(lambda)) for (o in seq_len(ncol(y)))
    cat(sprintf("%.17g", c(fit$a0[o, k], fit$beta[[o]][, k])), "\n")
"""


def mgaussian(x, y, lambdas, alpha, weights=None, factors=None):
    """Fits glmnet to several targets, whose columns enter together; x and y are lists of rows, lambdas descend. Its objective is
    1/(2n) ||Y - XW - b||^2 + lambda (alpha sum_j ||W_j|| + (1 - alpha)/2 ||W||^2): unlike those of one target, it does not scale lambda by
    the deviation of y. It divides factors by their mean, which is undone here. Returns, by lambda, (coefficients by target, intercepts), or
    None where glmnet is missing."""
    if not have_glmnet():
        return None
    columns = len(x[0])
    factors = factors or [1.0] * columns
    scale = math.fsum(factors) / columns
    files = {"shape": (len(x), columns), "x": [v for row in x for v in row], "y": [v for row in y for v in row], "alpha": [alpha],
             "lambda": [v * scale for v in lambdas], "weights": weights or [1.0] * len(x), "factors": factors}
    with tempfile.TemporaryDirectory() as folder:
        for name, values in files.items():
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write("\n".join("%.17g" % v for v in values) + "\n")
        done = subprocess.run(("Rscript", "-e", MGAUSSIAN), cwd=folder, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
    lines = [[float(word) for word in line.split()] for line in done.stdout.strip().split("\n")]
    targets = len(y[0])
    fits = [lines[at:at + targets] for at in range(0, len(lines), targets)]
    return [([line[1:] for line in fit], [line[0] for line in fit]) for fit in fits]


def dense(rows, columns):
    matrix = numpy.zeros((len(rows), columns))
    for i, row in enumerate(rows):
        for j, x in row:
            matrix[i, j] = x
    return matrix


def scikit(kind, rows, columns, y, weights=None, **words):
    """One model of scikit-learn: kind is the name of a class in linear_model. Returns None where it is missing."""
    if sklearn is None:
        return None
    model = getattr(sklearn.linear_model, kind)(**words)
    model.fit(dense(rows, columns), numpy.array(y), sample_weight=None if weights is None else numpy.array(weights))
    return Fit([(float(numpy.ravel(model.intercept_)[0]), [float(v) for v in numpy.ravel(model.coef_)])])


def answers(**fits):
    """The answers that exist, by name; ends the test as skipped where none does. The values are called: glmnet=lambda: glmnet(...)."""
    found = {name: fit() for name, fit in fits.items()}
    found = {name: fit for name, fit in found.items() if fit is not None}
    if not found:
        skip("needs scikit-learn in this Python, or R with glmnet")
    print("compared with", " and ".join(found))
    return found


def products(rows, model):
    """x w + b of each row."""
    b, w = model
    return [b + math.fsum(w[j] * x for j, x in row) for row in rows]


def near(what, mine, theirs, tolerance):
    """Two lists differ at most by the tolerance, as a fraction of the largest of theirs."""
    scale = max(max(abs(v) for v in theirs), 1e-300)
    worst = max(abs(a - b) for a, b in zip(mine, theirs)) / scale
    assert len(mine) == len(theirs) and worst <= tolerance, (what, "differs by", worst)
    print("%s: largest difference %.1e of the largest value" % (what, worst))
