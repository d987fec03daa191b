"""Batches in pieces: the same numbers, and no activations but those of one piece."""

import pytest
import torch
from torch import nn

from methods.blocks.pieces import in_pieces


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 8))


def gradient(call, x):
    x = x.clone().requires_grad_()
    (g,) = torch.autograd.grad(call(x).norm(), x)
    return g


def batch(count=12):
    return torch.randn(count, 8, generator=torch.Generator().manual_seed(1))


def test_values_and_gradients_are_those_of_the_pieces_to_the_bit():
    net, x = network(), batch()
    plain = lambda x: torch.cat([net(part) for part in x.split(5)])  # noqa: E731
    assert torch.equal(in_pieces(net, 5, x), plain(x))
    assert torch.equal(gradient(lambda x: in_pieces(net, 5, x), x), gradient(plain, x))
    with torch.no_grad():
        assert torch.equal(in_pieces(net, 5, x), plain(x))


@pytest.mark.parametrize("size", [1, 5, 12, 100])
def test_results_do_not_depend_on_the_size_of_a_piece(size):
    net, x = network(), batch()
    torch.testing.assert_close(in_pieces(net, size, x), net(x))
    torch.testing.assert_close(gradient(lambda x: in_pieces(net, size, x), x), gradient(net, x))


def test_inputs_are_cut_alike():
    x, y = batch(), torch.arange(12.0)[:, None]
    assert torch.equal(in_pieces(lambda x, y: x * y, 5, x, y), x * y)


def test_a_gradient_may_be_taken_again():
    net, x = network(), batch().requires_grad_()
    out = in_pieces(net, 5, x)
    first, second = (torch.autograd.grad(out.norm(), x, retain_graph=True)[0] for _ in range(2))
    assert torch.equal(first, second)


def saved(call, x):
    """Bytes kept for the backward pass, each piece of memory once."""
    found = {}

    def pack(t):
        found[t.untyped_storage().data_ptr()] = t
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        call(x.clone().requires_grad_())
    return sum(t.untyped_storage().nbytes() for t in found.values())


def test_the_graph_of_many_pieces_keeps_no_activations():
    net, x = network(), batch(64)
    assert saved(lambda x: in_pieces(net, 4, x), x) < 0.1 * saved(net, x)
