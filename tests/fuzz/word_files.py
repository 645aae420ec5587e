"""Files of generated words in all formats that are read, with what is struck or hidden in them."""

import io
import json
import random
from collections.abc import Callable, Mapping, Sequence
from email.message import EmailMessage
from typing import Any, NamedTuple

from tests.corpus.office_files import archive, drawn_pdf, epub, odt, word

KEPT = ("plain", "raised", "inserted", "link", "note", "comment", "picture", "box", "bold")
STRUCK = ("struck", "struck by style")
OUT = ("deleted", "hidden", "hidden by style", "running", "aside")
BLOCKS = ("heading", "paragraph", "item", "row")


class Part(NamedTuple):
    """Words of one kind, a name in `KEPT`, `STRUCK` or `OUT`."""

    kind: str
    words: tuple[str, ...]

    @property
    def text(self) -> str:
        """The words in one line."""
        return " ".join(self.words)


class Block(NamedTuple):
    """A paragraph, or the row of a table, whose cells are its parts."""

    kind: str
    parts: tuple[Part, ...]


class Written(NamedTuple):
    """A file, and the parts that are in it, in reading order."""

    content: bytes
    parts: list[Part]


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
    for block in [*(b for b in blocks if b.kind in form), Block("", ())]:
        cells = []
        for part in block.parts:
            if part.kind in form or part.kind == block.kind:
                written.append(part)
                template = "{}" if part.kind == block.kind else form[part.kind]
                text = f" {part.text} " if part.kind == "plain" else part.text
                cells.append(_in(template, text, len(written)))
                other = _in(form.get(f"{part.kind}+", ""), text, len(written))
                texts[part.kind] = texts.get(part.kind, "") + other
        if block.kind == "row":
            rows += _in(form["row"], "".join(_in(form["cell"], cell) for cell in cells))
            continue
        texts["body"] += _in(form["table"], rows) if rows else ""
        texts["body"] += _in(form.get(block.kind, "{}"), "".join(cells).strip())
        rows = ""
    return texts, written


def _in(template: str, text: str, n: int = 0) -> str:
    return template.replace("{n}", str(n)).replace("{}", text, 1)


def _form(lines: str) -> dict[str, str]:
    """Return templates by their names; several of a line have "¦" between them."""
    entries = (entry for line in lines.strip().split("\n") for entry in line.split(" ¦ "))
    pairs = (entry.partition(":") for entry in entries)
    return {name: text[1:].replace("\\n", "\n") for name, _, text in pairs}


def _templated(
    form: Mapping[str, str], pack: Callable[[dict[str, str]], bytes]
) -> Callable[[Sequence[Block]], Written]:
    def write(blocks: Sequence[Block]) -> Written:
        texts, parts = filled(blocks, form)
        return Written(pack(texts), parts)

    return write


_PAGE = _form(r"""
heading: <h2>{}</h2> ¦ paragraph: <p>{}</p> ¦ item: <ul><li>{}</li></ul> ¦ table: <table>{}</table>
row: <tr>{}</tr> ¦ cell: <td>{}</td> ¦ plain: {} ¦ bold: <b>{}</b> ¦ raised: <sup>{}</sup>
link: <a href="#a">{}</a> ¦ inserted: <ins>{}</ins> ¦ picture: <img alt="{}"/> ¦ struck: <s>{}</s>
struck by style: <span class="old">{}</span> ¦ deleted: <del>{}</del>
hidden: <span style="visibility: hidden">{}</span> ¦ hidden by style: <i class="off">{}</i>
""")
_SHEET = "<style>.old {text-decoration: line-through} .off {display: none}</style>"
_SITE = _PAGE | {"aside": "<nav>{}</nav>", "running": "<footer>{}</footer>"}


def _page(texts: dict[str, str]) -> str:
    return f"<html><head>{_SHEET}</head><body>{texts['body']}</body></html>"


_WORD = _form(r"""
heading: <w:p><w:pPr><w:outlineLvl w:val="0"/></w:pPr>{}</w:p> ¦ paragraph: <w:p>{}</w:p>
item: <w:p><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr>{}</w:p> ¦ table: <w:tbl>{}</w:tbl>
row: <w:tr>{}</w:tr> ¦ cell: <w:tc><w:p>{}</w:p></w:tc> ¦ plain: <w:r><w:t>{}</w:t></w:r>
bold: <w:r><w:rPr><w:b/></w:rPr><w:t>{}</w:t></w:r>
link: <w:hyperlink><w:r><w:t>{}</w:t></w:r></w:hyperlink>
raised: <w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>{}</w:t></w:r>
inserted: <w:ins w:id="{n}"><w:r><w:t>{}</w:t></w:r></w:ins>
note: <w:r><w:footnoteReference w:id="{n}"/></w:r>
comment: <w:r><w:commentReference w:id="{n}"/></w:r>
note+: <w:footnote w:id="{n}"><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:footnote>
comment+: <w:comment w:id="{n}"><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:comment>
picture: <w:r><w:drawing><docPr descr="{}"/></w:drawing></w:r>
struck: <w:r><w:rPr><w:strike/></w:rPr><w:t>{}</w:t></w:r>
struck by style: <w:r><w:rPr><w:rStyle w:val="old"/></w:rPr><w:t>{}</w:t></w:r>
hidden by style: <w:r><w:rPr><w:rStyle w:val="off"/></w:rPr><w:t>{}</w:t></w:r>
deleted: <w:del w:id="{n}"><w:r><w:delText>{}</w:delText></w:r></w:del>
hidden: <w:r><w:rPr><w:vanish/></w:rPr><w:t>{}</w:t></w:r> ¦ running:
running+: <w:p><w:r><w:t>{}</w:t></w:r></w:p>
""")
_WORD_STYLES = "".join(
    f'<w:style w:type="character" w:styleId="{name}"><w:name w:val="{name}"/>{more}</w:style>'
    for name, more in (
        ("crossed", "<w:rPr><w:strike/></w:rPr>"), ("old", '<w:basedOn w:val="crossed"/>'),
        ("off", "<w:rPr><w:vanish/></w:rPr>"),
    )
)  # fmt: skip
_BULLETS = (
    '<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl>'
    '</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
)


def _docx(texts: dict[str, str]) -> bytes:
    parts = {"styles": _WORD_STYLES, "numbering": _BULLETS, "header1": texts.get("running", "")}
    parts |= {
        f"{name}s".replace("note", "footnote"): texts.get(name, "") for name in ("note", "comment")
    }
    return word(texts["body"], parts)


_TEXT = _form(r"""
heading: <text:h text:outline-level="1">{}</text:h> ¦ paragraph: <text:p>{}</text:p>
item: <text:list><text:list-item><text:p>{}</text:p></text:list-item></text:list>
table: <table:table>{}</table:table> ¦ row: <table:table-row>{}</table:table-row>
cell: <table:table-cell><text:p>{}</text:p></table:table-cell> ¦ plain: {}
bold: <text:span text:style-name="bold">{}</text:span> ¦ link: <text:a>{}</text:a>
raised: <text:span text:style-name="sup">{}</text:span>
inserted: <text:change-start text:change-id="c{n}"/>{}<text:change-end text:change-id="c{n}"/>
note: <text:note><text:note-body><text:p>{}</text:p></text:note-body></text:note>
comment: <office:annotation><text:p>{}</text:p></office:annotation>
picture: <draw:frame><svg:desc xmlns:svg="urn:x">{}</svg:desc></draw:frame>
box: <draw:frame><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>
struck: <text:span text:style-name="struck">{}</text:span>
struck by style: <text:span text:style-name="P1">{}</text:span>
hidden: <text:span text:style-name="hidden">{}</text:span>
hidden by style: <text:span text:style-name="P2">{}</text:span>
deleted: <text:change text:change-id="c{n}"/>
deleted+: <text:deletion><text:p>{}</text:p></text:deletion>
aside: <text:section text:display="none"><text:p>{}</text:p></text:section>
""")
_BASED_ON = 'style:parent-style-name="{}"'.format
_TEXT_STYLES = "".join(
    f'<style:style style:name="{name}" {more}><style:text-properties {form}/></style:style>'
    for name, more, form in (
        ("sup", "", 'style:text-position="super 58%"'),
        ("struck", "", 'style:text-line-through-style="solid"'),
        ("hidden", "", 'text:display="none"'),
        ("P1", _BASED_ON("struck"), ""),
        ("P2", _BASED_ON("hidden"), ""),
    )
)


def _odt(texts: dict[str, str]) -> bytes:
    deleted = f"<text:tracked-changes>{texts.get('deleted', '')}</text:tracked-changes>"
    return odt(deleted + texts["body"], styles=_TEXT_STYLES)


_RTF = _form(r"""
heading: {\pard\outlinelevel0 {}\par}\n ¦ paragraph: {\pard {}\par}\n
item: {\pard{\listtext\bullet\tab}{}\par}\n ¦ table: {} ¦ row: {\trowd {}\row}\n
cell: {\pard\intbl {}\cell}\n ¦ plain: {} ¦ bold: {\b {}} ¦ raised: {\super {}}
link: {\field{\*\fldinst HYPERLINK "#a"}{\fldrslt {}}} ¦ inserted: {\revised {}}
note: {\footnote\pard {}} ¦ comment: {\*\annotation {}} ¦ struck: {\strike {}}
box: {\shp{\*\shpinst{\shptxt {}\par}}} ¦ deleted: {\deleted {}} ¦ hidden: {\v {}}
running: {\header {}}
""")
_TEX = _form(r"""
heading: \section{{}}\n ¦ paragraph: {}\n\n ¦ item: \begin{itemize}\item {}\end{itemize}\n
table: \begin{tabular}{lll}\n{}\end{tabular}\n\n ¦ row: {}\\\n ¦ cell: {} & ¦ plain: {}
bold: \textbf{{}} ¦ raised: \textsuperscript{{}} ¦ link: \href{http://a.org}{{}}
note: \footnote{{}} ¦ struck: \sout{{}} ¦ hidden: \iffalse {} \fi{}
""")
_RST = _form(r"""
heading: {}\n-----------------------------------------------\n\n ¦ paragraph: {}\n\n
item: * {}\n\n ¦ table: .. csv-table::\n\n{}\n ¦ row:    {}\n ¦ cell: {}, ¦ plain: {} ¦ bold: **{}**
raised: :sup:`{}` ¦ link: `{} <http://a.org>`__ ¦ note:  [#]_ ¦ note+: .. [#] {}\n\n
aside: .. raw:: html\n\n   {}\n\n
""")
_TALE = _form(r"""
paragraph: {}\n ¦ item: {}\n ¦ plain: {} ¦ bold: <b>{}</b>
""")


def _rst(blocks: Sequence[Block]) -> Written:
    texts, parts = filled(blocks, _RST)
    parts.sort(key=lambda part: part.kind == "note")  # these stand at the end
    return Written((texts["body"] + texts.get("note", "")).encode(), parts)


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


def _mail(blocks: Sequence[Block]) -> Written:
    mail = EmailMessage()
    texts, parts = filled(blocks, _PAGE)
    mail["From"], mail["Date"] = "a@b.org", "Mon, 3 Mar 2025 10:00:00 +0000"
    mail.set_content("See the HTML part.")
    mail.add_alternative(_page(texts), subtype="html")
    return Written(bytes(mail), parts)


def _mailbox(blocks: Sequence[Block]) -> Written:
    half = len(blocks) // 2
    first, second = _mail(blocks[:half]), _mail(blocks[half:])
    border = b"From a@b.org Mon Mar  3 10:00:00 2025\n"
    content = border + first.content + b"\n\n" + border + second.content
    return Written(content, first.parts + second.parts)


def _pptx(blocks: Sequence[Block]) -> Written:
    from pptx import Presentation
    from pptx.util import Inches

    deck, parts = Presentation(), []
    slide: Any = None
    for block in blocks:
        if block.kind == "heading":
            slide = deck.slides.add_slide(deck.slide_layouts[5])
            frames = [slide.shapes.title.text_frame] * len(block.parts)
        elif block.kind == "row":
            place = Inches(1), Inches(len(slide.shapes) + 1), Inches(8), Inches(0.6)
            table = slide.shapes.add_table(1, len(block.parts), *place).table
            frames = [cell.text_frame for cell in table.rows[0].cells]
        else:
            place = Inches(1), Inches(len(slide.shapes) + 1), Inches(8), Inches(0.6)
            box = slide.shapes.add_textbox(*place)
            box._element.nvSpPr.cNvPr.set("hidden", str(int(block.kind in OUT)))
            frames = [box.text_frame] * len(block.parts)
        for frame, part in zip(frames, block.parts, strict=True):
            if part.kind in (*_RUNS, block.kind):
                run = frame.paragraphs[0].add_run()
                run.text = f" {part.text} " if part.kind == "plain" else part.text
                run.font._element.attrib.update(_RUNS.get(part.kind, {}))
                parts.append(part)
    buffer = io.BytesIO()
    deck.save(buffer)
    return Written(buffer.getvalue(), parts)


_RUNS = {"plain": {}, "bold": {"b": "1"}, "raised": {"baseline": "30000"}}
_RUNS |= {"struck": {"strike": "sngStrike"}}


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


def _csv(blocks: Sequence[Block]) -> Written:
    parts = [part for block in blocks for part in block.parts if part.kind == "plain"]
    rows = zip(parts[::2], parts[1::2], strict=False)
    lines = "".join(f"{first.text},{second.text}\n" for first, second in rows)
    return Written(lines.encode(), parts[: len(parts) // 2 * 2])


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
    """Three pages with a footer: prose in two columns with words divided at the ends of lines."""
    foot = next(block.parts[0] for block in blocks if block.kind == "running")
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
        pages.append([*drawn, (50.0, 30.0, 8.0, foot.text), (500.0, 30.0, 8.0, str(page + 1))])
    return Written(drawn_pdf(pages), [*parts, foot])


WRITERS: dict[str, Callable[[Sequence[Block]], Written]] = {
    ".pdf": _pdf,
    ".docx": _templated(_WORD, _docx),
    ".odt": _templated(_TEXT, _odt),
    ".rtf": _templated(_RTF, lambda texts: f"{{\\rtf1\\ansi {texts['body']}}}".encode()),
    ".pptx": _pptx,
    ".xlsx": _xlsx,
    ".ods": _ods,
    ".csv": _csv,
    **dict.fromkeys(
        (".html", ".htm", ".xhtml"), _templated(_SITE, lambda texts: _page(texts).encode())
    ),
    ".epub": _templated(_PAGE, lambda texts: epub([_page(texts)])),
    ".eml": _mail,
    ".mbox": _mailbox,
    ".vtt": _captions(".", " --> ", "WEBVTT\n\n"),
    ".srt": _captions(",", " --> ", ""),
    ".sbv": _captions(".", ",", ""),
    ".rst": _rst,
    ".tex": _templated(_TEX, lambda texts: texts["body"].encode()),
    ".ipynb": _notebook,
}
