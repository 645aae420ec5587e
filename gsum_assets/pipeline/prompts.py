"""Instructions for language models, and the files that override them.

A prompt has a family and a name: `prompts/gor/response.md` in the folder of a corpus, or else in
the home, overrides the built-in `response` of `gor`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from string import Formatter
from typing import Any

from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_resources.messages.suggest import did_you_mean
from gsum_resources.settings.paths import is_remote, remote_files

PROMPTS_FOLDER = "prompts"
_SUFFIX = ".md"
_HIDDEN = (".", "~")
_NAMES = """
ar Arabic, bg Bulgarian, bn Bengali, ca Catalan, cs Czech, da Danish, de German, el Greek, es
Spanish, et Estonian, eu Basque, fa Persian, fi Finnish, fr French, ga Irish, he Hebrew, hi
Hindi, hr Croatian, hu Hungarian, hy Armenian, id Indonesian, is Icelandic, it Italian, ja
Japanese, ka Georgian, ko Korean, lt Lithuanian, lv Latvian, ms Malay, nb Norwegian, ne
Nepali, nl Dutch, nn Norwegian Nynorsk, no Norwegian, pl Polish, pt Portuguese, ro Romanian,
ru Russian, sk Slovak, sl Slovenian, sr Serbian, sv Swedish, sw Swahili, ta Tamil, th Thai, tr
Turkish, uk Ukrainian, ur Urdu, vi Vietnamese, zh Chinese
"""  # by BCP 47 code
_ENTRIES = (" ".join(entry.split()).partition(" ") for entry in _NAMES.split(","))
_LANGUAGES = {code: name for code, _, name in _ENTRIES}


@dataclass(frozen=True)
class Prompt:
    """A built-in prompt.

    Attributes
    ----------
    text : template with placeholders in braces for `str.format`.
    writes : whether the reply is prose, so that the prompt names its language.
    optional : placeholders that an override may have or leave out.
    """

    text: str
    writes: bool = False
    optional: frozenset[str] = frozenset()

    @property
    def placeholders(self) -> frozenset[str]:
        """Names of the placeholders, which an override may have."""
        return frozenset(_placeholders(self.text)) | self.optional


class Prompts:
    """The prompts of one family; `read` returns the text of one in place of the built-in one."""

    def __init__(
        self, built_in: Mapping[str, Prompt], read: Callable[[str], str] | None = None
    ) -> None:
        self.built_in = built_in
        self._read = read
        self._texts: dict[str, str] = {}

    def text(self, name: str, **values: object) -> str:
        """Return the prompt with placeholders replaced, and record it as an input of the step."""
        if self._read is None:
            return self.built_in[name].text.format(**values)
        if name not in self._texts:
            self._texts[name] = self._read(name)
        return self._texts[name].format(**values)


def prompts_of(section: Callable[[str, str], Any], corpus: str, family: str) -> Prompts:
    """Return the prompts of a family for a corpus; each is a section, read on its first use."""
    return Prompts({}, lambda name: section(corpus, f"{PROMPTS_FOLDER}.{family}.{name}"))


class PromptFolder:
    """The folder `prompts` of a corpus or of the home, listed once, on its first use."""

    def __init__(self, parent: Path) -> None:
        self.path = parent / PROMPTS_FOLDER

    @cached_property
    def _names(self) -> dict[str, list[str]]:
        """What is in the folder, and in each folder in it, except hidden files, in order."""
        names: dict[str, set[str]] = {}
        if not self.path.is_dir():
            return {}
        if is_remote(self.path):
            for path in remote_files(self.path):
                family, *below = path.split("/")
                names.setdefault(family, set()).update(below[:1])
        else:
            for child in self.path.iterdir():
                below = child.iterdir() if child.is_dir() else ()
                names[child.name] = {file.name for file in below}
        return {
            family: sorted(name for name in names[family] if not name.startswith(_HIDDEN))
            for family in sorted(names)
            if not family.startswith(_HIDDEN)
        }

    def override(self, family: str, name: str) -> Path | None:
        """Return the file that overrides a prompt, or None if there is none."""
        file = self.path / family / f"{name}{_SUFFIX}"
        is_listed = file.name in self._names.get(family, ())
        return file if is_listed and (is_remote(file) or file.is_file()) else None

    def check_names(self, known: Mapping[str, Prompts], family: str) -> None:
        """Raise `CorpusError` for a file that overrides no prompt: its name may be misspelled."""
        for child in self._names:
            if child not in known:
                raise CorpusError(_unknown(self.path / child, "family of prompts", list(known)))
        files = [f"{name}{_SUFFIX}" for name in known[family].built_in]
        for file in self._names.get(family, ()):
            if file not in files:
                raise CorpusError(_unknown(self.path / family / file, f"prompt of {family}", files))


def prompt_text(
    known: Mapping[str, Prompts],
    family: str,
    name: str,
    folders: Sequence[PromptFolder],
    language: str,
) -> str:
    """Return a prompt with placeholders, and with the language of the reply if it is prose.

    Raise `CorpusError` if the file is empty or not UTF-8, or has other placeholders than the
    built-in prompt, or another file in the folder overrides no prompt.

    Parameters
    ----------
    known : all prompts, by family.
    folders : of the corpus and of the home; the first with an override counts.
    language : BCP 47 code of the corpus. English is not named: models write it by default.
    """
    prompt, text = known[family].built_in[name], ""
    for folder in folders:
        folder.check_names(known, family)
        file = folder.override(family, name)
        if not text and file:
            text = _checked(file, prompt)
    code = language.replace("_", "-").partition("-")[0].lower()
    if code == "en" or not prompt.writes:
        return text or prompt.text
    in_language = _LANGUAGES.get(code, f"the language with the code {code}")
    return f"{text or prompt.text} Write in {in_language}."


def overrides(known: Mapping[str, Prompts], folders: Sequence[PromptFolder]) -> dict[str, Path]:
    """Return the files that override a prompt, by family and name: "gor.response"."""
    file_of = {}
    for family, name in names_of(known):
        files = [folder.override(family, name) for folder in folders]
        file_of |= {f"{family}.{name}": file for file in files[::-1] if file}
    return file_of


def write_prompts(known: Mapping[str, Prompts], folder: Path) -> list[Path]:
    """Write the built-in prompts into a folder `prompts`; return the files that were not there."""
    written = []
    for family, name in names_of(known):
        file = folder / PROMPTS_FOLDER / family / f"{name}{_SUFFIX}"
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(known[family].built_in[name].text + "\n", encoding="utf-8")
            written.append(file)
    return written


def names_of(known: Mapping[str, Prompts]) -> Iterator[tuple[str, str]]:
    """Yield family and name of each prompt."""
    return ((family, name) for family in known for name in known[family].built_in)


def _unknown(path: Path, kind: str, known: Sequence[str]) -> str:
    near = did_you_mean(path.name, known).removeprefix("; ")
    listed = ", ".join(known)
    return (
        f"{path}: no {kind} has this name; {near if near.endswith('?') else 'rename it'} Known: "
        f"{listed}. Move other files out of the folder '{PROMPTS_FOLDER}'"
    )


def _checked(file: Path, prompt: Prompt) -> str:
    try:
        text = file.read_bytes().decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise CorpusError(f"{file}: not UTF-8 at byte {error.start}; save it as UTF-8") from error
    if not text:
        raise CorpusError(f"{file}: empty; write the prompt into it, or remove it")
    try:
        placeholders = set(_placeholders(text))
    except ValueError as error:
        raise CorpusError(f"{file}: {error}; write {{{{ and }}}} for braces in the text") from error
    if unknown := sorted(placeholders - prompt.placeholders):
        known = ", ".join(f"{{{name}}}" for name in sorted(prompt.placeholders)) or "none"
        raise CorpusError(
            f"{file}: unknown placeholder {{{unknown[0]}}}; this prompt has {known}. Correct it, "
            "or write {{ and }} for braces in the text"
        )
    if missing := sorted(prompt.placeholders - prompt.optional - placeholders):
        raise CorpusError(
            f"{file}: placeholder {{{missing[0]}}} is missing; write it where its value belongs"
        )
    return text


def _placeholders(text: str) -> Iterator[str]:
    """Yield the names between braces; conversions and formats count as part of the name."""
    for _, name, how, conversion in Formatter().parse(text):
        if name is not None:
            yield name + (f"!{conversion}" if conversion else "") + (f":{how}" if how else "")
