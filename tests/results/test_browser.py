"""The page in a real browser: Debian's chromium and chromium-driver, with selenium and axe-core."""

from __future__ import annotations

import importlib.resources
import json
import shutil
import time

import pytest
from run_files import write_run

from lmms_eval_food.results.cli import main

pytestmark = pytest.mark.slow

HOSTILE = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>\u202e\"'"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    write_run(folder / "a", "20260101_010000", "size=7b")
    write_run(folder / "b", "20260102_010000", HOSTILE)
    write_run(folder / "c", "20260103_010000", "y" * 10_240, limit=2)
    logs = [str(folder / name) for name in "abc"]
    assert main(["report", *logs, "--out", str(folder / "out"), "--resamples", "20"]) == 0
    return folder / "out" / "report.html"


@pytest.fixture(scope="module")
def downloads(tmp_path_factory):
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def driver(downloads):
    webdriver = pytest.importorskip("selenium.webdriver")
    browser, service = shutil.which("chromium"), shutil.which("chromedriver")
    if not (browser and service):
        pytest.skip("no browser: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1300,1000"):
        options.add_argument(argument)
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    own = webdriver.Chrome(options=options, service=webdriver.ChromeService(service))
    yield own
    own.quit()


@pytest.fixture
def page(driver, report):
    driver.get_log("performance")
    driver.get(report.as_uri())
    return driver


def one(page, css):
    return page.find_element("css selector", css)


def rows(page, table="canteen-table"):
    return [
        row
        for row in page.find_elements("css selector", f"#{table} tbody tr")
        if row.is_displayed()
    ]


def values(page, column, table="canteen-table"):
    script = """
      return [...document.querySelectorAll(`#${arguments[0]} tbody tr`)].map(row =>
        [row.dataset.ranked, row.cells[arguments[1]].dataset.value])
    """
    return page.execute_script(script, table, column)


def test_no_error_and_no_request_to_any_network(page, report):
    sent = [
        message["params"]["request"]["url"]
        for entry in page.get_log("performance")
        if (message := json.loads(entry["message"])["message"])["method"]
        == "Network.requestWillBeSent"
    ]
    assert sent
    assert all(address.startswith(("file:", "data:")) for address in sent)
    assert [x for x in sent if x.startswith("file:")] == [report.as_uri()]
    assert page.get_log("browser") == []


def test_hostile_names_are_shown_as_text(page):
    assert page.execute_script("return window.hacked") is None
    assert "<script>window.hacked = 1</script>" in one(page, "#canteen-table").text
    assert "characters)" in one(page, "#canteen-table").text


@pytest.mark.parametrize("order", [1, -1])
def test_sorting_keeps_runs_without_a_rank_last(page, order):
    button = one(page, "#canteen-table thead button[data-column='6']")
    for _ in range(1 if order == 1 else 2):
        button.click()
    heading = button.find_element("xpath", "..")
    expected = "ascending" if order == 1 else "descending"
    assert heading.get_attribute("aria-sort") == expected
    found = values(page, 6)
    ranked = [float(value) for flag, value in found if flag == "1" and value]
    assert ranked == sorted(ranked, reverse=order == -1)
    assert len(ranked) > 10
    flags = [flag for flag, _ in found]
    assert flags == sorted(flags, reverse=True)
    assert "0" in flags


def test_filters(page):
    from selenium.webdriver.support.select import Select

    form = "form[data-table='canteen-table']"
    total = len(rows(page))
    Select(one(page, f"{form} select[name='kind']")).select_by_visible_text("own runs")
    assert len(rows(page)) == 3
    one(page, f"{form} input[name='ranked']").click()
    assert len(rows(page)) == 2
    one(page, f"{form} input[type='search']").send_keys("SIZE=7B")
    (row,) = rows(page)
    assert "made size=7b" in row.text
    assert one(page, f"{form} output").text == f"1 of {total} rows"


@pytest.mark.parametrize("start", ["light", "dark"])
def test_theme_follows_the_system_and_the_button(page, start):
    media = {"features": [{"name": "prefers-color-scheme", "value": start}]}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    page.refresh()
    papers = {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 24, 28)"}

    def paper():
        return page.execute_script("return getComputedStyle(document.body).backgroundColor")

    button = one(page, "#theme")
    assert paper() == papers[start]
    assert button.get_attribute("aria-pressed") == str(start == "dark").lower()
    button.click()
    other = "dark" if start == "light" else "light"
    assert paper() == papers[other]
    assert button.get_attribute("aria-pressed") == str(other == "dark").lower()
    button.click()
    assert paper() == papers[start]


def test_the_keyboard_reaches_everything(page):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    def press(*keys):
        for key in keys:
            ActionChains(page).send_keys(key).perform()

    def active(name):
        return page.switch_to.active_element.get_attribute(name)

    press(Keys.TAB)
    assert active("className") == "skip"
    press(Keys.TAB)
    assert active("id") == "theme"
    for _ in range(40):
        press(Keys.TAB)
        if active("data-column") == "0":
            break
    press(Keys.ENTER)
    heading = page.switch_to.active_element.find_element("xpath", "..")
    assert heading.get_attribute("aria-sort") == "ascending"
    for _ in range(40):
        press(Keys.TAB)
        if active("className") == "number":
            break
    tip = one(page, "#how")
    assert tip.is_displayed()
    assert active("aria-describedby") == "how"
    assert tip.text == active("data-how")
    press(Keys.ESCAPE)
    assert not tip.is_displayed()


def test_a_number_tells_how_it_was_made_on_hover(page):
    from selenium.webdriver.common.action_chains import ActionChains

    number = one(page, "#canteen-table tr.own .number")
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", number)
    ActionChains(page).move_to_element(number).perform()
    assert one(page, "#how").text.startswith("f1 of canteen_portions version 1, robust reader")


def opened(page, title):
    """Open a table of the section of all tables; returns it."""
    script = """
      const details = [...document.querySelectorAll("#tables details")].find(
        one => one.querySelector("summary").textContent === arguments[0]);
      details.open = true;
      details.scrollIntoView();
      return details.querySelector("table");
    """
    return page.execute_script(script, title)


MAIN = "Canteen: recognition and portions"


def test_every_cell_tells_its_column_and_how_its_table_was_made(page):
    from selenium.webdriver.common.action_chains import ActionChains

    table = opened(page, MAIN)
    cell = table.find_elements("css selector", "tbody td")[7]
    ActionChains(page).move_to_element(cell).perform()
    told = one(page, "#how").text
    assert told.startswith(f"made size=7b, F1: 0.800 – {MAIN} – Similarity >= 0.5 by equal names.")
    assert "w0 = 129 g" in told
    assert cell.get_attribute("aria-describedby") == "how"
    # One description a table: no cell carries a text of its own.
    script = "return document.querySelectorAll('#tables td[data-how], #tables td[title]').length"
    assert page.execute_script(script) == 0
    assert table.get_attribute("role") == "grid"
    described = one(page, f"#{table.get_attribute('aria-describedby')}")
    assert described.text.startswith("Similarity >= 0.5 by equal names.")


def test_cells_are_reached_with_arrow_keys(page):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    table = opened(page, MAIN)

    def place():
        script = "const e = document.activeElement; return [e.parentElement.rowIndex, e.cellIndex]"
        return page.execute_script(script)

    def press(key):
        ActionChains(page).send_keys(key).perform()

    # The frame that scrolls, then one stop for the whole table.
    page.execute_script("arguments[0].closest('.scroll').focus()", table)
    press(Keys.TAB)
    assert place() == [1, 0]
    width = len(table.find_elements("css selector", "thead th"))
    height = len(table.find_elements("css selector", "tbody tr"))
    steps = [
        *((Keys.ARROW_RIGHT, [1, 1]), (Keys.ARROW_DOWN, [2, 1]), (Keys.END, [2, width - 1])),
        *((Keys.ARROW_RIGHT, [2, width - 1]), (Keys.HOME, [2, 0]), (Keys.ARROW_LEFT, [2, 0])),
        *((Keys.ARROW_UP, [1, 0]), (Keys.ARROW_UP, [1, 0])),
    ]
    assert height > 1
    for key, expected in steps:
        press(key)
        assert place() == expected
    assert one(page, "#how").text.startswith("run: made size=7b")
    stops = table.find_elements("css selector", "[tabindex='0']")
    assert len(stops) == 1
    press(Keys.ESCAPE)
    assert not one(page, "#how").is_displayed()


def test_a_picture_tells_how_it_was_made(page):
    frame = one(page, "#pictures .scroll")
    page.execute_script("arguments[0].focus()", frame)
    told = one(page, "#how").text
    assert "Lowest accepted similarity by equal names." in told
    assert "Lines of F1 over lowest accepted similarity." in told
    assert "(incomplete)" in told
    page.execute_script("arguments[0].blur()", frame)
    ids = frame.get_attribute("aria-describedby").split()
    texts = [
        page.execute_script("return arguments[0].textContent", one(page, f"#{i}")) for i in ids
    ]
    assert " – ".join(texts) == told


def test_data_are_downloaded(page, downloads):
    link = one(page, "#pictures a.download")
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", link)
    link.click()
    path = downloads / link.get_attribute("download")
    # The browser writes the file in its own time.
    deadline = time.monotonic() + 10
    while not path.exists() and time.monotonic() < deadline:
        page.execute_async_script("setTimeout(arguments[0], 50)")
    assert path.read_text("utf-8").startswith("run,")


def test_a_phone_shows_the_page_without_scrolling_sideways(page):
    size = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        wide = page.execute_script("return document.documentElement.scrollWidth")
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert wide <= 360


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_serious_fault_of_accessibility(page, theme):
    pytest.importorskip("axe_core_python")
    axe = importlib.resources.files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
    page.execute_script("document.documentElement.dataset.theme = arguments[0]", theme)
    page.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    page.execute_script(axe)
    script = "const done = arguments[0]; axe.run().then(done, error => done(String(error)));"
    found = page.execute_async_script(script)
    serious = [
        (fault["id"], fault["nodes"][0]["html"][:200])
        for fault in found["violations"]
        if fault["impact"] in ("serious", "critical")
    ]
    assert serious == []
    assert len(found["passes"]) > 20
