"""The loop of bench/vector in Python, for each program there. Arguments and output are those of bench_vector."""
import statistics
import sys
import time

import numpy

MOST, LEAST = 400, 8


def measure(rank, ranks, begin):
    """Calls begin(array, size), which returns the function of an iteration, for each size, and prints the median of iterations."""
    scale, sizes = float(sys.argv[1]), [int(word) for word in sys.argv[2:]]
    for size in sizes:
        array = numpy.full(size // 4, rank, "f4")
        step, taken = begin(array, size), []
        for t in range(max(LEAST, min(MOST, int((256 << 20) / size * scale)))):
            begun = time.perf_counter()
            step(t)
            taken.append(time.perf_counter() - begun)
        if not (array == (ranks - 1) / 2).all():
            sys.exit(f"{size} bytes: not the mean")
        if rank == 0:
            print(size, f"{statistics.median(taken):.9f}", flush=True)
