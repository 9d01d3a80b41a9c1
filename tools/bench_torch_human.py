"""Trains the human network with PyTorch on a GPU and prints a RESULT line, to set beside `tabia-lab train bench`.

Needs the pip package torch, built with CUDA, and Python 3.11.

usage: bench_torch_human.py [CONFIG] [--seconds N] [--batch N] [--mode compile|eager|max-autotune] [--layers N]

The network of CONFIG (configs/human.toml) at its batch size, on made-up positions that lie on the GPU already: bf16 by
autocast over 32-bit weights, forward, backward, gradient clipping and fused AdamW, under torch.compile unless asked
otherwise. Averaged weights are left out, which `tabia-lab train` keeps as well.
"""

import argparse
import sys
import time
import tomllib
from pathlib import Path

try:
    import torch
except ImportError as error:
    sys.exit(f"{error} in {sys.executable}")

import torch_networks

BATCHES = 4
WARM_UP_STEPS = 8
LEGAL_MOVES = 30
DEFAULTS = {"width": 256, "heads": 8, "layers": 8, "inner": 512, "pair": 256, "hidden": 128}
FACTORS = {"policy": 1.0, "promotion": 1.0, "outcome": 0.2, "think": 0.1}


def made_up(net, batch, device):
    """Inputs and targets as sparse as real ones; what they mean does not matter for speed."""
    squares = (torch.rand(batch, 64, 32, device=device) < 0.05).float()
    game = torch.rand(batch, torch_networks.game_inputs(net), device=device)
    legal = torch.zeros(batch, 4096, dtype=torch.bool, device=device)
    moves = torch.randint(4096, (batch, LEGAL_MOVES), device=device)
    legal.scatter_(1, moves, True)

    def classes(count):
        return torch.randint(count, (batch,), device=device)

    targets = {
        "legal": legal,
        "played": moves[:, 0],
        "promotion": classes(4),
        "file": classes(8),
        "outcome": classes(3),
        "think": classes(torch_networks.THINK_BINS),
    }
    return [squares, game], targets


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(__file__).parent.parent / "configs/human.toml"
    parser.add_argument("config", nargs="?", type=Path, default=default)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--layers", type=int)
    parser.add_argument("--mode", choices=["compile", "eager", "max-autotune"], default="compile")
    parser.add_argument("--device", default="cuda")
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        sys.exit(f"torch {torch.__version__} in {sys.executable} finds no GPU")

    config = tomllib.loads(arguments.config.read_text())
    net = {**DEFAULTS, **config["net"]}
    if net["kind"] != "human":
        sys.exit(f"{arguments.config} has a network of kind {net['kind']}; this measures the human one")
    if arguments.layers:
        net["layers"] = arguments.layers
    batch = arguments.batch or config.get("data", {}).get("batch", 1024)
    factors = {**FACTORS, **config.get("loss", {})}

    torch.manual_seed(1)
    device = arguments.device
    if device == "cuda":
        torch.set_float32_matmul_precision("high")
    model = torch_networks.network(net).to(device)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter.normal_(std=parameter.shape[1] ** -0.5)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
    batches = [made_up(net, batch, device) for _ in range(BATCHES)]

    def loss_of(inputs, targets):
        with torch.autocast(device, dtype=torch.bfloat16):
            return torch_networks.loss(model, inputs, targets, factors)

    if arguments.mode != "eager":
        modes = {"compile": "default", "max-autotune": "max-autotune"}
        loss_of = torch.compile(loss_of, mode=modes[arguments.mode])

    def step(at):
        optimiser.zero_grad(set_to_none=True)
        loss = loss_of(*batches[at % BATCHES])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimiser.step()
        return loss.detach()

    def wait():
        if device == "cuda":
            torch.cuda.synchronize()

    begin = time.perf_counter()
    for at in range(WARM_UP_STEPS):
        loss = step(at)
    wait()
    warm_up = time.perf_counter() - begin
    steps, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < arguments.seconds:
        for _ in range(BATCHES):
            loss = step(steps)
            steps += 1
        wait()
    seconds = time.perf_counter() - begin
    if not torch.isfinite(loss):
        sys.exit("the loss is not finite")
    name = torch.cuda.get_device_name() if device == "cuda" else device
    parameters = sum(parameter.numel() for parameter in model.parameters())
    print(f"device: {name}, {parameters} parameters, PyTorch {torch.__version__}, {arguments.mode}")
    print(f"first {WARM_UP_STEPS} steps {warm_up:.2f} s")
    print(
        f"RESULT positions/s={steps * batch / seconds:.0f} batch={batch} steps={steps} "
        f"ms/step={seconds * 1e3 / steps:.3f} loss={loss.item():.5f}"
    )


main()
