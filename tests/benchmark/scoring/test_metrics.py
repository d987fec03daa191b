import json
import math

import pytest
import torch

from benchmark.core import Grid, Prediction, Problem, Trajectories
from benchmark.core.equation import Equation
from benchmark.scoring.metric_table import METRIC_TABLE, metric_info
from benchmark.scoring.metrics import NonFinitePrediction, score

NU = 0.01


class Heat(Equation):
    name, formula = "heat", "u_t - nu (u_xx + u_yy) = 0"

    def space_terms(self, fields, static, d):
        return {"diffusion": -NU * (d(fields["u"], "xx") + d(fields["u"], "yy"))}

    def solve(self, first, static, grid):
        """Exact in Fourier space, from the first frame (B, H, W, 1)."""
        k2 = 4 * math.pi**2 * sum(k**2 for k in torch.meshgrid(*map(_wavenumbers, grid.shape), indexing="ij"))
        hat = torch.fft.fft2(first[:, None, ..., 0])
        decay = torch.exp(-NU * k2 * torch.tensor(grid.times)[:, None, None])
        return torch.fft.ifft2(hat * decay).real[..., None]


def _wavenumbers(n):
    return torch.fft.fftfreq(n, 1 / n)


def grid_of(v, boundary="periodic", lengths=(1.0, 1.0), dt=0.5):
    return Grid(tuple(v.shape[2:4]), lengths, tuple(dt * t for t in range(v.shape[1])), boundary)


def scored(u, v, mask=None, grid=None, frames=None, **options):
    """Score u, (B, T, H, W, C) or with samples (S, B, T, H, W, C), against v."""
    grid = grid or grid_of(v)
    mask = torch.zeros_like(v, dtype=torch.bool) if mask is None else mask
    prediction = Prediction(u if u.ndim == 6 else u[None], frames)
    return score(prediction, Trajectories(v, grid, Heat()), Problem(v * mask, mask, grid, Heat()), **options)


def only(result):
    """The values of a single trajectory."""
    return {name: metric.values[0] for name, metric in result.items()}


def noise(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@pytest.fixture
def small():
    """Two frames of 2 x 2: v = (1 -1; 1 -1), (3 0; 0 4), errors 1 at one site of the first, 2 at one of the second."""
    v = torch.tensor([[[1.0, -1.0], [1.0, -1.0]], [[3.0, 0.0], [0.0, 4.0]]])[None, ..., None]
    u = v.clone()
    u[0, 0, 0, 0] += 1
    u[0, 1, 1, 1] += 2
    mask = torch.zeros_like(v, dtype=torch.bool)
    mask[0, 0, 0, 0] = mask[0, 1, 1, 0] = True
    return u, v, mask


def test_errors_by_hand(small):
    got = only(scored(*small))
    expected = {
        "rel_l2": 100 * math.sqrt(5 / 29),
        "rel_l2_frame": (50 + 40) / 2,
        "rel_l2_end": 40.0,
        "rel_l2_hidden": 100 * math.sqrt(4 / 28),
        "rel_l2_observed_part": 100 * math.sqrt(1 / 29),
        "rel_l2_hidden_part": 100 * math.sqrt(4 / 29),
        "rel_l1": 100 * 3 / 11,
        "crps": 100 * 3 / 11,
        "max_error": 2.0,
        "nrmse": 0.45,
        "vrmse": (math.sqrt(0.25 / (4 / 3)) + math.sqrt(1 / 4.25)) / 2,
        "observation_misfit": 100.0,  # y = (1, 0), M u = (2, 0)
        "correlation": (5 / math.sqrt(27) + 17.25 / math.sqrt(24.75 * 12.75)) / 2,
        "correlation_time": 0.5,
    }
    assert {k: got[k] for k in expected} == pytest.approx(expected, rel=1e-6)
    assert got["rel_l2_curve"] == pytest.approx([50, 40])
    assert got["rel_l2"] ** 2 == pytest.approx(got["rel_l2_observed_part"] ** 2 + got["rel_l2_hidden_part"] ** 2)


def test_the_answer_in_one_step_has_an_error_of_its_own(small):
    u, v, mask = small
    got = scored(v, v, mask, one_step=Prediction(u[None]))
    assert only(got)["rel_l2"] == 0 and only(got)["rel_l2_one_step"] == pytest.approx(100 * math.sqrt(5 / 29))
    last = scored(v, v, mask, frames=(1,), one_step=Prediction(u[None], frames=(1,)))
    assert only(last)["rel_l2_one_step"] == pytest.approx(40.0)
    assert "rel_l2_one_step" not in scored(v, v, mask)
    with pytest.raises(ValueError, match="prediction: expected"):
        scored(v, v, mask, one_step=Prediction(u[None, :, :1]))


def test_a_wholly_observed_frame_is_no_part_of_nrmse(small):
    u, v, mask = small
    mask[0, 0] = True
    assert only(scored(u, v, mask))["nrmse"] == pytest.approx(0.4)


def waves(lengths=(2.0, 1.0)):
    """v of the modes 2 (along x), 8 (y) and 14 (x), amplitudes 1, 1/2, 1/4; u has them times 1.1, 0.8 and 2."""
    x = torch.arange(32, dtype=torch.float64)[:, None] / 32
    y = x.T
    low, mid, high = (torch.cos(2 * math.pi * f) for f in (2 * x + 0 * y, 8 * y + 0 * x, 14 * x + 0 * y))
    v = (low + mid / 2 + high / 4).expand(1, 2, 32, 32)[..., None]
    u = (1.1 * low + 0.4 * mid + high / 2).expand(1, 2, 32, 32)[..., None]
    return u, v, grid_of(v, lengths=lengths)


def test_spectra_by_hand():
    u, v, grid = waves()
    got = only(scored(u, v, grid=grid))
    logs = [math.log10(1.21), math.log10(0.64), math.log10(4)]
    k2 = [(2 * math.pi * k) ** 2 for k in (2 / 2, 8, 14 / 2)]  # the domain is 2 long in x
    expected = {
        "spectral_low": 10.0,
        "spectral_mid": 20.0,
        "spectral_high": 100.0,
        "frmse_pdebench_low": 0.1 / 2 / 4,  # a cosine has half its amplitude at +k; shells 0-3, 4-11, 12-15
        "frmse_pdebench_mid": 0.1 / 2 / 8,
        "frmse_pdebench_high": 0.25 / 2 / 4,
        "log_spectral_distance": math.sqrt(sum(x**2 for x in logs) / 16),
        "rel_h1": 100
        * math.sqrt(sum(a**2 * (1 + k) for a, k in zip((0.1, 0.1, 0.25), k2, strict=True)))
        / math.sqrt(sum(a**2 * (1 + k) for a, k in zip((1, 0.5, 0.25), k2, strict=True))),
    }
    assert {k: got[k] for k in expected} == pytest.approx(expected, rel=1e-9)


def test_bands_are_full_shells():
    """By Parseval the bands' squared errors add up to the whole."""
    u, v = noise(1, 2, 32, 24, 1), noise(1, 2, 32, 24, 1, seed=1)
    e_hat, v_hat = torch.fft.fft2((u - v)[0, ..., 0]), torch.fft.fft2(v[0, ..., 0])
    k = (_wavenumbers(32)[:, None] ** 2 + _wavenumbers(24) ** 2).sqrt()
    got = only(scored(u, v))
    for name, inside in (("low", k < 4), ("mid", (k >= 4) & (k < 12)), ("high", k >= 12)):
        assert got[f"spectral_{name}"] == pytest.approx(
            100 * float((e_hat * inside).abs().norm() / (v_hat * inside).abs().norm()), rel=1e-5
        )


def test_a_band_beyond_the_grid_is_left_out():
    got = scored(noise(1, 2, 16, 16, 1), noise(1, 2, 16, 16, 1, seed=1))
    assert "spectral_mid" in got and "spectral_high" not in got and "frmse_pdebench_high" not in got


def test_a_band_without_truth_is_measured_against_its_floor():
    v = waves()[1] * 0 + 1.0  # constant: nothing but k = 0
    u = waves()[0] * 1e-9 + 1.0
    got = only(scored(u, v))
    assert got["spectral_high"] == pytest.approx(100 * 1e-9 * 0.5 / math.sqrt(2) / 1e-3, rel=1e-6)


def test_the_rounding_of_a_smooth_field_is_no_measure():
    """A float32 field of k = 2 has nothing but rounding at k >= 12: an error of 1 % of the norm there is 1000 %."""
    x = torch.arange(32, dtype=torch.float64) / 32
    smooth, high = (torch.cos(2 * math.pi * k * x)[None, None, :, None, None].expand(1, 2, 32, 32, 1) for k in (2, 14))
    v, u = smooth.float(), (smooth + 0.01 * high).float()
    assert only(scored(u, v))["spectral_high"] == pytest.approx(1000, rel=1e-4)
    copy = (v.double() * (1 + 1e-7 * noise(*v.shape, seed=3))).float()  # the same but for its last bits
    assert only(scored(copy, v))["spectral_high"] < 0.1


def test_h1_on_a_bounded_grid_by_hand():
    v = (torch.arange(4.0) + 0.5)[None, None, :, None, None].expand(1, 2, 4, 4, 1)  # v = x, spacing 1
    got = only(scored(v + 1, v, grid=grid_of(v, "absorbing", (4.0, 4.0))))
    # a frame: |e|^2 = 16, |v|^2 = 84, v_x = 1 at the 8 sites with both neighbours
    assert got["rel_h1"] == pytest.approx(100 * math.sqrt(16 / 92))


def test_steady_fields_are_averaged():
    v = torch.cat([noise(1, 1, 8, 8, 1), 1000 * noise(1, 1, 8, 8, 1, seed=1)], dim=1)
    u = v * torch.tensor([1.1, 0.7])[None, :, None, None, None]
    mask = torch.zeros_like(v, dtype=torch.bool)
    mask[:, 0] = True
    got = only(scored(u, v, mask, frame_names=("a", "u")))
    expected = {
        "rel_l2": 30, "rel_l2_a": 10, "rel_l2_u": 30, "rel_l1": 20, "rel_h1": 20, "spectral_low": 20,
        "rel_l2_end": 30, "rel_l2_hidden": 30, "observation_misfit": 10,
        "rel_l2_observed_part": 10 / math.sqrt(2), "rel_l2_hidden_part": 30 / math.sqrt(2),
    }  # fmt: skip
    assert {k: got[k] for k in expected} == pytest.approx(expected, rel=1e-4)
    assert "correlation_time" not in got
    assert metric_info("rel_l2_a").unit == "%"
    assert got["rel_l2_fields"] == pytest.approx(30, rel=1e-4)  # a is given
    assert set(got) - {"rel_l2_a", "rel_l2_u"} <= set(METRIC_TABLE)


@pytest.mark.parametrize(
    ("sensors", "target", "fields"),
    [
        ([(0, 0.5)], 30, 20),  # forward from a part of a: u is asked for
        ([(1, 0.5)], 10, 20),  # inverse from a part of u: a is asked for
        ([(1, 1.0)], 10, 10),  # inverse from all of u: u is given
        ([(0, 0.5), (1, 0.5)], 20, 20),  # sensors in both: both are
        ([(0, 1.0), (1, 0.5)], 30, 30),  # a is given, u is seen in part
        ([], 20, 20),
    ],
)
def test_the_target_of_a_steady_problem_is_the_field_without_sensors(sensors, target, fields):
    v = torch.cat([noise(1, 1, 8, 8, 1), 1000 * noise(1, 1, 8, 8, 1, seed=1)], dim=1)
    u = v * torch.tensor([1.1, 0.7])[None, :, None, None, None]
    mask = torch.zeros_like(v, dtype=torch.bool)
    for field, share in sensors:
        mask[:, field, : int(8 * share)] = True
    got = only(scored(u, v, mask, frame_names=("a", "u")))
    assert (got["rel_l2"], got["rel_l2_fields"]) == pytest.approx((target, fields), rel=1e-4)
    samples = only(scored(torch.stack([u, u]), v, mask, frame_names=("a", "u")))
    assert [samples[f"rel_l2_{kind}"] for kind in ("mean", "samples", "best")] == pytest.approx([target] * 3, rel=1e-4)


def test_residual_of_an_exact_solution_and_of_others():
    first = noise(1, 16, 16, 1, seed=2)
    grid = Grid((16, 16), (1.0, 1.0), tuple(0.001 * t for t in range(4)), "periodic")
    v = Heat().solve(first, None, grid)
    same = only(scored(1.1 * v, v, grid=grid))
    assert same["residual"] < 1e-3 and same["residual_ratio"] == pytest.approx(1, rel=1e-3)
    changing = torch.arange(4.0)[None, :, None, None, None].expand_as(v)  # u = t: the time term alone
    assert only(scored(changing, v, grid=grid))["residual"] == pytest.approx(1)
    assert only(scored(torch.zeros_like(v), v, grid=grid))["residual"] == 0  # every term vanishes
    worse = only(scored(v + 0.1 * noise(*v.shape), v, grid=grid))
    assert worse["residual_ratio"] > 100


def test_truth_scores_zero():
    v = noise(2, 3, 32, 32, 1)
    mask = noise(2, 3, 32, 32, 1, seed=1) > 1
    for boundary in ("periodic", "dirichlet"):
        result = scored(v.expand(3, *v.shape), v, mask, grid_of(v, boundary))
        for name, metric in result.items():
            ideal = {"correlation": 1, "correlation_time": 1, "residual_ratio": 1}.get(name, 0)
            ideal = 100 if name.startswith("coverage") else ideal
            for value in torch.tensor(metric.values, dtype=torch.float64).flatten().tolist():
                assert value == pytest.approx(ideal, abs=1e-9) or name == "residual", name


def test_spatial_mean_has_vrmse_one():
    v = noise(3, 4, 32, 32, 2) + 5
    got = scored(v.mean((2, 3), keepdim=True).expand_as(v), v)
    assert got["vrmse"].values == pytest.approx([1, 1, 1], abs=1e-3)
    assert got["correlation"].values == [0, 0, 0]  # a constant says nothing about the pattern


def test_correlation_time_runs_from_the_observed_end():
    v = noise(1, 4, 8, 8, 1)  # times 0, 0.5, 1, 1.5
    u = v.clone()
    u[:, 2] *= -1
    first, last = (torch.zeros_like(v, dtype=torch.bool) for _ in range(2))
    first[:, 0], last[:, -1] = True, True
    assert only(scored(u, v, first))["correlation_time"] == 1.0
    assert only(scored(u, v, last))["correlation_time"] == 0.5
    assert only(scored(v, v, last))["correlation_time"] == 1.5


def test_correlation_does_not_depend_on_scale_or_offset():
    v = noise(1, 2, 8, 8, 1, dtype=torch.float64)
    assert only(scored(v * 3e-14 + 2e-14, v * 1e-14))["correlation"] == pytest.approx(1)


def test_the_far_end_is_the_first_frame_when_only_the_last_is_seen():
    v = torch.ones(1, 3, 4, 4, 1)
    u = v + torch.tensor([0.3, 0.2, 0.1])[None, :, None, None, None]
    mask = torch.zeros_like(v, dtype=torch.bool)
    mask[:, -1, 0] = True
    assert only(scored(u, v, mask))["rel_l2_end"] == pytest.approx(30)
    mask[:, 0, 0] = True
    assert only(scored(u, v, mask))["rel_l2_end"] == pytest.approx(10)


def test_only_predicted_frames_are_scored():
    v = torch.ones(1, 4, 8, 8, 1)
    u = v + torch.tensor([math.nan, 0.3, 9.0, 0.1])[None, :, None, None, None]
    u[:, 2] = math.inf
    mask = torch.zeros_like(v, dtype=torch.bool)
    mask[:, 0] = True
    got = only(scored(u, v, mask, frames=(3, 1)))
    assert got["rel_l2_curve"] == pytest.approx([30, 10])
    assert got["rel_l2"] == pytest.approx(100 * math.sqrt((0.09 + 0.01) / 2))
    assert not {"residual", "residual_ratio", "observation_misfit"} & set(got)


def test_two_samples_by_hand():
    v = torch.ones(1, 2, 2, 2, 1)
    got = only(scored(torch.stack([2 * v, 3 * v]), v))
    expected = {
        "rel_l2": 100, "rel_l2_mean": 150, "rel_l2_samples": 150, "rel_l2_best": 100, "diversity": 100,
        "crps": 100 * (1.5 - 0.5), "energy_score": 100 * (1.5 - 0.5),
        "spread_skill": math.sqrt(1.5 * 0.5) / 1.5,
    }  # fmt: skip
    assert {k: got[k] for k in expected} == pytest.approx(expected)
    around = only(scored(torch.stack([0 * v, 1.5 * v, 3 * v]), v))
    assert around["coverage_50"] == 100  # three samples: the quartiles are the first and the last
    assert "coverage_50" not in got and "coverage_80" not in around  # two samples tell a third, three a half


def test_a_draw_of_a_perfect_sampler_has_sqrt_2_times_the_error_of_the_mean():
    centre = 3 * noise(1, 4, 32, 32, 1)
    v = centre + noise(1, 4, 32, 32, 1, seed=1)
    s = centre + noise(64, 1, 4, 32, 32, 1, seed=2)
    got = only(scored(s, v))
    assert got["rel_l2"] == only(scored(s[0], v))["rel_l2"]  # the first of them
    assert got["rel_l2"] / got["rel_l2_mean"] == pytest.approx(math.sqrt(2 / (1 + 1 / 64)), rel=0.03)
    assert got["rel_l2_samples"] == pytest.approx(got["rel_l2"], rel=0.03)


def test_a_point_is_the_answer_and_samples_are_beside_it():
    v = torch.ones(1, 2, 2, 2, 1)
    grid, mask = grid_of(v), torch.zeros_like(v, dtype=torch.bool)
    prediction = Prediction(torch.stack([2 * v, 4 * v]), point=1.5 * v)
    got = only(score(prediction, Trajectories(v, grid, Heat()), Problem(v * mask, mask, grid, Heat())))
    expected = {"rel_l2": 50, "rel_l2_mean": 50, "rel_l1": 50, "rel_l2_samples": 200, "rel_l2_best": 100}
    assert {k: got[k] for k in expected} == pytest.approx(expected)
    assert got["crps"] == pytest.approx(100 * (2 - 1))
    assert got["spread_skill"] == pytest.approx(math.sqrt(1.5 * 2) / 2)  # of the samples' own mean, 3
    with pytest.raises(ValueError, match=r"point: expected \(1, 2, 2, 2, 1\), got \(2, 2, 2, 1\)"):
        Prediction(v[None], point=v[0])


def test_samples_against_the_definitions():
    k, v = 5, noise(1, 3, 8, 8, 2, dtype=torch.float64)
    s = v + noise(k, 1, 3, 8, 8, 2, seed=1, dtype=torch.float64)
    pairs = [(i, j) for i in range(k) for j in range(k)]
    mae = sum((x - v).abs().mean() for x in s) / k
    crps = mae - sum((s[i] - s[j]).abs().mean() for i, j in pairs) / (2 * k * (k - 1))
    distances = sum((s[i] - s[j]).norm() for i, j in pairs)
    energy = sum((x - v).norm() for x in s) / k - distances / (2 * k * (k - 1))
    got = only(scored(s, v))
    assert got["crps"] == pytest.approx(100 * float(crps / v.abs().mean()))
    assert got["energy_score"] == pytest.approx(100 * float(energy / v.norm()))
    assert got["diversity"] == pytest.approx(100 * float(distances / (k * (k - 1)) / v.norm()))
    spread = math.sqrt(float(s.var(0).mean()) * (k + 1) / k)
    assert got["spread_skill"] == pytest.approx(spread / float((s.mean(0) - v).square().mean().sqrt()))


def test_one_sample_has_the_mean_absolute_error_as_crps():
    u, v = noise(2, 3, 8, 8, 1), noise(2, 3, 8, 8, 1, seed=1)
    got = scored(u, v)
    expected = 100 * (u - v).abs().mean((1, 2, 3, 4)) / v.abs().mean((1, 2, 3, 4))
    assert got["crps"].values == pytest.approx(expected.tolist(), rel=1e-5)
    assert "spread_skill" not in got and "energy_score" not in got


@pytest.mark.parametrize("k", [9, 50])
def test_a_calibrated_ensemble_is_seen_as_such(k):
    centre = 3 * noise(1, 4, 32, 32, 1)
    v = centre + noise(1, 4, 32, 32, 1, seed=1)
    s = centre + noise(k, 1, 4, 32, 32, 1, seed=2)
    got = only(scored(s, v))
    assert got["spread_skill"] == pytest.approx(1, abs=0.04)
    assert got["coverage_50"] == pytest.approx(50, abs=2.5)
    assert got["coverage_80"] == pytest.approx(80, abs=2.5)
    if k == 50:
        assert got["coverage_95"] == pytest.approx(95, abs=2)
    narrow = only(scored(centre + (s - centre) / 3, v))
    assert narrow["spread_skill"] < 0.5 and narrow["coverage_80"] < 50


def test_coverage_counts_hidden_sites_alone():
    v = torch.ones(1, 2, 2, 2, 1)
    mask = torch.zeros_like(v, dtype=torch.bool)
    mask[:, 0] = True
    s = torch.stack([2 * v, 3 * v, 4 * v])
    s[:, :, 0] = 1.0  # copies what is observed
    assert only(scored(s, v, mask))["coverage_50"] == 0


@pytest.mark.parametrize("boundary", ["periodic", "absorbing"])
@pytest.mark.parametrize("samples", [1, 3])
def test_the_batch_does_not_matter(boundary, samples):
    v = noise(5, 3, 17, 13, 2)
    u = v + noise(samples, 5, 3, 17, 13, 2, seed=1)
    mask = noise(5, 3, 17, 13, 2, seed=2) > 1
    together = scored(u, v, mask, grid_of(v, boundary))
    for i in range(5):
        alone = scored(u[:, i : i + 1], v[i : i + 1], mask[i : i + 1], grid_of(v, boundary))
        assert {k: m.values[i] for k, m in together.items()} == only(alone)  # bit for bit


def test_the_number_of_threads_does_not_matter_and_stays():
    v = noise(3, 3, 64, 64, 1)
    u, before = v + noise(*v.shape, seed=1), torch.get_num_threads()
    try:
        results = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            results.append(scored(u, v))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert results[0] == results[1]  # bit for bit


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_prediction_that_is_not_finite_fails(bad):
    v = noise(4, 3, 8, 8, 1)
    u = v.expand(2, *v.shape).clone()
    u[1, 2, 1, 3, 3, 0] = u[0, 3, 0, 0, 0, 0] = bad
    with pytest.raises(NonFinitePrediction, match=r"trajectory 2 \(sample 1, frame 1\)"):
        scored(u, v)


@pytest.mark.parametrize("value", [3e38, 1e-38, 0.0])
def test_extreme_predictions_get_finite_scores(value):
    v = noise(1, 3, 16, 16, 1)
    u = torch.full_like(v, value) * (1 + noise(*v.shape, seed=1).clamp(-0.1, 0.1))
    json.dumps({k: m.values for k, m in scored(u, v).items()}, allow_nan=False)
    json.dumps({k: m.values for k, m in scored(u, 0 * v).items()}, allow_nan=False)


def test_wrong_shapes_are_refused():
    v = noise(2, 3, 8, 8, 1)
    with pytest.raises(ValueError, match=r"prediction: expected \(S >= 1, 2, 3, 8, 8, 1\), got \(1, 2, 3, 8, 4, 1\)"):
        scored(v[..., :4, :], v)
    with pytest.raises(ValueError, match=r"problem: expected \(2, 3, 8, 8, 1\), got \(1, 3, 8, 8, 1\)"):
        grid, mask = grid_of(v), v[:1] > 0
        score(Prediction(v[None]), Trajectories(v, grid, Heat()), Problem(v[:1] * mask, mask, grid, Heat()))
    with pytest.raises(ValueError, match=r"prediction.frames: expected some of 0 .. 2, got \[3\]"):
        scored(v, v, frames=(3,))
    with pytest.raises(ValueError, match="frame_names: expected 3 names"):
        scored(v, v, frame_names=("a", "u"))
    with pytest.raises(ValueError, match="truth: expected at least one trajectory"):
        scored(v[:0], v[:0])
    with pytest.raises(ValueError, match="truth: expected finite values, got NaN or infinity in trajectory 1"):
        bad = v.clone()
        bad[1, 0, 0, 0, 0] = math.nan
        scored(v, bad, mask=torch.zeros_like(v, dtype=torch.bool))


def test_inputs_stay_untouched():
    v = noise(1, 2, 8, 8, 1)
    u = noise(2, 1, 2, 8, 8, 1, seed=1)
    before = v.clone(), u.clone()
    scored(u, v)
    assert torch.equal(v, before[0]) and torch.equal(u, before[1])


def test_the_table_describes_what_is_scored():
    v = noise(1, 3, 32, 32, 1)
    result = scored(v + noise(39, *v.shape, seed=1), v, mask=v > 1, one_step=Prediction(v[None]))
    assert set(result) == set(METRIC_TABLE) - {"rel_l2_fields"}  # which steady problems add
    assert {k: m.unit for k, m in result.items()} == {k: METRIC_TABLE[k].unit for k in result}
    with pytest.raises(ValueError, match="expected one of rel_l2, .* got 'banana'"):
        metric_info("banana")
