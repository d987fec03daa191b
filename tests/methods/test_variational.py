import pytest
import torch

from benchmark.core import Problem, Run
from methods import kriging
from methods.blocks import variational
from methods.blocks.gaussian.first_frame import FirstFrame
from methods.blocks.variational import UNFIT, Stages, _factor, _Misfit, _State, _windows, assimilate
from methods.linear import Linear, Settings
from tasks import observation as tasks
from tests.methods import lorenz
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


def chaos(stages, count=12):
    """A chaotic ring's first states from later ones and a guess 30 % off: the fits, their errors over the guess's."""
    last = torch.stack([torch.zeros(lorenz.SITES), torch.ones(lorenz.SITES)]).bool()
    problem, first, law = lorenz.problem(count, last, duration=0.6)
    off = 0.3 * first.std() * torch.randn(first.shape, generator=torch.Generator().manual_seed(1), dtype=first.dtype)
    level = first.std() * torch.ones(2, dtype=first.dtype)
    found = assimilate(problem, law, law.noise_of((first + off)[..., 0]), level, stages)
    return found, (found.first - first).flatten(1).norm(dim=1) / off.flatten(1).norm(dim=1)


def test_half_decades_follow_chaos_that_whole_decades_lose():
    half, error = chaos(Stages(iterations=8))
    whole, _ = chaos(Stages(sigmas=(0.3, 0.03, 3e-3, 3e-4, 3e-5, 1e-5), iterations=8))
    assert half.converged.sum() >= 2 * whole.converged.sum() and half.converged.sum() >= 6
    assert error[half.converged].max() < 1e-3


def test_a_trajectory_that_is_lost_keeps_its_last_fitted_frame():
    sigmas = (0.3, 0.03, 3e-3, 3e-4)
    found, _ = chaos(Stages(sigmas, iterations=8))
    lost = found.misfit > UNFIT
    assert lost.any() and not lost.all() and not found.converged[lost].any()
    earlier = torch.cat([chaos(Stages(sigmas[:n], iterations=8))[0].first[None] for n in (1, 2, 3)])
    assert (found.first[lost] == earlier[:, lost]).flatten(2).all(-1).any(0).all()


def test_a_growing_window_finds_what_all_readings_at_once_do_not(monkeypatch):
    """Half of a chaotic ring's sites at seven times; the guess is the mean."""
    half = (torch.arange(16) % 2 == 0).view(lorenz.SITES).expand(7, -1, -1)
    problem, first, law = lorenz.problem(8, half, duration=1.2)
    level, guess = first.std() * torch.ones(7, dtype=first.dtype), torch.zeros(8, 216, dtype=first.dtype)
    stages = Stages((0.3, 0.1, 0.03, 0.01), iterations=20)
    grown = assimilate(problem, law, guess, level, stages)
    monkeypatch.setattr(variational, "_windows", lambda problem: [problem])
    at_once = assimilate(problem, law, guess, level, stages)
    assert grown.converged.sum() >= 6 and grown.converged.sum() >= 2 * at_once.converged.sum()


def test_of_two_starts_each_trajectory_takes_the_one_of_less_j():
    law, problem = first_frame(), observed()
    misfit = _Misfit.at(problem, law, 0.01, LEVEL)
    good, bad = white(law, 2), 5 * white(law, 2, seed=1)
    exact = Problem(
        torch.where(problem.mask, misfit.readings(good) * 0.01 + problem.values, 0),
        problem.mask,
        problem.grid,
        problem.equation,
    )
    yes, no = torch.ones(2, dtype=torch.bool), torch.zeros(2, dtype=torch.bool)
    mixed = _State(torch.stack([good[0], bad[1]]), yes, yes, 3.0)
    other = _State(torch.stack([bad[0], good[1]]), no, no, 4.0)
    chosen = mixed.better(other, _Misfit.at(exact, law, 0.01, LEVEL))
    assert torch.equal(chosen.x, good) and chosen.fits.tolist() == [True, False] and chosen.runs == 7


def test_windows_end_at_frames_with_readings():
    test = DATA.trajectories("test", 2)
    windows = {task.name: _windows(task.observe(test, generators(2))) for task in (tasks.CONT_3, tasks.INV_PARTIAL)}
    assert [len(w.grid.times) for w in windows["cont_3"]] == [2, 3, 4]
    assert [len(w.grid.times) for w in windows["inv_partial"]] == [4]
    assert all(w.values.shape[1] == w.mask.shape[1] == len(w.grid.times) for w in windows["cont_3"])


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
