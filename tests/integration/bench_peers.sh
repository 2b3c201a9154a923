#!/bin/sh
# The benchmarks beside other libraries in their smallest form, if a Python (PEERS_PYTHON, or python3) has them. No times are checked.
set -eu
top=${HAWSER_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
[ -z "${HAWSER_SANITIZE:-}" ] || { echo "skipped: benchmarks are for optimised builds"; exit 77; }
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
python=${PEERS_PYTHON:-python3}
"$python" -c 'import numpy, scipy' 2>/dev/null || { echo "skipped: $python has no numpy and scipy"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$top/bench/lasso/run" --quick --tiny --repeat 1 --problems dense,many --solvers hawser-1,hawser-2,scikit-learn \
    --python "$python" --work "$work" --json >"$work/lasso"
cat >"$work/check_kernels.py" <<'END'
def check_kernels(problem):
    ratios, name = problem["ratios"], problem["dominating_kernel"]
    kernels = [key for key in ratios if key.startswith("two threads / one, ")]
    assert len(kernels) == 4, ratios
    for target in ("0.001", "1e-06"):
        two = ratios[f"hawser-1/hawser-2 wall {target}"]
        share = ratios[f"hawser-1/hawser-2 wall {target}, of what two threads give {name}, which dominates"]
        assert abs(share * ratios[f"two threads / one, {name} (this machine)"] - two) <= 1e-9 * two, ratios
END
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$work" python3 - "$work/lasso" <<'END'
import json, sys
from check_kernels import check_kernels
said = json.loads(open(sys.argv[1]).readlines()[-1])
assert said["bench"] == "lasso" and [p["problem"] for p in said["problems"]] == ["dense", "many"]
for problem in said["problems"]:
    assert problem["optimum"] < problem["zero_objective"]
    ratios = problem["ratios"]
    check_kernels(problem)
    for name in ("hawser-1", "hawser-2"):
        solver = problem["solvers"][name]
        assert solver["peak_rss"] > 0 and solver["wall"]["0.001"] is not None and solver["cpu"]["1e-06"] is not None, solver
        assert solver["curve"][-1]["suboptimality"] <= 1e-6, solver
        for point in solver["curve"]:  # the printed objective is that which another program computes from the saved model
            assert abs(point["claimed"] - point["objective"]) <= 1e-9 * problem["zero_objective"], point
END
"$top/bench/logistic/run" --quick --tiny --repeat 1 --problems url-l1-1,url-l2-1 --solvers hawser-1,hawser-2,liblinear-s6,liblinear-s0,scikit-liblinear \
    --python "$python" --work "$work" --json >"$work/logistic"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$work" python3 - "$work/logistic" <<'END'
import json, sys
from check_kernels import check_kernels
said = json.loads(open(sys.argv[1]).readlines()[-1])
assert said["bench"] == "logistic" and [p["problem"] for p in said["problems"]] == ["url-l1-1", "url-l2-1"]
for problem in said["problems"]:
    assert 0 < problem["optimum"] < 0.6931471805599453
    check_kernels(problem)
    for name in ("hawser-1", "hawser-2"):
        solver = problem["solvers"][name]
        assert solver["curve"][-1]["suboptimality"] <= 1e-6, solver
        for point in solver["curve"]:
            assert abs(point["claimed"] - point["objective"]) <= 1e-9, point
END

"$top/bench/paths/run" --quick --tiny --repeat 1 --problems tall,sparse --python "$python" --work "$work" --json >"$work/paths"
python3 - "$work/paths" <<'END'
import json, sys
said = json.loads(open(sys.argv[1]).readlines()[-1])
assert said["bench"] == "paths" and [p["problem"] for p in said["problems"]] == ["tall", "sparse"]
for problem in said["problems"]:
    solvers = problem["solvers"]
    assert all(solvers["hawser"][what][cost] > 0 for what in ("path", "cv") for cost in ("wall", "cpu")), problem
    if "glmnet" in solvers:  # both answer the same question
        assert 0 <= solvers["hawser"]["worst_suboptimality"] <= 1e-6, problem
        assert solvers["glmnet"]["worst_suboptimality"] <= 1e-3, problem
        assert abs(solvers["hawser"]["lambda_min"] / solvers["glmnet"]["lambda_min"] - 1) < 1e-9, problem
END

"$top/bench/paths/multitask" --quick --repeat 1 --problems factors-4 --python "$python" --json >"$work/multitask"
python3 - "$work/multitask" <<'END'
import json, sys
said = json.loads(open(sys.argv[1]).readlines()[-1])
assert said["bench"] == "multitask" and [p["problem"] for p in said["problems"]] == ["factors-4"], said
rows = said["problems"][0]["rows"]
assert [row["tolerance"] for row in rows if row["solver"] == "hawser"] == ["1e-3", "1e-4", "1e-6"], rows
assert all(row["cpu"] > 0 and 0 <= row["worst"] <= 1e-3 for row in rows) and rows[2]["worst"] <= 1e-6, rows  # glmnet, if it is there, solves the same problem
END

# The evaluator of topics, against the same probability as a product over tokens, each given those before it.
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$top/bench/topics" "$python" - <<'END'
import math
import numpy as np
import peers
draw, topics = np.random.default_rng(7), 3
pairs = [(int(draw.integers(5)), int(draw.integers(topics))) for _ in range(60)]
seen, totals, expected = {}, [0] * topics, 0.0
for w, k in pairs:
    expected += math.log((seen.get((w, k), 0) + peers.BETA) / (totals[k] + 5 * peers.BETA))
    seen[w, k] = seen.get((w, k), 0) + 1
    totals[k] += 1
corpus = {"frequencies": np.bincount([w for w, _ in pairs], minlength=5)}
found = peers.likelihood(corpus, topics, np.array([w for w, _ in seen]), np.array([k for _, k in seen]), np.array(list(seen.values())))
assert abs(found - expected / 60) < 1e-12, (found, expected / 60)
END
if "$python" -c 'import tomotopy' 2>/dev/null || "${HAWSER_BINARY:-$top/build/release/src/hawser}" train lda --help >/dev/null 2>&1; then
    "$top/bench/topics/run" --quick --python "$python" --work "$work" --json >"$work/topics"
    python3 - "$work/topics" <<'END'
import json, sys
said = json.loads(open(sys.argv[1]).readlines()[-1])
assert said["bench"] == "topics" and len(said["problems"]) == 1, said
problem = said["problems"][0]
assert -5 < problem["target"] < -2 and problem["samplers"], problem
for name, sampler in problem["samplers"].items():
    points = sampler["curves"][0]
    assert [p["passes"] for p in points] == sorted(p["passes"] for p in points) and all(p["wall"] > 0 for p in points), points
    assert name == "warplda" or points[-1]["likelihood"] > problem["target"] - 0.6, (name, points)  # some chains stay at less likely topics
END
else
    echo "bench/topics is left out: neither tomotopy nor hawser train lda is here"
fi

"$python" -c 'import sklearn, threadpoolctl' 2>/dev/null || { echo "bench/rows is left out: $python has no scikit-learn"; exit 0; }
"$python" "$top/bench/rows/svm" --quick --only-hawser --data rare --inputs text --repeat 1 --work "$work" --json >"$work/svm"
python3 - "$work/svm" <<'END'
import json, sys
said = json.loads(open(sys.argv[1]).readlines()[-1])
assert said["bench"] == "svm" and [(fit["data"], fit["loss"]) for fit in said["fits"]] == [("rare", "hinge"), ("rare", "squared-hinge")], said
for fit in said["fits"]:
    assert fit["optimum"] > 0 and fit["cpu"]["hawser text"]["0.0001"] > 0, fit  # the least distance is reached
END
problems=text # each fit of the peer starts a Python
[ -z "${HAWSER_TEST_LONG:-}" ] || problems=blobs,uniform,text
"$top/bench/rows/run" --quick --problems "$problems" --python "$python" --work "$work" --json >"$work/rows"
python3 - "$work/rows" "$problems" <<'END'
import json, sys
said = json.loads(open(sys.argv[1]).readlines()[-1])
assert said["bench"] == "rows", said
asked = [(name, kind) for name in sys.argv[2].split(",") for kind in (("f64",) if name == "text" else ("f64", "f32"))]
assert [(p["problem"], p["type"]) for p in said["problems"]] == asked, said
for problem in said["problems"]:
    assert [(fit["start"], fit["workers"]) for fit in problem["fits"]] == [("given", 1), ("given", 2), ("drawn", 1), ("drawn", 2)], problem
    for fit in problem["fits"]:
        assert fit["hawser"] > 0 and fit["scikit-learn"] > 0 and abs(fit["ratio"] * fit["hawser"] - fit["scikit-learn"]) < 1e-9, fit
        if fit["start"] == "given":  # the same iterations from the same centres
            close = 1e-9 if problem["type"] == "f64" else 1e-4
            assert abs(fit["inertia"] / fit["peer_inertia"] - 1) < close and fit["iterations"][0] == fit["iterations"][1], (problem, fit)
END
