"""Finds text that a page contains only as data for its scripts (Next.js, Apollo, …).

:func:`made_by_scripts` recognises pages that do not contain the text at all, because their scripts fetch it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from lxml import etree
from lxml.html import HtmlElement, fragment_fromstring

from newsbot.extraction.blocks import Block, render
from newsbot.extraction.page.page import xpath
from newsbot.extraction.strings import looks_like_code, size, squash

MAX_SCRIPT = 1_000_000
"""Maximum number of characters of a script that are searched."""
MAX_DEPTH = 2
"""Maximum depth of strings inside strings that are decoded. Some data are JSON inside a JSON string."""
LEAST = 200
"""Minimum length of a text, in letters."""

# A string of JavaScript or JSON, which may contain escaped quotes. "*+" never backtracks, so matching takes
# linear time.
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_ENDS = re.compile(r"[.!?…。！？»”\"')]\s*$")
_SCRIPTS = xpath("//script[@src or not(contains(@type,'json'))]")
_STATED = xpath("//script[contains(@type,'ld+json')][contains(.,'articleBody')]")
_NEVER_SHOWN = frozenset({"script", "style", "noscript", "template", "head"})
_CONTROLS = frozenset({*_NEVER_SHOWN, "a", "button", "select", "textarea"})
_TEMPLATES = frozenset({"text/template", "text/html", "text/x-template"})
_LEAST_SENTENCE = 60
"""Minimum length of a string that is a paragraph, in letters."""
_LEAST_SENTENCES = 3
"""Minimum number of paragraphs in the data of a script."""
_RESTS = 10
"""At most one in this number of lines may begin in the middle of a sentence. See :func:`_is_rest`."""
_PARAGRAPHS = re.compile(r"<(?:p|br|div)\b", re.IGNORECASE)


def embedded_blocks(tree: HtmlElement) -> list[Block]:
    """Find the longest string with paragraphs in the inline scripts, and return its blocks.

    The result is empty if there is no such string.
    """
    # The scripts are not parsed as a whole. Each framework has its own format, which often is not JSON.
    best: list[Block] = []
    most = LEAST
    for script in tree.iter("script"):
        text = script.text or ""
        # A template is markup that a script shows later. Blogger has the text of each post in a template.
        markups = [text[:MAX_SCRIPT]] if script.get("type") in _TEMPLATES else _strings(text, depth=0)
        for markup in markups:
            blocks = _blocks(markup)
            length = sum(size(block.text) for block in blocks)
            if length > most:
                best, most = blocks, length
    return best


def made_by_scripts(tree: HtmlElement, *, of_list: bool = False) -> bool:
    """Return True if a page has scripts and hardly any text. Its scripts may then fetch the text.

    ``tree`` is the page from :func:`newsbot.extraction.parse_html`. ``of_list`` is True if the page is
    expected to be a list. The text of links counts only for lists, because a page with a menu may still have
    no article. The result is False for a page that contains its text as data.
    """
    unseen = _NEVER_SHOWN if of_list else _CONTROLS
    left = LEAST  # the walk ends when there is enough text; on most pages this is early
    walk = etree.iterwalk(tree, events=("start", "end"))
    for event, element in walk:
        if event == "end":
            left -= size(squash(element.tail or ""))
        elif element.tag in unseen:
            walk.skip_subtree()
        else:
            left -= size(squash(element.text or ""))
        if left <= 0:
            return False
    return bool(_SCRIPTS(tree)) and (of_list or not (_STATED(tree) or embedded_blocks(tree)))


def sentence_blocks(tree: HtmlElement) -> list[Block]:
    """Return the paragraphs that are separate strings in the data of one script, in their order.

    The data also contain menus and messages of the page, so this should be called only for articles.
    """
    best: list[Block] = []
    for script in tree.iter("script"):
        # JSON-LD is read elsewhere, and its long strings are descriptions.
        if "ld+json" in (script.get("type") or ""):
            continue
        lines = dict.fromkeys(_sentences(script.text or "", depth=0))
        if len(lines) < _LEAST_SENTENCES or sum(map(_is_rest, lines)) * _RESTS > len(lines):
            continue
        if sum(map(len, lines)) > sum(len(block.text) for block in best):
            best = [Block("paragraph", line) for line in lines]
    return best


def _sentences(text: str, *, depth: int) -> Iterator[str]:
    """Yield the lines of string literals that look like paragraphs."""
    for value in _literals(text, _LEAST_SENTENCE):
        if depth < MAX_DEPTH and '"' in value and ("{" in value or "[" in value):
            yield from _sentences(value, depth=depth + 1)
        else:
            yield from filter(_is_paragraph, map(squash, value.splitlines()))


def _is_rest(line: str) -> bool:
    """True for a line that begins in the middle of a sentence.

    In data with such lines, the links and names inside sentences are separate strings and would be lost.
    """
    return line[0].islower() or line[0] in ",.;:!?)–—-"


def _is_paragraph(line: str) -> bool:
    return (
        size(line) >= _LEAST_SENTENCE
        and _ENDS.search(line) is not None
        and "<" not in line
        and "://" not in line[:20]
        and not looks_like_code(line)
    )


def _strings(text: str, *, depth: int) -> Iterator[str]:
    """Yield the decoded string literals in ``text`` that contain markup of paragraphs.

    Literals inside other literals are included.
    """
    for value in _literals(text, LEAST):
        if _PARAGRAPHS.search(value):
            yield value
        elif depth < MAX_DEPTH and '"' in value:
            yield from _strings(value, depth=depth + 1)


def _literals(text: str, least: int) -> Iterator[str]:
    """Yield decoded string literals of more than ``least`` characters, quotes included."""
    text = text[:MAX_SCRIPT]
    at = text.find('"')
    while at >= 0:
        match = _STRING.match(text, at)
        if match is None:  # a string without an end
            return
        if match.end() - at > least:
            yield _decoded(match[0])
        at = text.find('"', match.end())


def _decoded(literal: str) -> str:
    try:
        value = json.loads(literal, strict=False)
    except ValueError:  # an escape sequence that JSON does not have
        return ""
    return value if isinstance(value, str) else ""


def _blocks(markup: str) -> list[Block]:
    try:
        blocks = render([fragment_fromstring(markup, create_parent="div")])
    except (etree.ParserError, ValueError, AssertionError):  # control characters or a declared encoding
        return []
    return [block for block in blocks if not looks_like_code(block.text)]
