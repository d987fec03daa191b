import math
from dataclasses import replace

import pytest
import torch

from methods.videopde.layers import merge, split
from methods.videopde.model import UNIFIED, Architecture, HVDiT
from methods.videopde.rope import frequencies, places, rotate, rotations

TINY = Architecture(patch=(2, 2, 2), widths=(16, 32), depths=(1, 2), kernel=(2, 3, 4), head_dim=8, mapping_width=16)


def make(architecture=TINY, channels=1, given=2, seed=0):
    """A model whose zeros are perturbed, so that every part takes part."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = HVDiT(channels, given, architecture)
        for parameter in model.parameters():
            if not parameter.any():
                torch.nn.init.normal_(parameter, std=0.1)
    return model


def inputs(shape=(8, 8, 8), batch=3, channels=1, given=2, seed=1):
    g = torch.Generator().manual_seed(seed)
    x, known = (torch.randn(batch, *shape, c, generator=g) for c in (channels, given))
    return x, torch.rand(batch, generator=g) - 0.5, known


def count(architecture, channels=1):
    with torch.device("meta"):
        return sum(p.numel() for p in HVDiT(channels, channels + 1, architecture).parameters())


def test_the_paper_counts_118_and_74_million_parameters():
    assert count(Architecture()) == pytest.approx(118.0e6, rel=0.005)
    assert count(UNIFIED) == pytest.approx(73.8e6, rel=0.005)
    paper = Architecture().for_video(20, 128, 128)
    assert paper == Architecture()
    assert count(paper.for_video(20, 256, 256)) == count(paper)


@pytest.mark.parametrize("frames", [2, 3, 4, 5, 8, 10, 20])
@pytest.mark.parametrize("fit", [True, False])
def test_any_number_of_frames(frames, fit):
    model = make(TINY.for_video(frames, 8, 12) if fit else TINY)
    x, c_noise, given = inputs((frames, 8, 12), batch=2)
    assert model(x, c_noise, given).shape == x.shape


def test_any_size_of_space():
    x, c_noise, given = inputs((4, 7, 13), batch=2)
    assert make()(x, c_noise, given).shape == x.shape
    assert make(TINY.for_video(4, 7, 13))(x, c_noise, given).shape == x.shape


@pytest.mark.parametrize("frames, merge_t", [(2, 1), (5, 1), (8, 2), (10, 1), (20, 2)])
def test_odd_numbers_of_tokens_are_not_merged(frames, merge_t):
    fit = Architecture().for_video(frames, 128, 128)
    assert fit.merges == ((merge_t, 2, 2),) and fit.patch == (2, 4, 4)
    assert Architecture().for_video(1, 2, 128).patch == (1, 2, 4)


def test_padding_is_of_no_consequence_where_nothing_is_known_of_it():
    x, c_noise, given = inputs((5, 8, 8))
    model = make()
    longer = torch.cat([x, x[:, -1:].expand(-1, 3, -1, -1, -1)], dim=1)
    unknown = torch.cat([given, torch.zeros_like(given[:, :3])], dim=1)
    torch.testing.assert_close(model(x, c_noise, given), model(longer, c_noise, unknown)[:, :5])


def test_several_levels_and_channels():
    deep = replace(TINY, widths=(16, 24, 32), depths=(1, 1, 1), merges=((2, 2, 2), (1, 2, 2)))
    x, c_noise, given = inputs((8, 16, 16), channels=2, given=4)
    assert make(deep, channels=2, given=4)(x, c_noise, given).shape == x.shape


def test_an_untrained_model_returns_zero():
    x, c_noise, given = inputs()
    assert not HVDiT(1, 2, TINY)(x, c_noise, given).any()


def test_every_parameter_gets_a_gradient():
    model = make(TINY)
    model(*inputs()).square().sum().backward()
    assert not [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]


def test_gradients_by_finite_differences():
    model = make(replace(TINY, depths=(1, 1))).double()
    x, c_noise, given = (v.double() for v in inputs((4, 4, 4), batch=1))
    direction = torch.randn(x.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    slope = torch.func.grad(lambda e: model(x + e * direction, c_noise, given).sum())(x.new_zeros(()))
    up, down = (model(x + e * direction, c_noise, given).sum() for e in (1e-4, -1e-4))
    torch.testing.assert_close(slope, (up - down) / 2e-4, rtol=1e-4, atol=1e-4)


def test_a_video_does_not_depend_on_the_others_in_its_batch():
    x, c_noise, given = inputs(batch=4)
    model = make()
    out = model(x, c_noise, given)
    torch.testing.assert_close(out[1:2], model(x[1:2], c_noise[1:2], given[1:2]))
    order = torch.tensor([2, 0, 3, 1])
    torch.testing.assert_close(out[order], model(x[order], c_noise[order], given[order]))


def test_one_noise_level_for_all_and_all_levels_at_once():
    x, _, given = inputs()
    model, levels = make(), torch.tensor([-1.0, 0.3, 0.8])
    gains, known = model.condition(levels), model.observe(given)
    for i, level in enumerate(levels):
        expected = model(x, level.expand(len(x)), given)
        torch.testing.assert_close(model(x, level[None], given), expected, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(model.network(x, known, gains[i : i + 1]), expected, rtol=1e-5, atol=1e-5)


def test_noise_level_mask_and_values_all_matter():
    x, c_noise, given = inputs()
    model = make()
    out = model(x, c_noise, given)
    for changed in (model(x, c_noise + 0.1, given), model(x, c_noise, given * torch.tensor([1.0, 1.1]))):
        assert (changed - out).abs().max() > 1e-4
    assert (model(x, c_noise, given * torch.tensor([1.1, 1.0])) - out).abs().max() > 1e-4


def test_every_pixel_sees_every_other_through_the_bottleneck():
    x, c_noise, given = inputs((8, 8, 8), batch=1)
    x.requires_grad_()
    make()(x, c_noise, given)[0, 0, 0, 0, 0].backward()
    assert x.grad[0, -1, -1, -1].abs().max() > 0


def test_saved_weights_give_the_same_model(tmp_path):
    model, other = make(seed=0), make(seed=1)
    torch.save(model.state_dict(), tmp_path / "weights.pt")
    other.load_state_dict(torch.load(tmp_path / "weights.pt", weights_only=True))
    torch.testing.assert_close(model(*inputs()), other(*inputs()), rtol=0, atol=0)


def test_bfloat16_autocast():
    model, batch = make(), inputs()
    with torch.backends.mkldnn.flags(enabled=False):  # its bfloat16 needs instructions not every machine lets it use
        with torch.autocast("cpu", torch.bfloat16):
            out = model(*batch)
        out.square().sum().backward()
    assert out.dtype == torch.float32
    expected = model(*batch)
    assert (out - expected).norm() < 0.03 * expected.norm()
    assert all(p.grad.isfinite().all() for p in model.parameters())


def test_compiles_to_one_graph_once_its_tables_are_there():
    model, batch = make(), inputs()
    expected = model(*batch)
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(*batch), expected)


def test_merge_and_split_are_inverse():
    x = inputs((4, 6, 8), given=3)[2]
    blocks = merge(x, (2, 3, 4))
    assert blocks.shape == (3, 2, 2, 2, 2 * 3 * 4 * 3)
    assert torch.equal(blocks[0, 1, 0, 1].view(2, 3, 4, 3), x[0, 2:4, 0:3, 4:8])
    assert torch.equal(split(blocks, (2, 3, 4)), x)


def test_places_are_token_centres():
    t, h, w = places((2, 4, 8))
    assert t.tolist() == [-0.5, 0.5]
    assert h.tolist() == [-0.375, -0.125, 0.125, 0.375]  # the shorter side, pixels stay square
    assert w.tolist() == [-0.875, -0.625, -0.375, -0.125, 0.125, 0.375, 0.625, 0.875]
    torch.testing.assert_close(places((1, 2, 4))[2], w.view(-1, 2).mean(1))  # merged tokens sit amid their block
    freq = frequencies(6, 8)
    assert freq.shape == (6, 8) and freq.min() == pytest.approx(math.pi) and freq.max() < 10 * math.pi
    assert (freq[1:] > freq[:-1]).all()


def test_rotated_products_depend_on_the_difference_of_places():
    q, k = torch.randn(2, 2, 16, generator=torch.Generator().manual_seed(0))  # (heads, dim)
    turns = rotations((5, 6, 6), 2, 16, torch.device("cpu"))
    product = torch.einsum("thwnd,xyznd->nthwxyz", rotate(q, turns), rotate(k, turns))
    torch.testing.assert_close(product[:, 1, 2, 3, 2, 1, 5], product[:, 2, 3, 2, 3, 2, 4])
    assert (product[:, 1, 2, 3, 2, 1, 5] - product[:, 1, 2, 3, 2, 2, 5]).abs().max() > 1e-3
    torch.testing.assert_close(product[:, 0, 0, 0, 0, 0, 0], (q * k).sum(-1))  # lengths are kept


def test_wrong_arguments_are_named():
    x, c_noise, given = inputs()
    with pytest.raises(ValueError, match=r"x: expected \(B, T, H, W, 1\)"):
        make()(x[..., :0], c_noise, given)
    with pytest.raises(ValueError, match=r"known: expected \(B, T, H, W, 2\)"):
        make()(x, c_noise, given[..., :1])
    with pytest.raises(ValueError, match="c_noise: expected one noise level or 3, got 2"):
        make()(x, c_noise[:2], given)
    with pytest.raises(ValueError, match="head_dim: expected a multiple of 8 that divides"):
        replace(TINY, head_dim=12)
    with pytest.raises(ValueError, match="as many widths as depths"):
        replace(TINY, depths=(1, 1, 1))
