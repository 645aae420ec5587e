"""The page of `gsum serve` in a real browser, under its content policy."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ui.page_served import SENTENCE, Replies, served_page

pytestmark = pytest.mark.slow

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text()
DESKTOP, PHONE = {"width": 1360, "height": 860}, {"width": 360, "height": 740}
N_NODES = 300


@pytest.fixture(scope="module")
def service() -> Iterator[tuple[str, Replies]]:
    with served_page(N_NODES) as service:
        yield service


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page of a new context; fails on an error of a script or of the content policy."""
    context = browser.new_context(viewport=DESKTOP)
    opened, errors = context.new_page(), []
    opened.set_default_timeout(120_000)
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("console", lambda line: errors.append(line.text) if "Policy" in line.text else None)
    yield opened
    attacked = opened.evaluate("window.attacked")
    context.close()
    assert errors == []
    assert attacked is None, "a script of a document ran"


def ask(page: Any, question: str = "Which drive?") -> None:
    """Ask by the keyboard alone and wait for the answer."""
    n_turns = page.locator(".turn").count()
    page.locator("#question").focus()
    page.keyboard.type(question)
    page.keyboard.press("Enter")
    page.locator(".turn").nth(n_turns).locator(".body[aria-busy=false]").wait_for()


def test_citation_opens_the_document_with_the_sentence_marked(
    page: Any, service: tuple[str, Replies]
) -> None:
    page.goto(service[0])
    ask(page)
    assert page.locator("#live").inner_text().startswith("Answer: Dov")
    page.locator(".cite").first.focus()
    page.keyboard.press("Enter")
    mark = page.locator("#reader mark")
    mark.first.wait_for()
    text = "".join(mark.all_inner_texts())
    assert text == f"Dov: {SENTENCE}"  # the document begins with characters of two code units
    box, panel = mark.first.bounding_box(), page.locator("#reader .text").bounding_box()
    assert panel["y"] <= box["y"] <= panel["y"] + panel["height"], "the mark is not scrolled to"
    page.keyboard.press("Escape")
    page.locator("#reader").wait_for(state="hidden")
    assert page.evaluate("document.activeElement.className") == "cite"


def test_report_without_a_document_opens_its_text(page: Any, service: tuple[str, Replies]) -> None:
    page.goto(service[0])
    ask(page)
    page.locator(".cite").nth(1).click()
    page.get_by_text("On boats.", exact=True).last.wait_for()


def test_report_opens_the_document_in_which_the_sentence_stands(
    page: Any, service: tuple[str, Replies]
) -> None:
    page.goto(service[0])
    ask(page, "the report")
    page.locator(".cite").nth(1).click()
    page.locator("#reader mark", has_text=SENTENCE).wait_for()


def test_conversation_goes_with_the_next_question(page: Any, service: tuple[str, Replies]) -> None:
    page.goto(service[0])
    ask(page)
    page.locator("#method").select_option("gor")
    page.get_by_label("Where").fill("kind = 'minutes'")
    ask(page, "And why?")
    body = service[1].requests[-1]
    assert (body["question"], body["method"], body["stream"]) == ("And why?", "gor", True)
    assert body["where"] == "kind = 'minutes'"
    assert [turn["question"] for turn in body["history"]] == ["Which drive?"]
    page.goto(f"{service[0]}#/documents")
    page.locator(".titles a").first.wait_for()
    page.goto(f"{service[0]}#/ask")
    page.locator(".turn").nth(1).wait_for()  # the conversation is still there


def test_error_of_the_service_is_shown(page: Any, service: tuple[str, Replies]) -> None:
    page.goto(service[0])
    ask(page, "stop")
    assert "no passage mentions this" in page.locator(".turn .failure").inner_text()


def test_way_to_a_passage_leads_into_the_graph(page: Any, service: tuple[str, Replies]) -> None:
    page.goto(service[0])
    ask(page)
    page.locator(".reason summary").first.click()
    page.locator("ol.way li").first.wait_for()
    assert page.locator("ol.way li").first.inner_text().endswith("node 0")
    page.get_by_text("Show it in the graph").first.click()
    page.locator(".explorer[data-drawn]").wait_for()
    page.locator(".side h2", has_text="node 3").wait_for(state="attached")


def test_compare_says_what_both_read(page: Any, service: tuple[str, Replies]) -> None:
    page.goto(f"{service[0]}#/compare")
    page.get_by_label("Question").fill("Which drive?")
    page.keyboard.press("Enter")
    page.get_by_text("1 passage read by both").first.wait_for()
    assert page.locator(".columns .badge").count() == 2


def test_graph_is_searched_filtered_and_read_as_a_table(
    page: Any, service: tuple[str, Replies]
) -> None:
    page.goto(f"{service[0]}#/graphs")
    page.locator(".explorer[data-drawn]").wait_for()
    page.get_by_label("Find a node").fill("node 299")
    page.locator(".found a").first.click()
    page.locator(".side h2", has_text="node 299").wait_for(state="attached")
    page.locator(".neighbours li").first.wait_for(state="attached")
    page.locator(".as-table summary").click()
    assert f"of {N_NODES}" in page.locator("caption").inner_text()
    page.get_by_label("place", exact=True).uncheck()
    page.locator("caption", has_text="of 200").wait_for()
    page.locator(".stage").focus()
    for key in ("ArrowLeft", "+", "-", "0"):
        page.keyboard.press(key)


def test_row_of_a_node_is_shown_on_hover(page: Any, service: tuple[str, Replies]) -> None:
    page.goto(f"{service[0]}#/graphs?node=3")
    page.locator(".side h2").wait_for(state="attached")
    box = page.locator(".stage").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.wait_for_timeout(500)  # the camera moves to the node
    page.mouse.move(middle[0] + 2, middle[1] + 2, steps=3)
    page.get_by_text("The text <script>").first.wait_for()


def test_token_is_asked_for(page: Any, service: tuple[str, Replies]) -> None:
    address, replies = service
    replies.token = "opens"
    try:
        page.goto(address)
        page.get_by_label("Token").fill("opens")
        page.keyboard.press("Enter")
        page.locator("#question").wait_for()
    finally:
        replies.token = ""


def test_lineage_in_dagster_is_linked(page: Any, service: tuple[str, Replies]) -> None:
    page.goto(f"{service[0]}#/graphs")
    target = page.get_by_role("link", name="Lineage").get_attribute("href")
    assert target == "http://127.0.0.1:3000/assets/gor/record_edges?view=lineage"


def test_theme_is_kept(page: Any, service: tuple[str, Replies]) -> None:
    page.emulate_media(color_scheme="dark")
    page.goto(service[0])
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.locator("#theme").click()
    light = page.evaluate(ground)
    assert light != dark
    page.reload()
    page.locator("#question").wait_for()
    assert page.evaluate(ground) == light


@pytest.mark.parametrize("view", ["ask", "compare", "documents", "graphs", "corpora"])
def test_phone_needs_no_sideways_scrolling(
    browser: Any, service: tuple[str, Replies], view: str
) -> None:
    opened = browser.new_context(viewport=PHONE).new_page()
    opened.goto(f"{service[0]}#/{view}")
    opened.locator("main h1").first.wait_for(state="attached")
    if view == "ask":
        ask(opened)
    if view == "compare":
        opened.get_by_label("Question").fill("A long question, which is wider than a phone " * 3)
        opened.keyboard.press("Enter")
        opened.locator(".badge").first.wait_for()
    assert opened.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    opened.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "view", ["ask", "compare", "documents?doc=a&mark=30-60", "graphs?node=3", "corpora"]
)
def test_axe_finds_nothing_serious(
    browser: Any, service: tuple[str, Replies], view: str, scheme: str
) -> None:
    # axe runs in the page, which its content policy would not allow
    context = browser.new_context(viewport=DESKTOP, bypass_csp=True, color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{service[0]}#/{view}")
    page.locator("main h1").first.wait_for(state="attached")
    if view.startswith("graphs"):
        page.locator(".neighbours li").first.wait_for()
        page.locator(".as-table summary").click()
    if view == "ask":
        ask(page)
        page.locator(".reason summary").first.click()
        page.locator("ol.way li").first.wait_for()
        page.locator(".cite").first.click()
        page.locator("#reader mark").first.wait_for()
    page.evaluate(AXE)
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    context.close()
    grave = [one for one in found if one["impact"] in ("serious", "critical")]
    assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in grave] == []


def test_graph_of_20000_nodes_is_drawn_and_walked(page: Any) -> None:
    with served_page(20_000) as (address, _):
        page.goto(f"{address}#/graphs")
        page.locator(".explorer[data-drawn]").wait_for()
        marks = ("graph-asked", "graph-received", "graph-drawn", "graph-complete")
        times = [page.evaluate(f"performance.getEntriesByName('{m}')[0].startTime") for m in marks]
        milliseconds = [round(time - times[0]) for time in times[1:]]
        print(f"ms to the reply, the first frame and all edges: {milliseconds}")
        page.get_by_label("Find a node").fill("node 19999")
        page.locator(".found a").first.click()
        page.locator(".neighbours a").first.click()
        page.locator(".neighbours li").first.wait_for()
        assert "20,000 nodes" in page.locator(".caption").inner_text()
