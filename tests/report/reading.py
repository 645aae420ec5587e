"""An HTML file parsed as a browser does."""

import base64
from collections import Counter
from html.parser import HTMLParser
from xml.etree import ElementTree

_VOID = {"meta", "img", "br", "hr"}


class Document(HTMLParser):
    """Contents of a page.

    Attributes
    ----------
    tags : how often each element occurs.
    attributes : name and value of every attribute.
    text : all text outside `<style>`.
    links : target and text of every `<a href>`.
    cells : the links that stand in table cells.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str]] = []
        self.links: list[tuple[str, str]] = []
        self.cells: list[str] = []
        self.styles: list[str] = []
        self._open: list[str] = []
        self._texts: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []
        self.text = "".join(self._texts)

    @property
    def ids(self) -> list[str]:
        return [value for name, value in self.attributes if name == "id"]

    @property
    def pictures(self) -> list[ElementTree.Element]:
        """The SVG images, parsed as XML."""
        start = "data:image/svg+xml;base64,"
        sources = [value for name, value in self.attributes if name == "src"]
        assert all(source.startswith(start) for source in sources)
        return [ElementTree.fromstring(base64.b64decode(s[len(start) :])) for s in sources]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in _VOID:
            self._open.append(tag)
        if tag == "a":
            target = dict(attrs)["href"] or ""
            self.links.append((target, ""))
            if "td" in self._open:
                self.cells.append(target)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self._open:
            self.styles.append(data)
            return
        self._texts.append(data)
        if "a" in self._open:
            target, text = self.links[-1]
            self.links[-1] = target, text + data
