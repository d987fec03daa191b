"""The page as a reader has it, opened from disk. `visit` also holds that nothing fails and nothing is fetched."""

import re
import shutil
import time
from dataclasses import replace

import pytest

from benchmark.leaderboard import write_leaderboard
from benchmark.records.cell import Cell
from benchmark.records.files import write_record
from benchmark.records.predictions import predictions_path, write_predictions
from tests.benchmark.leaderboard.page.test_page import steady
from tests.benchmark.leaderboard.synthetic import Store
from tests.browser.store import HOSTILE, fill, predictions

pytestmark = pytest.mark.browser
CELL = "cell=fno%7Ccont_1%7Ckolmogorov"


@pytest.fixture(scope="session")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    fill(folder / "results", folder / "runs")
    write_leaderboard(folder / "results", "smoke", ["html"], folder, runs=folder / "runs")
    return folder / "leaderboard.html"


def methods(page):
    return page.locator("#board .tabulator-row:not(.tabulator-group) .method").all_inner_texts()


def columns(page):
    return page.locator("#board .tabulator-col:not(.tabulator-col-group) button.head").all_inner_texts()


def press_heading(page, dataset, task):
    group = page.locator("#board .tabulator-col-group", has_text=dataset)
    group.get_by_role("button", name=task, exact=True).click()


def frame_pixels(page, panel):
    return page.evaluate("name => document.querySelector(`canvas.${name}`).toDataURL()", panel)


def until(holds, seconds=10):
    """Playwright's own waiting needs `eval`, which the page forbids."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def open_cell(page):
    page.locator("dialog[open][data-ready]").wait_for()


def test_a_heading_sorts_within_references_and_learned_methods(visit, path):
    page = visit(path)
    until(lambda: methods(page) == ["Mean", "Kriging", "VideoPDE", "FNO", "PINO", "Shu et al."])
    press_heading(page, "Kolmogorov flow", "1 %")
    until(
        lambda: methods(page) == ["Kriging", "Mean", "VideoPDE", "FNO", "Shu et al.", "PINO"]
    )  # who has no number comes last
    press_heading(page, "Kolmogorov flow", "1 %")
    until(lambda: methods(page) == ["Mean", "Kriging", "Shu et al.", "FNO", "VideoPDE", "PINO"])


def test_filters_by_dataset_task_kind_and_name(visit, path):
    page = visit(path)
    until(lambda: len(columns(page)) == 7)
    page.locator("#datasets-kolmogorov").click()
    page.locator("#tasks-cont_3").click()
    until(lambda: columns(page) == ["Method", "3 %"])
    page.locator("#kind").select_option("learned")
    until(lambda: methods(page) == ["VideoPDE", "FNO", "PINO", "Shu et al."])
    page.locator("#search").fill("fno, shu")
    until(lambda: methods(page) == ["FNO", "Shu et al."] and "2 of 6" in page.locator("#count").inner_text())
    page.get_by_role("button", name="Clear filters").click()
    until(lambda: len(columns(page)) == 7 and len(methods(page)) == 6)


def test_the_metric_and_the_profile_can_be_changed(visit, path):
    page = visit(path)
    page.locator("#metric").select_option("vrmse")
    page.get_by_text("Differences in this metric are not tested").wait_for()
    assert page.locator("[data-cell]").first.inner_text().startswith("0.5")
    page.locator("#profile").select_option("laptop")
    page.get_by_text("All numbers are of profile laptop").wait_for()
    until(lambda: methods(page) == ["FNO"])


def test_marks_intervals_and_notes(visit, path):
    page = visit(path)
    best = page.locator(".place.best").first
    assert best.locator(".value").evaluate("one => getComputedStyle(one).fontWeight") == "700"
    assert re.search(r"\[[\d.]+, [\d.]+\]", best.inner_text())
    failed = page.locator(".place", has_text="failed")
    failed.hover()
    assert page.locator("#tip").inner_text().endswith(f"failed: {HOSTILE}")
    page.get_by_label("95 % intervals").uncheck()
    assert not page.locator(".place .interval").first.is_visible()


def test_a_cell_opens_with_all_that_is_known_of_it(visit, path):
    page = visit(path)
    page.get_by_role("button", name=re.compile("FNO, Kolmogorov flow 1 %")).click()
    open_cell(page)
    dialog = page.locator("dialog")
    assert "FNO on Kolmogorov flow, sensors 1 %" in dialog.get_by_role("heading").first.inner_text()
    assert page.locator("#command").inner_text().startswith("python -m benchmark run --method fno --task cont_1")
    assert "trajectory 5: 10.0 %" in dialog.locator(".worst li").first.inner_text()
    for part, text in (
        ("Settings", "continuous"),
        ("Provenance", "0123456789abcdef"),
        ("Metrics", "VRMSE"),
        ("Cost", "256"),
    ):
        dialog.locator("summary", has_text=part).click()
        assert text in dialog.locator("details[open]").last.inner_text() or text in dialog.inner_text()
    page.keyboard.press("Escape")
    assert not dialog.is_visible() and page.evaluate("document.activeElement.dataset.cell")


def test_the_slider_plays_truth_observation_prediction_and_error(visit, path):
    page = visit(path, fragment=CELL)
    open_cell(page)
    panels = ("truth", "observed", "prediction", "error")
    first = {panel: frame_pixels(page, panel) for panel in panels}
    assert len(set(first.values())) == 4
    page.locator("#frame").focus()
    page.keyboard.press("ArrowRight")
    assert "t = 0.50, frame 2 of 4" in page.locator("#frame-label").inner_text()
    assert all(frame_pixels(page, panel) != first[panel] for panel in ("truth", "observed", "prediction"))
    page.get_by_role("button", name="Play").click()
    until(lambda: page.locator("#frame").input_value() == "3")
    page.get_by_role("button", name="Pause").click()
    page.locator("#trajectory").select_option("1")
    until(lambda: frame_pixels(page, "truth") != first["truth"])


def test_the_pixels_are_the_field(visit, path):
    """Red where the wave is up, blue where it is down, and nothing where no sensor is."""
    page = visit(path, fragment=CELL)
    open_cell(page)
    pixel = (
        "([name, x, y]) => [...document.querySelector(`canvas.${name}`).getContext('2d').getImageData(x, y, 1, 1).data]"
    )
    up, down = page.evaluate(pixel, ["truth", 4, 0]), page.evaluate(pixel, ["truth", 12, 0])
    assert up[0] > 2 * up[2] and down[2] > 2 * down[0]
    assert page.evaluate(pixel, ["observed", 4, 0]) == up and page.evaluate(pixel, ["observed", 5, 0])[3] == 0


@pytest.mark.parametrize(("dark", "text"), [(False, [29, 35, 48]), (True, [230, 233, 239])])
def test_sensors_have_an_outline(visit, path, dark, text):
    """In the colour of text, whatever they read; inside it is their reading, outside nothing."""
    page = visit(path, fragment=CELL, dark=dark)
    open_cell(page)
    pixels = """(places) => {
      const canvas = document.querySelector("canvas.edges"), step = canvas.width / 16;
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return places.map(([x, y]) => [...data.slice(4 * step * (y * canvas.width + x)).slice(0, 4)]);
    }"""
    edge, elsewhere = [[4, 4.5], [5, 4.5], [4.5, 4], [4.5, 5]], [[4.5, 4.5], [5.5, 4.5], [4, 5.5], [10, 10]]
    assert page.evaluate(pixels, edge + elsewhere) == [[*text, 255]] * 4 + [[0, 0, 0, 0]] * 4


DARKEST = """() => {
  const canvas = document.querySelector("canvas.error"), { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  return Math.min(...Array.from({ length: width * height }, (_, i) => data[4 * i] + data[4 * i + 1] + data[4 * i + 2]));
}"""


def error_map(visit, path, method):
    """The darkest pixel of the errors, which are the largest, and the limits of their scale."""
    page = visit(path, fragment=f"cell={method}%7Ccont_1%7Ckolmogorov")
    open_cell(page)
    return page, page.evaluate(DARKEST), limits_of(page)


def limits_of(page):
    texts = page.locator(".panel", has=page.locator("canvas.error")).locator(".limits span").all_inner_texts()
    return [float(text.strip("≤≥ ")) for text in texts]


def test_small_errors_show_and_all_methods_share_their_scale(visit, tmp_path):
    fill(tmp_path / "results", tmp_path / "runs")
    for method in ("mean", "kriging", "shu"):
        shutil.rmtree(tmp_path / f"runs/smoke/kolmogorov/{method}-s0")
    write_leaderboard(tmp_path / "results", "smoke", ["html"], tmp_path, runs=tmp_path / "runs")
    page, dark, limits = error_map(visit, tmp_path / "leaderboard.html", "fno")  # off by 0.08 of a range of 2
    assert dark < 100 and limits[0] == 0 and 0.06 < limits[1] < 0.09
    assert error_map(visit, tmp_path / "leaderboard.html", "videopde")[2] == limits
    assert "99.5th percentile" in page.locator(".player .hint").inner_text()


def test_an_error_that_is_small_beside_those_of_others_shows_on_a_logarithmic_scale(visit, path):
    page, dark, limits = error_map(visit, path, "videopde")
    assert dark > 500 and limits[1] > 0.5
    page.locator("#error-scale").select_option("logarithmic")
    until(lambda: page.evaluate(DARKEST) < 350)
    assert 1e-4 < limits_of(page)[0] < 1e-3 and limits_of(page)[1] == limits[1]


def test_without_predictions_the_page_says_how_to_get_them(visit, tmp_path):
    fill(tmp_path / "results", tmp_path / "runs")
    write_leaderboard(tmp_path / "results", "smoke", ["html"], tmp_path, runs=tmp_path / "elsewhere")
    page = visit(tmp_path / "leaderboard.html", fragment=CELL)
    open_cell(page)
    assert "--runs" in page.locator("#no-video").inner_text()


def test_everything_can_be_reached_by_keyboard(visit, path):
    page = visit(path)
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type("videopde")
    until(lambda: methods(page) == ["VideoPDE"])
    page.locator("#search").fill("")
    page.locator("[data-cell][tabindex='0']").focus()
    start = page.evaluate("document.activeElement.dataset.cell")
    for key in ("ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    column, row = map(int, start.split("."))
    assert page.evaluate("document.activeElement.dataset.cell") == f"{column + 1}.{row + 1}"
    page.keyboard.press("Enter")
    open_cell(page)
    page.keyboard.press("Escape")
    page.keyboard.press("3")
    assert page.locator("#view-figures").is_visible()


def test_the_figures_follow_the_filters(visit, path):
    page = visit(path, fragment="view=figures")
    for figure in ("pareto", "time", "compute"):
        page.locator(f"#{figure} canvas").wait_for()
    rows = page.locator("#pareto tbody tr")
    until(lambda: rows.count() == 5)
    page.locator("#kind").select_option("reference")
    until(lambda: rows.count() == 2)
    page.locator("#kind").select_option("all")
    page.locator("#time-shown").select_option("mean")
    until(lambda: page.locator("#time tbody tr").count() == 5)
    numbers = page.locator("#compute tbody").text_content()
    assert "FNO" in numbers and "budget" in page.locator("#compute thead").text_content()


def ticks(page, figure, axis):
    """What an axis names, drawn over each other or not."""
    chart = "Chart.getChart(document.querySelector(`#${figure} canvas`))"
    return page.evaluate(f"([figure, axis]) => {chart}.scales[axis].ticks.map((tick) => tick.label)", [figure, axis])


@pytest.mark.parametrize("search", ["", "fno, kriging", "fno", "videopde, fno", "mean"])
@pytest.mark.parametrize("width", [1400, 400])
def test_an_axis_names_three_numbers_however_close_the_errors(visit, path, search, width):
    page = visit(path, width=width, fragment=f"view=figures&search={search}")
    for figure in ("pareto", "time", "compute"):
        page.locator(f"#{figure} canvas").wait_for()
        for axis in "xy":
            until(lambda figure=figure, axis=axis: len(set(filter(None, ticks(page, figure, axis)))) >= 3)


def test_the_compute_figure_has_names_as_printed_and_notes_one_a_line(visit, path):
    page = visit(path, fragment="view=figures")
    page.locator("#compute canvas").wait_for()
    assert page.locator("#compute-column option").all_inner_texts() == ["Kolmogorov flow, sensors 1 %"]
    labels = "Chart.getChart(document.querySelector('#compute canvas')).data.datasets.map((one) => one.label)"
    assert page.evaluate(labels) == ["FNO", "Kriging", "Mean"]
    notes = page.locator("#compute .hint li").all_inner_texts()
    assert len(notes) > 3 and all(note.endswith((".", "counted")) for note in notes)


def test_the_other_parts_have_their_tables(visit, path):
    page = visit(path)
    page.locator("#tab-records").click()
    page.locator("#list-records .tabulator-row").first.wait_for()
    page.locator("#list-records .link").first.click()
    open_cell(page)
    page.keyboard.press("Escape")
    page.locator("#tab-ranks").click()
    until(lambda: page.locator("#list-ranks .tabulator-row").count() == 6)
    page.locator("#tab-claims").click()
    page.locator("#claim-list .tabulator-row").first.wait_for()
    page.get_by_label("Verdict").select_option("contradicted")
    until(lambda: set(page.locator("#claim-list .verdict").all_inner_texts()) <= {"contradicted"})
    page.locator("#tab-about").click()
    assert page.get_by_text("What the marks mean").is_visible()
    page.get_by_text("Libraries on this page").click()
    for library in ("tabulator-tables", "chart.js", "@kurkle/color", "Permission is hereby granted"):
        assert library in page.locator("#view-about pre").inner_text()


def test_a_record_of_the_list_opens_with_its_own_seed(visit, tmp_path):
    store = Store(tmp_path / "results")
    for seed, error in ((0, 1.0), (3, 7.0)):
        store.done("fno", [error, 2 * error], seed=seed)
        cell = store.cell("fno", "cont_1", "navier_stokes", seed)
        write_predictions(predictions_path(tmp_path / "runs", cell), replace(predictions(cell), key=""))
    write_leaderboard(tmp_path / "results", "smoke", ["html"], tmp_path, runs=tmp_path / "runs")
    page = visit(tmp_path / "leaderboard.html", fragment="view=records")
    rows = page.locator("#list-records .tabulator-row")
    rows.filter(has=page.locator("[tabulator-field=seed]", has_text="3")).locator(".link").click()
    open_cell(page)
    assert page.locator("#seed").input_value() == "3" and "%7C3" in page.url
    assert "--seed 3" in page.locator("#command").inner_text() and "14.0 %" in page.locator(".worst").inner_text()
    assert "the page has those of seed 0" in page.locator("#no-video").inner_text()
    page.locator("#seed").select_option("0")
    until(lambda: "2.00 %" in page.locator(".worst").inner_text() and page.locator(".player").count())
    page = visit(tmp_path / "leaderboard.html", fragment="cell=fno%7Ccont_1%7Cnavier_stokes%7C3")
    open_cell(page)
    assert page.locator("#seed").input_value() == "3"


def other_page(tmp_path):
    """Tasks that the first dataset has not all of, a steady problem, and few test trajectories."""
    store, cell = Store(tmp_path / "results"), Cell("fno", "fwd_full", "helmholtz", "smoke", 0)
    for task, dataset in (("cont_05", "wave_layer"), ("cont_3", "wave_layer"), ("cont_1", "kolmogorov")):
        store.done("fno", [4.0, 2.0], task, dataset)
    write_record(cell.path(store.results), steady(cell, a=3.0, u=7.0))
    cell = store.cell("fno", "cont_1", "kolmogorov", 0)
    write_predictions(predictions_path(tmp_path / "runs", cell), replace(predictions(cell), key=""))
    write_leaderboard(store.results, "smoke", ["html"], tmp_path, runs=tmp_path / "runs")
    return tmp_path / "leaderboard.html"


def test_tasks_to_filter_by_stand_in_their_order(visit, tmp_path):
    page = visit(other_page(tmp_path))
    chips = page.locator(".chips", has=page.locator("#tasks-cont_1")).locator("button")
    assert chips.all_inner_texts() == ["sensors 0.5 %", "sensors 1 %", "sensors 3 %", "forward"]


def test_a_steady_problem_has_fields_and_no_frames(visit, tmp_path):
    path = other_page(tmp_path)
    page = visit(path, fragment="cell=fno%7Cfwd_full%7Chelmholtz")
    open_cell(page)
    said = page.locator("dialog").inner_text()
    assert "Error of each field" in said and "Error of each frame" not in said
    assert "a: 3.00 % [2.70, 3.30]; u: 7.00 % [6.30, 7.70]" in said
    page = visit(path, fragment="view=figures&datasets=helmholtz")
    page.locator("#time canvas").wait_for()
    until(lambda: ticks(page, "time", "x") == ["a", "u"])
    assert page.locator("#time thead").text_content() == "methodau" and not page.locator("#time-shown").count()


def test_the_colours_of_trajectories_are_what_is_said_of_them(visit, path, tmp_path):
    bars = """() => {
      const all = [...document.querySelectorAll("dialog canvas")];
      const canvas = all.find((one) => one.ariaLabel?.includes("test trajectory"));
      return Chart.getChart(canvas).data.datasets[0].backgroundColor;
    }"""
    blue, orange, grey = "#0b62b0", "#c2500a", "#667085"
    page = visit(other_page(tmp_path), fragment=CELL)  # two trajectories, both with a video
    open_cell(page)
    assert page.evaluate(bars) == [blue, blue]
    assert "Orange" not in page.locator(".columns").inner_text()
    assert "Blue in the chart: those with a video." in page.locator(".columns").inner_text()
    page = visit(path, fragment=CELL)  # eight, the first two with a video
    open_cell(page)
    assert page.evaluate(bars) == [orange] * 5 + [grey, blue, blue]
    said = page.locator(".columns .hint").inner_text()
    assert said == "Orange in the chart. Those with a video can be pressed. Blue in the chart: others with a video."


def test_light_and_dark(visit, path):
    background = "getComputedStyle(document.body).backgroundColor"
    page = visit(path, dark=True)
    dark = page.evaluate(background)
    page.get_by_role("button", name="Light").click()
    assert dark != page.evaluate(background) == "rgb(255, 255, 255)"
    assert visit(path).evaluate(background) == "rgb(255, 255, 255)"


@pytest.mark.parametrize("view", ["table", "ranks", "figures", "records", "claims", "about"])
def test_a_phone_scrolls_tables_not_the_page(visit, path, view):
    page = visit(path, width=400) if view == "table" else visit_view(visit, path, view)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    if view == "table":
        holder = page.locator("#board .tabulator-tableholder")
        holder.evaluate("one => one.scrollTo(200, 0)")
        assert page.locator("#board .tabulator-row .method").first.bounding_box()["x"] < 30  # it stays


def visit_view(visit, path, view):
    page = visit(path, width=400)
    page.evaluate("name => document.getElementById(`tab-${name}`).click()", view)
    page.locator(f"#view-{view}").wait_for()
    return page


def test_a_cell_on_a_phone(visit, path):
    page = visit(path, width=400, fragment=CELL)
    open_cell(page)
    assert page.evaluate("[document.documentElement.scrollWidth, document.querySelector('dialog').scrollWidth]") == [
        400,
        400,
    ]


def test_text_of_records_is_text(visit, path):
    page = visit(path, fragment="cell=pino%7Ccont_1%7Cwave_layer")
    open_cell(page)
    assert HOSTILE in page.locator("dialog pre").first.inner_text()
    page.keyboard.press("Escape")
    for view in ("records", "about", "figures", "claims", "table"):
        page.locator(f"#tab-{view}").click()
    assert page.evaluate("window.hurt") is None and page.locator("img").count() == 0


def test_a_view_can_be_sent_as_an_address(visit, path):
    page = visit(path, fragment="metric=vrmse&datasets=kolmogorov&kind=learned")
    until(lambda: page.locator("#metric").input_value() == "vrmse" and "Mean" not in methods(page))
    page.locator("#datasets-kolmogorov").click()
    assert "kolmogorov" not in page.url
