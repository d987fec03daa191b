"""Gaussian fields with the variance that the formulas promise."""

from __future__ import annotations

import pytest
import torch
from scipy.fft import idctn

from benchmark.core import keyed_generator
from datasets.random_fields import neumann_field, periodic_modes, uniform


def test_uniform_stays_in_its_range():
    u = uniform(2.0, 5.0, (10_000,), keyed_generator("u"))
    assert u.min() >= 2 and u.max() < 5 and abs(u.mean() - 3.5) < 0.05


def test_periodic_modes_are_a_real_field_of_zero_mean():
    modes = periodic_modes(10, 2.5, 7.0, 2 * torch.pi, keyed_generator("p"))
    assert torch.equal(modes, modes.flip(0, 1).conj())
    assert modes[10, 10] == 0


def test_periodic_spectrum_follows_the_law():
    """E |w_k|^2 = 2 sigma^2 (4 pi^2 |k|^2 + 49)^-2.5, sigma = 7^1.5, in every ring of wavenumbers."""
    modes = torch.stack([periodic_modes(12, 2.5, 7.0, 2 * torch.pi, keyed_generator("p", i)) for i in range(400)])
    power = modes.abs().square().mean(0)
    k = torch.arange(-12, 13, dtype=torch.float64)
    k2 = k[:, None] ** 2 + k**2
    law = 2 * 7.0**3 * (4 * torch.pi**2 * k2 + 49) ** -2.5
    for low, high in ((1, 2), (2, 4), (4, 8), (8, 13)):
        ring = (k2 >= low**2) & (k2 < high**2)
        assert (power[ring] / law[ring]).mean().item() == pytest.approx(1, abs=0.06)


def test_neumann_field_is_the_orthonormal_inverse_dct():
    n, alpha, tau = 16, 2.0, 3.0
    k = torch.arange(n, dtype=torch.float64)
    amplitude = tau ** (alpha - 1) * (torch.pi**2 * (k[:, None] ** 2 + k**2) + tau**2) ** (-alpha / 2)
    amplitude[0, 0] = 0
    xi = torch.randn(n, n, generator=keyed_generator("n"), dtype=torch.float64)
    expected = idctn((n * amplitude * xi).numpy(), type=2, norm="ortho")
    assert torch.allclose(neumann_field(n, alpha, tau, keyed_generator("n")), torch.from_numpy(expected), atol=1e-12)


def test_neumann_field_has_the_published_spread():
    fields = torch.stack([neumann_field(64, 2.0, 3.0, keyed_generator("n", i)) for i in range(600)])
    assert fields.mean((1, 2)).abs().max() < 1e-12
    assert fields.square().mean().sqrt().item() == pytest.approx(0.292, rel=0.03)
