import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from benchmark.core import Run
from methods.blocks.diffusion.edm import Denoiser, Edm, denoising_loss, noise_levels, sample
from methods.blocks.training import checkpoint, loop
from methods.blocks.training.batches import ShuffledBatches
from methods.blocks.training.budget import Progress, Training
from methods.blocks.training.checkpoint import read_log
from methods.blocks.training.loop import fit_loop
from methods.blocks.training.muon import QUINTIC, Muon, orthogonalise
from methods.blocks.training.optimiser import Ema, Group, Optimiser, default_groups, make_optimisers
from methods.blocks.training.packing import pack, unpack
from methods.blocks.training.sharing import Share, pieces_of, shared_layers
from tests.methods import training_case as case

ROOT = Path(__file__).parents[2]
QUICK = Training(
    steps=20, batch=4, optimiser=Optimiser(lr=1e-2), ema=0.9, precision="32-true", validations=4, checkpoint_seconds=0
)


def start(*arguments, **environment):
    command = [sys.executable, "-m", "tests.methods.training_case", *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1", **environment})


def wait_for(condition, process, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None and time.monotonic() < end, "ended or stuck before it could be killed"
        time.sleep(0.01)


def weights(network):
    return {name: value.clone() for name, value in network.state_dict().items()}


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)


def fit(settings=QUICK, loss=case.plain_loss, folder=None, validate=None, network=None, progress=None, **more):
    network = network or case.model()
    run = Run(folder=folder, **({"progress": progress} if progress else {}))
    batches = ShuffledBatches(case.data(), settings.batch, seed=0)
    return network, fit_loop(network, loss, batches, settings, run, 0, validate, **more)


# -- resuming


def test_a_killed_fit_goes_on_to_the_same_bits(tmp_path):
    process = start(tmp_path / "killed", "noisy", 0.03)
    wait_for(lambda: any(p.name >= "checkpoint-000000020" for p in checkpoint.found(tmp_path / "killed")), process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    (reached,) = {int(p.name[-9:]) for p in checkpoint.found(tmp_path / "killed")[-1:]}
    assert 20 <= reached < 120
    resumed, after = case.fit(tmp_path / "killed", "noisy")
    undisturbed, straight = case.fit(tmp_path / "straight", "noisy")
    assert same(weights(resumed), weights(undisturbed))
    assert replace(after, seconds=0) == replace(straight, seconds=0)
    assert after.seconds > reached * 0.03  # the time before the kill counts
    logs = [read_log(tmp_path / name) for name in ("killed", "straight")]
    valid = [[(row["step"], row["valid"]) for row in log if "valid" in row] for log in logs]
    assert valid[0] == valid[1] and len(valid[0]) == 24


def test_a_finished_fit_is_read_back_without_a_step(tmp_path):
    first, progress = fit(folder=tmp_path, validate=case.validate)

    def never(*_):
        raise AssertionError("a step was taken")

    again, back = fit(loss=never, folder=tmp_path, validate=case.validate)
    assert same(weights(first), weights(again))
    assert back == progress


def test_a_step_is_counted_once_and_stays_counted(tmp_path):
    """Two products forward, three backward: nothing asks for the gradient of the input."""
    _, progress = fit(folder=tmp_path)
    assert progress.step_flop == (2 + 3) * 2 * QUICK.batch * 16 * 32
    assert fit(folder=tmp_path)[1].step_flop == progress.step_flop


def test_half_a_checkpoint_is_ignored_and_cleared_away(tmp_path):
    (tmp_path / "checkpoint-new").mkdir()
    (tmp_path / "checkpoint-new" / "model.safetensors").write_bytes(b"half")
    (tmp_path / "log.jsonl").write_text('{"step": 3, "loss": 1.0}\n{"step": 4, "lo')
    fit(folder=tmp_path)
    assert {p.name for p in tmp_path.glob("checkpoint-*")} == {p.name for p in checkpoint.found(tmp_path)}
    assert len(checkpoint.found(tmp_path)) == checkpoint.KEPT
    assert {p.name for p in (tmp_path / "checkpoint-000000020").iterdir()} == {
        "model.safetensors",
        "ema.safetensors",
        "state.safetensors",
        "state.json",
        "digests.json",
    }
    assert all(math.isfinite(row["loss"]) for row in read_log(tmp_path))
    assert 3 not in [row["step"] for row in read_log(tmp_path) if row["loss"] == 1.0]


def test_what_a_kill_between_two_checkpoints_left_is_cleared_away(tmp_path):
    fit(folder=tmp_path)
    (tmp_path / "checkpoint-000000001").mkdir()  # should have gone after the newest had its name
    (tmp_path / "checkpoint-new").mkdir()
    fit(folder=tmp_path)
    assert len(checkpoint.found(tmp_path)) == checkpoint.KEPT and not (tmp_path / "checkpoint-new").exists()


def test_a_checkpoint_of_other_settings_is_refused(tmp_path):
    fit(folder=tmp_path)
    with pytest.raises(ValueError, match="expected a fit with"):
        fit(replace(QUICK, steps=21), folder=tmp_path)


@pytest.mark.parametrize("name", ["model.safetensors", "state.safetensors", "state.json", "digests.json"])
def test_of_a_damaged_checkpoint_the_one_before_goes_on_to_the_same_end(tmp_path, name):
    """One bit in the middle of a file: most formats read it as another number."""
    network, progress = fit(folder=tmp_path)
    file = tmp_path / "checkpoint-000000020" / name
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.warns(UserWarning, match="checkpoint-000000020: cannot be read .*; going on from checkpoint-0000000"):
        again, afterwards = fit(folder=tmp_path)
    assert same(checkpoint.tensors(network), checkpoint.tensors(again))
    assert afterwards.steps == progress.steps and afterwards.best == progress.best


def test_with_damaged_checkpoints_alone_it_says_what_to_do(tmp_path):
    fit(folder=tmp_path)
    for path in checkpoint.found(tmp_path):
        (path / "state.json").unlink()
    with pytest.raises(ValueError, match="remove it to start from the beginning"):
        fit(folder=tmp_path)


def test_packing_keeps_every_kind_of_value():
    state = {"a": {0: torch.tensor(3), 1: [torch.eye(2), (0.1, None)]}, "b": math.inf, "c": True, "d": ["x", {}]}
    values, table = pack(state)
    back = unpack(json.loads(json.dumps(values)), table)
    assert torch.equal(back["a"][0], torch.tensor(3)) and torch.equal(back["a"][1][0], torch.eye(2))
    assert back["a"][1][1] == (0.1, None) and {k: back[k] for k in "bcd"} == {k: state[k] for k in "bcd"}
    with pytest.raises(TypeError, match="cannot hold set"):
        pack({"a": {1, 2}})


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    fit(folder=tmp_path)
    other = nn.Sequential(nn.Linear(16, 16))
    with pytest.raises(ValueError, match="expected those of this model"):
        fit(folder=tmp_path, network=other)


class Odd(nn.Module):
    """Complex, shared and non-tensor parts of a state, as some operators have."""

    def __init__(self):
        super().__init__()
        self.spectral = nn.Parameter(torch.ones(16, 9, dtype=torch.complex64))
        self.one = nn.Linear(16, 16)
        self.two = nn.Linear(16, 16)
        self.two.weight = self.one.weight

    def state_dict(self, *args, **kwargs):
        return {**super().state_dict(*args, **kwargs), "_metadata": {"version": 1}}

    def forward(self, x):
        x_hat = torch.fft.rfft(x) * self.spectral.mean(0)
        return self.two(self.one(torch.fft.irfft(x_hat, n=16)))


@pytest.mark.parametrize("name", ["adamw", "muon"])
def test_odd_models_are_trained_saved_and_resumed(tmp_path, name):
    settings = replace(QUICK, optimiser=replace(QUICK.optimiser, name=name))
    first, _ = fit(settings, folder=tmp_path, network=Odd())
    again, _ = fit(settings, folder=tmp_path, network=Odd())
    assert same(checkpoint.tensors(first), checkpoint.tensors(again))
    assert not torch.equal(first.spectral, Odd().spectral)


# -- training


def test_the_same_seed_gives_the_same_weights_and_leaves_the_global_generator_alone():
    torch.manual_seed(123)
    before = torch.get_rng_state()
    first, second = (fit(loss=case.noisy_loss, network=case.model(dropout=0.3))[0] for _ in range(2))
    assert same(weights(first), weights(second))
    assert torch.equal(before, torch.get_rng_state())
    assert not first.training


@pytest.mark.parametrize("name", ["adamw", "muon"])
def test_a_linear_map_is_learned(name):
    def error(network):
        return float(case.plain_loss(network, case.data(), None).detach())

    settings = replace(
        QUICK, steps=300, optimiser=Optimiser(name=name, lr=2e-2, weight_decay=0.0, schedule="cosine", warmup=10)
    )
    network, progress = fit(settings, network=nn.Sequential(nn.Linear(16, 16)), validate=error)
    assert progress.best < 1e-3 < error(nn.Sequential(nn.Linear(16, 16)))
    assert error(network) == pytest.approx(progress.best)


def test_the_best_or_the_last_validated_weights_are_kept():
    seen = []

    def rising(network):
        seen.append(weights(network))
        return abs(len(seen) - 2.0)

    best, progress = fit(validate=rising)
    assert (progress.best, progress.best_step, len(seen)) == (0.0, 10, 4)
    assert same(weights(best), seen[1])
    last, _ = fit(replace(QUICK, keep="last"), validate=lambda network: 1.0)
    assert same(weights(last), seen[3])


def test_without_validation_the_last_average_is_kept():
    kept, progress = fit()
    expected, _ = fit(replace(QUICK, keep="last"), validate=case.validate)
    assert same(weights(kept), weights(expected))
    assert progress.best == math.inf and progress.steps == 20


def test_a_busy_machine_moves_no_weight():
    """A budget is a number of steps: whatever a step takes, the same weights come out."""

    def slow(*arguments):
        time.sleep(0.02)
        return case.plain_loss(*arguments)

    quiet, busy = fit(loss=case.plain_loss), fit(loss=slow)
    assert same(weights(quiet[0]), weights(busy[0])) and quiet[1].steps == busy[1].steps == 20


def test_progress_and_log_say_step_loss_and_time_left(tmp_path):
    news = []
    fit(folder=tmp_path, validate=case.validate, progress=lambda message, fraction: news.append((message, fraction)))
    assert news[-1][1] == 1.0 and news[-1][0].startswith("step 20/20, loss ") and news[-1][0].endswith(" 0:00 left")
    assert [f for _, f in news] == sorted(f for _, f in news)
    rows = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows if "valid" in row] == [5, 10, 15, 20]
    assert {"step", "loss", "gradient_norm", "lr", "seconds"} == rows[0].keys()


@pytest.mark.parametrize("bad, text", [(math.nan, "loss nan"), (math.inf, "loss inf"), (1e9, "loss 1e\\+09")])
def test_divergence_is_reported_with_its_step_and_never_saved(tmp_path, bad, text):
    steps = []

    def diverging(network, batch, draws):
        steps.append(len(steps))
        value = case.plain_loss(network, batch, draws)
        return value * 0 + bad if len(steps) == 8 else value

    with pytest.raises(ValueError, match=f"diverged at step 7: {text}"):
        fit(loss=diverging, folder=tmp_path)
    assert all(int(p.name[-9:]) <= 7 for p in checkpoint.found(tmp_path))


def test_a_validation_error_that_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="validation error at step 5 is nan"):
        fit(validate=lambda network: math.nan)


def test_a_cpu_computes_in_float32_whatever_a_gpu_would():
    half, full = (fit(replace(QUICK, precision=p))[0] for p in ("bf16-mixed", "32-true"))
    assert same(weights(half), weights(full))


def test_gradients_are_clipped():
    def steep(network, batch, draws):
        return 1e6 * case.plain_loss(network, batch, draws)

    def moved(clip):
        network = nn.Sequential(nn.Linear(16, 16))
        groups = [Group(list(network.parameters()))]
        before = weights(network)
        settings = replace(QUICK, steps=1, ema=0.0, optimiser=Optimiser(lr=1e-3, clip=clip, weight_decay=0))
        fit(settings, steep, network=network, groups=groups)
        return max((weights(network)[k] - before[k]).abs().max().item() for k in before)

    assert moved(1e-9) < 5e-4 < moved(math.inf) <= 1.001e-3  # so small that AdamW's epsilon counts


class Pointwise(nn.Module):
    """A network on single numbers: (B, 1), c_noise (B,) or (1,) -> (B, 1)."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 1))

    def forward(self, x, c_noise):
        return self.layers(torch.cat([x, c_noise[:, None].expand(len(x), 1)], dim=1))


def test_a_denoiser_learns_a_gaussian_law_and_samples_it():
    edm = Edm(sigma_max=20.0, log_mean=-0.5, log_std=1.5)

    def numbers(step, rank, world):
        return 0.4 + 0.2 * torch.randn(256, 1, generator=torch.Generator().manual_seed(step))

    def loss(network, x, draws):
        sigma = noise_levels(edm, len(x), draws)
        return denoising_loss(edm, network, x, sigma, torch.randn(x.shape, generator=draws)).mean()

    settings = replace(QUICK, steps=600, ema=0.98, optimiser=Optimiser(lr=1e-2, schedule="cosine"))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        denoiser = Denoiser(Pointwise())
    fit_loop(denoiser, loss, numbers, settings, Run(), 0)
    with torch.no_grad():
        x = sample(edm, denoiser, torch.randn(4000, 1, generator=torch.Generator().manual_seed(1)))
    assert x.mean().item() == pytest.approx(0.4, abs=0.03)
    assert x.std().item() == pytest.approx(0.2, abs=0.03)


# -- several processes, compilation


@pytest.mark.parametrize(
    "world, kind",
    [
        (2, "shared"),
        pytest.param(3, "shared", marks=pytest.mark.ddp),
        pytest.param(2, "pieces", marks=pytest.mark.ddp),  # one process has one, the other two
    ],
)
def test_several_processes_do_what_one_does_with_the_whole_batch(tmp_path, world, kind):
    alone, progress = case.fit(tmp_path / "alone", "shared")
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={world}"]
    subprocess.run([*launcher, "-m", "tests.methods.training_case", tmp_path / "more", kind], cwd=ROOT, check=True)
    _, saved, state = checkpoint.load(checkpoint.found(tmp_path / "more")[-1])
    for name, value in alone.state_dict().items():
        torch.testing.assert_close(saved["best"][name], value, rtol=1e-4, atol=1e-6)
    assert state["progress"]["best_step"] == progress.best_step
    logs = [read_log(tmp_path / name) for name in ("alone", "more")]
    for row, other in zip(*([row for row in log if "valid" in row] for log in logs), strict=True):
        assert other["valid"] == pytest.approx(row["valid"], rel=1e-5)


def test_batch_norm_is_refused_where_processes_share_a_batch():
    with (
        pytest.raises(ValueError, match="batch norm would see a part of the batch"),
        shared_layers(case.model(), Share(range(2), 4)),
    ):
        pass


def stopping(steps):
    """A loss that a kill ends, of a case in pieces of two, two and one."""
    calls = iter(range(3 * steps))

    def loss(*arguments):
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return case.noisy_loss(*arguments)

    return loss


@pytest.mark.parametrize("then", [2, 0])
def test_a_fit_in_pieces_goes_on_from_its_checkpoint_in_pieces_or_at_once(tmp_path, monkeypatch, then):
    monkeypatch.setattr(loop, "REPORT", 1e-9)
    settings = replace(case.SETTINGS["pieces"], checkpoint_seconds=0.0)

    def part(folder, loss=case.noisy_loss, at_once=2):
        changed = replace(settings, at_once=at_once)
        return fit(changed, loss, folder, case.validate, case.model(0.2, norm=False))[0]

    with pytest.raises(KeyboardInterrupt):
        part(tmp_path / "killed", stopping(5))
    assert checkpoint.found(tmp_path / "killed")[-1].name.endswith("5")
    whole, resumed = weights(part(tmp_path / "whole")), weights(part(tmp_path / "killed", at_once=then))
    assert same(resumed, whole) if then else not same(resumed, whole)
    for name, value in whole.items():
        torch.testing.assert_close(resumed[name], value, rtol=1e-4, atol=1e-6)


def test_pieces_cover_a_share_in_order_and_are_of_a_size():
    assert pieces_of(range(3, 8), 0) == pieces_of(range(3, 8), 5) == [range(3, 8)]
    assert pieces_of(range(3, 8), 2) == [range(3, 4), range(4, 6), range(6, 8)]
    assert [len(piece) for piece in pieces_of(range(16), 6)] == [5, 5, 6]


@pytest.mark.slow
def test_a_compiled_model_learns_the_same():
    fits = [fit(replace(QUICK, compile=c), network=case.model(norm=False)) for c in (False, True)]
    plain, compiled = (network for network, _ in fits)
    assert [progress.step_flop > 0 for _, progress in fits] == [True, False]  # what is compiled is not counted
    for name, value in plain.state_dict().items():
        torch.testing.assert_close(compiled.state_dict()[name], value, rtol=1e-3, atol=1e-4)


# -- parts


def test_the_learning_rate():
    o = Optimiser(schedule="cosine", warmup=4)
    assert [o.rate(step, 0.0) for step in range(5)] == [0.25, 0.5, 0.75, 1.0, 1.0]
    assert o.rate(10, 0.5) == pytest.approx(0.5) and o.rate(10, 1.0) == 0.0
    assert Optimiser().rate(0, 0.9) == 1.0


def test_groups_decide_decay_rate_and_optimiser():
    network = nn.Sequential(nn.Linear(4, 4), nn.Conv2d(1, 1, 3))
    matrices, kernels, vectors = default_groups(network)
    assert [len(g.parameters) for g in (matrices, kernels, vectors)] == [1, 1, 2]
    muon, adamw = make_optimisers(Optimiser(name="muon", lr=1.0), [matrices, replace(kernels, lr=0.5), vectors])
    assert isinstance(muon, Muon) and isinstance(adamw, torch.optim.AdamW)
    assert [g["lr"] for g in adamw.param_groups] == [0.5, 1.0]
    assert [g["weight_decay"] for g in adamw.param_groups] == [1e-2, 0.0]
    muon, adamw = make_optimisers(Optimiser(name="muon", lr=1.0, rest=0.1), [matrices, replace(kernels, lr=0.5)])
    assert (muon.param_groups[0]["lr"], adamw.param_groups[0]["lr"]) == (1.0, 0.05)
    (only,) = make_optimisers(Optimiser(rest=0.1), [matrices])
    assert only.param_groups[0]["lr"] == 5e-4  # without Muon nothing is the rest
    (only,) = make_optimisers(Optimiser(), default_groups(network))
    assert (only.defaults["betas"], only.defaults["eps"]) == ((0.9, 0.95), 1e-8)


@pytest.mark.parametrize("shape", [(24, 24), (12, 40), (40, 12)])
def test_muon_steps_are_nearly_orthogonal_and_as_large_as_those_of_adamw(shape):
    g = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    singular = torch.linalg.svdvals(orthogonalise(g[None])[0])
    assert singular.min() > 0.3 and singular.max() < 1.3
    weight = nn.Parameter(torch.zeros(shape))
    weight.grad = 1e4 * g
    Muon([weight], lr=0.1).step()
    assert weight.square().mean().sqrt().item() == pytest.approx(0.1 * 0.2, rel=0.3)


def test_matrices_are_orthogonalised_each_by_the_iteration_on_itself():
    """Also where singular values span four decades and the Gram matrix's eight."""
    draws = torch.Generator().manual_seed(0)
    matrices = torch.randn(3, 40, 12, generator=draws) * 10 ** torch.linspace(0, -4, 12)
    for x, found in zip(matrices.double(), orthogonalise(matrices), strict=True):
        x = x / x.norm()
        for _ in range(5):
            x = QUINTIC[0] * x + QUINTIC[1] * x @ x.T @ x + QUINTIC[2] * x @ x.T @ x @ x.T @ x
        torch.testing.assert_close(found, x.float(), rtol=0, atol=1e-3)


def test_muon_agrees_with_the_reference_of_torch_up_to_its_bfloat16():
    draws = [torch.randn(8, 8, generator=torch.Generator().manual_seed(k)) for k in range(4)]
    ours, theirs = nn.Parameter(draws[0].clone()), nn.Parameter(draws[0].clone())
    mine = Muon([ours], lr=0.1, weight_decay=0.1)
    reference = torch.optim.Muon([theirs], lr=0.1, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    for g in draws[1:]:
        ours.grad, theirs.grad = g.clone(), g.clone()
        mine.step()
        reference.step()
    assert (ours - theirs).norm() < 0.03 * (ours - draws[0]).norm()


def test_muon_takes_matrices_only():
    with pytest.raises(ValueError, match=r"expected matrices, got a parameter of shape \(3,\)"):
        Muon([nn.Parameter(torch.zeros(3))], lr=0.1)


def test_the_average_forgets_its_start_and_copies_buffers():
    network = case.model()
    ema = Ema(network, 0.9, 0.75)
    with torch.no_grad():
        network[0].weight.fill_(1.0)
        network[1].running_mean.fill_(3.0)
    ema.update(network, step=0)
    assert torch.equal(ema.module[0].weight, network[0].weight) and ema.module[1].running_mean[0] == 3
    with torch.no_grad():
        network[0].weight.fill_(2.0)
    ema.update(network, step=10_000)
    assert ema.module[0].weight[0, 0].item() == pytest.approx(1.1)
    assert ema.decay_at(1) == pytest.approx(1 - 2**-0.75)


@pytest.mark.parametrize("steps, validations", [(20, 4), (7, 3), (5, 10), (10, 0)])
def test_windows_end_at_validations(steps, validations):
    settings, progress, ends = Training(steps=steps, validations=validations), Progress(), []
    while settings.fraction(progress) < 1:
        progress.steps += settings.room(progress)
        ends.append(progress.steps)
    assert ends[-1] == steps and len(ends) == max(1, min(steps, validations))
    assert settings.validations_by(progress) == validations


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Training(steps=0), "1 step or more, got 0"),
        (lambda: Training(ema=1.0), "0 <= ema < 1"),
        (lambda: Optimiser(lr=0.0), "lr > 0"),
    ],
)
def test_impossible_settings_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
