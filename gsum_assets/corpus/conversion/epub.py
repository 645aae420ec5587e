"""Text of EPUB books."""

import io
import posixpath
import zipfile
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from gsum_assets.corpus.conversion.formats import ConversionError, Converted, readable_as
from gsum_assets.corpus.conversion.html import decoded, html_to_markdown, xml_root
from gsum_assets.corpus.conversion.titles import useful_title

_NAMES = {
    "c": "urn:oasis:names:tc:opendocument:xmlns:container",
    "o": "http://www.idpf.org/2007/opf",
    "d": "http://purl.org/dc/elements/1.1/",
    "e": "http://www.w3.org/2001/04/xmlenc#",
}
_PAGES = ("application/xhtml+xml", "text/html")


def convert_epub(content: bytes, report: Callable[[int, int], None]) -> Converted:
    """Return the chapters of a book as Markdown, in reading order."""
    with readable_as("EPUB", "download it again"), zipfile.ZipFile(io.BytesIO(content)) as archive:
        rootfile = xml_root(archive.read("META-INF/container.xml")).find(".//c:rootfile", _NAMES)
        if rootfile is None:
            raise ValueError("META-INF/container.xml names no rootfile")
        package = rootfile.get("full-path")
        root = xml_root(archive.read(package))
        chapters = _chapters(root, posixpath.dirname(package))
        encrypted = set()  # in many books only fonts are
        if "META-INF/encryption.xml" in archive.namelist():
            encryption = xml_root(archive.read("META-INF/encryption.xml"))
            references = encryption.iterfind(".//e:CipherReference", _NAMES)
            encrypted = {unquote(reference.get("URI")) for reference in references}
        if locked := encrypted & set(chapters):
            raise ConversionError(
                f"encrypted (digital rights management, {min(locked)}); replace it by a copy "
                "without it"
            )
        texts = []
        for number, name in enumerate(chapters, start=1):
            html = decoded(archive.read(name))
            texts.append(html_to_markdown(html, whole=True).text)
            report(number, len(chapters))
    text = "\n\n".join(text for text in texts if text.strip())
    if not text:
        raise ConversionError("the book has no text, perhaps only pictures; remove it")
    title = root.findtext(".//d:title", "", _NAMES)
    return Converted(useful_title(title), text)


def _chapters(package: Any, folder: str) -> list[str]:
    """Return the paths of the chapters within the archive, in reading order."""
    items = {
        item.get("id"): item.get("href")
        for item in package.iterfind(".//o:manifest/o:item", _NAMES)
        if item.get("media-type") in _PAGES and "nav" not in (item.get("properties") or "").split()
    }
    order = (
        reference.get("idref") for reference in package.iterfind(".//o:spine/o:itemref", _NAMES)
    )
    hrefs = (unquote(items[name].partition("#")[0]) for name in order if name in items)
    return [posixpath.normpath(posixpath.join(folder, href)) for href in hrefs]
