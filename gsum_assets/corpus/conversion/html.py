"""Web pages, without navigation, links and pictures, and EPUB books as Markdown."""

import codecs
import io
import posixpath
import re
import zipfile
from collections import deque
from collections.abc import Sequence
from copy import copy
from typing import Any
from urllib.parse import unquote

from gsum_assets.corpus.conversion.formats import (
    ConversionError,
    Converted,
    Report,
    counted,
    cut,
    readable_as,
    single_blank_lines,
    tidied,
    useful_title,
    with_text,
)
from gsum_assets.corpus.conversion.marks import marked, removed_from, shown, whole_runs
from gsum_assets.corpus.decoding import NotTextError, decode

_UNREAD = (
    "noscript, nav, iframe, button, "
    "[aria-hidden=true], [role=navigation], [role=search], [role=banner], [role=contentinfo], "
    "a.headerlink, body > header, body > footer, body > aside"
)
_NAVIGATION = re.compile(
    r"(nav|navbar|navigation|navheader|navfooter|related|sidebar|sphinxsidebar|breadcrumbs?|menu|"
    r"footer|site-header|site-footer|cookie-banner|skip-link)",
    re.IGNORECASE,
)
_MAIN = ("main", "[role=main]", "article")
_WIDEST = 1000  # columns or rows of a cell
_NAME = re.compile(r"^\s*(?=.*[^\W\d_])[^\n]{1,60}\s*$")
_FIGURE = re.compile(r"\d")
_LONGEST_REPEATED = 200  # characters; merged cells of a layout have more
_MAIN_SHARE = 0.5  # least share of the text in an element that counts as main content
_EMPTY_TAG = re.compile(r"<(title|script|a|div|span|p|i|b|em)(\s[^<>]*)?/>", re.IGNORECASE)
_PLAIN = ["a", "img", "b", "strong", "i", "em", "u", "code", "kbd", "samp", "sub", "sup", "s"]
_NOTE_BLANKS = re.compile(r"(\[\d{1,3}\]) {2,}")
_CHAPTER_TYPES = ("application/xhtml+xml", "text/html")


def convert_html(content: bytes, _: Report) -> Converted:
    """Return the main text of a web page as Markdown."""
    page = html_to_markdown(decoded(content))
    if not page.text:
        raise ConversionError("the page has no text; save the page as shown in your browser")
    return page


def xml_root(content: bytes) -> Any:
    """Return the root of an XML file, or raise `ValueError`."""
    from lxml import etree  # pyright: ignore[reportAttributeAccessIssue] - it is native

    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
    root = etree.fromstring(content, parser)
    if root is None:
        raise ValueError("a file in it is not XML")
    return root


def drawn(root: Any) -> str:
    """Return titles and numbers of a chart, or the texts of a diagram, of an Office file; or ""."""

    def words(element: Any) -> str:
        return " ".join("".join(element.xpath(".//text()")).split())

    def points(series: Any, *names: str) -> dict[str, str]:
        found = (p for n in names for p in series.xpath(f"./*[local-name()='{n}']//*[@idx]"))
        return {point.get("idx"): words(point) for point in reversed(list(found))}

    if root.tag.endswith("}dataModel"):
        lines = [words(text) for text in root.xpath(".//*[local-name()='pt']//*[local-name()='p']")]
    else:
        lines = [words(title) for title in root.iter("{*}title")]
        for series in root.iter("{*}ser"):
            values, names = points(series, "val", "yVal"), points(series, "cat", "xVal")
            keys = sorted(values, key=int)
            shown = ", ".join(
                f"{names.get(key, '')} {_number(values[key])}".strip() for key in keys
            )
            lines.append(": ".join(filter(None, [*points(series, "tx").values(), shown])))
    text = "; ".join(filter(None, lines))
    return text and f"[{'diagram' if root.tag.endswith('}dataModel') else 'chart'}: {text}]"


def _number(text: str) -> str:
    try:
        return f"{float(text):.12g}"
    except ValueError:
        return text


def decoded(content: bytes, charset: str | None = None) -> str:
    """Return the text of a page, decoded by mark, `charset`, declaration, or detection."""
    from bs4.dammit import EncodingDetector

    unmarked, by_mark = EncodingDetector.strip_byte_order_mark(content)
    declared = by_mark or charset or EncodingDetector.find_declared_encoding(unmarked, is_html=True)
    try:
        codec = codecs.lookup(declared or "").name
    except LookupError:
        pass
    else:  # as in browsers, Latin-1 is Windows-1252
        codec = "cp1252" if codec in ("iso8859-1", "ascii") else codec
        return unmarked.decode(codec, "replace")
    try:
        return decode(unmarked)[0]
    except NotTextError as error:
        raise ConversionError(str(error)) from error


def html_to_markdown(html: str, whole: bool = False) -> Converted:
    """Return title and Markdown of a page.

    Parameter `whole`: keep everything, for books and mail, which have no navigation.
    """
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(_EMPTY_TAG.sub(r"<\1\2></\1>", html), "lxml")
    title = _title(soup)
    removed = marked(soup)
    root: Any = soup.body or soup
    if not whole:
        frame = removed_from(soup.select(_UNREAD))
        for tag in root.find_all(["div", "ul", "table", "p"]):
            attributes = tag.attrs or {}  # None within a removed tag
            names = [*(attributes.get("class") or ()), attributes.get("id") or ""]
            if any(_NAVIGATION.fullmatch(name) for name in names):
                frame += removed_from([tag])
        main = _main(root)
        if main is not root:
            main.extract()
            frame += removed_from([root])
        root, removed["part of the page's frame"] = main, frame
    _name_columns(root)
    _unmerge(soup, root)
    return Converted(title, _markdown(root), left_out=counted(*removed.items()))


def from_body(body: str, title: str = "", tail: str = "") -> Converted:
    """Return the whole text of a body in HTML with a tail, or raise `ConversionError` without."""
    page = html_to_markdown(f"<body>{whole_runs(body)}</body>", whole=True)
    return with_text(title, page.text and page.text + tail, page.left_out)


def _main(root: Any) -> Any:
    """Return the element marked as main content, if it has most of the page's text."""
    whole = len(root.get_text(strip=True))
    for selector in _MAIN:
        candidates = root.select(selector)
        if len(candidates) == 1 and len(candidates[0].get_text(strip=True)) >= _MAIN_SHARE * whole:
            return candidates[0]
    return root


def _name_columns(root: Any) -> None:
    """Make a first row of words above figures the header of a table that has none."""
    for table in root.select("table:not(:has(th, table))"):
        rows = table.find_all("tr")
        for cell in rows[0].find_all("td") if _are_names(rows[:2]) else ():
            cell.name = "th"


def _are_names(rows: Sequence[Any]) -> bool:
    """Return whether the first of two rows has words alone, and the other one figures."""
    cells = rows[0].find_all(["td", "th"]) if len(rows) == 2 else []
    has_figures = len(cells) > 1 and _FIGURE.search(rows[1].get_text())
    return bool(has_figures) and all(_NAME.search(cell.get_text()) for cell in cells)


def _unmerge(soup: Any, root: Any) -> None:
    """Repeat merged cells in each of their rows, those of a header in each of their columns."""
    spanning = root.select("[rowspan], th[colspan]")
    for table in filter(None, dict.fromkeys(cell.find_parent("table") for cell in spanning)):
        merged: dict[int, tuple[Any, int]] = {}  # cell and number of its further rows, by column
        rows = [row for row in table.find_all("tr") if row.find_parent("table") is table]
        names = rows[0].find_all("th", recursive=False) if rows else []
        is_wide = len(names) > 1 and any(_span(name, "colspan") > 1 for name in names)
        for row in rows:
            names = row.find_all("th", recursive=False)
            for cell in names if len(names) > 1 else ():
                n_columns, cell["colspan"] = _span(cell, "colspan"), 1
                cell.insert_after(*(copy(cell) for _ in range(1, n_columns)))
            cells = deque(row.find_all(["td", "th"], recursive=False))
            above, merged, column = merged, {}, 0
            while cells or max(above, default=-1) >= column:
                if column in above:
                    cell, n_more = copy(above[column][0]), above[column][1] - 1
                else:
                    cell = cells.popleft() if cells else soup.new_tag("td")
                    n_more = _span(cell, "rowspan") - 1
                row.append(cell)
                column += (width := _span(cell, "colspan"))
                if n_more:
                    is_short = len(cell.get_text()) <= _LONGEST_REPEATED
                    below = cell if is_short else soup.new_tag("td", colspan=str(width))
                    merged[column - width] = below, n_more
        if is_wide and (_are_names(rows[1:3]) or (len(rows) > 1 and not rows[1].find_all("td"))):
            for cells in zip(rows[0].find_all("th"), rows[1].find_all(["td", "th"]), strict=False):
                cells[0].string = " ".join(dict.fromkeys(cell.get_text().strip() for cell in cells))
            rows[1].decompose()


def _span(cell: Any, name: str) -> int:
    value = str(cell.get(name, ""))
    return max(1, min(_WIDEST, int(value))) if value.isdigit() else 1


def _title(soup: Any) -> str:
    """Return the only first-level heading if the page's title begins with it, else the title."""
    title = useful_title(soup.title.get_text() if soup.title else "")
    for link in soup.select("a.headerlink"):
        link.decompose()
    headings = [useful_title(tag.get_text()) for tag in soup.find_all("h1")]
    if len(headings) == 1 and headings[0] and (not title or title.startswith(headings[0])):
        return headings[0]
    return title


def _markdown(root: Any) -> str:
    from markdownify import MarkdownConverter

    converter = MarkdownConverter(
        heading_style="ATX",
        bullets="-",
        strip=_PLAIN,
        escape_asterisks=False,
        escape_underscores=False,
        escape_misc=False,
        wrap=True,  # joins the lines of a paragraph
        wrap_width=None,
    )
    text = shown(tidied(converter.convert_soup(root)).replace("\xa0", " "))
    text = _NOTE_BLANKS.sub(r"\1 ", text)
    return single_blank_lines("\n".join(line.rstrip() for line in text.split("\n")))


def convert_epub(content: bytes, report: Report) -> Converted:
    """Return the chapters of a book as Markdown, in reading order."""
    with readable_as("EPUB", "download it again"), zipfile.ZipFile(io.BytesIO(content)) as archive:
        rootfile = xml_root(archive.read("META-INF/container.xml")).find(".//{*}rootfile")
        if rootfile is None:
            raise ValueError("META-INF/container.xml names no rootfile")
        package = rootfile.get("full-path")
        root = xml_root(archive.read(package))
        chapters = _chapters(root, posixpath.dirname(package))
        encrypted = set()  # in many books only fonts are
        if "META-INF/encryption.xml" in archive.namelist():
            encryption = xml_root(archive.read("META-INF/encryption.xml"))
            references = encryption.iterfind(".//{*}CipherReference")
            encrypted = {unquote(reference.get("URI")) for reference in references}
        if locked := encrypted & set(chapters):
            raise ConversionError(
                f"encrypted (digital rights management, {min(locked)}); replace it by a copy "
                "without it"
            )
        texts, left_out = [], []
        for number, name in enumerate(chapters, start=1):
            html = decoded(archive.read(name))
            chapter = html_to_markdown(html, whole=True)
            texts.append(chapter.text)
            left_out += [f"{posixpath.basename(name)}: {chapter.left_out}"] * bool(chapter.left_out)
            report(number, len(chapters))
    text = "\n\n".join(text for text in texts if text.strip())
    if not text:
        raise ConversionError("the book has no text, perhaps only pictures; remove it")
    title = root.findtext(".//{*}title", "")
    return Converted(useful_title(title), text, left_out=cut(left_out))


def _chapters(package: Any, folder: str) -> list[str]:
    """Return the paths of the chapters within the archive, in reading order."""
    items = {
        item.get("id"): item.get("href")
        for item in package.iterfind(".//{*}manifest/{*}item")
        if item.get("media-type") in _CHAPTER_TYPES
        and "nav" not in (item.get("properties") or "").split()
    }
    order = (itemref.get("idref") for itemref in package.iterfind(".//{*}spine/{*}itemref"))
    hrefs = (unquote(items[name].partition("#")[0]) for name in order if name in items)
    return [posixpath.normpath(posixpath.join(folder, href)) for href in hrefs]
