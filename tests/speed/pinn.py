"""One step of the PINN against deepxde's own training, same network and points: `python -m tests.speed.pinn`.

Both take Adam steps on a Navier-Stokes trajectory of which one frame is seen, from plane waves and time: the residual
of the vorticity at as many collocation points, and the misfit at the sensors. deepxde predicts the pair (w, psi) and
has a residual for each; ours takes whole slices and gets psi of w by a transform. deepxde fits one instance a time;
ours is counted per instance of a batch.
"""

from __future__ import annotations

import numpy as np
import torch

from benchmark.core import Problem
from datasets.navier_stokes import NavierStokes
from methods.blocks.networks.deepxde import contained, fnn, load_deepxde
from methods.pinn.loss import Loss
from methods.pinn.method import Settings, make_answer
from methods.pinn.network import start
from methods.pinn.optimise import Schedule, optimise
from methods.pinn.points import Sampling
from tests.speed.measure import interleaved, parser, report, sized, warn_if_busy

SLICES, SITES, STEPS, INSTANCES = 2, 32 * 32, sized(10, 2), 2
POINTS = SLICES * SITES
SETTINGS = Settings(64, 4, sampling=Sampling(SLICES, SLICES, 10**6), exact=False, window=8)


def make_problem() -> Problem:
    dataset = NavierStokes(NavierStokes.profiles["laptop"])
    u, _ = dataset.generate("valid", range(INSTANCES), 8)
    mask = torch.zeros_like(u, dtype=torch.bool)
    mask[:, 0] = True
    return Problem(torch.where(mask, u, 0), mask, dataset.grid(8), dataset.equation())


def ours(problem: Problem):
    answer = make_answer(problem, SETTINGS)
    loss = Loss(problem, answer, SETTINGS.sampling, SETTINGS.weight, seed=0)
    weights = start(answer.sizes, INSTANCES, seed=0)
    return lambda: optimise(loss, weights, Schedule(adam=STEPS, lr=1e-3, lbfgs=0))


def deepxde_model(problem: Problem):
    """The same instance in deepxde's words: TimePDE, PointSetBC, Model."""
    dde, equation, grid = load_deepxde(), problem.equation, problem.grid
    answer = make_answer(problem, SETTINGS)
    fold, k = 2 * torch.pi / grid.lengths[0], _wave_vectors(SETTINGS.waves)

    def features(points: torch.Tensor) -> torch.Tensor:  # (N, 3) = (x, y, t)
        phase = fold * points[:, :2] @ k.T
        return torch.cat([phase.cos(), phase.sin(), points[:, 2:]], dim=1)

    def pde(points: torch.Tensor, out: torch.Tensor) -> list[torch.Tensor]:
        def first(component: int, axis: int) -> torch.Tensor:
            return dde.grad.jacobian(out, points, i=component, j=axis)

        def laplacian(component: int) -> torch.Tensor:
            return sum(dde.grad.hessian(out, points, component=component, i=a, j=a) for a in (0, 1))

        x, y = points[:, :1], points[:, 1:2]
        advection = first(1, 1) * first(0, 0) - first(1, 0) * first(0, 1)
        transport = first(0, 2) + advection - equation.nu * laplacian(0) - equation.forcing(x, y)
        return [transport, out[:, :1] + laplacian(1)]

    with contained():
        network = fnn((*answer.sizes[:-1], 2), "tanh", seed=0)
        network.apply_feature_transform(features)
        space = dde.geometry.Rectangle([0, 0], list(grid.lengths))
        domain = dde.geometry.GeometryXTime(space, dde.geometry.TimeDomain(grid.times[0], grid.times[-1]))
        x, y = (v.expand(grid.shape).flatten() for v in grid.axes())
        seen = np.stack([x, y, torch.zeros_like(x)], axis=1)
        sensors = dde.icbc.PointSetBC(seen, problem.values[0, 0].reshape(-1, 1).numpy(), component=0)
        model = dde.Model(dde.data.TimePDE(domain, pde, [sensors], num_domain=POINTS), network)
        model.compile("adam", lr=1e-3, verbose=0)

    def train() -> None:
        with contained():
            model.train(iterations=STEPS, display_every=10**9, verbose=0)

    return train


def _wave_vectors(count: int) -> torch.Tensor:
    pairs = [(i, j) for i in range(count + 1) for j in range(-count, count + 1) if i > 0 or j > 0]
    return torch.tensor([p for p in pairs if p[0] ** 2 + p[1] ** 2 <= count**2], dtype=torch.float32)


def main() -> None:
    parser(__doc__).parse_args()
    warn_if_busy()
    problem = make_problem()
    times = interleaved({"deepxde": deepxde_model(problem), "ours": ours(problem)}, repeats=5)
    theirs, own = times["deepxde"] / STEPS, times["ours"] / STEPS / INSTANCES
    print(f"{POINTS} points, one instance and step: deepxde {1000 * theirs:.0f} ms, ours {1000 * own:.0f} ms")
    report([("deepxde / ours, an instance and step", theirs / own, ">= 3")])


if __name__ == "__main__":
    main()
