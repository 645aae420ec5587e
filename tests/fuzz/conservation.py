"""Follows every word of generated files into the texts of their documents.

    python -m tests.fuzz.conservation [--documents 20] [--seed 0]

Prints for each format the share of the words that are kept, that are kept in order, that are
deleted, hidden or struck in the file and read as valid (revived), and of those left out that are
counted in `left_out`. Ends with status 1 if a share is not what it should be.
"""

import argparse
import io
import json
import random
import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import Any

from gsum_assets.corpus.conversion.formats import FORMATS, Converted
from gsum_assets.corpus.conversion.worker import convert
from tests.corpus.office_files import archive, drawn_pdf, epub, odt, word

KEPT = ("plain", "raised", "inserted", "link", "note", "comment", "picture", "box", "bold")
STRUCK = ("struck", "struck by style")
OUT = ("deleted", "hidden", "hidden by style", "running", "aside")
BLOCKS = ("heading", "paragraph", "item", "row")
DEPARTURES = {
    ".pdf": "no format of its own for deleted or hidden text",
    ".xls": "not written: no library at hand writes it",
}


@dataclass(frozen=True)
class Part:
    """Words of one kind, a name in `KEPT`, `STRUCK` or `OUT`."""

    kind: str
    words: tuple[str, ...]

    @property
    def text(self) -> str:
        """The words in one line."""
        return " ".join(self.words)


@dataclass(frozen=True)
class Block:
    """A paragraph, or the row of a table, whose cells are its parts."""

    kind: str
    parts: tuple[Part, ...]


@dataclass
class Written:
    """A file, and the parts that are in it, in reading order."""

    content: bytes
    parts: list[Part]


@dataclass
class Shares:
    """Words of the files of one format."""

    expected: int = 0
    kept: int = 0
    in_order: int = 0
    struck: int = 0
    out: int = 0
    revived: int = 0
    named: int = 0
    lost: dict[str, str] = field(default_factory=dict)

    def add(self, parts: Sequence[Part], found: Converted) -> None:
        """Count the words of a file in its text."""
        words = re.findall(r"[a-z]+", found.text)
        positions = {word: index for index, word in enumerate(words)}
        marked = set(re.findall("[a-z]+", " ".join(re.findall("~~(.*?)~~", found.text, re.DOTALL))))
        ends: list[int] = []  # of the longest run of words in order
        n_named = sum(
            int(n.replace(",", "")) for n in re.findall(r"\(([\d,]+) words?\)", found.left_out)
        )
        n_named += len(re.findall("[a-z]+", " ".join(re.findall('"([^"]*)"', found.left_out))))
        n_out = 0
        for part in parts:
            for one in part.words:
                is_read = one in positions
                if part.kind in OUT:
                    n_out += 1
                    is_fault = is_read
                    self.revived += is_read
                else:
                    self.expected += 1
                    self.kept += is_read
                    self.struck += part.kind in STRUCK
                    is_fault = not is_read or (part.kind in STRUCK) != (one in marked)
                    self.revived += part.kind in STRUCK and is_read and one not in marked
                    if is_read:
                        at = bisect_left(ends, positions[one])
                        ends[at : at + 1] = [positions[one]]
                if is_fault:
                    self.lost.setdefault(part.kind, one)
        self.in_order += len(ends)
        self.out += n_out
        self.named += min(n_out, n_named)


def document(rng: random.Random, n_blocks: int = 12) -> list[Block]:
    """Return blocks of parts of all kinds, in words that occur once."""
    numbers = iter(rng.sample(range(70**3), 4_000))

    def part(kind: str, least: int = 2) -> Part:
        return Part(kind, tuple(_word(next(numbers)) for _ in range(rng.randint(least, 5))))

    special = [kind for kind in (*KEPT, *STRUCK, *OUT) if kind not in ("plain", "running", "aside")]
    blocks = [Block("heading", (part("plain"),))]
    for _ in range(n_blocks):
        kind = rng.choice(BLOCKS)
        if kind == "paragraph":
            parts = [part("plain", 4)]
            for name in rng.sample(special, 3):
                parts += [part(name), part("plain")]
            blocks.append(Block(kind, tuple(parts)))
        elif kind == "row":
            names = ["plain", "plain", rng.choice(special)]
            blocks += [
                Block(kind, tuple(part("plain") for _ in names)),
                Block(kind, tuple(map(part, names))),
            ]
            blocks.append(Block("paragraph", (part("plain"),)))
        else:
            blocks.append(Block(kind, (part("plain"),)))
    return [*blocks, Block("running", (part("running"),)), Block("aside", (part("aside"),))]


def _word(number: int) -> str:
    syllables = [f"{c}{v}" for c in "bdfgklmnprstvz" for v in "aeiou"]
    return "".join(syllables[number // 70**i % 70] for i in range(3))


def filled(blocks: Sequence[Block], form: Mapping[str, str]) -> tuple[dict[str, str], list[Part]]:
    """Return the text of a file by its templates, and the parts that these have a form for.

    A template `KIND` is of a part or a block, `{n}` in it its number; `KIND+` is of what stands in
    another place of the file, and is returned under this name. Rows are in a `table`.
    """
    texts: dict[str, str] = {"body": ""}
    written: list[Part] = []
    rows = ""
    for block in blocks:
        if block.kind not in form:
            continue
        cells = []
        for part in block.parts:
            if part.kind in form or part.kind == block.kind:
                n, written = len(written) + 1, [*written, part]
                template = "{}" if part.kind == block.kind else form[part.kind]
                cells.append(template.format(part.text, n=n))
                if more := form.get(f"{part.kind}+"):
                    texts[part.kind] = texts.get(part.kind, "") + more.format(part.text, n=n)
        if block.kind == "row":
            rows += form["row"].format("".join(form["cell"].format(cell) for cell in cells))
            continue
        texts["body"] += (form["table"].format(rows) if rows else "") + form[block.kind].format(
            "".join(cells).strip()
        )
        rows = ""
    return texts, written


def _templated(
    form: Mapping[str, str], pack: Callable[[dict[str, str]], bytes]
) -> Callable[[Sequence[Block]], Written]:
    def write(blocks: Sequence[Block]) -> Written:
        texts, parts = filled(blocks, form)
        return Written(pack(texts), parts)

    return write


_PAGE = {
    "heading": "<h2>{}</h2>", "paragraph": "<p>{}</p>", "item": "<ul><li>{}</li></ul>",
    "table": "<table>{}</table>", "row": "<tr>{}</tr>", "cell": "<td>{}</td>",
    "plain": " {} ", "bold": "<b>{}</b>", "raised": "<sup>{}</sup>", "link": '<a href="#a">{}</a>',
    "inserted": "<ins>{}</ins>", "picture": '<img alt="{}"/>', "struck": "<s>{}</s>",
    "struck by style": '<span class="old">{}</span>', "deleted": "<del>{}</del>",
    "hidden": '<span style="visibility: hidden">{}</span>', "hidden by style": '<i class="off">{}</i>',
}  # fmt: skip
_SHEET = "<style>.old {text-decoration: line-through} .off {display: none}</style>"
_SITE = _PAGE | {"aside": "<nav>{}</nav>", "running": "<footer>{}</footer>"}


def _page(texts: dict[str, str]) -> str:
    return f"<html><head>{_SHEET}</head><body>{texts['body']}</body></html>"


def _runs(properties: str) -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{{}}</w:t></w:r>'


_WORD = {
    "heading": '<w:p><w:pPr><w:outlineLvl w:val="0"/></w:pPr>{}</w:p>', "paragraph": "<w:p>{}</w:p>",
    "item": '<w:p><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr>{}</w:p>',
    "table": "<w:tbl>{}</w:tbl>", "row": "<w:tr>{}</w:tr>", "cell": "<w:tc><w:p>{}</w:p></w:tc>",
    "plain": _runs("").replace("{}", " {} "), "bold": _runs("<w:b/>"), "link": f"<w:hyperlink>{_runs('')}</w:hyperlink>",
    "raised": _runs('<w:vertAlign w:val="superscript"/>'), "inserted": f'<w:ins w:id="{{n}}">{_runs("")}</w:ins>',
    "note": '<w:r><w:footnoteReference w:id="{n}"/></w:r>', "comment": '<w:r><w:commentReference w:id="{n}"/></w:r>',
    "note+": '<w:footnote w:id="{n}"><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:footnote>',
    "comment+": '<w:comment w:id="{n}"><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:comment>',
    "picture": '<w:r><w:drawing><docPr descr="{}"/></w:drawing></w:r>', "struck": _runs("<w:strike/>"),
    "struck by style": _runs('<w:rStyle w:val="old"/>'), "hidden by style": _runs('<w:rStyle w:val="off"/>'),
    "deleted": '<w:del w:id="{n}"><w:r><w:delText>{}</w:delText></w:r></w:del>', "hidden": _runs("<w:vanish/>"),
    "running": "", "running+": "<w:p><w:r><w:t>{}</w:t></w:r></w:p>",
}  # fmt: skip
_WORD_STYLES = "".join(
    f'<w:style w:type="character" w:styleId="{name}"><w:name w:val="{name}"/>{more}</w:style>'
    for name, more in (
        ("crossed", "<w:rPr><w:strike/></w:rPr>"), ("old", '<w:basedOn w:val="crossed"/>'),
        ("off", "<w:rPr><w:vanish/></w:rPr>"),
    )
)  # fmt: skip
_BULLETS = (
    '<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>'
    '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
)


def _docx(texts: dict[str, str]) -> bytes:
    parts = {"styles": _WORD_STYLES, "numbering": _BULLETS, "header1": texts.get("running", "")}
    parts |= {
        f"{name}s".replace("note", "footnote"): texts.get(name, "") for name in ("note", "comment")
    }
    return word(texts["body"], parts)


def _span(style: str) -> str:
    return f'<text:span text:style-name="{style}">{{}}</text:span>'


_TEXT = {
    "heading": '<text:h text:outline-level="1">{}</text:h>', "paragraph": "<text:p>{}</text:p>",
    "item": "<text:list><text:list-item><text:p>{}</text:p></text:list-item></text:list>",
    "table": "<table:table>{}</table:table>", "row": "<table:table-row>{}</table:table-row>",
    "cell": "<table:table-cell><text:p>{}</text:p></table:table-cell>", "plain": " {} ",
    "bold": _span("bold"), "link": "<text:a>{}</text:a>", "raised": _span("sup"),
    "inserted": '<text:change-start text:change-id="c{n}"/>{}<text:change-end text:change-id="c{n}"/>',
    "note": "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>{}</text:p></text:note-body></text:note>",
    "comment": "<office:annotation><text:p>{}</text:p></office:annotation>",
    "picture": '<draw:frame><svg:desc xmlns:svg="urn:x">{}</svg:desc></draw:frame>',
    "box": "<draw:frame><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>",
    "struck": _span("struck"), "struck by style": _span("P1"), "hidden": _span("hidden"), "hidden by style": _span("P2"),
    "deleted": '<text:change text:change-id="c{n}"/>',
    "deleted+": '<text:changed-region text:id="c{n}"><text:deletion><text:p>{}</text:p></text:deletion></text:changed-region>',
    "aside": '<text:section text:display="none"><text:p>{}</text:p></text:section>',
}  # fmt: skip
_TEXT_STYLES = "".join(
    f'<style:style style:name="{name}"{more}><style:text-properties {form}/></style:style>'
    for name, more, form in (
        ("sup", "", 'style:text-position="super 58%"'), ("bold", "", ""),
        ("struck", "", 'style:text-line-through-style="solid"'), ("hidden", "", 'text:display="none"'),
        ("P1", ' style:parent-style-name="struck"', ""), ("P2", ' style:parent-style-name="hidden"', ""),
    )
)  # fmt: skip


def _odt(texts: dict[str, str]) -> bytes:
    deleted = f"<text:tracked-changes>{texts.get('deleted', '')}</text:tracked-changes>"
    return odt(deleted + texts["body"], styles=_TEXT_STYLES)


_RTF = {
    "heading": "{{\\pard\\outlinelevel0 {}\\par}}\n", "paragraph": "{{\\pard {}\\par}}\n",
    "item": "{{\\pard{{\\listtext\\bullet\\tab}}{}\\par}}\n", "table": "{}", "row": "{{\\trowd {}\\row}}\n",
    "cell": "{{\\pard\\intbl {}\\cell}}\n", "plain": " {} ", "bold": "{{\\b {}}}", "raised": "{{\\super {}}}",
    "link": '{{\\field{{\\*\\fldinst HYPERLINK "#a"}}{{\\fldrslt {}}}}}', "inserted": "{{\\revised {}}}",
    "note": "{{\\footnote\\pard {}}}", "comment": "{{\\*\\annotation {}}}", "struck": "{{\\strike {}}}",
    "box": "{{\\shp{{\\*\\shpinst{{\\shptxt {}\\par}}}}}}", "deleted": "{{\\deleted {}}}", "hidden": "{{\\v {}}}",
    "running": "{{\\header {}}}",
}  # fmt: skip
_TEX = {
    "heading": "\\section{{{}}}\n", "paragraph": "{}\n\n", "item": "\\begin{{itemize}}\\item {}\\end{{itemize}}\n",
    "table": "\\begin{{tabular}}{{lll}}\n{}\\end{{tabular}}\n\n", "row": "{}\\\\\n", "cell": "{} & ", "plain": " {} ",
    "bold": "\\textbf{{{}}}", "raised": "\\textsuperscript{{{}}}", "link": "\\href{{http://a.org}}{{{}}}",
    "note": "\\footnote{{{}}}", "struck": "\\sout{{{}}}", "hidden": "\\iffalse {} \\fi{{}}",
}  # fmt: skip
_RST = {
    "heading": "{}\n-----------------------------------------------\n\n", "paragraph": "{}\n\n", "item": "* {}\n\n",
    "table": ".. csv-table::\n\n{}\n", "row": "   {}\n", "cell": "{}, ", "plain": " {} ", "bold": "**{}**",
    "raised": ":sup:`{}`", "link": "`{} <http://a.org>`__", "note": " [#]_ ", "note+": ".. [#] {}\n\n", "aside": ".. raw:: html\n\n   {}\n\n",
}  # fmt: skip
_TALE = {"paragraph": "{}\n", "item": "{}\n", "plain": " {} ", "bold": "<b>{}</b>"}


def _notebook(blocks: Sequence[Block]) -> Written:
    cells, parts = [], []
    for block in blocks:
        if block.kind not in ("running", "row"):
            parts += block.parts[:1]
        if block.kind == "aside":
            printed = {"output_type": "stream", "name": "stdout", "text": [block.parts[0].text]}
            cells.append({"cell_type": "code", "source": "", "outputs": [printed]})
        elif block.kind != "running" and block.kind != "row":
            cells.append({"cell_type": "markdown", "source": [block.parts[0].text]})
    return Written(json.dumps({"cells": cells, "metadata": {}}).encode(), parts)


def _captions(comma: str, arrow: str, head: str) -> Callable[[Sequence[Block]], Written]:
    def write(blocks: Sequence[Block]) -> Written:
        texts, parts = filled(blocks, _TALE)
        cues = []
        for i, line in enumerate(texts["body"].splitlines()):
            times = (f"00:{t // 60:02d}:{t % 60:02d}{comma}000" for t in (4 * i, 4 * i + 3))
            number = f"{i + 1}\n" if comma == "," else ""
            cues.append(f"{number}{arrow.join(times)}\n{line.strip()}\n\n")
        return Written((head + "".join(cues)).encode(), parts)

    return write


def _message(blocks: Sequence[Block]) -> tuple[EmailMessage, list[Part]]:
    mail = EmailMessage()
    texts, parts = filled(blocks, _PAGE)
    mail["From"], mail["Subject"], mail["Date"] = "a@b.org", "", "Mon, 3 Mar 2025 10:00:00 +0000"
    mail.set_content("See the HTML part.")
    mail.add_alternative(_page(texts), subtype="html")
    return mail, parts


def _mail(blocks: Sequence[Block]) -> Written:
    mail, parts = _message(blocks)
    return Written(bytes(mail), parts)


def _mailbox(blocks: Sequence[Block]) -> Written:
    half = len(blocks) // 2
    (first, parts), (second, more) = _message(blocks[:half]), _message(blocks[half:])
    border = b"From a@b.org Mon Mar  3 10:00:00 2025\n"
    return Written(border + bytes(first) + b"\n\n" + border + bytes(second), parts + more)


def _pptx(blocks: Sequence[Block]) -> Written:
    from pptx import Presentation
    from pptx.util import Inches

    deck, parts = Presentation(), []
    slide: Any = None
    for block in blocks:
        if block.kind == "heading" or slide is None:
            slide, n = deck.slides.add_slide(deck.slide_layouts[5]), 2
            slide.shapes.title.text = block.parts[0].text
            parts.append(block.parts[0])
            continue
        n += 1
        place = Inches(1), Inches(n), Inches(8), Inches(0.6)
        if block.kind == "row":
            table = slide.shapes.add_table(1, len(block.parts), *place).table
            for cell, part in zip(table.rows[0].cells, block.parts, strict=True):
                cell.text_frame.paragraphs[0].add_run().text = part.text
                if part.kind == "struck":
                    cell.text_frame.paragraphs[0].runs[0].font._element.set("strike", "sngStrike")
                    parts.append(part)
                elif part.kind in (*OUT, *STRUCK):
                    cell.text_frame.text = ""
                else:
                    parts.append(part)
            continue
        box = slide.shapes.add_textbox(*place)
        if block.kind in OUT:
            box._element.nvSpPr.cNvPr.set("hidden", "1")
        for part in block.parts:
            if part.kind in ("plain", "raised", "struck", "bold") or part.kind == block.kind:
                run = box.text_frame.paragraphs[0].add_run()
                run.text = f" {part.text} " if part.kind == "plain" else part.text
                form = {"raised": ("baseline", "30000"), "struck": ("strike", "sngStrike")}
                if part.kind in form:
                    run.font._element.set(*form[part.kind])
                parts.append(part)
    buffer = io.BytesIO()
    deck.save(buffer)
    return Written(buffer.getvalue(), parts)


def _xlsx(blocks: Sequence[Block]) -> Written:
    import xlsxwriter

    buffer, parts = io.BytesIO(), []
    book = xlsxwriter.Workbook(buffer)
    sheet, aside = book.add_worksheet("One"), book.add_worksheet("Two")
    aside.hide()
    for row, block in enumerate(blocks):
        shown = [part for part in block.parts if part.kind == "plain" or part.kind == block.kind]
        for column, part in enumerate(shown):
            (aside if block.kind == "aside" else sheet).write(row, column, part.text)
        if block.kind == "running":
            sheet.set_row(row, options={"hidden": True})
        parts += shown
    book.close()
    return Written(buffer.getvalue(), parts)


def _ods(blocks: Sequence[Block]) -> Written:
    rows = {"row": "<table:table-row>{}</table:table-row>", "table": "{}", "plain": " {} "}
    rows["cell"] = (
        '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    )
    rows |= dict.fromkeys(("heading", "paragraph", "item"), rows["row"].format(rows["cell"]))
    texts, parts = filled(blocks, rows)
    names = " ".join(
        f'xmlns:{n}="urn:oasis:names:tc:opendocument:xmlns:{n}:1.0"'
        for n in ("office", "table", "text")
    )
    content = (
        f"<office:document-content {names}><office:body><office:spreadsheet><table:table "
        f'table:name="One">{texts["body"]}</table:table></office:spreadsheet></office:body></office:document-content>'
    )
    mime = "application/vnd.oasis.opendocument.spreadsheet"
    files = {"mimetype": mime, "META-INF/manifest.xml": "<m/>", "content.xml": content}
    return Written(archive(files), parts)


def _pdf(blocks: Sequence[Block]) -> Written:
    """Three pages with a header: prose in two columns with words divided at the ends of lines."""
    head = next(block.parts[0] for block in blocks if block.kind == "running")
    shown = [part for block in blocks for part in block.parts if part.kind == "plain"]
    pages, parts = [], []
    for page in range(3):
        of_page = shown[page::3]
        words = [word for part in of_page for word in part.words]
        parts += of_page
        lines, line = [], ""
        for one in words:
            if len(line) + len(one) > 36:
                start = one[:4] if len(line) < 30 else ""
                lines.append(f"{line}{start}-" if start else line)
                line, one = "", one[len(start) :]
            line += f"{one} "
        lines.append(line)
        half = (len(lines) + 1) // 2
        drawn = [
            (50.0 + 260 * (i >= half), 720.0 - 12 * (i % half), 10.0, text)
            for i, text in enumerate(lines)
        ]
        pages.append([*drawn, (50.0, 30.0, 8.0, head.text), (290.0, 30.0, 8.0, str(page + 1))])
    return Written(drawn_pdf(pages), [*parts, head])


WRITERS: dict[str, Callable[[Sequence[Block]], Written]] = {
    ".pdf": _pdf,
    ".docx": _templated(_WORD, _docx),
    ".odt": _templated(_TEXT, _odt),
    ".rtf": _templated(_RTF, lambda texts: f"{{\\rtf1\\ansi {texts['body']}}}".encode()),
    ".pptx": _pptx,
    ".xlsx": _xlsx,
    ".ods": _ods,
    **dict.fromkeys(
        (".html", ".htm", ".xhtml"), _templated(_SITE, lambda texts: _page(texts).encode())
    ),
    ".epub": _templated(_PAGE, lambda texts: epub([_page(texts)])),
    ".eml": _mail,
    ".mbox": _mailbox,
    ".vtt": _captions(".", " --> ", "WEBVTT\n\n"),
    ".srt": _captions(",", " --> ", ""),
    ".sbv": _captions(".", ",", ""),
    ".rst": _templated(_RST, lambda texts: (texts["body"] + texts.get("note", "")).encode()),
    ".tex": _templated(_TEX, lambda texts: texts["body"].encode()),
    ".ipynb": _notebook,
}


def measured(suffix: str, n_documents: int, seed: int) -> Shares:
    """Return the shares of the words of generated files of one format."""
    shares = Shares()
    for number in range(n_documents):
        written = WRITERS[suffix](document(random.Random(f"{seed} {number}")))
        shares.add(written.parts, convert(suffix, written.content))
    return shares


def main() -> int:
    """Print the table; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.conservation", description=__doc__)
    parser.add_argument("--documents", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(
        "| format | words | kept | in order | revived | named | departure |\n|---|---|---|---|---|---|---|"
    )
    status = 0
    for suffix in FORMATS:
        if suffix not in WRITERS:
            print(f"| {suffix} | | | | | | {DEPARTURES[suffix]} |")
            continue
        shares = measured(suffix, arguments.documents, arguments.seed)
        columns = (
            (shares.kept, shares.expected), (shares.in_order, shares.kept),
            (shares.revived, shares.out + shares.struck), (shares.named, shares.out),
        )  # fmt: skip
        shown = " | ".join(f"{n / of:.1%}" if of else "–" for n, of in columns)
        faults = ", ".join(f"{kind} (as {one})" for kind, one in shares.lost.items())
        status |= bool(faults)
        print(
            f"| {suffix} | {shares.expected + shares.out:,} | {shown} | {DEPARTURES.get(suffix, faults)} |"
        )
    return status


if __name__ == "__main__":
    sys.exit(main())
