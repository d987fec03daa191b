"""Budgets in steps: what a fit takes is measured on a few of them."""

import json

import pytest

from benchmark.cli import main
from benchmark.planning.registry import registry
from benchmark.planning.resolve import Resolver
from benchmark.planning.settings import has, scaled
from benchmark.records.cell import Cell
from benchmark.running.provenance import matmul_rate
from benchmark.tools.budget import Budget, trainings, with_steps
from methods import METHODS
from tests.benchmark.support import toy_request

LEARNED = [name for name in METHODS if registry().load("methods", name).kind == "learned"]


def settings(tmp_path, method, profile="laptop"):
    resolver = Resolver.of(toy_request(tmp_path, methods=(method,), profile=profile))
    return resolver.resolve(Cell(method, "cont_3", "navier_stokes", profile, 0)).settings


def test_several_budgets_keep_their_shares(tmp_path):
    latent = settings(tmp_path, "ablation_latent")
    assert set(trainings(latent)) == {"training", "vae_training"}
    short = with_steps(latent, 40, 3)
    assert (short.training.steps, short.vae_training.steps) == (32, 8)
    assert short.training.validations == short.vae_training.validations == 3
    assert short.training.batch == latent.training.batch and trainings(None) == {}


@pytest.mark.slow
def test_the_command_measures_steps_seconds_and_flop(tmp_path, capsys):
    """A convolution counts its FLOP: four times the batch, four times the FLOP."""
    arguments = ["budget", "--profile", "smoke", "--data", str(tmp_path), "--json", "--method"]
    assert main([*arguments, "shu"]) == 0
    (one,) = (Budget(**row) for row in json.loads(capsys.readouterr().out)["budgets"])
    assert (one.method, one.scope, one.steps, one.batch) == ("shu", "dataset", 100, 16)
    assert one.parameters > 1000 and one.step_ms > 0 and one.seconds > one.step_ms / 1e3 * 80
    assert main([*arguments, "shu", "--set", "training.batch=64"]) == 0
    (four,) = (Budget(**row) for row in json.loads(capsys.readouterr().out)["budgets"])
    assert four.step_gflop == pytest.approx(4 * one.step_gflop, rel=0.05)


def test_a_method_without_a_budget_is_refused(tmp_path, capsys):
    assert main(["budget", "--profile", "smoke", "--data", str(tmp_path), "--method", "mean"]) == 2
    assert "mean: no fit by steps" in capsys.readouterr().err


def test_a_budget_inside_another_methods_settings_is_found(tmp_path):
    resolver = Resolver.of(toy_request(tmp_path, methods=("pino_refined",), profile="laptop"))
    refined = resolver.resolve(Cell("pino_refined", "fwd_full", "navier_stokes", "laptop", 0)).settings
    assert set(trainings(refined)) == {"pino.training"}
    assert with_steps(refined, 7, 0).pino.training.steps == 7


@pytest.mark.parametrize("method", LEARNED)
def test_every_learned_method_says_what_its_budget_is(method):
    """All its trainings, so that twice the budget is twice of each; `curve` asks."""
    cls = registry().load("methods", method)
    for settings in cls.profiles.values():
        twice = scaled(settings, cls.budget_settings, 2.0)
        assert cls.budget_settings and all(has(settings, key) for key in cls.budget_settings) and twice != settings
        steps = {name: training.steps for name, training in trainings(settings).items()}
        assert {name: training.steps for name, training in trainings(twice).items()} == {
            n: 2 * k for n, k in steps.items()
        }


def test_a_dataset_that_is_not_known_is_refused(tmp_path, capsys):
    assert main(["budget", "--dataset", "navier", "--data", str(tmp_path)]) == 2
    assert "navier_stokes" in capsys.readouterr().err


def test_the_rate_of_matrix_products_is_plausible():
    assert 0.5 < matmul_rate("cpu", seconds=0.05) < 1e5
