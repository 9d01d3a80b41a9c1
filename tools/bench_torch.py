"""PyTorch's part in the bench of training steps (crates/train/benches/step), which starts this script.

Needs the pip packages torch, safetensors and numpy.

usage: bench_torch.py THREADS

Says "ready: ..." once it is. "open FILE" reads a network, its weights and a batch from a safetensors file and is answered
with "opened", or with what is wrong; "steps N" makes N steps and is answered with their nanoseconds and the loss at the
beginning of the last one. A step is forward, backward and fused AdamW, in 32 bits on the CPU, without torch.compile.
"""

import json
import sys
import time

try:
    import torch
    from safetensors import safe_open
except ImportError as error:
    print(f"{error} in {sys.executable}")
    sys.exit(1)

import torch_networks


class Trainer:
    def __init__(self, path):
        with safe_open(path, framework="pt") as file:
            metadata = {key: json.loads(value) for key, value in file.metadata().items()}
            tensors = {name: file.get_tensor(name) for name in file.keys()}
        self.model = torch_networks.network(metadata["net"])
        weights = {name[4:]: value for name, value in tensors.items() if name.startswith("net.")}
        self.model.load_state_dict(weights)
        for name in ("places", "kinds"):
            if name in tensors:
                getattr(self.model.head, name).copy_(tensors[name])
        self.inputs = [tensors[name] for name in sorted(tensors) if name.startswith("input.")]
        self.batch = (self.inputs, tensors, metadata["loss"], metadata["logit_scale"])
        self.optimiser = torch.optim.AdamW(self.model.parameters(), fused=True, **metadata["hyper"])

    def step(self):
        self.optimiser.zero_grad(set_to_none=True)
        loss = torch_networks.loss(self.model, *self.batch)
        loss.backward()
        self.optimiser.step()
        return loss.item()


def main():
    torch.set_num_threads(int(sys.argv[1]))
    print(f"ready: PyTorch {torch.__version__}", flush=True)
    trainer = None
    for line in sys.stdin:
        command, argument = line.split(maxsplit=1)
        if command == "open":
            trainer = None
            try:
                trainer = Trainer(argument.strip())
                print("opened", flush=True)
            except (KeyError, RuntimeError) as error:
                print(f"cannot open: {error!r}".replace("\n", " "), flush=True)
        else:
            begin = time.perf_counter_ns()
            for _ in range(int(argument)):
                loss = trainer.step()
            print(time.perf_counter_ns() - begin, loss, flush=True)


main()
