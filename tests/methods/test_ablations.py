from dataclasses import fields, replace
from functools import cache

import pytest
import torch

from benchmark.core import Run
from benchmark.planning.registry import registry
from methods.ablations.concat import Concat
from methods.ablations.dit import Architecture, DiT, pad_end, positions
from methods.ablations.flat import Flat
from methods.ablations.hierarchical import Hierarchical
from methods.ablations.latent import Latent
from methods.ablations.mixed import Mixed, mixed
from methods.ablations.vae import Vae, VideoVae
from methods.blocks.learned import count
from methods.videopde.method import VideoPDE
from methods.videopde.model import HVDiT
from tasks import observation as tasks
from tests.methods.heat import HeatDataset
from tests.methods.small import generators, load, planned

HEAT = HeatDataset.small(long_frames=9)
RUNGS = (Mixed, Concat, Latent, Flat, Hierarchical)
SMALL = Architecture((2, 4, 4), width=16, depth=2, head_dim=8)


def short(training):
    return replace(training, steps=4, batch=4, validations=2, checkpoint_seconds=0.0)


def quick_settings(cls):
    settings = cls.profiles["smoke"]
    changes = {f.name: short(getattr(settings, f.name)) for f in fields(settings) if "training" in f.name}
    return replace(settings, **changes, edm=replace(settings.edm, steps=3), validation=4, chunk=3)


@cache
def data(split, count=8, frames=None):
    return HEAT.trajectories(split, count, frames)


@cache
def quick(cls, task=tasks.FWD_PARTIAL):
    """A few steps of training, after which weights and answers are not trivial."""
    return cls(quick_settings(cls)).fit(data("train"), data("valid"), [task], 0, Run())


def problem(task=tasks.FWD_PARTIAL, count=4, frames=None):
    return task.observe(data("test", count, frames), generators(count))


def awake(net, seed=0):
    """Zero weights start a network as the identity; random ones show what it does."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        for weight in net.parameters():
            torch.nn.init.normal_(weight, std=0.1)
    return net


# -- the plain transformer


@pytest.mark.parametrize("video", [(4, 16, 16), (2, 8, 8), (5, 8, 12), (3, 6, 10)])
def test_the_transformer_takes_any_video(video):
    net = awake(DiT(2, 3, SMALL.for_video(*video)))
    x, given = torch.randn(3, *video, 2), torch.randn(3, *video, 3)
    out = net(x, torch.tensor([0.1]), given)
    assert out.shape == x.shape and out.isfinite().all() and out.abs().max() > 0
    torch.testing.assert_close(out, net(x, torch.full((3,), 0.1), given))
    assert not torch.allclose(out, net(x, torch.tensor([0.5]), given))
    torch.testing.assert_close(out[1:2], net(x[1:2], torch.tensor([0.1]), given[1:2]), rtol=1e-4, atol=1e-5)


def test_an_untrained_transformer_answers_zero_and_everything_in_it_learns():
    net = DiT(1, 1, SMALL)
    x = torch.randn(2, 4, 8, 8, 1)
    assert net(x, torch.zeros(2), x).abs().max() == 0
    net = awake(net)
    net(x, torch.zeros(2), x).square().mean().backward()
    dead = [name for name, p in net.named_parameters() if not p.grad.abs().sum() > 0]
    assert not dead


def test_every_frame_and_site_is_reached():
    net, x = awake(DiT(1, 0, SMALL)), torch.zeros(1, 6, 12, 12, 1, requires_grad=True)
    empty = x.detach()[..., :0]
    net(x, torch.zeros(1), empty)[0, 0, 0, 0, 0].backward()
    assert (x.grad != 0).all()


def test_no_two_tokens_share_a_position():
    table = positions((5, 6, 7, 16), torch.device("cpu")).flatten(0, 2)
    assert torch.cdist(table, table).add(torch.eye(len(table)) * 9).min() > 1e-3


def test_padding_repeats_the_end():
    x = torch.arange(2 * 3 * 5 * 5).float().view(1, 3, 5, 5, 2)
    padded = pad_end(x, (2, 4, 4))
    assert padded.shape == (1, 4, 8, 8, 2) and torch.equal(padded[:, :3, :5, :5], x)
    assert torch.equal(padded[:, 3, :5, :5], x[:, 2]) and torch.equal(padded[:, 0, 7, 7], x[:, 0, 4, 4])


def test_channels_are_checked():
    with pytest.raises(ValueError, match="x and known: expected"):
        DiT(1, 2, SMALL)(torch.zeros(1, 4, 8, 8, 1), torch.zeros(1), torch.zeros(1, 4, 8, 8, 1))
    with pytest.raises(ValueError, match="width"):
        Architecture(width=30, head_dim=16)


# -- the VAE


@pytest.mark.parametrize("video, shape", [((4, 16, 16), (2, 4, 4, 3)), ((5, 10, 16), (3, 3, 4, 3))])
def test_the_vae_keeps_the_shape_of_a_video(video, shape):
    vae = VideoVae(2, video, (2, 4, 4), Vae(latents=3, width=16, layers=1))
    x = torch.randn(2, *video, 2)
    mean, log_variance = vae.encode(x)
    assert vae.shape == shape == mean.shape[1:] and log_variance.shape == mean.shape
    assert vae.decode(mean).shape == x.shape
    assert vae(x, torch.zeros_like(mean)).shape == (2,)


def test_the_vae_learns_one_batch():
    """Four videos at an eighth of their size; the best linear code of the blocks has 10.7 %."""
    x = data("train", 4).u
    x = 0.5 * (x - x.mean()) / x.std()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        vae = VideoVae(1, tuple(x.shape[1:4]), (2, 4, 4), Vae(width=128, layers=1))
        optimiser = torch.optim.Adam(vae.parameters(), lr=5e-3)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 400)
        for _ in range(400):
            optimiser.zero_grad()
            vae(x, torch.randn(len(x), *vae.shape)).mean().backward()
            optimiser.step()
            schedule.step()
    with torch.no_grad():
        error = (vae.decode(vae.encode(x)[0]) - x).norm() / x.norm()
    assert error < 0.05


# -- the rungs


@pytest.mark.parametrize("cls", RUNGS)
def test_a_prediction_is_whole_repeatable_and_alone(cls):
    seen, method = problem(), quick(cls)
    answer = method.predict(seen, 0, 2)
    assert answer.u.shape == (2, *seen.values.shape) and answer.u.isfinite().all() and answer.evaluations == 3
    assert torch.equal(answer.u, method.predict(seen, 0, 2).u)
    assert torch.equal(answer.u[:, seen.mask], seen.values[seen.mask].expand(2, -1))
    torch.testing.assert_close(method.predict(seen[:2], 0, 2).u, answer.u[:, :2], rtol=1e-4, atol=1e-5)
    assert (answer.u[0] != answer.u[1])[~seen.mask].float().mean() > 0.99


@pytest.mark.parametrize("cls", RUNGS)
def test_observed_values_count_and_hidden_ones_do_not(cls):
    seen, method = problem(), quick(cls)
    answer = method.predict(seen, 0).u
    behind = replace(seen, values=torch.where(seen.mask, seen.values, 7.0))
    assert torch.equal(method.predict(behind, 0).u, answer)
    changed = replace(seen, values=torch.where(seen.mask, seen.values + 1, 0.0))
    assert (method.predict(changed, 0).u != answer)[0][~seen.mask].float().mean() > 0.5


@pytest.mark.parametrize("cls", RUNGS)
def test_a_fit_is_stored_and_brought_back(cls):
    state = {name: value.clone() for name, value in quick(cls).state().items()}
    again = cls(quick_settings(cls)).restore(state, data("train"))
    assert torch.equal(again.predict(problem(), 0).u, quick(cls).predict(problem(), 0).u)
    assert again.cost() == quick(cls).cost()


@pytest.mark.parametrize("cls", RUNGS)
def test_long_trajectories_are_covered_window_by_window(cls):
    seen = problem(tasks.LONG_RANGE, frames=9)
    answer = quick(cls, tasks.LONG_RANGE).predict(seen, 0)
    assert answer.u.shape == (1, *seen.values.shape) and answer.u.isfinite().all()


@pytest.mark.parametrize("name, frames", [("helmholtz", 2), ("wave_layer", 4)])
@pytest.mark.parametrize("cls", RUNGS)
def test_steady_fields_and_coefficient_fields(cls, name, frames):
    dataset_cls = registry().load("datasets", name)
    dataset = dataset_cls(dataset_cls.profiles["smoke"])
    train, valid = load(dataset, "train"), load(dataset, "valid")
    method = cls(quick_settings(cls)).fit(train, valid, [tasks.CONT_3], 0, Run())
    seen = tasks.CONT_3.observe(valid, generators(len(valid)))
    answer = method.predict(seen, 0).u
    assert answer.shape == (1, len(valid), frames, 16, 16, 1) and answer.isfinite().all()
    if seen.static is not None:
        assert not torch.equal(method.predict(replace(seen, static=seen.static.flip(0)), 0).u, answer)


def test_only_videopde_is_told_the_mask():
    """Sensors that read the mean are not seen: without the mask they look like none."""
    seen = problem(tasks.CONT_3)
    for cls in (Concat, Latent, Flat, Hierarchical):
        method = quick(cls)
        flat = replace(seen, values=torch.where(seen.mask, method.normaliser_.mean, 0.0))
        none = replace(flat, mask=torch.zeros_like(seen.mask))
        torch.testing.assert_close(method.condition(flat), method.condition(none), atol=1e-6, rtol=0)
    assert quick(Concat).condition(seen).shape[-1] == quick(Hierarchical).condition(seen).shape[-1] == 1


def test_mixed_tokens_replace_the_noise():
    seen, method = problem(tasks.CONT_3), quick(Mixed)
    known, denoiser = method.condition(seen), method.model()
    x = torch.randn(seen.values.shape)
    other = torch.where(seen.mask, x + 1, x)  # noise where there is a sensor is never seen
    with torch.no_grad():
        answer, sigma = denoiser(x, torch.tensor(2.0), known), torch.tensor(2.0)
        assert torch.equal(answer, denoiser(other, sigma, known))
        assert not torch.equal(answer, denoiser(torch.where(seen.mask, x, x + 1), sigma, known))
    y = method.normaliser_.encode(seen.values)
    assert torch.equal(mixed(x, known), torch.where(seen.mask, y, x))


def test_latents_have_the_scale_of_the_diffusion():
    method = quick(Latent)
    z = method.encode(data("train").u)
    torch.testing.assert_close(z.std((0, 1, 2, 3)), torch.full((4,), method.settings.edm.sigma_data), rtol=0.02, atol=0)
    decoded = method.vae.decode(method.vae.encode(method.normaliser_.encode(data("train").u))[0])
    torch.testing.assert_close(method.decode(z), method.normaliser_.decode(decoded), rtol=1e-4, atol=1e-5)


def test_a_latent_fit_goes_on_where_it_was(tmp_path):
    """Both stages keep checkpoints; a second call finds them finished and changes nothing."""
    settings = quick_settings(Latent)
    first = Latent(settings).fit(data("train"), data("valid"), [tasks.CONT_3], 0, Run(folder=tmp_path))
    again = Latent(settings).fit(data("train"), data("valid"), [tasks.CONT_3], 0, Run(folder=tmp_path))
    alone = Latent(settings).fit(data("train"), data("valid"), [tasks.CONT_3], 0, Run())
    for name, value in first.state().items():
        assert torch.equal(value, again.state()[name]) and torch.equal(value, alone.state()[name])


# -- what the rungs share, and what they do not


@pytest.mark.parametrize("profile", ["smoke", "laptop", "paper"])
def test_all_rungs_share_budget_and_diffusion(profile):
    ours = VideoPDE.profiles[profile]
    assert Hierarchical.profiles[profile] == ours
    for cls in RUNGS:
        settings = cls.profiles[profile]
        assert settings.edm == ours.edm and settings.architecture.patch == ours.architecture.patch
        assert settings.training == ours.training  # as many steps, too
        assert (settings.symmetries, settings.coordinates) == (ours.symmetries, ours.coordinates)
    assert Mixed.profiles[profile] == Concat.profiles[profile]


@pytest.mark.parametrize("profile, video", [("smoke", (4, 16, 16)), ("laptop", (8, 32, 32)), ("paper", (20, 128, 128))])
def test_the_flat_rung_costs_what_rung_b_costs(profile, video):
    """Per token: two FLOPs for each weight, and four times the width for each key."""
    dit = Concat.profiles[profile].architecture.for_video(*video)
    one_level = Flat.profiles[profile].architecture.for_video(*video)
    frames, sites = video[0] // dit.patch[0], video[1] * video[2] // (dit.patch[1] * dit.patch[2])
    with torch.device("meta"):
        plain, level = DiT(1, 1, dit).blocks, HVDiT(1, 1, one_level).middle
    assert dit.patch == one_level.patch and (dit.width,) == one_level.widths
    cost = 2 * weights(plain) + 4 * dit.width * dit.depth * (frames + sites)
    flat = 2 * weights(level) + 4 * dit.width * one_level.depths[0] * frames * sites
    assert flat == pytest.approx(cost, rel=0.05)


def weights(module):
    return sum(p.numel() for p in module.parameters() if p.ndim == 2)


def test_the_flat_rung_has_one_level_and_looks_everywhere():
    net, x = awake(quick(Flat).network(quick(Flat).shape_)), torch.zeros(1, 4, 16, 16, 1, requires_grad=True)
    assert not net.down and not net.up and all(layer.attention.kernel is None for layer in net.middle)
    net(x, torch.zeros(1), x.detach())[0, 0, 0, 0, 0].backward()
    assert (x.grad != 0).all()


def test_the_paper_profile_has_the_sizes_it_names():
    sizes = {cls: planned(cls) for cls in RUNGS}
    assert sizes[Concat] == pytest.approx(39.6e6, rel=0.01) and sizes[Mixed] == pytest.approx(sizes[Concat], rel=0.001)
    assert sizes[Hierarchical] == pytest.approx(118.0e6, rel=0.005)
    assert sizes[Flat] == pytest.approx(16.0e6, rel=0.005)
    assert sizes[Latent] == pytest.approx(sizes[Concat] + 4.6e6, rel=0.01)
    own = quick(Latent)
    assert planned(Latent, "smoke") == count(own.net_)
