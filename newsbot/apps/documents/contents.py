"""The contents of a document, and the choice of its title."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MAX_CHARACTERS = 1_500_000
"""Maximum number of characters of a text. The rest is left out."""
MAX_BLOCKS = 15_000
"""Maximum number of paragraphs. The rest is left out."""
MAX_TITLE = 250
"""Maximum length of a paragraph that can be a title."""
_FIRST = 12
"""Number of paragraphs at the beginning among which the title is."""
_LETTER = re.compile(r"[^\W\d_]")
_WORDS = re.compile(r"\w+")
# e.g. "Microsoft Word - release.doc", "scan_0012.pdf", "untitled"
_NO_TITLE = re.compile(
    r"^microsoft (?:word|powerpoint)|\.(?:docx?|odt|rtf|pdf|indd|tex|txt|md)$|^\(?unspecified\)?$|^untitled",
    re.IGNORECASE,
)
_SENTENCE_END = tuple(".。؟!…;:,۔।")


class RefusedError(Exception):
    """The document cannot be read. ``str(error)`` is the token of the reason."""


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph (``p``), an item of a list (``li``) or a heading (``h1`` to ``h6``)."""

    tag: str
    text: str


@dataclass(slots=True)
class Contents:
    """What is read from a document."""

    title: str = ""
    """The title that the document states in its metadata; after :meth:`finish`, the title."""
    authors: list[str] = field(default_factory=list)
    published: str | None = None
    """Date and time in ISO format."""
    modified: str | None = None
    language: str | None = None
    blocks: list[Block] = field(default_factory=list)
    complete: bool = True
    """False if only the beginning of the document was read."""

    def finish(self) -> None:
        """Tidy all strings, choose the title and remove it from the text, and shorten a text that is too
        long."""
        tidy = [Block(one.tag, " ".join(one.text.split())) for one in self.blocks]
        self.blocks = [one for one in tidy if _LETTER.search(one.text)]
        self.authors = [name for one in self.authors for name in _names(one)]
        self._choose_title()
        length = 0
        for number, one in enumerate(self.blocks, 1):
            length += len(one.text)
            if length > MAX_CHARACTERS or number > MAX_BLOCKS:
                self.complete, self.blocks = False, self.blocks[: number - 1]
                break

    def _choose_title(self) -> None:
        """Choose the title. The order is: the stated title if the text shows it, the main heading, a first
        paragraph that looks like a headline, and the stated title if it does not look like a file name."""
        stated, first = " ".join(self.title.split()), self.blocks[:_FIRST]
        self.title = ""
        place = next((at for at, one in enumerate(first) if stated and _same(one.text, stated)), None)
        if place is None:
            place = next((at for at, one in enumerate(first) if one.tag == "h1" and _may_be(one)), None)
        if place is None and len(first) > 1 and _may_be(first[0]) and _is_headline(first[0].text):
            place = 0
        if place is not None:
            self.title = first[place].text
            del self.blocks[place]
        elif stated and not _NO_TITLE.search(stated) and len(_WORDS.findall(stated)) > 1:
            self.title = stated


def _same(text: str, stated: str) -> bool:
    return _WORDS.findall(text.casefold()) == _WORDS.findall(stated.casefold())


def _may_be(block: Block) -> bool:
    return len(block.text) <= MAX_TITLE


def _is_headline(text: str) -> bool:
    return not text.endswith(_SENTENCE_END)


def _names(text: str) -> list[str]:
    """Return the names of authors. Names of user accounts, such as ``admin``, are left out."""
    names = [" ".join(one.split()) for one in re.split(r"[;\n]", text)]
    return [one for one in names if len(one) > 1 and (" " in one or not one.isascii()) and len(one) <= 100]
