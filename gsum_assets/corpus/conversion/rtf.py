"""Text of RTF files, with notes, comments, tables, and what is deleted, hidden or raised in it."""

import codecs
import re
from contextlib import suppress
from typing import NamedTuple

from gsum_assets.corpus.conversion.formats import (
    ConversionError,
    Converted,
    Report,
    accepted,
    counted,
    remark,
    ruled,
    single_blank_lines,
    useful_title,
    with_text,
)
from gsum_assets.corpus.conversion.marks import LOWERED, RAISED, STRUCK, in_marks, shown, whole_runs

_TOKEN = re.compile(
    r"\\([a-zA-Z]+)(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])|([^\\{}\r\n]+)"
)
_CHARSETS = {0: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 134: "gbk", 136: "big5"} | {
    161: "cp1253", 162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257",
    204: "cp1251", 222: "cp874", 238: "cp1250"}  # fmt: skip
_CHARACTERS = {
    **{"tab": " ", "line": "\n", "emdash": "—", "endash": "–", "bullet": "•", "lquote": "‘"},
    **{"rquote": "’", "ldblquote": "“", "rdblquote": "”", "emspace": " ", "enspace": " "},
    **{"~": " ", "_": "-", "-": "", "\\": "\\", "{": "{", "}": "}", "\n": "\n", "\r": "\n"},
}
_DESTINATIONS = """
colortbl stylesheet pict objdata datafield generator listtable listoverridetable rsidtbl themedata
colorschememapping datastore latentstyles xmlnstbl mmathPr filetbl revtbl tc xe ftnsep ftnsepc ftncn
aftnsep aftnsepc aftncn sp pn atnid atnref atndate atnicn bkmkstart bkmkend template nonshppict
mmathPict blipuid author operator company keywords comment doccomm category manager subject creatim
hlinkbase revtim printim buptim passwordhash
"""
_UNREAD = frozenset(_DESTINATIONS.split())
_READ = frozenset(["shpinst", "shptxt", "annotation", "atnauthor", "formfield", "fldinst", "mmath"])
_OWN = ("footnote", "annotation", "atnauthor", "title", "fldinst", "formfield", "fonttbl")
_HANDLED = """
u par sect page cell nestcell row nestrow pard outlinelevel plain super up sub dn nosupersub v
deleted strike striked intbl revised uc ansicpg f af fcharset fftype ffres ffdefres header headerl
headerr headerf footer footerl footerr footerf
"""
_KNOWN = _UNREAD | _READ | {*_HANDLED.split(), *_CHARACTERS, *_OWN}
_EDGES = re.compile(r"(header|footer)[lrf]?")
_FRACTION = re.compile(r"EQ\s*\\+f\s*\(([^,;()]*)[,;]([^()]*)\)", re.IGNORECASE)


class _State(NamedTuple):
    """Of a group: where its text goes, the encoding of its bytes, and its form."""

    target: str = "text"
    codec: str = "cp1252"
    n_skipped: int = 1
    place: str = ""
    hidden: bool = False
    deleted: bool = False
    struck: bool = False
    in_table: bool = False


class _Reader:
    """Reads the tokens of a file."""

    def __init__(self) -> None:
        self.left_out: dict[str, list[str]] = {}
        self.title = ""
        self.changes = {"deletion": 0, "insertion": 0, "move": 0, "comment": 0}
        self._paragraphs: list[str] = []
        self._collected: dict[str, list[str]] = {"text": []}
        self._cells: list[str] = []
        self._states: list[_State] = []
        self._state = _State()
        self._default = "cp1252"
        self._fonts: dict[int, str] = {}
        self._font, self._level, self._skip = 0, -1, 0
        self._bytes = bytearray()
        self._box: dict[str, int] = {}

    def read(self, source: str) -> str:
        """Return the text of a file's source, one paragraph a line."""
        at = 0
        is_optional = False
        while match := _TOKEN.search(source, at):
            at = match.end()
            word, number, code, sign, brace, text = match.groups()
            if code is None and self._bytes:
                self._decode()
            if brace == "{":
                self._states.append(self._state)
            elif brace:
                self._end_group()
            elif word:
                if word == "bin" and number:
                    at += max(0, int(number))
                else:
                    self._word(word, None if number is None else int(number), is_optional)
            elif code:
                if self._skip:
                    self._skip -= 1
                else:
                    self._bytes.append(int(code, 16))
            elif sign and sign != "*":
                self._add(_CHARACTERS.get(sign, ""))
            elif text:
                skipped, self._skip = min(self._skip, len(text)), 0
                text = text[skipped:]
                if not text.isascii():
                    text = text.encode("latin-1", "replace").decode(self._state.codec, "replace")
                self._add(text)
            is_optional = sign == "*"
        self._decode()
        self._end_paragraph()
        return ruled("\n".join(self._paragraphs))

    def _decode(self) -> None:
        if self._bytes:
            text, self._bytes = self._bytes.decode(self._state.codec, "replace"), bytearray()
            self._add(text)

    def _add(self, text: str) -> None:
        state = self._state
        if state.target == "unread" or not text:
            return
        dropped = "deleted part" if state.deleted else "hidden part" if state.hidden else ""
        if dropped:
            self.left_out.setdefault(dropped, []).append(text)
            return
        text = in_marks(text, state.place, STRUCK * state.struck)
        self._collected.setdefault(state.target, []).append(text)

    def _end_group(self) -> None:
        if not self._states:
            return
        before, self._state = self._state, self._states.pop()
        target = before.target
        if target == self._state.target or target in ("unread", "text"):
            return
        text = " ".join("".join(self._collected.pop(target, [])).split())
        if target == "title":
            self.title = text
        elif target == "footnote" and text:
            self._add(f" ({text})")
        elif target == "atnauthor":
            self._collected["author"] = [text]
        elif target == "annotation" and text:
            author = "".join(self._collected.pop("author", []))
            self.changes["comment"] += 1
            self._add(f" {remark(author, text)}")
        elif target == "edge" and text:
            self.left_out.setdefault("running line", []).append(text)
        elif target == "fldinst" and (parts := _FRACTION.search(text)):
            self._add(f" {parts[1].strip()}/{parts[2].strip()}")
        elif target == "formfield" and self._box.get("fftype") == 1:
            state = self._box.get("ffres", 25)
            state = self._box.get("ffdefres", 0) if state == 25 else state
            self._collected["text"].append("[x] " if state else "[ ] ")

    def _end_paragraph(self) -> None:
        text = "".join(self._collected["text"]).strip()
        self._collected["text"] = []
        if self._level >= 0 and text:
            text = f"{'#' * min(self._level + 1, 6)} {text}"
        self._paragraphs.append(text)

    def _word(self, word: str, number: int | None, is_optional: bool) -> None:
        if not is_optional and word not in _KNOWN:
            return
        state = self._state
        is_on = number != 0
        if word in _CHARACTERS:
            self._add(_CHARACTERS[word])
        elif word == "u" and number is not None:
            self._add(chr(number % (1 << 16)))
            self._skip = state.n_skipped
        elif word in ("par", "sect", "page") and state.target == "text":
            if state.in_table:
                self._add(" ")
            else:
                self._end_paragraph()
        elif word == "par":
            self._add(" ")
        elif word in ("cell", "nestcell") and state.target == "text":
            self._cells.append(" ".join("".join(self._collected["text"]).split()))
            self._collected["text"] = []
        elif word in ("row", "nestrow") and self._cells:
            self._paragraphs.append(f"| {' | '.join(self._cells)} |")
            self._cells = []
        elif word == "pard":
            self._level, self._state = -1, state._replace(in_table=False)
        elif word == "outlinelevel" and number is not None:
            self._level = number if number < 9 else -1
        elif word == "plain":
            self._state = state._replace(place="", hidden=False, deleted=False, struck=False)
        elif word in ("super", "up", "sub", "dn", "nosupersub"):
            mark = RAISED if word in ("super", "up") else LOWERED
            is_placed = is_on and word != "nosupersub"
            self._state = state._replace(place=mark if is_placed else "")
        elif word in ("v", "deleted", "strike", "striked", "intbl"):
            name = {"v": "hidden", "deleted": "deleted", "intbl": "in_table"}.get(word, "struck")
            self._state = state._replace(**{name: is_on})
            self.changes["deletion"] += word == "deleted" and is_on
        elif word == "revised":
            self.changes["insertion"] += is_on
        elif word == "uc" and number is not None:
            self._state = state._replace(n_skipped=max(0, number))
        elif word == "ansicpg" and number:
            with suppress(LookupError):
                self._default = codecs.lookup(f"cp{number}").name
            self._state = state._replace(codec=self._default)
        elif word in ("f", "af") and number is not None:
            self._font = number
            self._state = state._replace(codec=self._fonts.get(number, self._default))
        elif word == "fcharset" and number is not None and state.target == "fonttbl":
            self._fonts[self._font] = (
                _CHARSETS.get(number, self._default) if number > 1 else self._default
            )
        elif word in ("fftype", "ffres", "ffdefres"):
            self._box[word] = number or 0
        else:
            self._destination(word, is_optional)

    def _destination(self, word: str, is_optional: bool) -> None:
        target = self._state.target
        if target == "unread":
            return
        if word in _OWN:
            target = word
            self._box = {}
        elif _EDGES.fullmatch(word):
            target = "edge"
        elif word in _UNREAD or (is_optional and word not in _READ):
            target = "unread"
        self._state = self._state._replace(target=target)


def convert_rtf(content: bytes, _: Report) -> Converted:
    """Return an RTF file as Markdown; headings are the paragraphs with an outline level."""
    if not content.lstrip().startswith(b"{\\rtf"):
        raise ConversionError("not RTF: it does not begin with {\\rtf; save it as RTF again")
    reader = _Reader()
    read = reader.read(content.decode("latin-1")).encode("utf-16", "surrogatepass")
    text = single_blank_lines(shown(whole_runs(read.decode("utf-16", "replace"))).replace("\0", ""))
    left_out = counted(*reader.left_out.items())
    title = useful_title(reader.title)
    return with_text(title, text and text + accepted(*reader.changes.values()), left_out)
