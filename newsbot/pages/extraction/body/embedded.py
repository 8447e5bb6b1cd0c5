"""Finds text that a page contains only as data for its scripts (Next.js, Apollo, …).

:func:`made_by_scripts` recognises pages that do not contain the text at all, because their scripts fetch it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from lxml import etree
from lxml.html import HtmlElement, fragment_fromstring

from newsbot.pages.extraction.body.pieces import render
from newsbot.pages.extraction.visible import Block, xpath
from newsbot.pages.text.words import key, looks_like_code, size, squash, untagged

MAX_SCRIPT = 1_000_000
"""Maximum number of characters of a script that are searched."""
MAX_DEPTH = 2
"""Maximum depth of strings inside strings that are decoded. Some data are JSON inside a JSON string."""
LEAST = 200
"""Minimum length of a text, in letters."""

# A string of JavaScript or JSON, which may contain escaped quotes. "*+" never backtracks, so matching takes
# linear time.
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_QUOTED = {'"': _STRING, "'": re.compile(r"'(?:[^'\\]|\\.)*+'", re.DOTALL)}
_ESCAPE_OR_QUOTE = re.compile(r"(\\.)|\"", re.DOTALL)
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
        text = _plain(script)
        # A template is markup that a script shows later. Blogger has the text of each post in a template.
        markups = [text] if script.get("type") in _TEMPLATES else _strings(text, depth=0)
        for markup in markups:
            blocks = _blocks(markup)
            length = sum(size(block.text) for block in blocks)
            if length > most:
                best, most = blocks, length
    return best


def made_by_scripts(tree: HtmlElement, *, of_list: bool = False) -> bool:
    """Return True if a page has scripts and hardly any text. Its scripts may then fetch the text.

    ``tree`` is the page from :func:`newsbot.pages.extraction.parse_html`. ``of_list`` is True if the page is
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
        lines = dict.fromkeys(_sentences(_plain(script), depth=0))
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


# --- the rest of a text whose beginning is visible

_LONG_ENOUGH = 2000
"""A visible text with at least this number of letters is not continued."""
_MORE = 1.3
"""Minimum length of the whole text relative to the visible text."""
_LEAST_VISIBLE = 2
"""Minimum number of visible paragraphs that show that a list has the paragraphs of the article."""
_MOST_ITEMS, _MOST_PARTS = 500, 100
"""Maximum number of items of a list, and of values in one item, that are read."""
_MOST_DOCUMENTS = 1_000
"""Maximum number of JSON values of a script that are read."""
_MOST_NODES = 100_000
"""Maximum number of values in the data of a script that are visited."""
_PROBE = 16
"""Number of characters at the start of the text that are searched for in the scripts."""
_OBJECT = re.compile(r"[{\[]")
# JSON in a string; React puts a number and a colon before it.
_PACKED = re.compile(r"\s{0,9}(?:\w{1,4}:)?[{\[]")
# The escapes in the state of Angular.
_ANGULAR = (("&q;", '"'), ("&s;", "'"), ("&l;", "<"), ("&g;", ">"), ("&a;", "&"))

Json = dict[str, Any] | list[Any] | str | int | float | None


def whole_blocks(tree: HtmlElement, visible: list[Block]) -> list[Block]:
    """Return the whole text if the data of a script contain it and only its beginning is visible.

    The result is empty if no data go on after the ``visible`` text.
    """
    prose = [block.text for block in visible if size(block.text) >= _LEAST_SENTENCE]
    length = sum(map(size, prose))
    if not prose or length >= _LONG_ENOUGH:
        return []
    start = prose[0][:_PROBE].rpartition(" ")[0] or prose[0][:_PROBE]
    probes = (start, json.dumps(start)[1:-1])
    for script in tree.iter("script"):
        text = _plain(script)
        if "ld+json" in (script.get("type") or "") or not any(probe in text for probe in probes):
            continue
        found = _continued(list(_documents(text)), {key(text) for text in prose})
        if sum(size(block.text) for block in found) >= max(_MORE * length, length + _LEAST_SENTENCE):
            return found
    return []


def _plain(script: HtmlElement) -> str:
    """Return the text of a script, without the escapes that some frameworks use for their data."""
    text = (script.text or "")[:MAX_SCRIPT]
    if "%7B%22" in text:
        text = unquote(text)
    if "&q;" in text:
        for escape, sign in _ANGULAR:
            text = text.replace(escape, sign)
    return text


def _documents(text: str) -> Iterator[Json]:
    """Yield the JSON values in a script. Some of them are in string literals, which are yielded decoded."""
    decoder, at = json.JSONDecoder(strict=False), 0
    strings = dict(_QUOTED)
    for _ in range(_MOST_DOCUMENTS):
        begin = _OBJECT.search(text, at)
        if begin is None:
            return
        quote = text[max(0, begin.start() - 1)]
        if quote in strings:
            literal = strings[quote].match(text, begin.start() - 1)
            if literal is not None:
                yield _decoded(_in_double_quotes(literal[0]))
                at = literal.end()
                continue
            del strings[quote]  # no string ends any more; searching again would take quadratic time
        try:
            value, at = decoder.raw_decode(text, begin.start())
        except json.JSONDecodeError as error:
            at = max(error.pos, begin.end())  # goes on behind the fault, so that the time is linear
        except RecursionError:
            return
        else:
            yield value


def _in_double_quotes(literal: str) -> str:
    """Return a string literal of JavaScript with the quotes of JSON."""
    if literal[0] == '"':
        return literal
    inner = _ESCAPE_OR_QUOTE.sub(lambda match: "'" if match[0] == "\\'" else match[1] or '\\"', literal[1:-1])
    return f'"{inner}"'


def _opened(value: Json) -> Json:
    """Return the values in a string that is JSON, and any other value unchanged."""
    if isinstance(value, str) and len(value) > LEAST and _PACKED.match(value):
        return list(_documents(value)) or value
    return value


def _continued(value: Json, prose: set[str]) -> list[Block]:
    """Return the text in a JSON value that contains the paragraphs with the keys ``prose``.

    The text is a string with all paragraphs, or a list with one paragraph per item.
    """
    waiting, left = [value], _MOST_NODES
    while waiting and left > 0:
        one = _opened(waiting.pop())
        left -= 1
        found: list[Block] = []
        if isinstance(one, str):
            found = _paragraphs(one, prose)
        for items in _lists(one) if len(prose) >= _LEAST_VISIBLE else ():
            if len(items) > len(prose) and not found:
                texts = [_texts(item) for item in items[:_MOST_ITEMS]]
                left -= sum(map(len, texts))
                found = _listed(texts, prose)
        if found:
            return found
        if isinstance(one, dict | list):
            waiting += reversed(list(one.values()) if isinstance(one, dict) else one)
    return []


def _lists(value: Json) -> list[list[Json]]:
    """Return the lists in a value: the value itself, or the objects of a mapping with the same names.

    Some frameworks keep all objects in one mapping by their id.
    """
    if isinstance(value, list):
        return [value]
    if not isinstance(value, dict):
        return []
    alike: dict[frozenset[str], list[Json]] = {}
    for one in value.values():
        if isinstance(one, dict):
            alike.setdefault(frozenset(one), []).append(one)
    return list(alike.values())


def _paragraphs(value: str, prose: set[str]) -> list[Block]:
    """Return the blocks of a string with several paragraphs, if they contain all of ``prose``."""
    if size(value) <= LEAST:
        return []
    if _PARAGRAPHS.search(value):
        blocks = _blocks(value)
    else:
        blocks = [Block("paragraph", line) for line in map(squash, value.splitlines()) if line]
    return blocks if prose <= {key(block.text) for block in blocks} else []


def _listed(texts: list[dict[str, str]], prose: set[str]) -> list[Block]:
    """Return the texts of the items of a list, if one name in the items stands for paragraphs."""
    for name in dict.fromkeys(name for text in texts for name in text):
        lines = [line for text in texts if (line := squash(text.get(name, "")))]
        if prose <= set(map(key, lines)):
            return [
                Block("paragraph", line) for line in map(_bare, lines) if line and not looks_like_code(line)
            ]
    return []


def _texts(item: Json) -> dict[str, str]:
    """Return the texts in an item of a list by their name. Parts with equal names are joined."""
    found: dict[str, str] = {}
    waiting: list[tuple[str, Json]] = [("", item)]
    for _ in range(_MOST_PARTS):
        if not waiting:
            break
        name, one = waiting.pop()
        if isinstance(one, str):
            found[name] = found.get(name, "") + one
        elif isinstance(one, dict):
            waiting += reversed(list(one.items()))
        elif isinstance(one, list):
            waiting += [(name, inner) for inner in reversed(one[:_MOST_PARTS])]
    return found


def _bare(line: str) -> str:
    """Return a line without tags."""
    return squash(untagged(line))
