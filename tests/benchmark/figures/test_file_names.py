"""Names of files tell figures apart and can be read."""

from dataclasses import replace

from benchmark.figures.file_names import LONGEST, listed, name_of
from benchmark.figures.plot import Wanted

PLAIN = Wanted("errors", ("kriging", "fno @ wide"), ("cont_3",))


def test_what_is_as_usual_is_left_out():
    assert name_of(PLAIN) == "errors-laptop-navier_stokes-cont_3-kriging,fno@wide"
    assert name_of(replace(PLAIN, methods=("kriging", "fno@wide"))) == name_of(PLAIN)


def test_every_option_has_its_word():
    several = replace(
        PLAIN, methods=("fno",), seeds=(0, 2), frames=(0, 4), trajectory=3, channel="w", log_errors=True, samples="mean"
    )
    assert name_of(several).startswith(
        "errors-laptop-navier_stokes-cont_3-fno-seed_0+2,frames_0+4,trajectory_3,channel_w"
    )
    changes = ({"seeds": (1,)}, {"frames": (0,)}, {"trajectory": 1}, {"channel": "w"}, {"log_errors": True},
               {"samples": "mean"}, {"methods": ("fno",)}, {"datasets": ("heat",)}, {"profile": "smoke"})  # fmt: skip
    assert len({name_of(PLAIN), *(name_of(replace(PLAIN, **change)) for change in changes)}) == len(changes) + 1


def test_long_lists_have_a_digest():
    """Their first names stay; two lists with the same beginning differ."""
    long = [f"method_{i}" for i in range(12)]
    assert listed(long).startswith("method_0,method_1,") and len(listed(long)) <= LONGEST + 9
    assert listed(long) == listed(list(long)) != listed(long[:-1])


def test_names_stay_in_their_folder():
    assert "/" not in listed(["../../fno"]) and listed(["a/b"]) != listed(["a b"])
