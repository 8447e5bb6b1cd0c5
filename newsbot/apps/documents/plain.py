"""Reads RTF, Markdown and plain text."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

from newsbot.apps.documents.contents import Block, Contents, RefusedError
from newsbot.pages.extraction.page.charset import decode

MIN_PARAGRAPHS = 2
"""Minimum number of paragraphs of a plain text after its headline. Logs and tables have none."""
_RTF_INFO = re.compile(r"\{\\info\b(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}")
_RTF_FIELD = r"\{\\%s\b ?((?:[^{}\\]|\\[^{}])*)\}"
_RTF_TIME = re.compile(r"\{\\(creatim|revtim)((?:\\(?:yr|mo|dy|hr|min|sec)\d+)+)\}")
_RTF_NUMBER = re.compile(r"\\(yr|mo|dy|hr|min)(\d+)")
_CODE_PAGE = re.compile(r"\\ansicpg\d+")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*\n", re.DOTALL)
_HARD_WRAP = 100
"""A text in which no line is longer has its lines broken by hand. Then blank lines separate paragraphs."""


def read_rtf(body: bytes) -> Contents:
    """Return the contents of an RTF file."""
    from striprtf.striprtf import rtf_to_text

    source = body.decode("latin-1")
    if source.count("{") != source.count("}") and not source.rstrip("\0\r\n \x1a").endswith("}"):
        raise RefusedError("damaged")  # the end is missing
    contents = Contents()
    code_page = found[0] if (found := _CODE_PAGE.search(source)) else ""
    info = found[0] if (found := _RTF_INFO.search(source)) else ""

    def stated(name: str) -> str:
        field = re.search(_RTF_FIELD % name, info)
        return (
            "" if field is None else rtf_to_text(f"{{\\rtf1\\ansi{code_page} {field[1]}}}", errors="ignore")
        )

    contents.title, contents.authors = stated("title"), [stated("author")]
    times = {name: _rtf_time(numbers) for name, numbers in _RTF_TIME.findall(info)}
    contents.published, contents.modified = times.get("creatim"), times.get("revtim")
    text = rtf_to_text(source, errors="ignore")
    contents.blocks = [Block("p", line) for line in text.splitlines()]
    return contents


def _rtf_time(numbers: str) -> str | None:
    parts = {name: int(number) for name, number in _RTF_NUMBER.findall(numbers)}
    if not {"yr", "mo", "dy"} <= parts.keys():
        return None
    day = f"{parts['yr']:04}-{parts['mo']:02}-{parts['dy']:02}"
    return f"{day}T{parts['hr']:02}:{parts.get('min', 0):02}:00" if "hr" in parts else day


def read_text(body: bytes, charset: str = "") -> Contents:
    """Return the contents of a plain text. Its first paragraph must be a headline."""
    lines = _decoded(body, charset).splitlines()
    if any(len(line) > _HARD_WRAP for line in lines) and not _has_wrapped_paragraphs(lines):
        paragraphs = lines
    else:
        paragraphs = re.split(r"\n\s*\n", "\n".join(lines))
    contents = Contents(blocks=[Block("p", one) for one in paragraphs if one.strip()])
    if len(contents.blocks) <= MIN_PARAGRAPHS:
        raise RefusedError("no_title")
    return contents


def _has_wrapped_paragraphs(lines: list[str]) -> bool:
    """Return True if blank lines separate some paragraphs of several lines."""
    return bool(re.search(r"\S[^\n]{60,}\n\S[^\n]*\n\s*\n", "\n".join(lines)))


def read_markdown(body: bytes, charset: str = "") -> Contents:
    """Return the contents of a text in Markdown, with the metadata of its front matter (YAML)."""
    from markdown_it import MarkdownIt

    text = "\n".join(_decoded(body, charset).splitlines())
    contents = Contents()
    if found := _FRONT_MATTER.match(text):
        text = text[found.end() :]
        _read_front_matter(found[1], contents)
    tags: list[str] = []
    for token in MarkdownIt("commonmark").parse(text):
        if token.nesting > 0:
            tags.append(token.tag)
        elif token.nesting < 0:
            tags.pop()
        elif token.type == "inline":
            words = "".join(
                " " if one.type in ("softbreak", "hardbreak") else one.content
                for one in token.children or ()
                if one.type in ("text", "code_inline", "softbreak", "hardbreak")
            )
            tag = (
                tags[-1]
                if tags[-1] in ("h1", "h2", "h3", "h4", "h5", "h6")
                else "li"
                if "li" in tags
                else "p"
            )
            contents.blocks.append(Block(tag, words))
    return contents


def _read_front_matter(source: str, contents: Contents) -> None:
    import yaml

    try:
        stated = yaml.safe_load(source)
    except yaml.YAMLError:
        return
    if not isinstance(stated, dict):
        return
    authors = stated.get("authors") or stated.get("author") or []
    contents.title = str(stated.get("title") or "")
    contents.authors = [_name(one) for one in (authors if isinstance(authors, list) else [authors])]
    contents.published, contents.modified = _moment(stated.get("date")), _moment(stated.get("updated"))
    contents.language = next((str(stated[one]) for one in ("lang", "language") if stated.get(one)), None)


def _name(value: Any) -> str:
    return str(value.get("name") or "") if isinstance(value, dict) else str(value)


def _moment(value: Any) -> str | None:
    return value.isoformat() if isinstance(value, date) else str(value) if value else None


def _decoded(body: bytes, charset: str) -> str:
    return decode(body, charset or None)
