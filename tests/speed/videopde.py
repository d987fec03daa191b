"""Speed of VideoPDE at laptop size on one thread: `python -m tests.speed.videopde [--paper] [--compile]`.

    sampling   `prepared` (noise levels, masks, rotations once) over a loop that calls the whole network, same weights
training   FLOP rate of a step over that of one matrix product; where it is lost, by kind of operation
--compile  a compiled step against an eager one, and the steps it takes to earn back the compilation
--paper    one training step (batch 1) and one sampling step of the paper's model, with the memory they take
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from methods.blocks.diffusion.edm import Denoiser, Edm, denoising_loss, noise_levels, sample
from methods.blocks.training.optimiser import make_optimisers
from methods.videopde.method import LAPTOP, Settings, VideoPDE, parameter_groups, prepared
from methods.videopde.model import HVDiT
from tests.speed.measure import interleaved, parser, report, sized, warn_if_busy

VIDEO = (8, 32, 32)
KINDS = {
    "matrix products": ("mm", "bmm", "addmm", "scaled_dot_product", "attention"),
    "optimiser": ("_fused_adamw", "_foreach"),
}


def network(settings: Settings, video: tuple[int, int, int]) -> HVDiT:
    """One channel, weights that do something."""
    torch.manual_seed(0)
    net = HVDiT(1, 2, settings.architecture.for_video(*video))
    for p in net.parameters():
        if not p.any():
            torch.nn.init.normal_(p, std=0.02)
    return net


def sampling(batch: int, steps: int) -> float:
    """Seconds of a plain loop, which remembers nothing, over those of the prepared one; their answers agree."""
    edm, net = replace(LAPTOP.edm, steps=steps), network(LAPTOP, VIDEO)
    noise, given = torch.randn(batch, *VIDEO, 1), torch.randn(batch, *VIDEO, 2)
    plain = Denoiser(net, edm)
    with torch.inference_mode():
        slow = lambda: sample(edm, lambda x, sigma: plain(x, sigma.expand(batch), given), noise)  # noqa: E731
        fast = lambda: sample(edm, prepared(net, given, edm), noise)  # noqa: E731
        torch.testing.assert_close(slow(), fast(), rtol=1e-5, atol=1e-5)
        times = interleaved({"slow": slow, "fast": fast}, repeats=15)
    return times["slow"] / times["fast"]


def training_step(settings: Settings, video: tuple[int, int, int], batch: int, compiled: bool = False) -> Callable:
    net = network(settings, video)
    model = Denoiser(net, settings.edm)
    call = torch.compile(model) if compiled else model
    optimisers = make_optimisers(settings.training.optimiser, parameter_groups(net, settings.mapping_lr))
    draws = torch.Generator().manual_seed(0)
    x, given = 0.5 * torch.randn(batch, *video, 1), torch.randn(batch, *video, 2)

    def step() -> Tensor:
        sigma = noise_levels(settings.edm, batch, draws)
        noise = torch.randn(x.shape, generator=draws)
        loss = denoising_loss(settings.edm, lambda x, sigma: call(x, sigma, given), x, sigma, noise).mean()
        net.zero_grad()
        loss.backward()
        for optimiser in optimisers:
            optimiser.step()
        return loss

    return step


def flops(function: Callable) -> float:
    with FlopCounterMode(display=False) as counter:
        function()
    return counter.get_total_flops()


def profile_step(step: Callable) -> dict[str, float]:
    """Share of the processor's time by kind of operation."""
    with profile(activities=[ProfilerActivity.CPU]) as record:
        step()
    times = {event.key: event.self_cpu_time_total for event in record.key_averages()}
    total = sum(times.values())
    shares = {
        kind: sum(t for key, t in times.items() if any(word in key for word in words)) / total
        for kind, words in KINDS.items()
    }
    largest = sorted(times, key=times.__getitem__, reverse=True)[:6]
    return shares | {key: times[key] / total for key in largest}


def compiling(batch: int) -> list[tuple[str, float, str]]:
    eager, compiled = (training_step(LAPTOP, VIDEO, batch, c) for c in (False, True))
    began = time.perf_counter()
    compiled()
    first = time.perf_counter() - began
    times = interleaved({"eager": eager, "compiled": compiled}, repeats=7)
    gain = times["eager"] - times["compiled"]
    print(f"compilation {first:.0f} s; earned back after {first / gain:.0f} steps" if gain > 0 else "no gain")
    return [("training step, eager over compiled", times["eager"] / times["compiled"], ">= 1")]


def paper() -> None:
    """In the process's own memory: run it alone."""
    settings, video = VideoPDE.profiles["paper"], (20, 128, 128)
    began = time.perf_counter()
    loss = training_step(settings, video, batch=1)()
    print(f"paper, training step of one video: {time.perf_counter() - began:.1f} s, loss {float(loss):.3f}")
    net, edm = network(settings, video), Edm(steps=1)
    with torch.inference_mode():
        began = time.perf_counter()
        sample(edm, prepared(net, torch.randn(1, *video, 2), edm), torch.randn(1, *video, 1))
    print(f"paper, sampling step: {time.perf_counter() - began:.1f} s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    report([("paper, resident memory (GB)", peak, "<= 20")])


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--paper", action="store_true")
    arguments.add_argument("--compile", action="store_true")
    options = arguments.parse_args()
    warn_if_busy()
    torch.set_num_threads(1)
    if options.paper:
        return paper()
    batch = sized(LAPTOP.training.batch, 2)
    if options.compile:
        return report(compiling(batch))
    rows = [
        (f"sampling, batch {n}: loop over prepared", sampling(n, sized(6, 2)), ">= 1.3")
        for n in sized((1, 4, 16), (1, 2))
    ]
    step, a = training_step(LAPTOP, VIDEO, batch), torch.randn(1024, 1024)
    times = interleaved({"step": step, "product": lambda: a @ a}, repeats=9)
    rate = flops(step) / times["step"] / (2 * 1024**3 / times["product"])
    print(f"training step: {times['step']:.3f} s, {flops(step) / 1e9:.2f} GFLOP")
    for name, share in profile_step(step).items():
        print(f"  {share:6.1%}  {name}")
    report([*rows, ("training step / matrix product, FLOP rate", rate, ">= 0.5")])


if __name__ == "__main__":
    main()
