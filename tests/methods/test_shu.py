from dataclasses import replace
from functools import cache

import pytest
import torch

from benchmark.core import Grid
from benchmark.planning.registry import registry
from methods.blocks.conditioning import Shape
from methods.blocks.normaliser import SIGMA_DATA
from methods.blocks.training.examples import Clip
from methods.nearest import Nearest
from methods.shu.ddpm import Schedule, antithetic, ddim, noise_of, noised, target_of
from methods.shu.method import SMOKE, Restarts, Settings, Shu, best_step, blurred, unit, window
from tasks import observation as tasks
from tests.methods.generative_case import HEAT, comes_back, data, fit, keeps_its_promises, problem, quick

QUICK = quick(SMOKE, restarts=Restarts(time=300, steps=3, starts=2, blur=0))
VARIANTS = ("plain", "penalty", "conditional")


@cache
def fitted(variant="penalty"):
    return fit(Shu(replace(QUICK, variant=variant, weight=0.5 if variant == "conditional" else 0.0)))


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_prediction_keeps_its_promises(variant):
    evaluations = 2 * (3 + 2) * (2 if variant == "conditional" else 1)  # windows x steps of both starts
    keeps_its_promises(fitted(variant), problem(), evaluations)


@pytest.mark.parametrize("variant", ["penalty", "conditional"])
def test_a_restored_method_gives_the_same_answer(variant):
    comes_back(fitted(variant), problem())


# -- the schedule


def test_the_schedule_is_the_one_of_the_source():
    kept = Schedule().kept()
    assert [round(float(kept[t - 1]), 2) for t in (160, 240, 400)] == [0.76, 0.55, 0.2]


def test_times_come_in_pairs():
    t = antithetic(Schedule(), 9, torch.Generator().manual_seed(0))
    assert t.shape == (9,) and torch.equal(t[:4] + t[5:], torch.full((4,), 999))


def test_ddim_with_the_true_noise_gives_the_clean_field_back():
    x, noise = torch.randn(2, 3, 4, 4), torch.randn(2, 3, 4, 4)
    times = Restarts(400, 20, 1).times()[0]
    x_t = noised(Schedule(), x, torch.tensor(times[0]), noise)
    torch.testing.assert_close(
        ddim(Schedule(), lambda x, t: noise, x_t, times, torch.zeros_like), x, rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("target", ["noise", "velocity"])
def test_what_the_network_should_answer_gives_the_noise_back(target):
    x, noise, t = torch.randn(3, 3, 4, 4), torch.randn(3, 3, 4, 4), torch.tensor([0, 400, 999])
    x_t = noised(Schedule(), x, t, noise)
    answer = target_of(target, Schedule(), x, t, noise)
    torch.testing.assert_close(noise_of(target, Schedule(), x_t, t, answer), noise, rtol=1e-4, atol=1e-4)


def test_ddim_samples_a_gaussian_from_its_exact_noise_prediction():
    """Data N(0, 0.5^2): eps = sqrt(1 - a) x / (a 0.25 + 1 - a)."""
    schedule, kept = Schedule(), Schedule().kept()

    def predict(x, t):
        a = float(kept[t])
        return (1 - a) ** 0.5 * x / (a * 0.25 + 1 - a)

    x = torch.randn(20_000, generator=torch.Generator().manual_seed(0))
    out = ddim(schedule, predict, x, list(range(0, 1000, 5))[::-1], torch.zeros_like)
    assert out.std() == pytest.approx(0.5, rel=0.03)


def test_restarts_shrink():
    assert [len(t) for t in Restarts(400, 20, 3).times()] == [20, 14, 10]  # 44 evaluations a window
    assert [t[0] for t in Restarts(400, 20, 2).times()] == [380, 260]
    assert Restarts(240, 30, 1).times()[0] == list(range(232, -1, -8))
    with pytest.raises(ValueError, match="steps <= time"):
        Restarts(10, 20)
    with pytest.raises(ValueError, match="at most 1000"):
        Settings(restarts=Restarts(time=1200))


# -- windows and guide


def test_the_guide_is_the_nearest_sensor():
    method, seen = fitted(), problem()
    guide = method.normaliser_.decode(method.guide(seen).movedim(2, -1) * SIGMA_DATA)
    torch.testing.assert_close(guide, Nearest(None).predict(seen, 0).u[0], rtol=1e-4, atol=1e-5)


def test_with_hardly_any_noise_the_answer_is_the_guide():
    still = Shu(replace(QUICK, variant="plain", restarts=Restarts(time=1, steps=1, starts=1, blur=0)))
    still.restore(fitted("plain").state(), data("train"))
    answer, guide = still.predict(problem(), 0).u[0], Nearest(None).predict(problem(), 0).u[0]
    assert (answer - guide).norm() < 0.05 * guide.norm()


@pytest.mark.parametrize("boundary", ["periodic", "dirichlet"])
def test_a_blur_smooths_and_keeps_constants(boundary):
    grid = Grid((16, 16), (1.0, 1.0), (0.0, 1.0), boundary)
    x = torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    assert blurred(x, 3, grid).std() < 0.5 * x.std() and torch.equal(blurred(x, 0, grid), x)
    torch.testing.assert_close(blurred(torch.ones_like(x), 3, grid), torch.ones_like(x))
    torch.testing.assert_close(window(16, 3, boundary == "periodic").sum(1), torch.ones(16))


@pytest.mark.parametrize("boundary, mode", [("periodic", "circular"), ("dirichlet", "replicate")])
def test_the_blur_of_the_paper_profile_is_a_window_of_seven_cells(boundary, mode):
    """Kernel 7 and sigma 7, as the authors' sparse conditional configuration has it."""
    x = torch.randn(1, 1, 16, 16, generator=torch.Generator().manual_seed(0))
    weights = torch.exp(-0.5 * (torch.arange(-3.0, 4.0) / 7) ** 2)
    kernel = torch.outer(weights, weights)[None, None] / weights.sum() ** 2
    expected = torch.nn.functional.conv2d(torch.nn.functional.pad(x, (3, 3, 3, 3), mode=mode), kernel)
    found = blurred(x, Settings().restarts.blur, Grid((16, 16), (1.0, 1.0), (0.0, 1.0), boundary))
    inner = (..., slice(3, -3), slice(3, -3))  # mirrored edges repeat more than the last cell
    where = (...,) if boundary == "periodic" else inner
    torch.testing.assert_close(found[where], expected[where])
    with pytest.raises(ValueError, match="blur: expected 0 or an odd number"):
        Restarts(blur=4)


# -- the equation


def test_the_gradient_is_that_of_each_windows_own_residual():
    method, u = fitted(), data("test").u[:2, :3]
    x = method.encode(u) + 0.1 * torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    g = method.gradient(None)(x)
    torch.testing.assert_close(method.gradient(None)(x[1:]), g[1:])
    step = 1e-3 * unit(g)
    before, after = (residual_size(method, v) for v in (x, x - step))
    predicted = (g * step).flatten(1).sum(1)
    torch.testing.assert_close(before - after, predicted, rtol=0.05, atol=1e-4)


def residual_size(method, x):
    grid = HEAT.grid(3)
    r = HEAT.equation().residual(method.decode(x), None, grid) * grid.dt / float(method.normaliser_.std)
    return r.square().flatten(1).mean(1) * x[0].numel() / 2


@pytest.mark.parametrize("share", [0.5, 0.9, 1.1])
def test_the_line_search_finds_the_best_step(share):
    method = fitted()
    x = torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    g = method.gradient(None)(x)
    step = best_step(method.residual(None), x, g)
    assert (residual_size(method, x - step * g) < residual_size(method, x - share * step * g)).all()


def test_a_true_solution_is_left_alone_and_a_disturbed_one_improves():
    method = fitted()
    assert method.settings.line_search
    x = method.encode(data("test").u[:2, :3])
    disturbed = x + 0.3 * torch.randn(x.shape, generator=torch.Generator().manual_seed(0))
    assert method.corrector(None)(x).norm() < 0.1 * method.corrector(None)(disturbed).norm()
    better = disturbed - method.corrector(None)(disturbed)
    assert (residual_size(method, better) < 0.9 * residual_size(method, disturbed)).all()


def test_some_training_examples_come_without_the_gradient():
    method, given = fitted("conditional"), []

    def network(x, t, extra):
        given.append(extra)
        return x[:, :3]

    method.losses(network, Clip(data("train", 64).u[:, :3], None), torch.Generator().manual_seed(0))
    dropped = (given[0] == 0).flatten(1).all(1)
    assert 1 <= dropped.sum() <= 16
    torch.testing.assert_close(given[0][~dropped].square().mean((1, 2, 3)), torch.ones(int((~dropped).sum())))


def test_coefficient_fields_enter_the_network():
    shape = Shape.planned(tasks.CONT_3, HEAT, with_coordinates=False)
    net = Shu(QUICK).network(replace(shape, fields=2))
    assert net(torch.randn(2, 5, 16, 16), torch.zeros(1)).shape == (2, 3, 16, 16)
    walls = replace(shape.grid, boundary="dirichlet")
    assert Shu(QUICK).network(replace(shape, grid=walls)).architecture.padding == "zeros"


def test_the_size_of_the_paper():
    cls = registry().load("datasets", "kolmogorov")  # 256^2
    size = Shu(Settings(variant="plain")).parameters(tasks.CONT_3, cls(cls.profiles["paper"]))
    assert size == pytest.approx(3.47e6, rel=0.005)


@pytest.mark.parametrize("side, layers", [(256, 1), (128, 4)])
def test_attention_is_where_the_grid_has_16_cells_a_side(side, layers):
    """In the middle; at 128^2 also in the last level's one block on the way down and both on the way up."""
    shape = Shape.planned(tasks.CONT_3, HEAT, with_coordinates=False)
    grid = Grid((side, side), (1.0, 1.0), (0.0, 1.0, 2.0), "periodic")
    with torch.device("meta"):
        net = Shu(Settings()).network(replace(shape, grid=grid))
    assert len(net.attentions()) == layers


def test_what_it_cannot_do_it_says():
    known = registry()
    steady, dynamic = (known.load("datasets", name) for name in ("helmholtz", "kolmogorov"))
    steady, dynamic = steady(steady.profiles["smoke"]), dynamic(dynamic.profiles["smoke"])
    assert "three" in Shu(SMOKE).unsupported(tasks.CONT_3, steady)
    assert Shu(SMOKE).unsupported(tasks.CONT_1, dynamic) is None
    for task in (tasks.FWD_FULL, tasks.INV_PARTIAL, tasks.LONG_RANGE):
        assert "sensors" in Shu(SMOKE).unsupported(task, dynamic)
