"""Samples of every prior look like the data: variance and spectrum, without observations (Zhuang's: with one sensor).

The smoke data of Navier-Stokes, and priors trained at all noise levels.
"""

from dataclasses import replace
from functools import cache

import pytest
import torch

from benchmark.core import Problem, Run
from methods.blocks.diffusion.edm import Denoiser, Edm, dpmpp_2m, karras_sigmas
from methods.blocks.normaliser import SIGMA_DATA
from methods.blocks.training.batches import draw_noise
from methods.diffusionpde.ext import DiffusionPDEExt
from methods.diffusionpde.method import DiffusionPDE
from methods.eci import ECI
from methods.shu.ddpm import ddim
from methods.shu.method import Shu
from methods.zhuang.method import Zhuang
from tests.methods.small import generators, smoke

EDM = Edm(log_mean=-0.4, log_std=1.6, sigma_min=0.02, sigma_max=20.0, sampler="dpmpp_2m", steps=24)
COUNT = 16  # samples of videos or pairs


def data(split):
    _, train, valid = smoke("navier_stokes")
    return {"train": train, "valid": valid}[split]


@cache
@torch.enable_grad()
def fitted(cls, **changes):
    settings = replace(cls.profiles["smoke"], **changes)
    optimiser = replace(settings.training.optimiser, lr=4e-3, schedule="cosine")
    training = replace(settings.training, steps=1000, batch=16, ema=0.99, optimiser=optimiser)
    return cls(replace(settings, training=training)).fit(data("train"), data("valid"), [], 0, Run())


def problem(sensors=0):
    truth = data("train")[:COUNT]
    mask = torch.zeros_like(truth.u, dtype=torch.bool)
    mask[:, :, :sensors, :1] = True
    return Problem(torch.where(mask, truth.u, 0), mask, truth.grid, truth.equation)


def of_pairs(cls):
    """Pairs of all kinds in turn, normalised. (The extension's joint sampling of all frames is no prior of its own.)"""
    method = fitted(cls, edm=EDM, circular=True)
    net, labels = Denoiser(method.net_["pair"]), torch.arange(COUNT) % method.net_["pair"].kinds
    noise = draw_noise((2, 16, 16, 1), generators(COUNT), "cpu")
    return dpmpp_2m(lambda x, sigma: net(x, sigma, labels), EDM.sigma_max * noise, karras_sigmas(EDM))


def of_zhuang():
    method = fitted(Zhuang, edm=replace(EDM, log_mean=0.4), ensemble=1, rates=(0.004, 0.04))
    return method.normaliser_.encode(method.answer(problem(sensors=1), generators(COUNT)))


def of_shu():
    """From pure noise at the last time down; the equation takes no part. Cells enter the network one by one: noise of
    three frames hardly fits through so narrow a network that takes them by four."""
    architecture = replace(Shu.profiles["smoke"].architecture, patch=1)
    method = fitted(Shu, variant="plain", architecture=architecture)
    x = draw_noise((3, 16, 16), generators(COUNT), "cpu")
    predict = method.predictor(method.fields(None, x), None)
    x = ddim(method.settings.schedule, predict, x, list(range(999, -1, -20)), torch.zeros_like)
    return SIGMA_DATA * x[..., None]  # (B, 3, H, W, 1)


def of_eci():
    """The flow itself, dx/dt = v, by Euler's method."""
    method, seen, steps = fitted(ECI), problem(), 50
    x = draw_noise(seen.values.shape[1:], generators(COUNT), "cpu")
    fields = method.fields(seen.static, seen.values).movedim(-1, 1)
    for i in range(steps):
        x = x + method.net_(x, torch.full((1,), i / steps), fields) / steps
    return SIGMA_DATA * x


def shares(fields):
    """Of the variance of (..., H, W, 1), at wave numbers 1, 2, 3 and above."""
    f = fields[..., 0].flatten(0, -3)
    k = torch.fft.fftfreq(f.shape[-1], 1 / f.shape[-1]).abs()
    k = k[:, None].maximum(k)
    power = torch.fft.fft2(f).abs().square().mean(0)
    shells = torch.stack([power[k == 1].sum(), power[k == 2].sum(), power[k == 3].sum(), power[k > 3].sum()])
    return shells / shells.sum()


PRIORS = {
    "diffusionpde": lambda: of_pairs(DiffusionPDE),
    "diffusionpde_ext": lambda: of_pairs(DiffusionPDEExt),
    "shu": of_shu,
    "zhuang": of_zhuang,
    "eci": of_eci,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PRIORS)
def test_samples_look_like_the_data(name):
    with torch.no_grad():
        drawn = PRIORS[name]()
    true = SIGMA_DATA * (data("train").u - data("train").u.mean()) / data("train").u.std()
    ratio, shift = float(drawn.std() / true.std()), (shares(drawn) - shares(true)).abs().max()
    print(name, "standard deviation", round(ratio, 3), "shares", shares(drawn), shares(true))
    assert 0.7 < ratio < 1.4 and shift < 0.15


@pytest.mark.slow
@pytest.mark.parametrize("cls", [DiffusionPDE, DiffusionPDEExt])
def test_guided_by_every_pixel_the_truth_comes_back(cls):
    valid = data("valid")
    full = Problem(valid.u, torch.ones_like(valid.u, dtype=torch.bool), valid.grid, valid.equation)
    with torch.no_grad():
        video = fitted(cls, edm=EDM, circular=True).answer(full, generators(len(full)))  # nothing is put back
    assert (video - valid.u).norm() / valid.u.norm() < 0.02
