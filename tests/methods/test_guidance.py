"""Guided sampling of a Gaussian prior, whose denoiser and posterior are known."""

from dataclasses import replace

import pytest
import torch

from methods.blocks.diffusion.edm import Edm, heun, karras_sigmas
from methods.blocks.diffusion.guidance import Guidance, Term, active, objective, sample_guided, solve
from tests.speed.guided import one_at_a_time

N, BATCH = 24, 6
EDM = Edm(steps=12, sigma_min=0.02, sigma_max=20.0)
SOLVE = Guidance("solve", late=1.0, iterations=8)


def covariance():
    """Of smooth periodic series with standard deviation 0.5."""
    i = torch.arange(N, dtype=torch.float64)
    distance = torch.sin(torch.pi * (i[:, None] - i).abs() / N)
    return 0.25 * torch.exp(-8 * distance**2)


COVARIANCE = covariance()


def denoise(x, sigma):
    """E[x_0 | x] = C (C + sigma^2)^-1 x."""
    gain = torch.linalg.solve(COVARIANCE + sigma.double() ** 2 * torch.eye(N, dtype=torch.float64), COVARIANCE)
    return x @ gain.to(x)


def draw(count, seed=0):
    generator = torch.Generator().manual_seed(seed)
    root = torch.linalg.cholesky(COVARIANCE + 1e-9 * torch.eye(N, dtype=torch.float64))
    return (torch.randn(count, N, generator=generator, dtype=torch.float64) @ root.T).float()


def seen(truth, every, early=1.0, late=0.1):
    mask = torch.zeros(N, dtype=torch.bool)
    mask[::every] = True
    return Term(lambda x: torch.where(mask, x - truth, 0), early, late, float(mask.sum()))


def noise(count=BATCH):
    return torch.randn(count, N, generator=torch.Generator().manual_seed(1))


def run(terms, guidance, edm=EDM, sampler="heun", x=None):
    x = edm.sigma_max * (noise() if x is None else x)
    return sample_guided(denoise, x, karras_sigmas(edm), terms, guidance, sampler)


def error(x, truth):
    return float((x - truth).norm() / truth.norm())


def test_without_terms_it_is_the_sampler_and_builds_no_graph():
    def watched(x, sigma):
        assert not torch.is_grad_enabled()
        return denoise(x, sigma)

    x = EDM.sigma_max * noise()
    never = Term(lambda x: pytest.fail("a term of weight 0 was computed"), 0.0, 0.0)
    torch.testing.assert_close(
        sample_guided(watched, x, karras_sigmas(EDM), [never], Guidance()), heun(denoise, x, karras_sigmas(EDM))
    )


def test_weights_change_at_the_switch():
    term = Term(lambda x: x, 1.0, 0.5)
    late = Term(lambda x: x, 0.0, 2.0)
    found = [[w for _, w in active([term, late], i, 10, 3.0, Guidance())] for i in (0, 8, 9)]
    assert found == [[1.0], [1.0], [0.5, 2.0]]
    by_sigma = Guidance(schedule="sigma")
    found = [[w for _, w in active([term, late], 9, 10, sigma, by_sigma)] for sigma in (80.0, 1.1, 1.0, 0.1)]
    assert found == [[1.0], [1.0], [0.5, 2.0], [0.05, 0.2]]


def test_losses_are_those_of_each_sample():
    x = torch.tensor([[3.0, 4.0], [0.0, 0.0]], requires_grad=True)
    term = Term(lambda x: x, 1.0, 1.0, count=torch.tensor([2.0, 1.0]))
    assert objective(x, [(term, 2.0)]).tolist() == [10.0, 0.0]
    assert objective(x, [(term, 2.0)], "mean_square").tolist() == [25.0, 0.0]
    assert objective(x, [(term, 2.0)], "root_mean_square").tolist() == pytest.approx([10.0 / 2**0.5, 0.0])
    own = replace(term, loss="huber")
    assert objective(x, [(own, 2.0), (term, 1.0)]).tolist() == pytest.approx([2 * (2.5 + 3.5) / 2 + 5.0, 0.0])
    (gradient,) = torch.autograd.grad(objective(x, [(term, 1.0)]).sum(), x)
    assert gradient.isfinite().all()  # also where a norm is 0


@pytest.mark.parametrize("guidance, sampler", [(Guidance(), "heun"), (SOLVE, "dpmpp_2m")])
def test_a_sample_does_not_know_its_batch(guidance, sampler):
    truth, x = draw(BATCH), noise()
    together = run([seen(truth, 3)], guidance, sampler=sampler)
    for i in (0, 4):
        alone = run([seen(truth[i : i + 1], 3)], guidance, sampler=sampler, x=x[i : i + 1])
        torch.testing.assert_close(together[i : i + 1], alone, rtol=1e-4, atol=1e-5)


def test_one_backward_pass_gives_what_one_for_each_term_does():
    truth, x = draw(BATCH), EDM.sigma_max * noise()

    def terms(i):
        roughness = Term(lambda x: x.roll(1, -1) - x, 0.0, 0.3)
        return [seen(truth[i], 3), seen(truth[i], 4, early=0.5, late=0.05), roughness]

    batched = sample_guided(denoise, x, karras_sigmas(EDM), terms(slice(None)), Guidance())
    parts = [slice(i, i + 1) for i in range(BATCH)]
    looped = torch.cat([one_at_a_time(denoise, x[i], karras_sigmas(EDM), terms(i), 0.8) for i in parts])
    torch.testing.assert_close(batched, looped, rtol=0, atol=1e-5)


def test_with_everything_observed_the_truth_comes_back():
    truth = draw(BATCH)
    many = Edm(steps=300, sigma_max=20.0)
    assert error(run([seen(truth, 1, early=0.3, late=0.03)], Guidance(), many), truth) < 0.02
    assert error(run([seen(truth, 1, late=1.0)], SOLVE, sampler="dpmpp_2m"), truth) < 0.02


def test_ten_solved_steps_reach_what_many_gradients_do():
    """Both near the error of a draw from the posterior, sqrt 2 times that of its mean."""
    truth = draw(64)
    seats = torch.arange(0, N, 4)
    gain = torch.linalg.solve(COVARIANCE[seats][:, seats], COVARIANCE[seats]).float()
    mean = error(truth[:, seats] @ gain, truth)
    x = noise(64)
    solved = error(run([seen(truth, 4, late=1.0)], SOLVE, sampler="dpmpp_2m", x=x), truth)
    slow = error(run([seen(truth, 4, early=0.3, late=0.03)], Guidance(), Edm(steps=1000, sigma_max=20.0), x=x), truth)
    assert mean < solved < 1.6 * mean
    assert mean < slow < 1.6 * mean


def test_solving_conditions_a_gaussian_exactly():
    """As many iterations as sensors: D is E[x_0 | x, y]."""
    truth, sigma = draw(2).double(), 0.7
    x = truth + sigma * noise(2).double()
    d = solve(lambda x, s: denoise(x, torch.tensor(s)), x, sigma, [(seen(truth, 6), 1.0)], 4)
    seats = torch.arange(0, N, 6)
    posterior = COVARIANCE - COVARIANCE @ torch.linalg.solve(
        COVARIANCE + sigma**2 * torch.eye(N, dtype=torch.float64), COVARIANCE
    )
    prior_mean = denoise(x, torch.tensor(sigma))
    gain = torch.linalg.solve(posterior[seats][:, seats], posterior[seats])
    torch.testing.assert_close(d, prior_mean + (truth - prior_mean)[:, seats] @ gain, rtol=1e-6, atol=1e-8)


def test_solving_does_not_break_where_nothing_is_left_to_do():
    truth = torch.zeros(2, N)
    d = solve(lambda x, s: denoise(x, torch.tensor(s)), torch.zeros(2, N), 1.0, [(seen(truth, 2), 1.0)], 3)
    assert torch.equal(d, torch.zeros(2, N))


def test_refusals():
    with pytest.raises(ValueError, match="expected 0 <= switch <= 1"):
        Guidance(switch=1.5)
    with pytest.raises(ValueError, match="iterations >= 1"):
        Guidance(iterations=0)
