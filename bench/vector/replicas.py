"""hawser.Replicas' side of bench/vector. usage: hawser run -n 2 -- replicas.py SCALE BYTES..."""
from loop import measure

import hawser

with hawser.Replicas() as replicas:
    def begin(array, size):
        vector = replicas.vector(f"w{size}", array.size, dtype="f4", sync="bsp")

        def step(t):
            vector.scatter(array, iteration=t)
            vector.gather(array, iteration=t)

        return step

    measure(replicas.node, replicas.nodes, begin)
