import subprocess
import sys
import textwrap

import pytest

from benchmark.planning.registry import PluginError, Registry, UnknownName, registry

PLUGIN = """
from dataclasses import dataclass
from benchmark.core import Method, Prediction

@dataclass(frozen=True)
class Settings:
    pass

class Zero(Method):
    scope = "instance"
    profiles = {"smoke": Settings()}
    def fit(self, train, valid, tasks, seed, run):
        return self
    def predict(self, problem, seed, samples=1):
        return Prediction(problem.values[None])

METHODS = {"zero": Zero}
"""


def test_unknown_names_come_with_the_nearest():
    with pytest.raises(UnknownName, match="unknown method 'krigin' .did you mean kriging"):
        registry().load("methods", "krigin")
    with pytest.raises(UnknownName, match="known: cont_05"):
        registry().check("tasks", "zzz")


def test_a_plugin_file_adds_a_method(tmp_path):
    path = tmp_path / "zero.py"
    path.write_text(PLUGIN)
    known = registry([path])
    assert "zero" in known.names("methods") and known.load("methods", "zero").scope == "instance"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x = 1", "expected a dict METHODS, TASKS or DATASETS"),
        ("METHODS = ['zero']", "METHODS must be a dict"),
        ("import no_such_module", "ModuleNotFoundError"),
        ("def f(:", "SyntaxError"),
        (
            PLUGIN.replace('"zero": Zero', '"kriging": Zero'),
            "'kriging' of plugin .* is registered already by the suite",
        ),
    ],
)
def test_bad_plugins_say_what_is_wrong(tmp_path, content, message):
    path = tmp_path / "plugin.py"
    path.write_text(content)
    with pytest.raises(PluginError, match=message):
        registry([path])


def test_a_missing_plugin_file(tmp_path):
    with pytest.raises(PluginError, match="no such file"):
        registry([tmp_path / "nothing.py"])


def test_a_broken_target_is_named():
    known = Registry()
    known.add("methods", "broken", "no_such_module:Broken", "package foreign")
    with pytest.raises(PluginError, match="'broken' .no_such_module:Broken, from package foreign"):
        known.load("methods", "broken")


@pytest.fixture
def package(tmp_path):
    """A real third-party package, built and installed by pip into a folder of its own."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "zero_method.py").write_text(PLUGIN)
    (source / "pyproject.toml").write_text(
        textwrap.dedent("""
        [build-system]
        requires = ["setuptools"]
        build-backend = "setuptools.build_meta"
        [project]
        name = "zero-method"
        version = "1.0"
        [project.entry-points."benchmark.methods"]
        zero = "zero_method:Zero"
        mean = "zero_method:Zero"
        gone = "no_such_module:Gone"
        [tool.setuptools]
        py-modules = ["zero_method"]
        """)
    )
    target = tmp_path / "site"
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "--target",
        str(target),
    ]
    subprocess.run([*command, str(source)], check=True, capture_output=True, timeout=120)
    return target


def test_an_installed_package_registers_its_methods(package, monkeypatch):
    monkeypatch.syspath_prepend(str(package))
    known = registry()
    assert known.load("methods", "zero").profiles
    assert known.origin["methods", "zero"] == "package zero-method"
    assert (
        "registered already by the suite" in known.broken["package zero-method:mean"]
    )  # reported, nothing else is down
    with pytest.raises(PluginError, match="gone"):
        known.load("methods", "gone")
    assert known.load("methods", "mean").__module__ == "methods.mean"
