"""k-means, the program of docs/tutorial.md: `python3 kmeans.py K FILE`, also under `hawser run -n 4 --`."""
import sys
import hawser
import numpy


@hawser.unit(updates="centres")
def begin(context, rows, centres):  # the first K rows become the centres
    first = context.first("rows")
    for i in range(min(len(rows), len(centres) - first)):
        centres[first + i] += rows[i]


@hawser.unit(updates="sums counts", reports="inertia")
def assign(rows, centres, sums, counts):
    sums[:], counts[:], inertia = 0, 0, 0.0
    for row in rows:
        distances = ((centres - row) ** 2).sum(axis=1)
        nearest = distances.argmin()
        sums[nearest] += row
        counts[nearest] += 1
        inertia += distances[nearest]
    return inertia


@hawser.unit(updates="centres", one=True)
def move(sums, counts, centres):
    for c in range(len(centres)):
        if counts[:, c].sum() > 0:  # a centre without rows stays
            centres[c] = sums[:, c].sum(axis=0) / counts[:, c].sum()


if len(sys.argv) != 3:
    sys.exit(__doc__)
program = hawser.Program("kmeans")
program.data("rows", sys.argv[2])
program.replicated("centres", (int(sys.argv[1]), "rows"))
program.partitioned("sums", (int(sys.argv[1]), "rows"), each=True)  # for each worker: sums of its rows by nearest centre
program.partitioned("counts", int(sys.argv[1]), each=True)
program.unit(begin)
lloyd = program.loop("lloyd", clocks=300, metric="inertia", patience=10)
lloyd.unit(assign)
lloyd.unit(move)
program.unit(assign, "measure")
found = program.run()
if found.node == 0:
    numpy.savetxt(sys.stdout, found["centres"], "%.4f", ",")
    print(f"inertia {found.metrics['inertia']:.6f}")
