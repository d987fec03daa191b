"""EDM (Karras et al. 2022): a denoiser D(x, sigma) around any network, its loss, its noise levels and its samplers.

    x_sigma = x_0 + sigma eps,    D(x, sigma) = c_skip x + c_out F(c_in x, c_noise)

With the target `x` the network answers with x_0 itself, D = s F: below s = sigma_data EDM's own target is mostly noise,
which a narrow token cannot carry for a whole patch (Salimans and Ho 2022 compare the two).

The samplers solve dx/dsigma = (x - D(x, sigma)) / sigma from sigma_max down to 0. They are pure functions over any
`denoise(x, sigma)` and call it with one noise level, a tensor of shape (), for the whole batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from methods.blocks.training.batches import stratified

Denoise = Callable[[Tensor, Tensor], Tensor]  # x (B, ...), sigma () or (B,) -> an estimate of x_0 (B, ...)
Evaluate = Callable[[Tensor, float], Tensor]  # the same for a sampler: sigma a number


@dataclass(frozen=True)
class Edm:
    """What the papers call EDM, as one value; the defaults are Karras et al.'s; the law `cosine` and the
    weight `soft_min_snr` are Crowson et al.'s (HDiT).

    The paper of this suite names the framework but none of these numbers.
    """

    sigma_data: float = 0.5  # standard deviation of the normalised data
    target: Literal["edm", "x"] = "edm"  # what F predicts: noise and data mixed for unit variance, or x_0 / sigma_data
    law: Literal["lognormal", "cosine"] = "lognormal"  # of the noise levels in training
    log_mean: float = -1.2  # lognormal: ln sigma ~ N(log_mean, log_std^2)
    log_std: float = 1.2
    cosine_size: int = 32  # cosine: points along a side of the grid; 32 means sigma = sigma_data tan(uniform angle)
    cosine_range: tuple[float, float] = (1e-3, 1e3)  # cosine: lowest and highest sigma
    weight: Literal["edm", "soft_min_snr"] = "edm"
    sampler: Literal["heun", "dpmpp_2m"] = "heun"
    steps: int = 20  # of the sampler
    sigma_min: float = 0.002
    sigma_max: float = 80.0
    rho: float = 7.0

    def __post_init__(self) -> None:
        if not 0 < self.sigma_min < self.sigma_max:
            raise ValueError(f"sigma: expected 0 < sigma_min < sigma_max, got {self.sigma_min} and {self.sigma_max}")
        if self.steps < 1:
            raise ValueError(f"steps: expected 1 or more, got {self.steps}")

    @property
    def evaluations(self) -> int:
        """Of the denoiser, for a sample."""
        return 2 * self.steps - 1 if self.sampler == "heun" else self.steps

    @property
    def remark(self) -> str | None:
        """What a table must say of very few steps: a sample is then hardly more than the mean of what is possible."""
        if self.steps > 2:
            return None
        noise = ", trained at high noise" if self.law == "lognormal" and self.log_mean > 0 else ""
        return f"sampled in {self.steps} step{'s' * (self.steps > 1)}{noise}: close to a regression"


SAMPLING = ("edm.sampler", "edm.steps", "edm.sigma_min", "edm.sigma_max", "edm.rho")  # no part of the training
EDM = Edm()
HDIT = Edm(  # Crowson et al.'s for 256^2, the law that of a grid of 128^2
    law="cosine",
    cosine_size=128,
    weight="soft_min_snr",
    sampler="dpmpp_2m",
    steps=50,
    sigma_min=1e-2,
    sigma_max=160.0,
)


# -- the denoiser ------------------------------------------------------------------------------------------------------


class Coefficients(NamedTuple):
    c_skip: Tensor  # s^2 / (sigma^2 + s^2); target x: 0
    c_out: Tensor  # sigma s / sqrt(sigma^2 + s^2); target x: s
    c_in: Tensor  # 1 / sqrt(sigma^2 + s^2)
    c_noise: Tensor  # ln(sigma) / 4


def precondition(edm: Edm, sigma: Tensor) -> Coefficients:
    """With s = sigma_data: the network's input c_in x and its target (x_0 - c_skip x) / c_out have unit variance."""
    s, total = edm.sigma_data, sigma**2 + edm.sigma_data**2
    c_in, c_noise = total.rsqrt(), sigma.log() / 4
    if edm.target == "x":
        return Coefficients(torch.zeros_like(sigma), torch.full_like(sigma, s), c_in, c_noise)
    return Coefficients(s**2 / total, sigma * s / total.sqrt(), c_in, c_noise)


class Denoiser(nn.Module):
    """D(x, sigma, *condition) around `net(c_in x, c_noise, *condition)`; only x is scaled.

    `c_noise` has shape (B,), or (1,) where the batch shares a noise level: a network may then embed it only once.
    """

    def __init__(self, net: nn.Module, edm: Edm = EDM):
        super().__init__()
        self.net, self.edm = net, edm

    def forward(self, x: Tensor, sigma: Tensor, *condition: Tensor | None) -> Tensor:
        c = precondition(self.edm, sigma.reshape(-1).to(x.dtype))
        f = self.net(append_dims(c.c_in, x) * x, c.c_noise, *condition)
        return append_dims(c.c_skip, x) * x + append_dims(c.c_out, x) * f.to(x.dtype)


def append_dims(value: Tensor, x: Tensor) -> Tensor:
    """(B,), (1,) or () -> a shape that broadcasts against x (B, ...)."""
    return value.reshape(-1, *(1,) * (x.ndim - 1))


# -- training ----------------------------------------------------------------------------------------------------------


def noise_levels(edm: Edm, count: int, generator: torch.Generator) -> Tensor:
    """sigma (count,) float32, stratified over the batch so that each step sees low and high levels."""
    return quantile(edm, stratified(count, generator)).float()


def quantile(edm: Edm, u: Tensor) -> Tensor:
    """sigma below which a share u of the training law lies."""
    if edm.law == "lognormal":
        return (edm.log_mean + edm.log_std * torch.special.ndtri(u)).exp()
    v = 1 - u  # the cosine law runs from high to low levels
    log_snr = (1 - v) * _cosine_log_snr(edm, v, 32) + v * _cosine_log_snr(edm, v, edm.cosine_size)
    return edm.sigma_data * (-log_snr / 2).exp()


def _cosine_log_snr(edm: Edm, v: Tensor, size: int) -> Tensor:
    """-2 ln tan(angle) + 2 ln(size / cosine_size), the angle uniform between those of the highest and lowest sigma."""
    ratio = size / edm.cosine_size
    low, high = (math.atan(sigma / edm.sigma_data * ratio) for sigma in edm.cosine_range)
    return -2 * torch.tan(high + v * (low - high)).log() + 2 * math.log(ratio)


def loss_weight(edm: Edm, sigma: Tensor) -> Tensor:
    """lambda(sigma) of the squared error of D.

    edm: 1 / c_out^2, a plain squared error of F. soft_min_snr: (sigma s)^2 / (sigma^2 + s^2)^2 times that.
    """
    plain = precondition(edm, sigma).c_out ** -2
    if edm.weight == "edm":
        return plain
    return plain * (sigma * edm.sigma_data / (sigma**2 + edm.sigma_data**2)) ** 2


def denoising_loss(edm: Edm, denoise: Denoise, x: Tensor, sigma: Tensor, noise: Tensor) -> Tensor:
    """lambda(sigma) mean (D(x + sigma noise, sigma) - x)^2 of each element of the batch: (B,)."""
    error = denoise(x + append_dims(sigma, x) * noise, sigma) - x
    return loss_weight(edm, sigma) * error.square().flatten(1).mean(1)


# -- sampling ----------------------------------------------------------------------------------------------------------


def karras_sigmas(edm: Edm) -> Tensor:
    """(steps + 1,) float64: evenly spaced in sigma^(1/rho) from sigma_max to sigma_min, then 0."""
    low, high = edm.sigma_min ** (1 / edm.rho), edm.sigma_max ** (1 / edm.rho)
    sigmas = torch.linspace(high, low, edm.steps, dtype=torch.float64) ** edm.rho
    return torch.cat([sigmas, sigmas.new_zeros(1)])


def sample(edm: Edm, denoise: Denoise, noise: Tensor) -> Tensor:
    """A draw of x_0 from standard normal `noise` (B, ...)."""
    sampler = heun if edm.sampler == "heun" else dpmpp_2m
    return sampler(denoise, edm.sigma_max * noise, karras_sigmas(edm))


def evaluator(denoise: Denoise, dtype: torch.dtype) -> Evaluate:
    """`denoise` in the dtype of its network, for a state of any other; a number sigma becomes a tensor of shape ()."""

    def evaluate(x: Tensor, sigma: float) -> Tensor:
        level = torch.full((), sigma, dtype=dtype, device=x.device)
        return denoise(x.to(dtype), level).to(x.dtype)

    return evaluate


def heun(denoise: Denoise, x: Tensor, sigmas: Tensor, state: torch.dtype = torch.float64) -> Tensor:
    """Heun's method, order 2, deterministic, from x at sigmas[0] to sigmas[-1].

    x is carried in the dtype `state`; `denoise` sees, and the caller gets, that of x.
    """
    evaluate, y = evaluator(denoise, x.dtype), x.to(state)
    for sigma, sigma_next in pairwise(sigmas.tolist()):
        y = heun_step(evaluate, y, sigma, sigma_next)
    return y.to(x.dtype)


def heun_step(evaluate: Evaluate, x: Tensor, sigma: float, sigma_next: float) -> Tensor:
    """One step; to sigma 0, where the slope is not defined, Euler's."""
    slope = (x - evaluate(x, sigma)) / sigma
    euler = x + (sigma_next - sigma) * slope
    if sigma_next == 0:
        return euler
    slope_next = (euler - evaluate(euler, sigma_next)) / sigma_next
    return x + (sigma_next - sigma) * (slope + slope_next) / 2


def dpmpp_2m(denoise: Denoise, x: Tensor, sigmas: Tensor, state: torch.dtype = torch.float64) -> Tensor:
    """DPM-Solver++(2M) (Lu et al. 2022), order 2 with one evaluation a step; dtypes as in `heun`.

    A step is exact for a constant D; the D of its middle, in lambda = -ln sigma, is taken from the last two on a line:

        x_{i+1} = r x_i + (1 - r) (D_i + h_i / (2 h_{i-1}) (D_i - D_{i-1})),   r = sigma_{i+1} / sigma_i,  h_i = -ln r

    The first step, and the last one to sigma 0, take D as constant.
    """
    evaluate, y, step = evaluator(denoise, x.dtype), x.to(state), Multistep()
    for sigma, sigma_next in pairwise(sigmas.tolist()):
        y = step(evaluate, y, sigma, sigma_next)
    return y.to(x.dtype)


class Multistep:
    """One step of `dpmpp_2m` after the other; remembers the last estimate."""

    def __init__(self) -> None:
        self.before: Tensor | None = None
        self.h_before = math.inf

    def __call__(self, evaluate: Evaluate, x: Tensor, sigma: float, sigma_next: float) -> Tensor:
        d = middle = evaluate(x, sigma)
        ratio = sigma_next / sigma
        h = -math.log(ratio) if ratio else math.inf
        if self.before is not None and ratio:
            middle = d + h / (2 * self.h_before) * (d - self.before)
        self.before, self.h_before = d.detach(), h
        return ratio * x + (1 - ratio) * middle
