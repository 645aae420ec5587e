"""An HTML file parsed by lxml."""

import base64
from collections import Counter
from xml.etree import ElementTree

from lxml import html


class Document:
    """Contents of a page: elements, attributes, links as target and text, text outside `<style>`.

    `cells` are the targets of the links that stand in table cells.
    """

    def __init__(self, page: str) -> None:
        root = html.document_fromstring(page)
        elements = [element for element in root.iter() if isinstance(element.tag, str)]
        self.tags = Counter(element.tag for element in elements)
        self.attributes = [pair for element in elements for pair in element.attrib.items()]
        self.ids = [value for name, value in self.attributes if name == "id"]
        self.links = [(a.get("href"), a.text_content()) for a in root.iter("a")]
        self.cells = [a.get("href") for a in root.xpath("//td//a")]
        self.styles = [style.text for style in root.iter("style")]
        self.text = "".join(root.xpath("//text()[not(parent::style)]"))

    @property
    def pictures(self) -> list[ElementTree.Element]:
        """The SVG images, parsed as XML."""
        start = "data:image/svg+xml;base64,"
        sources = [value for name, value in self.attributes if name == "src"]
        assert all(source.startswith(start) for source in sources)
        return [ElementTree.fromstring(base64.b64decode(s[len(start) :])) for s in sources]
