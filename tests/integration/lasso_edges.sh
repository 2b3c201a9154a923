#!/usr/bin/env bash
# Certificates and rounds without a penalty, with nothing left to explain, or with a worker without columns.
source "$(dirname "$0")/cli.bash"
printf '1,2,3\n2,1,5\n3,7,1\n4,4,2\n5,1,1\n' >plain.csv

for workers in 1 2; do # least squares: 0.44852521408182705 by the normal equations
    code 0 "$hawser" train lasso plain.csv --header no --lambda 0 --workers $workers --json
    json out 'abs(o["objective"] - 0.448525214081827) < 1e-6 and o["nonzeros"] == 2'
done
code 2 "$hawser" train lasso plain.csv --header no --path 1,0

# Columns without a penalty that span all rows fit exactly: the optimum is 0, and only a point near it may be certified.
printf '1,2,3,1,1\n2,1,5,0,2\n3,7,1,4,1\n' >span.csv
printf '0\n0\n0\n1\n' >factors.txt
for workers in 1 2; do
    code 0 "$hawser" train lasso span.csv --header no --lambda 0.5 --penalty-factors factors.txt --workers $workers --json
    json out 'o["objective"] <= o["gap"] + 1e-12 and o["stop_reason"] == "gap"'
done

# The same before that: the residual of a round that has not ended is small, but not rounding alone.
printf '0.2869066411476952,0.2913375877202091,-0.524214950954354\n1.397639657355794,-0.5743694360505074,-0.8048043579065902\n' >pair.csv
printf '1\n0\n' >pair.txt
code 0 "$hawser" train lasso pair.csv --header no --standardize --lambda 75 --penalty-factors pair.txt --workers 2 \
    --merge average --tol 1e-6 --json
json out 'o["objective"] <= 1e-6 and o["stop_reason"] == "gap"'

# A target that is constant but for the rounding of its mean leaves nothing to explain.
printf '0.1,0.1,0.9,0.1\n0.1,0.4,0.2,0.2\n0.1,0.8,0.5,0.3\n' >constant.csv
for workers in 1 2; do
    code 0 "$hawser" train lasso constant.csv --header no --weights 3 --lambda 0 --workers $workers --json
    json out 'o["objective"] < 1e-30 and o["nonzeros"] == 0 and o["stop_reason"] == "gap"'
done

# More workers than columns: a worker without columns makes no steps.
code 0 timeout -s KILL 60 "$hawser" train lasso plain.csv --header no --lambda 0.01 --workers 5 --solver cd --json
json out 'o["stop_reason"] == "gap" and abs(o["objective"] - 0.459154138915318) < 1e-5'

# Non-negative least squares: 1 on the first column, and the second, which would be -3, on its bound; 18 / (2 * 4).
printf '1,1,0\n-1,-1,0\n-3,0,1\n3,0,-1\n' >orthogonal.csv
for workers in 1 2; do
    code 0 "$hawser" train lasso orthogonal.csv --header no --lambda 0 --lower 0 --workers $workers --json
    json out 'abs(o["objective"] - 2.25) < 1e-6 and o["nonzeros"] == 1 and o["stop_reason"] == "gap"'
done

# By default small work gets one worker, and the plan and the log say by which numbers; --workers is always obeyed.
code 0 "$hawser" train lasso plain.csv --header no --log-view --json
json out 'o["workers"] == 1'
has out '^1 worker for 10 stored entries'
code 0 "$hawser" plan lasso plain.csv --header no --physical
has out '^  1 worker for 10 stored entries'
code 0 "$hawser" train lasso plain.csv --header no --workers 3 --log-view --json
json out 'o["workers"] == 3'
lacks out 'stored entries on'
finish
