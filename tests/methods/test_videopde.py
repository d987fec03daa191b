from dataclasses import replace
from functools import cache

import pytest
import torch

from benchmark.core import Run, Task
from benchmark.planning.registry import registry
from benchmark.planning.settings import parse_overrides, resolve
from methods.blocks.diffusion.edm import EDM, HDIT, Denoiser, quantile, sample
from methods.blocks.training import checkpoint
from methods.blocks.training.checkpoint import read_log
from methods.blocks.training.examples import Observations
from methods.videopde.method import SMOKE, VideoPDE, VideoPDEUnified, parameter_groups, prepared
from tasks import observation as tasks
from tests.methods.heat import HeatDataset
from tests.methods.small import generators, load, planned

HEAT = HeatDataset.small(long_frames=9)
SIX = (tasks.CONT_1, tasks.CONT_3, tasks.FWD_FULL, tasks.INV_FULL, tasks.FWD_PARTIAL, tasks.INV_PARTIAL)
QUICK = replace(
    SMOKE,
    training=replace(SMOKE.training, steps=6, batch=4, validations=2, checkpoint_seconds=0.0),
    edm=replace(SMOKE.edm, steps=3),
    validation=4,
    chunk=3,
)
PARAMETERS = planned(VideoPDE, "smoke")


@cache
def data(split, count=8, frames=None):
    return HEAT.trajectories(split, count, frames)


@cache
def quick(task=tasks.FWD_PARTIAL, cls=VideoPDE):
    """A few steps of training, after which weights and answers are not trivial."""
    return cls(QUICK).fit(data("train"), data("valid"), [task], 0, Run())


def problem(task=tasks.FWD_PARTIAL, count=4, frames=None):
    return task.observe(data("test", count, frames), generators(count))


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)


# -- predicting


def test_a_prediction_is_whole_repeatable_and_keeps_what_was_seen():
    seen = problem()
    before = seen.values.clone(), seen.mask.clone()
    answer = quick().predict(seen, 0, 2)
    assert answer.u.shape == (2, *seen.values.shape) and answer.u.dtype == torch.float32
    assert answer.u.isfinite().all() and answer.evaluations == 3
    assert torch.equal(seen.values, before[0]) and torch.equal(seen.mask, before[1])
    assert torch.equal(answer.u, quick().predict(seen, 0, 2).u)
    assert torch.equal(answer.u[:, seen.mask], seen.values[seen.mask].expand(2, -1))


def test_samples_and_seeds_differ_where_nothing_was_seen():
    seen = problem()
    answer, other = quick().predict(seen, 0, 2).u, quick().predict(seen, 1).u
    hidden = ~seen.mask
    assert (answer[0] != answer[1])[hidden].float().mean() > 0.99
    assert (answer[0] != other[0])[hidden].float().mean() > 0.99


def test_an_answer_does_not_depend_on_what_is_predicted_beside_it():
    seen = problem()
    answer = quick().predict(seen, 0, 3).u
    torch.testing.assert_close(quick().predict(seen[:2], 0, 2).u, answer[:2, :2], rtol=1e-4, atol=1e-5)
    one_by_one = VideoPDE(replace(QUICK, chunk=1)).restore(quick().state(), data("train"))
    torch.testing.assert_close(one_by_one.predict(seen, 0, 3).u, answer, rtol=1e-4, atol=1e-5)


def test_observed_values_count_and_hidden_ones_do_not():
    seen = problem()
    answer = quick().predict(seen, 0).u
    behind = replace(seen, values=torch.where(seen.mask, seen.values, 7.0))
    assert torch.equal(quick().predict(behind, 0).u, answer)
    changed = replace(seen, values=torch.where(seen.mask, seen.values + 1, 0.0))
    assert (quick().predict(changed, 0).u != answer)[0][~seen.mask].float().mean() > 0.99


def test_noisy_observations_are_not_taken_for_the_truth():
    noisy = replace(tasks.FWD_FULL, noise=0.1)
    method, seen = quick(noisy), problem(noisy)
    assert (method.predict(seen, 0).u[0] != seen.values)[seen.mask].float().mean() > 0.99


@pytest.mark.parametrize("sampler", ["heun", "dpmpp_2m"])
def test_the_prepared_denoiser_is_the_one_that_was_trained(sampler):
    method, seen = quick(), problem()
    edm = replace(QUICK.edm, sampler=sampler, steps=4)
    known, denoiser = method.condition(seen), Denoiser(method.net_, edm)
    noise = torch.randn(seen.values.shape, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        expected = sample(edm, lambda x, sigma: denoiser(x, sigma, known), noise)
        found = sample(edm, prepared(method.net_, known, edm), noise)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("window, windows", [("drop", 3), ("keep", 3)])
def test_long_trajectories_are_covered_window_by_window(window, windows):
    task = replace(tasks.LONG_RANGE, roll_out=window)
    method, seen = quick(task), problem(task, frames=9)
    answer = method.predict(seen, 0, 2)
    assert answer.u.shape == (2, *seen.values.shape)
    assert answer.evaluations == windows * QUICK.edm.steps
    short = method.predict(problem(tasks.FWD_FULL), 0, 2)
    torch.testing.assert_close(answer.u[:, :, :4], short.u, rtol=1e-4, atol=1e-5)
    repeated = torch.equal(answer.u[:, :, 4], answer.u[:, :, 3])
    assert repeated == (window == "keep")


# -- storing and resuming


def test_a_restored_method_gives_the_same_answer():
    method, seen = quick(), problem()
    state = {name: value.clone() for name, value in method.state().items()}
    restored = VideoPDE(QUICK).restore(state, data("train"))
    assert same(state, restored.state())
    assert torch.equal(restored.predict(seen, 0, 2).u, method.predict(seen, 0, 2).u)
    assert restored.cost() == method.cost()
    assert method.cost()["steps"] == 6 and method.cost()["parameters"] == PARAMETERS


def test_a_fit_leaves_the_global_random_numbers_alone():
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    VideoPDE(QUICK).fit(data("train"), data("valid"), [tasks.CONT_3], 0, Run()).predict(problem(), 0)
    assert torch.equal(torch.rand(2), expected)


def test_an_interrupted_fit_ends_with_the_same_weights(tmp_path):
    class Interrupt(Exception):
        pass

    def stop(message, fraction):
        if checkpoint.found(tmp_path / "cut"):
            raise Interrupt

    def fit(folder, **more):
        return VideoPDEUnified(QUICK).fit(data("train"), data("valid"), SIX, 5, Run(folder=tmp_path / folder, **more))

    with pytest.raises(Interrupt):
        fit("cut", progress=stop)
    (reached,) = checkpoint.found(tmp_path / "cut")
    assert 0 < int(reached.name.removeprefix(checkpoint.PREFIX)) < QUICK.training.steps
    assert same(fit("cut").state(), fit("whole").state())


# -- learning


def test_training_examples_are_a_function_of_seed_step_and_rank():
    batches = Observations(SIX).batches(data("train"), 8, seed=0)
    again = Observations(SIX).batches(data("train"), 8, seed=0)
    for place in ((0, 0, 1), (3, 0, 2), (3, 1, 2)):
        a, b = batches(*place), again(*place)
        assert torch.equal(a.truth.u, b.truth.u) and torch.equal(a.problem.mask, b.problem.mask)
    masks = [batches(*place).problem.mask for place in ((3, 0, 2), (3, 1, 2), (4, 0, 2))]
    assert not torch.equal(masks[0], masks[1]) and not torch.equal(masks[0], masks[2])


def test_the_unified_model_draws_all_tasks_alike():
    batches = Observations(SIX).batches(data("train"), 8, seed=0)
    seen = torch.cat([batches(step).problem.mask[..., 0].flatten(2).sum(2) for step in range(75)])  # (600, T)
    sites = 16 * 16
    kinds = {
        "cont_1": (3, 3, 3, 3),
        "cont_3": (8, 8, 8, 8),
        "fwd_full": (sites, 0, 0, 0),
        "inv_full": (0, 0, 0, sites),
        "fwd_partial": (8, 0, 0, 0),
        "inv_partial": (0, 0, 0, 8),
    }
    counts = {name: int((seen == torch.tensor(row)).all(1).sum()) for name, row in kinds.items()}
    assert sum(counts.values()) == 600
    assert all(65 <= n <= 135 for n in counts.values()), counts  # 100 +- 9 each


def test_a_curriculum_starts_from_many_sensors_and_ends_with_those_of_the_task():
    examples = Observations([tasks.CONT_3], dense_steps=10)
    batches = examples.batches(data("train"), 8, seed=0)
    counts = {step: batches(step).problem.mask[..., 0].flatten(2).sum(2).unique().tolist() for step in (0, 5, 10, 50)}
    assert counts == {0: [77], 5: [24], 10: [8], 50: [8]}  # 0.3, sqrt(0.3 x 0.03) and 0.03 of 256
    plain = Observations([tasks.CONT_3])
    assert torch.equal(batches(10).problem.mask, plain.batches(data("train"), 8, seed=0)(10).problem.mask)
    assert torch.equal(examples.fixed(data("valid"), 4).problem.mask, plain.fixed(data("valid"), 4).problem.mask)


def test_a_curriculum_leaves_alone_what_is_seen_in_full_or_has_no_other_rate():
    class Stubborn(type(tasks.CONT_3)):
        with_rate = Task.with_rate

    examples = Observations([tasks.FWD_FULL], dense_steps=10)
    assert examples.at(0, tasks.FWD_FULL) is tasks.FWD_FULL
    stubborn = Stubborn("cont_3", "continuous", 0.03)
    assert examples.at(0, stubborn) is stubborn


def test_a_fit_takes_its_curriculum_from_its_settings():
    training = replace(QUICK.training, curriculum=0.5)
    examples = VideoPDE(replace(QUICK, training=training)).examples(data("train"), [tasks.CONT_3])
    assert examples == Observations([tasks.CONT_3], dense_steps=3)
    with pytest.raises(ValueError, match="0 <= curriculum <= 1"):
        replace(training, curriculum=2.0)


def test_validation_takes_trajectories_and_tasks_in_turn():
    examples = Observations(SIX).fixed(data("valid"), 24)
    again = Observations(SIX).fixed(data("valid"), 24)
    assert torch.equal(examples.problem.mask, again.problem.mask)
    full = examples.problem.mask[:, 0].flatten(1).all(1)
    assert full.nonzero().flatten().tolist() == [2, 8, 14, 20]  # fwd_full
    assert torch.equal(examples.truth.u[:8], examples.truth.u[8:16])


def test_one_step_is_the_denoiser_at_the_highest_level():
    """x = sigma_max eps, answer D(x, sigma_max): the sampler's first evaluation, whatever follows it."""
    method, seen = quick(), problem()
    first = []

    class Watched(VideoPDE):
        def denoiser(self, known):
            denoise = super().denoiser(known)
            return lambda x, sigma: first.append(denoise(x, sigma)) or first[-1]

    watched = Watched(replace(QUICK, chunk=len(seen))).restore(method.state(), data("train"))
    watched.predict(seen, 0)
    answer = watched.one_step(seen, 0)
    assert answer.evaluations == 1 and len(first) == QUICK.edm.steps + 1
    torch.testing.assert_close(answer.u[0][~seen.mask], method.decode(first[0])[~seen.mask], rtol=1e-4, atol=1e-5)
    assert torch.equal(answer.u[0][seen.mask], seen.values[seen.mask])
    assert watched.settings.edm == QUICK.edm and not torch.equal(answer.u, watched.predict(seen, 0).u)
    assert torch.equal(method.one_step(seen, 0).u, method.one_step(seen, 0).u)


def test_no_tasks_are_refused():
    with pytest.raises(ValueError, match="one or more to train on"):
        Observations([])


def test_every_parameter_is_trained_once():
    net = quick().net_
    groups = parameter_groups(net, 0.5)
    found = [id(p) for group in groups for p in group.parameters]
    assert sorted(found) == sorted(id(p) for p in net.parameters())
    group = {id(p): group for group in groups for p in group.parameters}
    embed, gains, norm = (group[id(p)] for p in (net.mapping.embed.weight, net.mapping.gains.weight, net.norm))
    assert (embed.lr, embed.decay, embed.orthogonal) == (1.0, False, False)  # HDiT's `time_in_proj`
    assert (gains.lr, gains.decay) == (0.5, True) and (norm.lr, norm.decay) == (1.0, False)
    start = VideoPDE(QUICK)
    start.observed_ = quick().observed_
    start.build(data("train"), seed=0)
    moved = {name: not torch.equal(p, net.get_parameter(name)) for name, p in start.net_.named_parameters()}
    assert all(moved.values()), moved


@pytest.mark.parametrize("profile, preset", [("paper", EDM), ("laptop", replace(HDIT, cosine_size=32))])
def test_either_preset_is_a_matter_of_settings(profile, preset):
    """As the card's commands have them; what a network predicts is a choice of its own."""
    names = ("law", "cosine_size", "weight", "sampler", "steps", "sigma_min", "sigma_max", "log_mean", "log_std")
    changes = parse_overrides(f"edm.{name}={getattr(preset, name)}" for name in names)
    settings = resolve(VideoPDE.profiles[profile], changes)
    assert replace(settings.edm, target=preset.target) == preset


def test_the_paper_profile_trains_where_it_samples():
    """The large scales of a smooth video of 128^2 x 20 are decided above sigma = 20, and sampling starts there."""
    u = torch.linspace(0, 1, 200_001, dtype=torch.float64)[1:-1]
    edm = VideoPDE.profiles["paper"].edm
    ours, karras = ((quantile(law, u) > 20).double().mean() for law in (edm, EDM))
    assert edm == HDIT and ours == pytest.approx(0.057, rel=0.02) and karras == pytest.approx(2.4e-4, rel=0.05)
    beyond = (quantile(edm, u) > edm.sigma_max).double().mean()
    assert beyond > 1e-3  # no level of the sampler is at the end of what was trained


def test_the_loss_falls_and_two_trajectories_are_learned(tmp_path):
    pair = data("train")[:2]
    task = tasks.FWD_FULL
    method = VideoPDE(SMOKE).fit(pair, pair, [task], 0, Run(folder=tmp_path))
    losses = [row["loss"] for row in read_log(tmp_path) if "loss" in row]
    valid = [row["valid"] for row in read_log(tmp_path) if "valid" in row]
    assert losses[-1] < 0.5 * losses[0] and valid[-1] < valid[0]
    answer = method.predict(task.observe(pair, generators(2)), 0).u[0]
    error = (answer - pair.u).norm() / pair.u.norm()
    mean = (pair.u.mean((0, 2, 3), keepdim=True) - pair.u).norm() / pair.u.norm()
    assert error < 0.5 * mean


# -- other data


@pytest.mark.parametrize("name, frames, channels", [("helmholtz", 2, 2), ("wave_layer", 4, 3)])
def test_steady_fields_and_coefficient_fields(name, frames, channels):
    cls = registry().load("datasets", name)
    dataset = cls(cls.profiles["smoke"])
    train, valid = load(dataset, "train"), load(dataset, "valid")
    method = VideoPDE(QUICK).fit(train, valid, [tasks.FWD_FULL], 0, Run())
    seen = tasks.FWD_FULL.observe(valid, generators(len(valid)))
    known = method.condition(seen)
    assert known.shape[1] == frames and known.shape[-1] == channels
    assert known.abs().max() < 10  # fields of any scale are normalised
    answer = method.predict(seen, 0).u
    assert answer.shape == (1, *valid.u.shape) and answer.isfinite().all()
    if seen.static is not None:
        other = method.predict(replace(seen, static=seen.static.flip(0)), 0).u
        assert not torch.equal(other, answer)


def test_the_profiles_have_the_sizes_they_name():
    assert planned(VideoPDE) == pytest.approx(118.0e6, rel=0.005)
    assert planned(VideoPDEUnified) == pytest.approx(73.8e6, rel=0.005)
    assert planned(VideoPDE, "laptop") == pytest.approx(0.53e6, rel=0.01)
    assert planned(VideoPDE, "smoke") == PARAMETERS
