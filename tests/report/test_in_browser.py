"""The report in a browser: at the width of a phone and of a desktop."""

from pathlib import Path
from typing import Any

import pytest

from gsum_assets.report.page import build, render
from tests.report import toys
from tests.report.test_page import HOSTILE

WIDTHS = {"phone": 390, "desktop": 1440}


@pytest.fixture(scope="module", params=["", HOSTILE], ids=["plain", "hostile"])
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("report")
    file = root / "report.html"
    page = render(build(toys.stored(root, n=12, text=request.param), "all", 200))
    file.write_text(page, encoding="utf-8")
    return file


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_score_opens_its_answer_and_a_passage_its_text(
    browser: Any, report: Path, width: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    page.goto(report.as_uri())
    page.locator(".index td a").nth(4).click()  # the second question's second method
    answer = page.locator("#a2-2")
    assert answer.bounding_box()["y"] < 900
    assert "Answer of dense to 1." in answer.inner_text()
    passage = answer.get_by_text("passage 3")
    passage.scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    passage.click()
    assert page.locator(".p:target").bounding_box()["y"] < 900
    assert "Passage 2 of the orchard." in page.locator(".p:target").inner_text()
    page.locator(".p:target").get_by_text("close").click()
    assert page.evaluate("scrollY") == before  # the reader is where they were
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert all(url.startswith(("file:", "data:image/svg+xml")) for url in urls)
    page.close()
