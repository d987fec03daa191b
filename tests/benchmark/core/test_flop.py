"""Counts against the textbook's, and nothing moves."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from benchmark.core.flop import Flop


def counted(work) -> int:
    with Flop() as flop:
        work()
    return flop.count


def test_a_matrix_product_is_two_operations_a_term():
    a, b = torch.randn(3, 5), torch.randn(5, 7)
    assert counted(lambda: a @ b) == 2 * 3 * 5 * 7
    assert counted(lambda: a.to(torch.cfloat) @ b.to(torch.cfloat)) == 4 * 2 * 3 * 5 * 7
    assert counted(lambda: (a.exp() + 1).sum()) == 0


def test_a_backward_pass_counts():
    """Of y = W x + b: one product forward, one for the gradient of W, one for that of x."""
    layer, x = nn.Linear(5, 7), torch.randn(3, 5, requires_grad=True)
    assert counted(lambda: layer(x).sum().backward()) == 3 * 2 * 3 * 5 * 7


def test_a_convolution_counts_its_taps():
    x, layer = torch.randn(2, 3, 8, 8), nn.Conv2d(3, 4, 5, padding=2)
    assert counted(lambda: layer(x)) == 2 * (2 * 8 * 8) * 4 * (3 * 5 * 5)


def test_a_fourier_transform_is_five_n_log_n():
    x = torch.randn(3, 8, 16)
    complex_2d = 3 * 5 * 128 * 7  # log2(8 * 16)
    assert counted(lambda: torch.fft.fft2(x.to(torch.cfloat))) == complex_2d
    assert counted(lambda: torch.fft.rfft2(x)) == complex_2d / 2
    spectrum = torch.fft.rfft2(x)
    assert counted(lambda: torch.fft.irfft2(spectrum, s=(8, 16))) == complex_2d / 2
    assert counted(lambda: torch.fft.rfft(x)) == 2.5 * x.numel() * 4  # rows alone


def test_attention_on_a_cpu_counts_as_its_matrix_products():
    q, k, v = (torch.randn(2, 4, 6, 8, requires_grad=True) for _ in range(3))
    product = 2 * (2 * 4) * 6 * 6 * 8
    assert counted(lambda: F.scaled_dot_product_attention(q, k, v)) == 2 * product
    backward = counted(lambda: F.scaled_dot_product_attention(q, k, v).sum().backward())
    assert backward == (2 + 5) * product  # the scores are made again


@pytest.mark.parametrize("optimiser", [torch.optim.AdamW, torch.optim.SGD])
def test_counting_moves_no_bit(optimiser):
    def weights(count: bool):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.GELU(), nn.Conv2d(4, 1, 3, padding=1))
        stepper, x = optimiser(net.parameters(), lr=0.1), torch.randn(2, 1, 8, 8)

        def step():
            torch.fft.rfft2(net(x)).abs().square().mean().backward()
            stepper.step()

        assert counted(step) > 0 if count else step() is None
        return [p.detach().clone() for p in net.parameters()]

    assert all(map(torch.equal, weights(True), weights(False)))
