import pytest
import torch

from benchmark.core import Problem, Run
from methods import kriging
from methods.blocks.gaussian.first_frame import FirstFrame
from methods.blocks.variational import Stages, _factor, assimilate
from methods.linear import Linear, Settings
from tasks import observation as tasks
from tests.methods.heat import HeatDataset
from tests.methods.small import generators

DATA = HeatDataset.small(resolution=8, frames=4)
SETTINGS = Settings(validation=4, kriging=kriging.Settings(trajectories=32, validation=4))
LEVEL = torch.ones(4, dtype=torch.float64)


def first_frame(weight=0.3) -> FirstFrame:
    train = DATA.trajectories("train", 32)
    fit = Linear(SETTINGS).fit(train, DATA.trajectories("valid", 4), [tasks.CONT_3], 0, Run())
    return FirstFrame.of(fit.law(train.grid, torch.device("cpu")), weight)


def white(law: FirstFrame, count: int, seed: int = 0):
    size = len(law.samples) + law.mean.numel()
    return torch.randn(count, size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def observed(count=2) -> Problem:
    problem = tasks.CONT_3.observe(DATA.trajectories("test", count), generators(count))
    return Problem(problem.values.double(), problem.mask, problem.grid, problem.equation)


def test_white_noise_makes_frames_of_both_covariances():
    law = first_frame()
    frames = law.frame(white(law, 20_000)).flatten(1)
    found = frames.T.cov()
    eye = torch.eye(64, dtype=torch.float64).view(64, 8, 8)
    rows = law.adjoint(eye)  # (64, N): the root's transpose
    exact = rows @ rows.T
    assert (found - exact).norm() < 0.05 * exact.norm()
    torch.testing.assert_close(frames.mean(0), law.mean.flatten(), atol=0.1, rtol=0)


def test_the_adjoint_is_the_transpose():
    law, x = first_frame(), white(first_frame(), 3)
    f = torch.randn(3, 8, 8, dtype=torch.float64)
    left = ((law.frame(x) - law.mean) * f).sum((1, 2))
    torch.testing.assert_close(left, (x * law.adjoint(f)).sum(1))


def test_noise_of_a_frame_gives_it_back():
    law = first_frame()
    f = law.frame(white(law, 2))
    assert ((law.frame(law.noise_of(f)) - f).norm() / (f - law.mean).norm()) < 0.1


def exact_fit(problem, law, sigma):
    """Heat decay is linear: the minimum of J by dense algebra, trajectory by trajectory."""
    size = len(law.samples) + law.mean.numel()
    zero = law.mean.new_zeros(1, size)
    frames = []
    for values, mask in zip(problem.values, problem.mask, strict=True):

        def readings(x, mask=mask):
            return problem.equation.solve(law.frame(x)[..., None], None, problem.grid)[0][mask]

        h = torch.autograd.functional.jacobian(readings, zero)[:, 0] / sigma  # (n, N)
        y = (values[mask] - readings(zero)) / sigma
        x = torch.linalg.solve(torch.eye(size, dtype=h.dtype) + h.T @ h, h.T @ y)
        frames.append(law.frame(x[None])[0])
    return torch.stack(frames)


def test_a_linear_problem_is_solved_exactly():
    law, problem = first_frame(), observed()
    stages = Stages(sigmas=(0.1, 1e-2), tolerance=1e-12)
    found = assimilate(problem, law, white(law, 2), LEVEL, stages)
    torch.testing.assert_close(found.first[..., 0], exact_fit(problem, law, 1e-2), rtol=1e-5, atol=1e-6)
    assert found.converged.all() and (found.misfit < 1).all()


def test_a_part_of_the_readings_leads_to_the_same_minimum():
    law, problem = first_frame(), observed()
    stages = Stages(sigmas=(0.1,), iterations=200, adjoints=4, tolerance=1e-12)
    found = assimilate(problem, law, white(law, 2), LEVEL, stages)
    torch.testing.assert_close(found.first[..., 0], exact_fit(problem, law, 0.1), rtol=1e-3, atol=1e-4)
    whole = assimilate(problem, law, white(law, 2), LEVEL, Stages(sigmas=(0.1,), tolerance=1e-12))
    assert whole.evaluations < found.evaluations


def test_readings_beyond_rounding_still_have_a_factor():
    """Two nearly equal rows 1e9 sigma long: 1 + H H^T is singular in float64."""
    h = 1e9 * torch.tensor([[1.0, 0.0], [1.0, 1e-12]], dtype=torch.float64)
    factor = _factor(h)
    assert torch.isfinite(factor).all()
    torch.testing.assert_close(factor @ factor.T, h @ h.T, rtol=1e-9, atol=0)
    easy = torch.tensor([[1.0, 2.0]], dtype=torch.float64)
    torch.testing.assert_close(_factor(easy), torch.tensor([[6.0]], dtype=torch.float64).sqrt())
    with pytest.raises(ValueError, match="not finite"):
        _factor(torch.full((2, 2), torch.nan, dtype=torch.float64))
