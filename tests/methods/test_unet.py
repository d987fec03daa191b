"""The U-Net: the sizes the sources report, what its settings change, what it refuses."""

from dataclasses import replace

import pytest
import torch

from methods.blocks.networks.unet import SHU, Architecture, UNet

SMALL = Architecture(width=16, multipliers=(1, 2), blocks=1, attention=(8,), dropout=0.0)
LAYERS = replace(SMALL, groups=8, resample="layer", rescale=False, padding="circular")


def count(net):
    return sum(p.numel() for p in net.parameters())


def build(architecture=SMALL, size=16, **options):
    torch.manual_seed(0)
    return UNet(2, 2, size, architecture, **options)


def awake(net):
    """Weights that start near zero, made large enough to matter."""
    with torch.no_grad():
        for p in net.parameters():
            if p.ndim > 1 and p.abs().max() < 1e-4:
                p.mul_(1e5)
    return net


@pytest.mark.parametrize(
    "architecture, channels, size, parameters",
    [(Architecture(), 2, 128, 54_410_882), (SHU, 3, 256, 3_468_739)],
)
def test_it_has_the_size_its_source_reports(architecture, channels, size, parameters):
    with torch.device("meta"):
        assert count(UNet(channels, channels, size, architecture)) == parameters


def test_attention_follows_the_size_of_the_grid():
    def layers(size, architecture=SMALL):
        return len(build(architecture, size).attentions())

    assert layers(32) == 1  # the middle's; 8 is not reached
    assert layers(16) == 3  # one block down, one in the middle, the last one up
    assert layers(16, replace(SMALL, decoder_attention="all")) == 4


@pytest.mark.parametrize("size", [16, 32, 64])
def test_attention_may_follow_the_levels_instead(size):
    net = build(replace(SMALL, attention=(1,), attention_by="level", decoder_attention="all"), size)
    assert len(net.attentions()) == 4


@pytest.mark.parametrize("architecture", [SMALL, LAYERS, replace(SMALL, modulate=True)])
def test_shapes_and_gradients(architecture):
    net = awake(build(architecture, labels=3, extra=1))
    x, extra = torch.randn(2, 2, 16, 16), torch.randn(2, 1, 16, 16)
    y = net(x, torch.tensor([0.1, -0.3]), torch.eye(3)[:2], extra)
    assert y.shape == x.shape
    y.square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in net.parameters())


def test_without_an_embedding_no_noise_level_is_looked_at():
    net, x = awake(build(replace(SMALL, embedding=0))).eval(), torch.randn(2, 2, 16, 16)
    assert torch.equal(net(x), net(x, torch.tensor([0.1, -0.3])))
    assert not any("shift" in name or "embed" in name for name, _ in net.named_parameters())
    net(x).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in net.parameters())


def test_a_noise_level_shared_by_the_batch_is_the_same_as_one_for_each():
    net, x = awake(build()).eval(), torch.randn(3, 2, 16, 16)
    torch.testing.assert_close(net(x, torch.full((1,), 0.2)), net(x, torch.full((3,), 0.2)))


@pytest.mark.parametrize("architecture", [SMALL, replace(SMALL, resample="layer")])
def test_circular_padding_makes_it_move_with_its_input(architecture):
    x, noise = torch.randn(1, 2, 16, 16), torch.tensor([0.3])

    def error(padding):
        net = awake(build(replace(architecture, padding=padding))).eval()
        return (net(x.roll((4, 6), (2, 3)), noise) - net(x, noise).roll((4, 6), (2, 3))).abs().max()

    assert error("circular") < 1e-5
    assert error("zeros") > 1e-3


def test_noise_label_and_extra_field_matter():
    net, x = awake(build(labels=2, extra=1)).eval(), torch.randn(1, 2, 16, 16)
    label, extra, noise = torch.eye(2)[:1], torch.zeros(1, 1, 16, 16), torch.zeros(1)
    y = net(x, noise, label, extra)
    for other in ((noise + 0.5, label, extra), (noise, label.flip(1), extra), (noise, label, extra + 1)):
        assert not torch.allclose(net(x, *other), y, atol=1e-4)


def test_an_attention_layer_of_ones_own_gets_the_context():
    class Add(torch.nn.Module):
        def forward(self, x, context):
            return context.expand_as(x)

    net, x = awake(build(attend=lambda channels: Add())).eval(), torch.randn(1, 2, 16, 16)
    assert len(net.attentions()) == 3
    y = net(x, torch.zeros(1), context=torch.zeros(1))
    assert not torch.allclose(net(x, torch.zeros(1), context=torch.ones(1)), y, atol=1e-4)


def test_refusals():
    with pytest.raises(ValueError, match="multiple of 2, got 15"):
        build(size=15)
    with pytest.raises(ValueError, match=r"label: expected \(B, 3\), got None"):
        build(labels=3)(torch.zeros(1, 2, 16, 16), torch.zeros(1))
    with pytest.raises(ValueError, match="extra: expected None"):
        build()(torch.zeros(1, 2, 16, 16), torch.zeros(1), None, torch.zeros(1, 1, 16, 16))
