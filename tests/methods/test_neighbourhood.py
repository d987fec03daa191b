from importlib.util import find_spec

import pytest
import torch

from methods.blocks.networks import neighbourhood
from methods.blocks.networks.neighbourhood import attention_backend, neighbourhood_attention, neighbours
from methods.blocks.networks.tiles import Tiling, window_start

GRIDS = [(1, 1, 1), (1, 4, 4), (2, 5, 9), (3, 8, 8), (5, 9, 11), (2, 17, 20)]
KERNELS = [(1, 1, 1), (2, 7, 7), (2, 4, 4), (3, 3, 2), (1, 5, 1), (2, 5, 9), (9, 9, 99)]


def random_qkv(grid, heads=2, dim=8, batch=2, seed=0, **options):
    g = torch.Generator().manual_seed(seed)
    return [torch.randn(batch, *grid, heads, dim, generator=g, **options).requires_grad_() for _ in range(3)]


def test_windows_are_shifted_inward_and_even_ones_reach_left():
    assert window_start(9, 7).tolist() == [0, 0, 0, 0, 1, 2, 2, 2, 2]
    assert window_start(8, 4).tolist() == [0, 0, 0, 1, 2, 3, 4, 4]
    assert window_start(5, 2).tolist() == [0, 0, 1, 2, 3]
    assert window_start(3, 3).tolist() == [0, 0, 0]


def test_every_token_has_exactly_its_window():
    seen = neighbours((4, 8, 9), (2, 7, 4), torch.device("cpu"))
    assert (seen.sum(1) == 2 * 7 * 4).all()
    i = (2 * 8 + 4) * 9 + 5  # token (2, 4, 5)
    t, h, w = (axis.unique().tolist() for axis in torch.unravel_index(seen[i].nonzero()[:, 0], (4, 8, 9)))
    assert (t, h, w) == ([1, 2], [1, 2, 3, 4, 5, 6, 7], [3, 4, 5, 6])


@pytest.mark.parametrize("length", [1, 5, 8, 9, 16, 23])
@pytest.mark.parametrize("kernel", [1, 2, 5])
def test_tiles_hold_every_query_and_its_whole_window(length, kernel):
    tiling, kernel = Tiling.of(length, min(kernel, length), tile=8), min(kernel, length)
    assert tiling.queries.flatten()[tiling.back].tolist() == list(range(length))
    assert (tiling.seen.sum(-1) == kernel).all()
    assert tiling.keys.min() >= 0 and tiling.keys.max() < length


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_tiled_is_the_definition_and_so_are_its_gradients(grid, kernel):
    qkv = random_qkv(grid, dtype=torch.float64)
    outs = [neighbourhood_attention(*qkv, kernel, backend=name) for name in ("tiled", "dense")]
    torch.testing.assert_close(*outs)
    weight = torch.randn(outs[0].shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for ours, theirs in zip(*(torch.autograd.grad(out, qkv, weight) for out in outs), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_gradients_by_finite_differences():
    qkv = random_qkv((2, 3, 10), heads=1, dim=2, batch=1, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda q, k, v: neighbourhood_attention(q, k, v, (2, 2, 3)), qkv)


def test_a_kernel_of_the_whole_grid_is_plain_attention():
    q, k, v = random_qkv((3, 4, 5))
    weights = torch.einsum("bthwnd,bxyznd->bnthwxyz", q, k).flatten(5).mul(0.3).softmax(-1)
    expected = torch.einsum("bnthws,bsnd->bthwnd", weights, v.flatten(1, 3))
    torch.testing.assert_close(neighbourhood_attention(q, k, v, (3, 4, 5), scale=0.3), expected)


def test_a_window_of_one_returns_the_values():
    q, k, v = random_qkv((3, 4, 5))
    torch.testing.assert_close(neighbourhood_attention(q, k, v, (1, 1, 1)), v)


def test_flips_and_transposes_go_through_odd_windows():
    qkv = random_qkv((3, 9, 10))
    out = neighbourhood_attention(*qkv, (3, 5, 5))
    flipped = neighbourhood_attention(*(x.flip(1, 2, 3) for x in qkv), (3, 5, 5))
    turned = neighbourhood_attention(*(x.transpose(2, 3) for x in qkv), (3, 5, 5))
    torch.testing.assert_close(flipped.flip(1, 2, 3), out)
    torch.testing.assert_close(turned.transpose(2, 3), out)


def test_tables_made_in_inference_mode_serve_training():
    q, k, v = random_qkv((2, 6, 13))
    with torch.inference_mode():
        neighbourhood_attention(q, k, v, (2, 3, 4))
    neighbourhood_attention(q, k, v, (2, 3, 4)).sum().backward()
    assert q.grad is not None and k.grad is not None and v.grad is not None


def test_bfloat16():
    qkv = random_qkv((2, 8, 12))
    with torch.backends.mkldnn.flags(enabled=False):  # its bfloat16 needs instructions not every machine lets it use
        out = neighbourhood_attention(*(x.bfloat16() for x in qkv), (2, 3, 4))
        out.float().square().sum().backward()
    assert out.dtype == torch.bfloat16
    torch.testing.assert_close(out.float(), neighbourhood_attention(*qkv, (2, 3, 4)), atol=0.03, rtol=0.03)
    assert all(x.grad.isfinite().all() for x in qkv)


@pytest.mark.parametrize("grid, kernel", [((4, 8, 8), (2, 7, 7)), ((5, 9, 11), (3, 4, 7)), ((2, 8, 9), (1, 3, 4))])
@pytest.mark.parametrize("backend", [name for name in ("tiled", "natten") if name == "tiled" or find_spec(name)])
@pytest.mark.filterwarnings("ignore")  # natten calls flex_attention uncompiled on a CPU
def test_backends_agree_forward(grid, kernel, backend):
    q, k, v = (x.detach() for x in random_qkv(grid, dim=16))
    expected = neighbourhood_attention(q, k, v, kernel, backend="dense")
    torch.testing.assert_close(neighbourhood_attention(q, k, v, kernel, backend=backend), expected)


def test_the_backend_in_use_and_why(monkeypatch):
    assert attention_backend("cpu") == "tiled: natten's kernels need CUDA"
    monkeypatch.setattr(neighbourhood, "_missing_natten", lambda: "natten is not installed")
    assert attention_backend("cuda") == "tiled: natten is not installed"
    monkeypatch.setattr(neighbourhood, "_missing_natten", lambda: None)
    assert attention_backend("cuda").startswith("natten: ")


def test_wrong_arguments_are_named():
    q, k, v = random_qkv((2, 3, 4))
    with pytest.raises(ValueError, match="backend: expected auto, natten, tiled, dense, got 'flash'"):
        neighbourhood_attention(q, k, v, (2, 3, 3), backend="flash")
    with pytest.raises(ValueError, match="kernel: expected three sizes of 1 or more"):
        neighbourhood_attention(q, k, v, (2, 0, 3))
    with pytest.raises(ValueError, match="q, k, v: expected three of"):
        neighbourhood_attention(q, k[:, :1], v, (2, 3, 3))
