import math

import pytest
import torch

from methods.blocks.diffusion.variance_preserving import cosine, langevin, noise_of, sample, target_of


def at(t):
    mu, sigma = cosine(torch.tensor([t], dtype=torch.float64), torch.zeros(1, dtype=torch.float64))
    return float(mu), float(sigma)


def test_the_process_is_the_one_of_the_source():
    assert at(0.0) == pytest.approx((1, 1e-3))
    assert at(1.0) == pytest.approx((1e-3, 1))
    mu = (1 + math.sqrt(1e-3)) / 2  # cos^2(w / 2), with cos w = sqrt(1e-3)
    assert at(0.5) == pytest.approx((mu, math.sqrt(1 - mu**2 + 1e-6)))


def test_times_of_a_batch_are_those_of_its_elements():
    x = torch.zeros(3, 2, 4)
    mu, sigma = cosine(torch.tensor([0.0, 0.5, 1.0]), x)
    assert mu.shape == sigma.shape == (3, 1, 1) and mu.dtype == x.dtype
    assert mu.flatten().tolist() == pytest.approx([at(t)[0] for t in (0.0, 0.5, 1.0)], rel=1e-5)


@pytest.mark.parametrize("target", ["noise", "velocity"])
@pytest.mark.parametrize("t", [0.01, 0.5, 1.0])
def test_what_the_network_should_answer_gives_the_noise_back(target, t):
    x, noise = torch.randn(2, 3, 4), torch.randn(2, 3, 4)
    mu, sigma = cosine(torch.tensor([t]), x)
    answer = target_of(target, mu, sigma, x, noise)
    found = noise_of(target, mu, sigma, mu * x + sigma * noise, answer)
    torch.testing.assert_close(found, noise, rtol=1e-4, atol=1e-5)


def gaussian(std):
    """eps of data N(0, std^2)."""

    def predict(x, t):
        mu, sigma = cosine(t, x)
        return sigma * x / (mu**2 * std**2 + sigma**2)

    return predict


def draws(seed, shape):
    generator = torch.Generator().manual_seed(seed)
    return lambda: torch.randn(shape, generator=generator)


def test_without_corrections_it_is_deterministic_and_converges_to_the_exact_flow():
    """The flow of a Gaussian maps noise to std times noise."""
    x, errors = torch.linspace(-2, 2, 9)[None], []
    for steps in (32, 64, 128):
        out = sample(gaussian(0.5), x, steps, 0, 0.5, draws(0, x.shape))
        errors.append(float((out - 0.5 * x).norm()))
    assert errors[1] < 0.6 * errors[0] and errors[2] < 0.6 * errors[1]
    assert errors[2] < 0.03 * float((0.5 * x).norm())


@pytest.mark.parametrize("corrections, calls", [(0, 4), (1, 8), (2, 12)])
def test_every_step_has_its_corrections_at_the_time_it_leads_to(corrections, calls):
    times = []

    def predict(x, t):
        times.append(float(t))
        return x

    x = torch.ones(1, 3)
    sample(predict, x, 4, corrections, 0.1, draws(0, x.shape))
    assert len(times) == calls
    assert times[: 1 + corrections] == [1.0] + [0.75] * corrections
    assert times[-1] == (0.0 if corrections else 0.25)


def test_corrections_keep_the_law_and_mend_a_wrong_one():
    """At a time t = 0.5 data N(0, 0.5^2) have this spread, whatever the corrections start from."""
    t, shape = torch.tensor([0.5]), (64, 512)
    mu, sigma = cosine(t, torch.zeros(shape))
    std, draw = float((mu**2 * 0.25 + sigma**2).sqrt()), draws(0, shape)
    for x in (std * draw(), 1.5 + 0.1 * draw()):
        for _ in range(300):
            x = langevin(gaussian(0.5)(x, t), x, sigma, 0.05, draw())
        assert float(x.mean()) == pytest.approx(0, abs=0.02)
        assert float(x.std()) == pytest.approx(std, rel=0.03)


def test_a_correction_is_scaled_by_its_own_sample_alone():
    eps, x, z = torch.randn(2, 3, 4), torch.randn(2, 3, 4), torch.randn(2, 3, 4)
    found = langevin(eps, x, torch.tensor(0.3), 0.5, z)
    for i in range(2):
        delta = 0.5 / float((eps[i] ** 2).mean())
        expected = x[i] - (delta * eps[i] + math.sqrt(2 * delta) * z[i]) * 0.3
        torch.testing.assert_close(found[i], expected)
    assert langevin(torch.zeros(1, 3), torch.ones(1, 3), torch.tensor(0.0), 0.5, torch.zeros(1, 3)).isfinite().all()
