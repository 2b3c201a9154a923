"""Lists the recorded trainings. A row names its data, its options, its workers, and on how many nodes it runs."""
from collections import namedtuple

Training = namedtuple("Training", "name algorithm data words workers nodes before short")
# Data that the command generates itself, so large that blocks share one working set: kind, rows, columns, and whether it has two classes.
GENERATED = {"gram.svm": ("dense", 900, 950, False), "packed.svm": ("url", 2500, 9000, False),
             "gram.classes.svm": ("dense", 700, 600, True), "packed.classes.svm": ("url", 5000, 9000, True)}


def _row(name, data, words="", workers=2, nodes=(1,), before=None, short=False):
    algorithm = name.split(".")[0]
    return Training(name, algorithm, data, tuple(words.split()), workers, nodes, before, short)


LASSO = [
    _row("lasso.tall.1", "tall.csv", "", 1, short=True),
    _row("lasso.tall.3", "tall.csv", "--lambda-ratio 0.01", 3, (1, 2)),
    _row("lasso.wide.4", "wide.csv", "--lambda-ratio 0.02", 4, (1, 3), short=True),
    _row("lasso.words.2", "words.svm", "", 2, (1, 2)),
    _row("lasso.words.weak", "words.svm", "--lambda-ratio 0.001 --tol 1e-9", 3, (1, 3)),
    _row("lasso.alike", "alike.csv", "--lambda-ratio 0.005", 4),
    _row("lasso.units", "units.csv", "--standardize --lambda-ratio 0.02", 2, (1, 2)),
    _row("lasso.elastic", "tall.csv", "--l1-ratio 0.4 --lambda-ratio 0.03", 3),
    _row("lasso.ridge", "wide.csv", "--l1-ratio 0 --lambda 0.05", 2),
    _row("lasso.f32", "wide.csv", "--type f32", 2),
    _row("lasso.no-intercept", "words.svm", "--no-intercept --standardize", 3),
    _row("lasso.weights", "weighted.csv", "--weights count --offset base --lambda-ratio 0.02", 2, (1, 2)),
    _row("lasso.bounds", "tall.csv", "--lower -0.1 --upper {data}/upper --lambda-ratio 0.01", 3),
    _row("lasso.factors", "tall.csv", "--penalty-factors {data}/factors --lambda-ratio 0.1", 2, (1, 2)),
    _row("lasso.path", "tall.csv", "--path 8", 3, (1, 2), short=True),
    _row("lasso.path.list", "words.svm", "--path 0.2,0.1,0.02 --validation {data}/words.svm", 2),
    _row("lasso.path.warm", "wide.csv", "--path 12 --lambda-min-ratio 0.1 --validation-fraction 0.25", 4),
    _row("lasso.cv", "tall.csv", "--cv 4 --path 6", 2, (1, 2)),
    _row("lasso.cv.min", "words.svm", "--cv 3 --path 5 --cv-rule min --lambda-min-ratio 0.05", 3),
    _row("lasso.init", "tall.csv", "--init first --lambda-ratio 0.01", 2, (1, 2), "--lambda-ratio 0.03"),
    _row("lasso.cut", "words.svm", "--lambda-ratio 0.001 --max-clocks 2", 3),
    _row("lasso.descent", "wide.csv", "--solver cd", 3, (1, 2), short=True),
    _row("lasso.descent.words", "words.svm", "--solver cd --exchange-every 0.3 --lambda-ratio 0.02", 4),
    _row("lasso.rounds", "words.svm", "--exchange-every 1 --certify-every 3 --lambda-ratio 0.02", 3, (1, 3)),
    _row("lasso.careful", "alike.csv", "--sigma 20 --exchange-every 1 --lambda-ratio 0.01 --max-clocks 200", 4),
    _row("lasso.astray", "alike.csv", "--sigma 0.1 --exchange-every 1 --lambda-ratio 0.001 --max-clocks 120", 6, (1, 2)),
    _row("lasso.average", "words.svm", "--merge average --lambda-ratio 0.05 --max-clocks 150", 3, (1, 2)),
    _row("lasso.bf16", "words.svm", "--encoding bf16 --lambda-ratio 0.05 --max-clocks 100", 3, (1, 2)),
    _row("lasso.int8", "wide.csv", "--encoding int8 --lambda-ratio 0.1 --max-clocks 100", 2, (1, 2)),
    _row("lasso.filter.absolute", "words.svm", "--filter absolute --quota 600 --lambda-ratio 0.05 --max-clocks 120", 3, (1, 2)),
    _row("lasso.filter.relative", "words.svm", "--filter relative --quota 600 --lambda-ratio 0.05 --max-clocks 120", 3),
    _row("lasso.filter.random", "words.svm", "--filter random --quota 600 --lambda-ratio 0.05 --max-clocks 120 --seed 7", 3, (1, 3)),
    _row("lasso.filter.turns", "wide.csv", "--filter round-robin --quota 200 --lambda-ratio 0.1 --max-clocks 120", 2),
    _row("lasso.filter.fifo", "wide.csv", "--filter fifo --quota 200 --lambda-ratio 0.1 --max-held-clocks 4 --max-clocks 120", 2),
    _row("lasso.tree", "words.svm", "--topology tree --lambda-ratio 0.01", 4, (3,)),
    _row("lasso.servers", "wide.csv", "--topology servers:1 --transport tcp", 3, (3,)),
    _row("lasso.gram", "gram.svm", "--lambda-ratio 0.0005 --tol 3e-3 --no-intercept", 3, (1, 2)),
    _row("lasso.packed", "packed.svm", "--lambda-ratio 0.0005 --tol 1e-3", 3, (1, 2)),
    _row("lasso.ssp", "words.svm", "--sync ssp:2 --lambda-ratio 0.05", 3, (1, 2)),
    _row("lasso.tap", "tall.csv", "--sync tap --lambda-ratio 0.05", 4, short=True),
]
LOGISTIC = [
    _row("logistic.tall.1", "tall.classes.csv", "", 1),
    _row("logistic.tall.3", "tall.classes.csv", "--lambda-ratio 0.01", 3, (1, 2), short=True),
    _row("logistic.wide.4", "wide.classes.csv", "--lambda-ratio 0.1", 4, (1, 3)),
    _row("logistic.words.2", "words.classes.svm", "", 2, (1, 2)),
    _row("logistic.words.weak", "words.classes.svm", "--C 20 --tol 1e-8", 3, (1, 3)),
    _row("logistic.units", "units.classes.csv", "--standardize", 2, (1, 2)),
    _row("logistic.elastic", "tall.classes.csv", "--l1-ratio 0.3", 3, (1, 2)),
    _row("logistic.squared", "words.classes.svm", "--l1-ratio 0 --C 1", 3, (1, 2)),
    _row("logistic.no-intercept", "words.classes.svm", "--no-intercept", 2),
    _row("logistic.weights", "weighted.classes.csv", "--weights count --offset base --lambda-ratio 0.05", 2, (1, 2)),
    _row("logistic.classes", "tall.classes.csv", "--class-weight balanced", 2),
    _row("logistic.classes.given", "words.classes.svm", "--class-weight 1:3", 3),
    _row("logistic.bounds", "tall.classes.csv", "--lower -0.2 --upper 0.2 --lambda-ratio 0.01", 2),
    _row("logistic.factors", "tall.classes.csv", "--penalty-factors {data}/factors", 3),
    _row("logistic.path", "tall.classes.csv", "--path 6", 3, (1, 2)),
    _row("logistic.cv", "words.classes.svm", "--cv 3 --path 4 --lambda-min-ratio 0.05", 2, (1, 2)),
    _row("logistic.init", "tall.classes.csv", "--init first --lambda-ratio 0.02", 2, (1,), "--lambda-ratio 0.05"),
    _row("logistic.cut", "words.classes.svm", "--C 20 --max-clocks 3", 3),
    _row("logistic.rounds", "words.classes.svm", "--exchange-every 1 --lambda-ratio 0.05", 3, (1, 2)),
    _row("logistic.gram", "gram.classes.svm", "--C 100 --tol 1e-4", 3, (1, 2)),
    _row("logistic.packed", "packed.classes.svm", "--C 5 --tol 1e-4", 3, (1, 2)),
    _row("logistic.ssp", "words.classes.svm", "--sync ssp:1 --lambda-ratio 0.1", 3),
    _row("logistic.dbpg", "words.classes.svm", "--solver dbpg --lambda-ratio 0.1", 3, (1, 2), short=True),
    _row("logistic.dbpg.dc", "words.classes.svm", "--solver dbpg --sync dc:0 --groups 3 --no-kkt-filter --lambda-ratio 0.1", 2),
    _row("logistic.dbpg.delay", "tall.classes.csv", "--solver dbpg --sync delay:2 --lambda-ratio 0.1", 2),
    _row("logistic.gd", "tall.classes.csv", "--solver gd --lambda-ratio 0.1 --tol 1e-3", 3, (1, 2)),
    _row("logistic.gd.weights", "tall.classes.csv", "--solver gd --exchange weights --lambda-ratio 0.1 --tol 1e-3 --sync dc:0", 2),
    _row("logistic.sgd", "words.classes.svm", "--solver sgd --epochs 2 --lambda-ratio 0.1", 2, (1, 2)),
    _row("logistic.minibatch", "tall.classes.csv", "--solver minibatch --batch 20 --epochs 5 --seed 3", 3),
]
LINEAR = [
    _row("linear.tall", "tall.csv", "", 3, (1, 2), short=True),
    _row("linear.words", "words.svm", "--max-clocks 200", 2),
    _row("linear.weights", "weighted.csv", "--weights count --offset base", 2),
    _row("linear.units", "units.csv", "--exchange weights --max-clocks 300", 3, (1, 3)),
    _row("linear.no-intercept", "tall.csv", "--no-intercept --tol 1e-4", 1),
    _row("linear.central", "tall.csv", "--sync dc:0 --tol 1e-4", 3, (1, 2)),
    _row("linear.sgd", "tall.csv", "--solver sgd --epochs 3", 2, (1, 2)),
    _row("linear.minibatch", "words.svm", "--solver minibatch --batch 50 --epochs 5 --seed 9", 3),
    _row("linear.init", "tall.csv", "--init first --tol 1e-4", 2, (1,), "--tol 1e-2"),
    _row("linear.cut", "wide.csv", "--max-clocks 10", 4),
    _row("linear.ssp", "tall.csv", "--sync ssp:2 --tol 1e-5", 3),
    _row("linear.delay", "tall.csv", "--sync delay:1 --tol 1e-5", 2),
    _row("linear.tap", "tall.csv", "--sync tap --tol 1e-4", 2),
]
POISSON = [
    _row("poisson.tall.3", "tall.counts.csv", "--lambda-ratio 0.01", 3, (1, 2), short=True),
    _row("poisson.words", "words.counts.svm", "--l1-ratio 0.6", 2, (1, 2)),
    _row("poisson.weights", "weighted.counts.csv", "--weights count --offset base --lower -0.1", 2, (1, 2)),
    _row("poisson.ridge", "wide.counts.csv", "--l1-ratio 0 --lambda 0.05 --no-intercept", 2),
    _row("poisson.cv", "tall.counts.csv", "--cv 3 --path 5 --standardize", 2, (1, 2)),
    _row("poisson.rounds", "words.counts.svm", "--exchange-every 1 --certify-every 3 --lambda-ratio 0.05", 3, (1, 2)),
    _row("poisson.ssp", "words.counts.svm", "--sync ssp:2 --lambda-ratio 0.05", 3),
]
KMEANS = [
    _row("kmeans.tall.3", "tall.csv", "--target y --clusters 6", 3, (1, 2), short=True),
    _row("kmeans.words.4", "words.svm", "--clusters 9 --starts 3", 4, (1, 3)),
    _row("kmeans.wide.1", "wide.csv", "--target y --clusters 5 --tol 0", 1),
    _row("kmeans.parallel", "words.svm", "--clusters 12 --init-method parallel", 3, (1, 2)),
    _row("kmeans.random", "alike.csv", "--target y --clusters 20 --init-method random --seed 7", 4, (1, 2)),
    _row("kmeans.f32", "tall.csv", "--target y --clusters 17 --type f32 --arithmetic f32", 2, (1, 2)),
    _row("kmeans.weights", "weighted.csv", "--target y --ignore base --weights count --clusters 4", 2, (1, 2)),
    _row("kmeans.batch", "words.svm", "--clusters 6 --batch 50 --epochs 4", 3, (1, 2)),
    _row("kmeans.init", "tall.csv", "--target y --init first", 2, (1, 2), "--target y --clusters 5 --max-iterations 2"),
    _row("kmeans.cut", "words.svm", "--clusters 7 --max-clocks 3", 3, (1, 2)),
]
ALL = LASSO + LOGISTIC + LINEAR + POISSON + KMEANS
