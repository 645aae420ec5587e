"""What the form of a text says in each format: raised, struck, deleted, hidden, ticked parts."""

import io
import re
import zipfile
from typing import Any

import pytest

from gsum_assets.corpus.conversion.formats import Converted
from gsum_assets.corpus.conversion.worker import convert
from tests.corpus.office_files import archive, epub, odt, word, xlsx

TAGS = {
    "html": {"sup": "<sup>{}</sup>", "sub": "<sub>{}</sub>", "struck": "<s>{}</s>",
             "deleted": "<del>{}</del>", "hidden": '<span style="display: none">{}</span>'},
    "docx": {
        "sup": '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>{}</w:t></w:r>',
        "sub": '<w:r><w:rPr><w:vertAlign w:val="subscript"/></w:rPr><w:t>{}</w:t></w:r>',
        "struck": "<w:r><w:rPr><w:dstrike/></w:rPr><w:t>{}</w:t></w:r>",
        "deleted": '<w:del w:id="1"><w:r><w:delText>{}</w:delText></w:r></w:del>',
        "hidden": "<w:r><w:rPr><w:vanish/></w:rPr><w:t>{}</w:t></w:r>",
    },
    "odt": {name: f'<text:span text:style-name="{name}">{{}}</text:span>'
            for name in ("sup", "sub", "struck", "hidden")},
    "rtf": {"sup": "{{\\super {}}}", "sub": "{{\\sub {}}}", "struck": "{{\\strike {}}}",
            "deleted": "{{\\deleted {}}}", "hidden": "{{\\v {}}}"},
    "tex": {"sup": "\\textsuperscript{{{}}}", "sub": "\\textsubscript{{{}}}",
            "struck": "\\sout{{{}}}", "hidden": "\\iffalse {}\\fi{{}}"},
}  # fmt: skip
STYLES = (
    '<style:style style:name="sup"><style:text-properties style:text-position="super 58%"/>'
    '</style:style><style:style style:name="sub"><style:text-properties style:text-position='
    '"-33% 58%"/></style:style><style:style style:name="struck"><style:text-properties '
    'style:text-line-through-style="solid"/></style:style><style:style style:name="hidden">'
    '<style:text-properties text:display="none"/></style:style>'
)
PART = re.compile(r"<(\w+)>(.*?)</\1>")


def written(kind: str, line: str) -> Converted:
    """A line with parts such as <sup>6</sup> as a file of a kind, converted."""
    tags = TAGS[kind if kind != "epub" else "html"]
    if kind == "docx":
        runs, at = "", 0
        for part in [*PART.finditer(line), None]:
            plain = line[at : part.start()] if part else line[at:]
            runs += f'<w:r><w:t xml:space="preserve">{plain}</w:t></w:r>'
            if part:
                runs, at = runs + tags[part[1]].format(part[2]), part.end()
        return convert(".docx", word(f"<w:p>{runs}</w:p>"))
    text = PART.sub(lambda part: tags[part[1]].format(part[2]), line)
    files = {
        "html": lambda: f"<p>{text}</p>".encode(),
        "epub": lambda: epub([f"<p>{text}</p>"]),
        "odt": lambda: odt(f"<text:p>{text}</text:p>", styles=STYLES),
        "rtf": lambda: rf"{{\rtf1\ansi {text}\par}}".encode(),
        "tex": lambda: text.encode(),
    }
    return convert(f".{kind}", files[kind]())


LINES = [
    ("It cost 10<sup>6</sup> euro.", "It cost 10^6 euro."),
    ("The bell of 1907<sup>4</sup> rings.", "The bell of 1907 [4] rings."),
    ("The bell<sup>12</sup> rings.", "The bell [12] rings."),
    ("A hall of 80 m<sup>2</sup> is let.", "A hall of 80 m^2 is let."),
    ("In the 18<sup>th</sup> century.", "In the 18th century."),
    ("Take 3<sup>1</sup>/<sub>4</sub> litres of H<sub>2</sub>O.", "Take 3 1/4 litres of H2O."),
    ("The fee was <struck>40</struck>55 euro.", "The fee was ~~40~~ 55 euro."),
    ("The fee is <deleted>40</deleted>55 euro.", "The fee is 55 euro."),
    ("The key <hidden>lies below </hidden>is kept.", "The key is kept."),
]


@pytest.mark.parametrize("kind", [*TAGS, "epub"])
@pytest.mark.parametrize(("line", "read"), LINES)
def test_form_is_marked_or_left_out_with_a_count(kind: str, line: str, read: str) -> None:
    if "deleted" in line and kind in ("odt", "tex"):  # ODT keeps deleted text elsewhere: below
        return
    found = written(kind, line)
    text = found.text.partition("\n\n[This file")[0]
    assert " ".join(text.split()) == read
    for name in ("deleted", "hidden"):
        assert (f"1 {name} part" in found.left_out) == (name in line)


def test_sheets_of_style_hide_parts_of_pages() -> None:
    page = (
        "<style>p.off, #x { color: red; display:none } @media print {.on {display: none}}</style>"
        "<p class=off>One secret.</p><p id=x>Two.</p><p class=on>Three.</p><p hidden>Four.</p>"
    )
    found = convert(".html", page.encode())
    assert found.text == "Three."
    assert found.left_out.startswith("3 hidden parts")


def test_boxes_and_choices_keep_their_state() -> None:
    page = (
        "<p><input type=checkbox checked> agrees <input type=checkbox> refuses</p><p>☒ yes ☐ no</p>"
        "<select><option>red<option selected>blue</select><input name=n value='Ann Lee'>"
    )
    text = convert(".html", page.encode()).text
    assert text == "[x] agrees [ ] refuses\n\n[x] yes [ ] no\n\nblueAnn Lee"
    box = (
        "<w:p><w:r><w:fldChar><w:ffData><w:checkBox><w:default w:val='1'/></w:checkBox></w:ffData>"
        "</w:fldChar></w:r><w:r><w:t>agrees</w:t></w:r><w:r><w:sym w:font='Wingdings' "
        "w:char='F0A8'/></w:r><w:r><w:t xml:space='preserve"
        "'> refuses</w:t></w:r></w:p>"
    )
    assert convert(".docx", word(box)).text == "[x] agrees[ ] refuses"
    field = r"{\rtf1 {\field{\*\fldinst{\*\formfield{\fftype1\ffres25\ffdefres1}}}}agrees\par}"
    assert convert(".rtf", field.encode()).text == "[x] agrees"


def test_formulas_ruby_and_pictures_are_read() -> None:
    page = (
        "<p>Half is <math><mfrac><mn>1</mn><mn>2</mn></mfrac></math> and <math><msup><mi>x</mi>"
        "<mn>2</mn></msup></math>.</p><p><ruby>漢<rp>(</rp><rt>kan</rt></ruby></p>"
        "<img alt='A red boat' src=x>"
    )
    for found in (convert(".html", page.encode()), convert(".epub", epub([page]))):
        text = " ".join(found.text.split())
        assert text == "Half is 1/2 and x^2 . 漢 (kan) [picture: A red boat]"
    m = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    body = (
        f"<w:p><m:oMath {m}><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t>"
        "</m:r></m:den></m:f></m:oMath><w:fldSimple w:instr='REF'><w:r><w:t> of it</w:t></w:r>"
        "</w:fldSimple><w:r><w:ruby><w:rt><w:r><w:t>kan</w:t></w:r></w:rt><w:rubyBase><w:r><w:t> 漢"
        "</w:t></w:r></w:rubyBase></w:ruby></w:r><w:r><w:drawing><docPr descr='A red boat'/>"
        "</w:drawing></w:r></w:p>"
    )
    text = " ".join(convert(".docx", word(body)).text.split())
    assert text == "1/2 of it 漢 (kan) [picture: A red boat]"
    mathematics = (
        '<math xmlns="http://www.w3.org/1998/Math/MathML"><mfrac><mn>1</mn><mn>2</mn></mfrac>'
    )
    frame = (
        f"<text:p>Half <draw:frame><draw:object>{mathematics}</math></draw:object></draw:frame>"
        '<draw:frame><svg:desc xmlns:svg="urn:x">A red boat</svg:desc></draw:frame></text:p>'
    )
    assert " ".join(convert(".odt", odt(frame)).text.split()) == "Half 1/2 [picture: A red boat]"
    equation = r"{\rtf1 2{\field{\*\fldinst EQ \\f(1,2)}{\fldrslt }} cups\par}"
    assert convert(".rtf", equation.encode()).text == "2 1/2 cups"


CHANGED = "[This file has 1 tracked deletion and 1 tracked insertion, read as accepted; 1 comment.]"


def test_changes_and_comments_are_read_and_named() -> None:
    body = (
        "<w:p><w:r><w:t xml:space='preserve'>It costs </w:t></w:r><w:del w:id='1'><w:r>"
        "<w:delText>50</w:delText></w:r></w:del><w:ins w:id='2'><w:r><w:t>70</w:t></w:r></w:ins>"
        "<w:r><w:commentReference w:id='0'/></w:r></w:p>"
    )
    comment = "<w:comment w:id='0' w:author='Ann'><w:p><w:r><w:t>Too dear.</w:t></w:r></w:p>"
    comments = {"comments": f"{comment}</w:comment>"}
    changes = (
        "<text:tracked-changes><text:changed-region><text:deletion><text:p>50</text:p>"
        "</text:deletion></text:changed-region><text:changed-region><text:insertion/>"
        "</text:changed-region></text:tracked-changes><text:p>It costs 70<office:annotation>"
        '<dc:creator xmlns:dc="http://purl.org/dc/elements/1.1/">Ann</dc:creator><text:p>Too dear.'
        "</text:p></office:annotation></text:p>"
    )
    rtf = (
        r"{\rtf1 It costs {\deleted 50}{\revised 70}{\*\atnauthor Ann}\chatn{\*\annotation"
        r"{\*\atnref 1}Too dear.}\par}"
    )
    for suffix, content in (
        (".docx", word(body, comments)), (".odt", odt(changes)), (".rtf", rtf.encode())
    ):  # fmt: skip
        found = convert(suffix, content)
        assert found.text == f"It costs 70 [comment, Ann: Too dear.]\n\n{CHANGED}"
        assert found.left_out == "1 deleted part (1 word)"


def test_notes_stand_where_they_are_called() -> None:
    body = "<w:p><w:r><w:t>A pump</w:t></w:r><w:r><w:footnoteReference w:id='2'/></w:r></w:p>"
    notes = {"footnotes": "<w:footnote w:id='2'><w:p><w:r><w:t>Old.</w:t></w:r></w:p></w:footnote>"}
    assert convert(".docx", word(body, notes)).text == "A pump (Old.)"
    rtf = r"{\rtf1 A pump{\super\chftn}{\footnote\pard {\super\chftn} Old.}\par}"
    assert convert(".rtf", rtf.encode()).text == "A pump (Old.)"
    assert convert(".tex", rb"A pump\footnote{Old.}").text == "A pump (Old.)"


def test_numbers_of_lists_go_on() -> None:
    levels = (
        "<w:abstractNum w:abstractNumId='0'><w:lvl w:ilvl='0'><w:start w:val='1'/><w:numFmt "
        "w:val='decimal'/><w:lvlText w:val='%1.'/></w:lvl><w:lvl w:ilvl='1'><w:start w:val='1'/>"
        "<w:numFmt w:val='lowerLetter'/><w:lvlText w:val='%1.%2)'/></w:lvl></w:abstractNum>"
        "<w:num w:numId='1'><w:abstractNumId w:val='0'/></w:num>"
    )

    def item(text: str, depth: int) -> str:
        number = f"<w:numPr><w:ilvl w:val='{depth}'/><w:numId w:val='1'/></w:numPr>"
        return f"<w:p><w:pPr>{number}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"

    body = item("Roof", 0) + item("Tiles", 1) + "<w:p><w:r><w:t>Then:</w:t></w:r></w:p>"
    found = convert(".docx", word(body + item("Floor", 0), {"numbering": levels}))
    assert found.text == "1. Roof\n1.a) Tiles\n\nThen:\n\n2. Floor"
    style = '<text:list-style style:name="N"><text:list-level-style-number/></text:list-style>'
    lists = "".join(
        f'<text:list text:style-name="N"{more}><text:list-item><text:p>{text}</text:p>'
        "</text:list-item></text:list>"
        for text, more in (("Roof", ""), ("Floor", ' text:continue-numbering="true"'))
    )
    lists = lists.replace("</text:list><", "</text:list><text:p>Then:</text:p><", 1)
    text = convert(".odt", odt(lists, styles=style)).text
    assert text == "1. Roof\n\nThen:\n\n2. Floor"


def test_items_of_latex_are_numbered() -> None:
    inner = r"\begin{itemize}\item tiles\end{itemize}"
    source = rf"\begin{{enumerate}}\item Roof {inner}\item Floor\end{{enumerate}}"
    lines = convert(".tex", source.encode()).text.split("\n")
    assert [line.strip() for line in lines if line.strip()] == ["1. Roof", "- tiles", "2. Floor"]


def test_rtf_is_decoded_by_its_fonts() -> None:
    rtf = (
        rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset0 A;}{\f1\fcharset204 B;}}\f1 \'cf\'f0\'e8 "
        rb"\f0 \'e9 \u1055?\u-10179?\u-8704? {\header Draft}\trowd Name\cell Sum\cell\row}"
    )
    found = convert(".rtf", rtf)
    assert found.text == "| При é П😀 Name | Sum |"
    assert found.left_out == '1 running line ("Draft")'


def test_latex_keeps_the_words_of_its_macros() -> None:
    source = rb"""\newcommand{\firm}{Frey Works}\newcommand{\pair}[2]{#1 and #2}
See \href{http://x.org}{the site}: \texttt{cp a} \mbox{two words}
\SI{5}{\kilo\metre\per\hour}, \pounds 3, \firm{} or \pair{oak}{ash}. \verb|x_y| \textcolor{red}{red}
\multicolumn{2}{c}{both} \paragraph{Part} end
\begin{verbatim}
raw $text
\end{verbatim}"""
    text = " ".join(convert(".tex", source).text.split())
    assert text == (
        "See the site: cp a two words 5 kilometre per hour, £3, Frey Works or oak and ash. x_y red "
        "both ###### Part end raw $text"
    )


def test_slides_are_read_by_place_without_hidden_ones() -> None:
    from pptx import Presentation
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Inches

    deck = Presentation()
    for name in ("Shown", "Secret"):
        slide = deck.slides.add_slide(deck.slide_layouts[6])
        for text, left, top in (("last", 1, 5), ("right", 5, 1), (name, 1, 1)):
            box = slide.shapes.add_textbox(Inches(left), Inches(top), Inches(3), Inches(1))
            box.text_frame.text = text
        if name == "Secret":
            slide.element.set("show", "0")
            continue
        run = box.text_frame.paragraphs[0].add_run()
        run.text, run.font._element.attrib["baseline"] = "2", "30000"
        data: Any = CategoryChartData()
        data.categories, _ = ["a"], data.add_series("Rent", (1,))
        place = Inches(1), Inches(6), Inches(3), Inches(1)
        chart: Any = slide.shapes.add_chart(XL_CHART_TYPE.PIE, *place, data)
        chart._element.nvGraphicFramePr.cNvPr.set("descr", "A pie")
        chart.chart.has_title = True
        chart.chart.chart_title.text_frame.text = "Rent by year"
    buffer = io.BytesIO()
    deck.save(buffer)
    found = convert(".pptx", buffer.getvalue())
    assert found.text.split("\n\n") == [
        "Shown [2]", "right", "last", "[picture: A pie]", "[chart: Rent by year; Rent: a 1]", ""
    ]  # fmt: skip
    assert found.left_out.startswith("1 hidden slide")


def test_hidden_sheets_are_left_out() -> None:
    book = xlsx({"Shown": {"A1": "Pump"}, "Secret": {"A1": "Tunnel"}}, hidden="Secret")
    found = convert(".xlsx", book)
    assert found.text == "## Shown\n| Pump |"
    assert found.left_out == '1 hidden sheet ("Secret")'


def test_hidden_rows_and_columns_of_a_workbook_are_left_out() -> None:
    book = xlsx({"Sheet": {"B2": "Pump", "C2": "secret", "B3": "old", "B4": "Hull", "D4": 7.0}})
    with zipfile.ZipFile(io.BytesIO(book)) as packed:
        files = {name: packed.read(name).decode() for name in packed.namelist()}
    sheet = files["xl/worksheets/s1.xml"].replace('<row r="3">', '<row r="3" hidden="1">')
    columns = '<cols><col min="3" max="3" hidden="1"/></cols><sheetData>'
    files["xl/worksheets/s1.xml"] = sheet.replace("<sheetData>", columns)
    found = convert(".xlsx", archive(files))
    assert found.text == "## Sheet\n| Pump |\n| Hull | 7 |"
    assert found.left_out == "2 hidden lines (2 words)"


def test_titles_of_charts_in_documents_are_read() -> None:
    related = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    drawn = f'<c:chart xmlns:c="urn:c" xmlns:r="{related}" r:id="r1"/>'
    main = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    body = f"<w:p><w:r><w:t>See</w:t></w:r><w:r><w:drawing>{drawn}</w:drawing></w:r></w:p>"
    files = {
        "word/document.xml": f'<w:d xmlns:w="{main}"><w:body>{body}</w:body></w:d>',
        "word/_rels/document.xml.rels": '<R><Relationship Id="r1" Target="charts/c1.xml"/></R>',
        "word/charts/c1.xml": '<c xmlns="urn:c"><title><t>Rent by year</t></title></c>',
    }
    assert convert(".docx", archive(files)).text == "See [chart: Rent by year]"
    link = 'xlink:href="./Chart" xmlns:xlink="http://www.w3.org/1999/xlink"'
    frame = f"<text:p>See <draw:object {link}/></text:p>"
    chart = (
        '<c:c xmlns:c="urn:oasis:names:tc:opendocument:xmlns:chart:1.0"><c:title>Rent by year'
        "</c:title></c:c>"
    )
    found = convert(".odt", odt(frame, more={"Chart/content.xml": chart}))
    assert found.text == "See [chart: Rent by year]"


def test_text_boxes_are_read_after_their_paragraph() -> None:
    body = "<w:p><w:r><w:pict><w:txbxContent><w:p><w:r><w:t>In a box.</w:t></w:r></w:p>"
    found = convert(
        ".docx", word(f"{body}</w:txbxContent></w:pict></w:r><w:r><w:t>Before.</w:t></w:r></w:p>")
    )
    assert found.text == "Before.\n\nIn a box."


def word_table(*rows: str) -> bytes:
    """A Word file with a table; cells as text after the marks of their merges."""
    marks = {"^": '<w:vMerge w:val="restart"/>', '"': "<w:vMerge/>", "=": '<w:gridSpan w:val="2"/>'}
    lines = ""
    for row in rows:
        lines += "<w:tr>"
        for cell in row.split("|"):
            form = "".join(marks[c] for c in cell if c in marks)
            text = cell.strip('^"= ')
            lines += f"<w:tc><w:tcPr>{form}</w:tcPr><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>"
        lines += "</w:tr>"
    return word(f"<w:tbl>{lines}</w:tbl>")


def open_document_table(*rows: str) -> bytes:
    """An OpenDocument text with a table, see `word_table`; "." is a covered cell."""
    forms = {"^": ' table:number-rows-spanned="2"', "=": ' table:number-columns-spanned="2"'}
    lines = ""
    for row in rows:
        lines += "<table:table-row>"
        for cell in row.split("|"):
            form = "".join(forms[c] for c in cell if c in forms)
            name = "covered-table-cell" if cell == "." else f"table-cell{form}"
            text = cell.strip("^=.")
            lines += f"<table:{name}><text:p>{text}</text:p></table:{name.split()[0]}>"
        lines += "</table:table-row>"
    return odt(f"<table:table>{lines}</table:table>")


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        (
            ".html",
            b"<table><tr><th rowspan=2>Area<th colspan=2>2023</tr><tr><th>Plan<th>Real</tr>"
            b"<tr><td rowspan=2>North<td>1<td>2</tr><tr><td>3<td>4</tr>"
            b"<tr><td colspan=2>Sum<td>6</tr></table>",
        ),
        (".docx", word_table("^Area|=2023", '"|Plan|Real', "^North|1|2", '"|3|4', "=Sum|6")),
        (
            ".odt",
            open_document_table("^Area|=2023|.", ".|Plan|Real", "^North|1|2", ".|3|4", "=Sum|.|6"),
        ),
    ],
)
def test_merged_cells_move_no_value_to_another_column(suffix: str, content: bytes) -> None:
    assert convert(suffix, content).text.split("\n") == [
        "| Area | 2023 Plan | 2023 Real |",
        "| --- | --- | --- |",
        "| North | 1 | 2 |",
        "| North | 3 | 4 |",
        "| Sum | | 6 |",
    ]


@pytest.mark.parametrize("row", ["North|1|2", "North|good|bad"])
def test_a_row_of_values_is_not_joined_to_wide_names(row: str) -> None:
    for content in (
        (
            f"<table><tr><th>Area<th colspan=2>Sales</tr><tr><td>{row.replace('|', '<td>')}</tr>"
            "<tr><td>South<td>good<td>bad</tr></table>"
        ).encode(),
        word_table("Area|=Sales", row, "South|good|bad"),
    ):
        text = convert(".docx" if content[:2] == b"PK" else ".html", content).text
        shown = f"| {row.replace('|', ' | ')} |"
        assert text.split("\n")[:3] == ["| Area | Sales | Sales |", "| --- | --- | --- |", shown]


def test_merged_cells_with_long_texts_are_not_repeated() -> None:
    page = f"<table><tr><td rowspan=2>{'word ' * 50}<td>1</tr><tr><td>2</tr></table>"
    assert convert(".html", page.encode()).text.split("\n")[-1].split() == ["|", "|", "2", "|"]


def test_runs_of_one_form_are_one() -> None:
    run = TAGS["docx"]["sup"]
    runs = "<w:r><w:t>The bell</w:t></w:r>" + run.format("1") + run.format("2")
    assert convert(".docx", word(f"<w:p>{runs}</w:p>")).text == "The bell [12]"
    rtf = rb"{\rtf1 The bell{\super 1}{\super 2}, {\strike o}{\strike\b ld}.\par}"
    assert convert(".rtf", rtf).text == "The bell [12], ~~old~~."
    page = b"<p>The bell<sup>1</sup><sup>2</sup>.</p>"  # two notes
    assert convert(".html", page).text == "The bell [1] [2]."


def test_struck_rows_and_pages_hidden_until_a_script_runs_are_read() -> None:
    page = (
        "<style>body {visibility: hidden} tr.off {text-decoration: line-through}</style>"
        "<table><tr><th>Item</th></tr><tr class=off><td>Pump</td></tr></table>"
    )
    assert convert(".html", page.encode()).text.endswith("| ~~Pump~~ |")


def test_numbers_of_charts_and_words_of_diagrams_are_read() -> None:
    points = "<c:pt idx='{}'><c:v>{}</c:v></c:pt>".format
    chart = (
        f"<c:chartSpace xmlns:c='urn:c'><c:ser><c:tx>{points(0, 'Rent')}</c:tx><c:cat>"
        f"{points(0, 'May')}{points(1, 'June')}{points(2, 'July')}</c:cat><c:val>"
        f"{points(0, '40.0')}{points(2, '4.4000000000000004')}</c:val></c:ser></c:chartSpace>"
    )
    diagram = "<d:dataModel xmlns:d='urn:d'><d:pt><d:p>Plan</d:p></d:pt><d:pt><d:p>Do</d:p></d:pt>"
    related = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    main = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    drawn = f"<c:chart xmlns:c='urn:c' xmlns:r='{related}' r:id='r1'/>"
    drawn += f"<d:relIds xmlns:d='urn:d' xmlns:r='{related}' r:dm='r2'/>"
    files = {
        "word/document.xml": f"<w:d xmlns:w='{main}'><w:body><w:p>{drawn}</w:p></w:body></w:d>",
        "word/_rels/document.xml.rels": "<R><Relationship Id='r1' Target='c.xml'/><Relationship "
        "Id='r2' Target='d.xml'/></R>",
        "word/c.xml": chart,
        "word/d.xml": f"{diagram}</d:dataModel>",
    }
    text = " ".join(convert(".docx", archive(files)).text.split())
    assert text == "[chart: Rent: May 40, July 4.4] [diagram: Plan; Do]"


def test_word_files_of_the_strict_standard_are_read() -> None:
    files = {
        "word/document.xml": "<w:document xmlns:w='http://purl.oclc.org/ooxml/wordprocessingml/main'>"
        "<w:body><w:p><w:r><w:t>A pump.</w:t></w:r></w:p></w:body></w:document>"
    }
    assert convert(".docx", archive(files)).text == "A pump."


def test_numbers_of_printed_pages_are_left_out_of_books() -> None:
    found = convert(".epub", epub(["<p>The old <span epub:type='pagebreak'>17</span>mill.</p>"]))
    assert found.text == "The old mill."
    assert found.left_out == "c0.xhtml: 1 number of a printed page (1 word)"


@pytest.mark.parametrize(
    ("rows", "has_names"),
    [
        (["Site|Rent", "Kay|512"], True),
        (["Site|Rent", "Kay|low"], False),  # no figures: perhaps a layout
        (["Kay|512", "Elm|733"], False),
        (["Site|Rent"], False),
        ([f"Site|{'word ' * 20}", "Kay|512"], False),
    ],
)
def test_first_row_of_words_above_figures_names_the_columns(
    rows: list[str], has_names: bool
) -> None:
    lines = "".join(f"<tr><td>{row.replace('|', '<td>')}</tr>" for row in rows)
    text = convert(".html", f"<table>{lines}</table>".encode()).text
    assert text.startswith("| Site | Rent |\n| --- |") == has_names
    assert text.startswith("|  |  |\n| --- |") != has_names


def test_tables_of_slides_and_rtf_name_their_columns() -> None:
    from pptx import Presentation
    from pptx.util import Inches

    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    table = slide.shapes.add_table(3, 2, 0, 0, Inches(5), Inches(2)).table
    for i, row in enumerate([["Area", "Sum"], ["North", "1"], ["", "2"]]):
        for j, text in enumerate(row):
            table.cell(i, j).text = text
    table.cell(1, 0).merge(table.cell(2, 0))
    buffer = io.BytesIO()
    deck.save(buffer)
    lines = ["| Area | Sum |", "| --- | --- |", "| North | 1 |", "| North | 2 |"]
    assert convert(".pptx", buffer.getvalue()).text.split("\n") == lines
    rows = "".join(rf"\trowd {a}\cell {b}\cell\row" for a, b in [("Area", "Sum"), ("North", 1)])
    text = convert(".rtf", rf"{{\rtf1\ansi Two areas.\par {rows}\pard End.\par}}".encode()).text
    assert text.split("\n") == ["Two areas.", *lines[:3], "End."]
