"""gloo's side of bench/vector: torch's all-reduce in place, and the division. usage: gloo.py RANK RANKS FILE SCALE BYTES..."""
import sys

import torch
import torch.distributed as distributed

rank, ranks, file = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
del sys.argv[1:4]

from loop import measure  # noqa: E402: it reads the arguments


def begin(array, _):
    tensor = torch.from_numpy(array)

    def step(_):
        distributed.all_reduce(tensor)
        tensor.div_(ranks)

    return step


torch.set_num_threads(1)
distributed.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=ranks)
measure(rank, ranks, begin)
distributed.barrier()
distributed.destroy_process_group()
