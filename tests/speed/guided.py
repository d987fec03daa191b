"""Speed of guided sampling: `python -m tests.speed.guided [--fit STEPS]`. Pairs of frames of Navier-Stokes, one thread.

First the same result, faster: all pairs in one batch, one backward pass a step and no graph for terms that do not
count, against one pair at a time with a backward pass for each of three terms and the residual's graph built at every
step. Then, with a prior trained for so many steps (0: skip), the error and time of multistep steps against that loop's.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from benchmark.core import Problem, Run, Trajectories
from benchmark.planning.registry import registry
from methods.blocks.diffusion.edm import Denoise, evaluator, heun_step, karras_sigmas
from methods.blocks.diffusion.guidance import Term, sample_guided
from methods.diffusionpde.method import DiffusionPDE
from methods.diffusionpde.settings import LAPTOP, Settings
from tests.methods.small import generators, load
from tests.speed.measure import interleaved, parser, report, sized, warn_if_busy

STEPS = sized(10, 2)  # of the sampler, for the ratio
PAIRS = sized(16, 2)
OBSERVATION = sized(
    (0.25, 0.5, 0.75, 1.0), (0.5, 1.0)
)  # factors on the weights that every loop may choose from, on `valid`


class Scored(NamedTuple):
    method: DiffusionPDE
    error: float
    seconds: float  # a pair, in the batch


def one_at_a_time(denoise: Denoise, x: Tensor, sigmas: Tensor, terms: Sequence[Term], switch: float) -> Tensor:
    """One sample (1, ...) the way DiffusionPDE's code does it: every term computed, also where its weight is 0."""
    evaluate, y, levels = evaluator(denoise, x.dtype), x.double(), sigmas.tolist()
    for i, (sigma, sigma_next) in enumerate(pairwise(levels)):
        estimates: list[Tensor] = []

        def recording(x: Tensor, sigma: float, estimates: list[Tensor] = estimates) -> Tensor:
            estimates.append(evaluate(x, sigma))
            return estimates[-1]

        y = y.detach().requires_grad_()
        y_next = heun_step(recording, y, sigma, sigma_next)
        losses = [term.residual(estimates[-1]).norm() for term in terms]
        gradients = [torch.autograd.grad(loss, y, retain_graph=True)[0] for loss in losses]
        for term, gradient in zip(terms, gradients, strict=True):
            y_next = y_next - (term.early if i <= switch * (len(levels) - 1) else term.late) * gradient
        y = y_next.detach()
    return y.to(x.dtype)


def navier_stokes(train: int, valid: int) -> tuple[Trajectories, Trajectories]:
    """The first two frames of laptop trajectories, so that a trajectory is a pair."""
    cls = registry().load("datasets", "navier_stokes")
    settings = cls.profiles["laptop"]
    dataset = cls(replace(settings, sizes=replace(settings.sizes, train=train, valid=valid)))
    return load(dataset, "train", 2), load(dataset, "valid", 2)


def prior(train: Trajectories, valid: Trajectories, steps: int) -> DiffusionPDE:
    settings = replace(LAPTOP, training=replace(LAPTOP.training, steps=steps))
    return DiffusionPDE(settings).fit(train, valid, [], 0, Run())


def with_settings(method: DiffusionPDE, settings: Settings) -> DiffusionPDE:
    """The same prior, sampled in another way."""
    other = DiffusionPDE(settings)
    vars(other).update({name: value for name, value in vars(method).items() if name != "settings"})
    return other


def slow_settings(steps: int, observation: float) -> Settings:
    """Heun's method with backward passes through both of its evaluations, as the source does it."""
    return replace(LAPTOP, edm=replace(LAPTOP.edm, sampler="heun", steps=steps), observation=observation)


def batched(method: DiffusionPDE, problem: Problem, noise: Tensor) -> Tensor:
    s, plan = method.settings, method.plan(problem)
    x = s.edm.sigma_max * noise
    return sample_guided(plan.denoise, x, karras_sigmas(s.edm), plan.terms, s.guidance, s.edm.sampler)


def looped(method: DiffusionPDE, problem: Problem, noise: Tensor) -> Tensor:
    s, samples = method.settings, []
    for i in range(len(noise)):
        plan = method.plan(problem[i : i + 1])
        x = s.edm.sigma_max * noise[i : i + 1]
        samples.append(one_at_a_time(plan.denoise, x, karras_sigmas(s.edm), plan.terms, s.guidance.switch))
    return torch.cat(samples)


def same_result(method: DiffusionPDE, problem: Problem, noise: Tensor) -> list[tuple[str, float, str]]:
    slow = with_settings(method, slow_settings(STEPS, 0.3))
    difference = (batched(slow, problem, noise) - looped(slow, problem, noise)).abs().max()
    times = interleaved(
        {"batched": lambda: batched(slow, problem, noise), "looped": lambda: looped(slow, problem, noise)}, repeats=3
    )
    return [
        (f"{PAIRS} pairs, {STEPS} steps: one at a time over batched", times["looped"] / times["batched"], ">= 2.5"),
        ("largest difference (standard deviation 0.5)", float(difference), "<= 1e-4"),
    ]


def error(method: DiffusionPDE, truth: Trajectories, x: Tensor) -> float:
    u = method.normaliser_.decode(x)
    return float(((u - truth.u).flatten(1).norm(dim=1) / truth.u.flatten(1).norm(dim=1)).mean())


def fast_settings(steps: int, observation: float) -> Settings:
    """One evaluation and one backward pass a step, with the multistep sampler of profile laptop."""
    return replace(LAPTOP, edm=replace(LAPTOP.edm, steps=steps), observation=observation)


def best_of(choices: dict[float, DiffusionPDE], truth: Trajectories, problem: Problem, noise: Tensor) -> Scored:
    """The weight with the lowest error on `valid`, and the batch's seconds a pair."""
    scored = {}
    for w, method in choices.items():
        began = time.perf_counter()
        found = error(method, truth, batched(method, problem, noise))
        scored[w] = Scored(method, found, (time.perf_counter() - began) / len(noise))
    print({w: round(s.error, 4) for w, s in scored.items()})
    return min(scored.values(), key=lambda s: s.error)


def fast_setting(method: DiffusionPDE, truth: Trajectories, problem: Problem, noise: Tensor, steps: int):
    """Errors on `valid`; both loops take the best of the same weights."""
    print(f"relative error by weight, {steps} steps of the slow loop; as many and {LAPTOP.edm.steps} multistep steps:")
    slow, fast, laptop = (
        best_of({w: with_settings(method, make(n, w)) for w in OBSERVATION}, truth, problem, noise)
        for make, n in ((slow_settings, steps), (fast_settings, steps), (fast_settings, LAPTOP.edm.steps))
    )
    began = time.perf_counter()
    looped(slow.method, problem[:2], noise[:2])
    seconds = (time.perf_counter() - began) / 2
    print(f"seconds a pair: slow {seconds:.2f}, fast {fast.seconds:.3f}, laptop {laptop.seconds:.3f}")
    print(f"laptop over slow: error {laptop.error / slow.error:.3f}, time {laptop.seconds / seconds:.3f}")
    return [
        ("fast over slow: error", fast.error / slow.error, "<= 1.05"),
        ("fast over slow: time", fast.seconds / seconds, "<= 0.1"),
    ]


def main() -> None:
    options = parser(__doc__)
    options.add_argument(
        "--fit", type=int, default=sized(0, 1), metavar="STEPS", help="train the prior and compare errors"
    )
    options.add_argument("--steps", type=int, default=sized(200, 2), help="of the slow loop in that comparison")
    arguments = options.parse_args()
    warn_if_busy()
    torch.set_num_threads(1)
    train, valid = navier_stokes(sized(1024, 32) if arguments.fit else 32, PAIRS)
    method = prior(train, valid, max(1, arguments.fit))
    problem = registry().load("tasks", "cont_3").observe(valid, generators(len(valid)))
    noise = torch.randn(valid.u.shape, generator=torch.Generator().manual_seed(0))
    rows = same_result(method, problem, noise)
    if arguments.fit:
        rows += fast_setting(method, valid, problem, noise, arguments.steps)
    report(rows)


if __name__ == "__main__":
    main()
