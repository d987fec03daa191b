import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from methods.blocks.diffusion.edm import (
    EDM,
    HDIT,
    Denoiser,
    Edm,
    denoising_loss,
    dpmpp_2m,
    heun,
    karras_sigmas,
    loss_weight,
    noise_levels,
    precondition,
    quantile,
    sample,
)
from methods.blocks.training.batches import stratified

MEAN, STD = 0.3, 0.5


def gaussian_denoiser(x, sigma):
    """E[x_0 | x] for x_0 ~ N(MEAN, STD^2)."""
    return (STD**2 * x + sigma**2 * MEAN) / (STD**2 + sigma**2)


def exact(x, start, end):
    """Where the flow of that law takes x: distances from the mean shrink like the standard deviation."""
    return MEAN + (x - MEAN) * math.sqrt((STD**2 + end**2) / (STD**2 + start**2))


def noise(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


class Counted:
    def __init__(self, denoise):
        self.denoise, self.calls = denoise, []

    def __call__(self, x, sigma):
        self.calls.append((x.dtype, sigma))
        return self.denoise(x, sigma)


# -- samplers


@pytest.mark.parametrize("sampler", ["heun", "dpmpp_2m"])
def test_samplers_reach_the_exact_solution_of_a_gaussian_law(sampler):
    edm = Edm(sampler=sampler, steps=160)
    x = noise(64)
    truth = exact(edm.sigma_max * x, edm.sigma_max, 0.0)
    assert (sample(edm, gaussian_denoiser, x) - truth).abs().max() < 1e-3


def test_samples_have_the_law_of_the_data():
    x = sample(Edm(steps=40), gaussian_denoiser, noise(20_000))
    assert x.mean().item() == pytest.approx(MEAN, abs=0.02)
    assert x.std().item() == pytest.approx(STD, abs=0.02)


@pytest.mark.parametrize("sampler", [heun, dpmpp_2m])
def test_samplers_are_of_order_two(sampler):
    x = 80 * noise(16)

    def error(steps):
        sigmas = karras_sigmas(Edm(steps=steps, sigma_min=0.02))[:-1]
        return (sampler(gaussian_denoiser, x, sigmas) - exact(x, 80.0, 0.02)).abs().max().item()

    orders = [math.log2(error(n) / error(2 * n)) for n in (64, 128, 256)]
    assert orders[-1] == pytest.approx(2.0, abs=0.15)


@pytest.mark.parametrize("edm, evaluations", [(EDM, 39), (HDIT, 50), (Edm(steps=18), 35), (Edm(steps=1), 1)])
def test_the_number_of_evaluations(edm, evaluations):
    denoise = Counted(gaussian_denoiser)
    sample(edm, denoise, noise(2, dtype=torch.float32))
    assert len(denoise.calls) == evaluations
    assert {(dtype, sigma.shape) for dtype, sigma in denoise.calls} == {(torch.float32, ())}


@pytest.mark.parametrize("sampler", [heun, dpmpp_2m])
def test_a_float64_state_loses_less_than_a_float32_one(sampler):
    x, sigmas = 80 * noise(256), karras_sigmas(Edm(steps=200))
    reference = sampler(gaussian_denoiser, x, sigmas)
    errors = [
        (sampler(gaussian_denoiser, x.float(), sigmas, state=state).double() - reference).square().mean().sqrt()
        for state in (torch.float64, torch.float32)
    ]
    assert sampler(gaussian_denoiser, x.float(), sigmas).dtype == torch.float32
    assert errors[0] < errors[1]
    assert errors[0] < 2e-5


@pytest.mark.parametrize("edm", [EDM, HDIT])
def test_the_schedule_falls_from_sigma_max_to_sigma_min_and_then_zero(edm):
    sigmas = karras_sigmas(edm)
    assert len(sigmas) == edm.steps + 1 and sigmas.dtype == torch.float64
    assert sigmas[0].item() == pytest.approx(edm.sigma_max) and sigmas[-2].item() == pytest.approx(edm.sigma_min)
    assert sigmas[-1] == 0 and (sigmas.diff() < 0).all()


def test_the_schedule_against_a_number_worked_out_by_hand():
    # sqrt of 9 and of 1 are 3 and 1; half way lies 2, whose square is 4
    sigmas = karras_sigmas(Edm(steps=3, sigma_min=1.0, sigma_max=9.0, rho=2.0))
    torch.testing.assert_close(sigmas, torch.tensor([9.0, 4.0, 1.0, 0.0], dtype=torch.float64))


# -- the denoiser


@pytest.mark.parametrize("target", ["edm", "x"])
@pytest.mark.parametrize("sigma", [0.01, 0.5, 7.0])
def test_the_network_sees_and_aims_at_unit_variance(sigma, target):
    x, eps = 0.5 * noise(200_000, seed=1), noise(200_000, seed=2)
    c = precondition(Edm(target=target), torch.tensor(sigma, dtype=torch.float64))
    noisy = x + sigma * eps
    assert (c.c_in * noisy).std().item() == pytest.approx(1, rel=0.01)
    assert ((x - c.c_skip * noisy) / c.c_out).std().item() == pytest.approx(1, rel=0.01)
    assert c.c_noise.item() == pytest.approx(math.log(sigma) / 4)


class Affine(nn.Module):
    """Uses all it gets, and notes the shape of the noise conditioning."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(0.7))

    def forward(self, x, c_noise, condition=None):
        self.seen = c_noise.shape
        y = self.scale * x + c_noise.view(-1, *(1,) * (x.ndim - 1))
        return y if condition is None else y + condition


def test_the_denoiser_is_its_formula_with_one_level_or_one_for_each():
    net = Affine()
    denoiser, x, y = Denoiser(net), noise(3, 2, 4, 4, 1), noise(3, 2, 4, 4, 1, seed=1)
    sigma = torch.full((3,), 2.0, dtype=torch.float64)
    c = precondition(EDM, sigma[0])
    expected = c.c_skip * x + c.c_out * (0.7 * c.c_in * x + c.c_noise + y)
    torch.testing.assert_close(denoiser(x, sigma, y), expected, rtol=1e-6, atol=1e-6)
    assert net.seen == (3,)
    torch.testing.assert_close(denoiser(x, sigma[0], y), denoiser(x, sigma, y))
    denoiser(x, sigma[0])
    assert net.seen == (1,)


def test_the_denoiser_keeps_float32_around_a_bfloat16_network():
    denoiser = Denoiser(nn.Sequential(nn.Linear(4, 4)))
    denoiser.net.forward = lambda x, c: nn.Sequential.forward(denoiser.net, x)
    with torch.autocast("cpu", torch.bfloat16):
        assert denoiser(torch.randn(2, 4), torch.tensor(1.0)).dtype == torch.float32


# -- training


def test_a_network_that_predicts_x_is_asked_for_the_data_alone_at_every_level():
    x, eps = 0.5 * noise(5, 3), noise(5, 3, seed=1)
    sigma = torch.tensor([[0.01], [0.1], [1.0], [10.0], [100.0]], dtype=torch.float64)
    c = precondition(Edm(target="x"), sigma)
    torch.testing.assert_close((x - c.c_skip * (x + sigma * eps)) / c.c_out, 2 * x.double())


@pytest.mark.parametrize("target", ["edm", "x"])
@pytest.mark.parametrize("weight", ["edm", "soft_min_snr"])
def test_the_weighted_error_of_the_denoiser_is_that_of_the_network(weight, target):
    edm, net = Edm(weight=weight, target=target), Affine()
    x, eps = 0.5 * noise(5, 3, 2), noise(5, 3, 2, seed=1)
    sigma = torch.tensor([0.01, 0.1, 1.0, 10.0, 100.0], dtype=torch.float64)
    c = precondition(edm, sigma.view(-1, 1, 1))
    noisy = x + sigma.view(-1, 1, 1) * eps
    error = (net(c.c_in * noisy, c.c_noise.view(-1)) - (x - c.c_skip * noisy) / c.c_out).square().mean((1, 2))
    factor = 1.0 if weight == "edm" else (0.5 * sigma) ** 2 / (0.25 + sigma**2) ** 2
    torch.testing.assert_close(denoising_loss(edm, Denoiser(net, edm), x, sigma, eps), factor * error)
    torch.testing.assert_close(loss_weight(edm, sigma) * c.c_out.view(-1) ** 2, factor * torch.ones_like(sigma))


def test_stratified_draws_fill_every_part_once_and_follow_their_generator():
    u = stratified(64, torch.Generator().manual_seed(3))
    assert sorted((u * 64).long().tolist()) == list(range(64))
    assert u.tolist() != sorted(u.tolist())
    assert torch.equal(u, stratified(64, torch.Generator().manual_seed(3)))
    assert not torch.equal(u, stratified(64, torch.Generator().manual_seed(4)))


def test_the_lognormal_law():
    log_sigma = noise_levels(EDM, 10_000, torch.Generator().manual_seed(0)).double().log()
    assert log_sigma.mean().item() == pytest.approx(-1.2, abs=1e-2)
    assert log_sigma.std().item() == pytest.approx(1.2, abs=1e-2)


def test_the_cosine_law():
    u = torch.linspace(0, 1, 1001, dtype=torch.float64)
    sigma = quantile(HDIT, u)
    assert (sigma.diff() > 0).all()
    assert sigma[0].item() == pytest.approx(1e-3) and sigma[-1].item() == pytest.approx(1e3)
    plain = replace(HDIT, cosine_size=32)
    angles = torch.atan(quantile(plain, u) / 0.5)
    torch.testing.assert_close(angles.diff(), angles.diff()[:1].expand(1000))
    assert quantile(plain, u[500:501]) < sigma[500]  # a finer grid needs more noise


@pytest.mark.parametrize(
    "change, message",
    [({"steps": 0}, "steps: expected 1 or more, got 0"), ({"sigma_min": 90.0}, "got 90.0 and 80.0")],
)
def test_impossible_settings_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Edm(**change)
