"""What every metric means, in words. Needs neither torch nor numpy, so that tables and docs can read it at once.

Symbols: u prediction (the method's one answer: its `point`, or else its first sample), v truth, e = u - v, M mask (1
where observed), y the observations, t frame, x site, c channel. Norms run over all scored t, x and c unless said
otherwise. For a steady problem the fields a, u stand where frames stand: a relative error is taken field by field and
then averaged, as the fields have different units. Lower is better unless the definition says otherwise; coverage should
be the level in its name.

The target of a steady problem is the fields without any sensor: the solution where the coefficient is seen, in full or
in part, and the other way round. Where both have sensors, both are. `rel_l2`, and what samples add to it, is of the
target; all else is of all fields.

A single draw of a perfect sampler has sqrt(2) times the root-mean-square error of the mean of its law: `rel_l2` and
`rel_l2_mean` of a method that samples are two numbers.

Guards: a norm below 1e-12 is replaced by 1e-12. A spectral band in which the truth holds less than 1e-3 of its norm is
measured against 1e-3 of the norm instead, so that 100 % there is an error of 0.1 % of the whole: the truth of a smooth
field is rounding there, and no measure. A shell of the log-spectral distance has the floor 1e-6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NEGLIGIBLE = 1e-2  # percent: lower errors are alike where methods are compared, and shown as "<0.01"


Goal = Literal["low", "high", "level"]  # which values are better: a level is to be met, neither way is better


@dataclass(frozen=True)
class MetricInfo:
    title: str
    unit: str
    definition: str
    goal: Goal = "low"


def _error(title: str, definition: str, unit: str = "%") -> MetricInfo:
    return MetricInfo(title, unit, definition)


METRIC_TABLE: dict[str, MetricInfo] = {
    # relative errors of the point prediction
    "rel_l2": _error("relative L2", "||e|| / ||v|| of the whole video; steady: of the target, mean over its fields"),
    "rel_l2_fields": _error(
        "relative L2, all fields", "mean over the fields that are not given in full; only for steady problems"
    ),
    "rel_l2_frame": _error("relative L2, frame mean", "mean over t of ||e_t|| / ||v_t||"),
    "rel_l2_end": _error(
        "relative L2, far end",
        "||e_t|| / ||v_t|| at the last scored frame; at the first one where only the last frame is observed",
    ),
    "rel_l2_hidden": _error("relative L2, hidden sites", "||(1-M) e|| / ||(1-M) v||"),
    "rel_l2_observed_part": _error(
        "observed part of the error", "e_obs = ||M e|| / ||v||; e_obs^2 + e_hid^2 = e^2 (steady: mean of squares)"
    ),
    "rel_l2_hidden_part": _error(
        "hidden part of the error", "e_hid = ||(1-M) e|| / ||v||; e_obs^2 + e_hid^2 = e^2 (steady: mean of squares)"
    ),
    "rel_l2_curve": _error("relative L2 per frame", "||e_t|| / ||v_t||, one number a scored frame"),
    "rel_l1": _error("relative L1 (Poseidon)", "sum |e| / sum |v|"),
    "rel_h1": _error(
        "relative H1",
        "sqrt(||e||^2 + ||grad e||^2) / sqrt(||v||^2 + ||grad v||^2); gradient spectral on a periodic grid (without "
        "the Nyquist mode), else central differences on all sites that have both neighbours",
    ),
    "vrmse": _error(
        "VRMSE (The Well)",
        "mean over t, c of sqrt(mean_x e^2 / (Var_x v + 1e-7)), unbiased variance; the spatial mean scores about 1",
        unit="",
    ),
    "nrmse": _error(
        "nRMSE (PDEBench)",
        "mean over t, c of sqrt(mean_x e^2) / sqrt(mean_x v^2), without the frames that were observed as a whole",
        unit="",
    ),
    "max_error": _error("largest error", "max |e| over t, x, c, in the field's unit", unit=""),
    # spectra: k = wavenumber in periods per domain
    "spectral_low": _error("error at k < 4", "||e_k|| / ||v_k|| over all modes with |k| < 4"),
    "spectral_mid": _error("error at 4 <= k < 12", "||e_k|| / ||v_k|| over all modes with 4 <= |k| < 12"),
    "spectral_high": _error(
        "error at k >= 12", "||e_k|| / ||v_k|| over all modes with |k| >= 12 (if the grid has any)"
    ),
    "frmse_pdebench_low": _error(
        "fRMSE low (PDEBench)",
        "mean over shells floor|k| < 4 of sqrt(sum |FFT e|^2) / (H W), over the quadrant k_x, k_y >= 0; mean over t, c",
        unit="",
    ),
    "frmse_pdebench_mid": _error("fRMSE mid (PDEBench)", "as low, shells 4 <= floor|k| < 12", unit=""),
    "frmse_pdebench_high": _error(
        "fRMSE high (PDEBench)", "as low, shells 12 <= floor|k| < min(H, W)/2 (if the grid has any)", unit=""
    ),
    "log_spectral_distance": _error(
        "log-spectral distance",
        "mean over t of sqrt(mean_k (log10 E_u(k) - log10 E_v(k))^2), E(k) the energy with |k'| in [k-1/2, k+1/2), "
        "k = 1 .. min(H, W)/2",
        unit="decades",
    ),
    # correlation
    "correlation": MetricInfo(
        "correlation",
        "",
        "Pearson correlation of u and v over x, mean over t, c; two constant frames count 1, a single one 0; higher is "
        "better",
        "high",
    ),
    "correlation_time": MetricInfo(
        "decorrelation time",
        "time",
        "time between the observed end and the first scored frame whose correlation (mean over c) is below 0.8; up to "
        "the farthest scored frame if there is none; higher is better",
        "high",
    ),
    # agreement with what was given
    "observation_misfit": _error("observation misfit", "||M u - y|| / ||y||, where a scored frame has observations"),
    "residual": _error(
        "PDE residual",
        "norm of the equation's residual over the sum of the norms of its terms, between 0 and 1; 0 where every term "
        "vanishes; only if all frames are scored",
        unit="",
    ),
    "residual_ratio": MetricInfo(
        "PDE residual / truth's",
        "",
        "residual of u over residual of v on the same grid and stencil; 1 is ideal",
        "level",
    ),
    # K samples s_k
    "crps": _error(
        "CRPS",
        "sum over t, x, c of mean_k |s_k - v| - sum_kl |s_k - s_l| / (2 K (K-1)) (fair), over sum |v|; K = 1: relative "
        "mean absolute error",
    ),
    "energy_score": _error(
        "energy score", "(mean_k ||s_k - v|| - sum_kl ||s_k - s_l|| / (2 K (K-1))) / ||v|| (fair); only for K > 1"
    ),
    "spread_skill": MetricInfo(
        "spread-skill ratio",
        "",
        "sqrt((K+1)/K) sqrt(mean Var_k s) / sqrt(mean (mean_k s - v)^2), of each trajectory: the mean is above 1 for "
        "a perfect sampler where errors vary; below 1 is over-confident; only for K > 1",
        "level",
    ),
    **{
        f"coverage_{level}": MetricInfo(
            f"coverage of the {level} % interval",
            "%",
            f"share of hidden sites inside the central {level} % interval of the samples (quantiles at p (K+1)); K "
            "samples reach (K-1)/(K+1), wider intervals are left out; only for K > 1",
            "level",
        )
        for level in (50, 80, 95)
    },
    "rel_l2_mean": _error(
        "relative L2 of the mean of samples",
        "||m - v|| / ||v||, m the mean of the samples, or the method's own `point` where it gives one; only for K > 1",
    ),
    "rel_l2_samples": _error("relative L2, average over samples", "mean over k of ||s_k - v|| / ||v||; only for K > 1"),
    "rel_l2_best": _error("relative L2, best sample", "min over k of ||s_k - v|| / ||v||; only for K > 1"),
    "rel_l2_one_step": _error(
        "relative L2 in one step",
        "of the single answer that a method which samples in many steps gives in one; not part of its cost",
    ),
    "diversity": MetricInfo(
        "diversity",
        "%",
        "mean over pairs k < l of ||s_k - s_l|| / ||v||; no error: better or worse neither way; only for K > 1",
        "level",
    ),
}


def metric_info(name: str) -> MetricInfo:
    """The entry of a metric, also of the `rel_l2_<field>` that steady problems add."""
    if name in METRIC_TABLE:
        return METRIC_TABLE[name]
    field = name.removeprefix("rel_l2_")
    if field == name or not field:
        raise ValueError(f"metric: expected one of {', '.join(METRIC_TABLE)} or rel_l2_<field>, got {name!r}")
    return _error(f"relative L2 of {field}", f"||e|| / ||v|| of the field {field} alone")
