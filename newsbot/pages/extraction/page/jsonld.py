"""Reads the JSON-LD of a page (https://schema.org) and finds the node of its article."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from html import unescape
from itertools import islice
from typing import Any

from newsbot.pages.extraction.strings import key, plain, word_set

Node = dict[str, Any]

MAX_NODES = 3000
"""Maximum number of nodes of a page that are read."""
MAX_DEPTH = 24
"""Maximum depth of nested values that are read."""
MAX_SCRIPTS = 60
"""Maximum number of scripts of a page that are read."""
MAX_LENGTH = 1_000_000
"""Maximum length of a script. A longer script is not read."""
MAX_NAMES_DEPTH = 4
"""Maximum number of nested nodes and lists that are followed to find a text."""

_ARTICLE = re.compile(r"(?:Article|BlogPosting|LiveBlogPosting|Report|NewsStory)$")
# Types of nodes that describe the page as a whole. Such nodes state fewer and less certain facts.
_WEAK = re.compile(
    r"(?:WebPage|CreativeWork|SocialMediaPosting|DiscussionForumPosting|VideoObject|Review|PodcastEpisode|"
    r"Recipe)$"
)
# Properties whose nodes are parts of the page's own article, or other works.
_ASIDE = word_set("hasPart isPartOf liveBlogUpdate itemListElement citation relatedLink comment review")
# e.g. the comma in [1, 2,]
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
# e.g. the backslash in "the mayor\'s": JSON has no such escape.
_BAD_ESCAPE = re.compile(r'\\(?![\\/"bfnrtu])')
# Comments hid the content of scripts from very old browsers: <!-- … -->, //<![CDATA[ … //]]>.
_OPENING = re.compile(r"\s*(?:<!--|//\s*<!\[CDATA\[|<!\[CDATA\[|/\*.{0,20}?\*/)?\s*", re.DOTALL)
_CLOSING = re.compile(r"\s*(?:-->|//\s*\]\]>|\]\]>|;)?\s*$")
_CLOSING_LENGTH = 200
"""Number of characters at the end of a script that are searched for the end of a comment.

A search in the whole script would be slow, because a match would be tried at each space.
"""
# e.g. "headline": before a string, a list or an object
_SINGLE = re.compile(
    r'"(headline|datePublished|dateModified|author|articleSection|inLanguage|url|mainEntityOfPage)"\s{0,20}:\s{0,20}(?=["\[{])'
)
_SAYS_ARTICLE = re.compile(r'"@type"\s{0,20}:\s{0,20}\[?\s{0,20}"[^"]{0,40}(?:Article|BlogPosting)"')
_MOST_SINGLE = 200
"""Maximum number of single values that are read from a broken script."""
_ENDS_VALUE = re.compile(r"\s{0,50}[,}\]]")


class Nodes:
    """All nodes of a page's JSON-LD in document order, with the references between them."""

    def __init__(self, scripts: Iterable[str]) -> None:
        self.all: list[Node] = []
        self.own: Node | None = None
        """The article that has the URL or the headline of this page. It is set by :meth:`article`."""
        self._asides: set[int] = set()
        self._by_id: dict[str, Node] = {}
        for script in islice(scripts, MAX_SCRIPTS):
            if len(script) <= MAX_LENGTH:
                for document in load(script):
                    self._walk(document)

    def _walk(self, document: Any) -> None:
        # The values are visited with a stack and not by recursion, because they may be nested deeply. They
        # are pushed in reverse, so that pop() returns them in document order.
        stack: list[tuple[Any, int, bool]] = [(document, 0, False)]
        while stack and len(self.all) < MAX_NODES:
            value, depth, aside = stack.pop()
            if isinstance(value, list) and depth < MAX_DEPTH:
                stack.extend((item, depth + 1, aside) for item in reversed(value[:500]))
            elif isinstance(value, dict) and depth < MAX_DEPTH:
                self._add(value, aside=aside)
                stack.extend(
                    (child, depth + 1, aside or name in _ASIDE)
                    for name, child in reversed(value.items())
                    if isinstance(child, dict | list)
                )

    def _add(self, node: Node, *, aside: bool) -> None:
        self.all.append(node)
        if aside:
            self._asides.add(id(node))
        name = node.get("@id")
        if isinstance(name, str):
            # A node that only refers to another node has the same @id. References lead to the node that has a
            # name or more properties.
            known = self._by_id.get(name, {})
            if (bool(node.get("name")), len(node)) > (bool(known.get("name")), len(known)):
                self._by_id[name] = node

    def follow(self, value: Any) -> Any:
        """Return the node that ``value`` refers to by its ``@id``. Other values are returned unchanged."""
        if isinstance(value, dict) and not value.get("name") and isinstance(value.get("@id"), str):
            return self._by_id.get(value["@id"], value)
        return value

    def article(self, url: str, titles: Iterable[str]) -> Node | None:
        """Return the node of the page's own article, or None.

        ``titles`` are the titles and headings of the page. A page may have several article nodes,
        for example one for each teaser. The order of preference is: a node with the URL or the headline of
        this page, a node that is not a part of another node, the node with the most properties.
        """
        known = {key(title) for title in titles if title}
        path = _bare(url)
        # The tuples are compared from left to right, so the first difference decides.
        found: list[tuple[tuple[bool, bool, bool, int], Node]] = []
        for node in self.all:
            if not is_article(node):
                continue
            names_page = path in map(_bare, _addresses(node))
            same_title = key(first_text(node.get("headline") or node.get("name"))) in known
            whole = id(node) not in self._asides
            said = sum(
                bool(node.get(name)) for name in ("headline", "datePublished", "author", "articleBody")
            )
            if said:
                found.append(((names_page or same_title, whole, same_title, said), node))
        if not found:
            return None
        rank, node = max(found, key=lambda pair: pair[0])
        if rank[0]:
            self.own = node
            return node
        # No node has the URL or the headline. If there are three or more nodes, they may be teasers of other
        # articles.
        return node if len(found) < 3 and not _is_elsewhere(node, path, known) else None

    def weaker(self) -> Iterator[Node]:
        """Yield the nodes for the page as a whole (WebPage, VideoObject …) that state a time or an author."""
        for node in self.all:
            if (
                _has_type(node, _WEAK)
                and id(node) not in self._asides
                and (node.get("datePublished") or node.get("uploadDate"))
            ):
                yield node

    def whole(self) -> Iterator[Node]:
        """Yield the nodes that are not parts of other nodes."""
        return (node for node in self.all if id(node) not in self._asides)


def _is_elsewhere(node: Node, path: str, titles: set[str]) -> bool:
    """True for an article whose URL is another URL on the same site and whose headline has other words."""
    stated = {bare for address in _addresses(node) if "/" in (bare := _bare(address))}
    words = set(key(first_text(node.get("headline") or node.get("name"))).split())
    return (
        bool(stated and words and titles)
        and all(bare.partition("/")[0] == path.partition("/")[0] for bare in stated)
        and not any(2 * len(words & set(title.split())) >= len(words) for title in titles)
    )


def is_article(node: Node) -> bool:
    """True for NewsArticle, BlogPosting, ReportageNewsArticle and other types with the same endings."""
    return _has_type(node, _ARTICLE)


def types_of(node: Node) -> list[str]:
    """Return the types of a node. Invalid types are left out."""
    types = node.get("@type")
    return [name for name in (types if isinstance(types, list) else [types])[:20] if isinstance(name, str)]


def _has_type(node: Node, pattern: re.Pattern[str]) -> bool:
    return any(pattern.search(name) for name in types_of(node))


def load(script: str) -> list[Any]:
    """Return the JSON documents of one script, or an empty list if nothing can be read.

    Common faults are repaired: comments around the text, raw line breaks in strings, trailing commas, wrong
    escapes, several documents in one script, and quotes that are written as entities. If the text is still
    broken, single values are read from it.
    """
    text = script.strip().lstrip("\ufeff")
    opening = _OPENING.match(text)
    text = text[opening.end() :] if opening else text
    closing = _CLOSING.search(text, max(0, len(text) - _CLOSING_LENGTH))
    text = text[: closing.start()] if closing else text
    if not text:
        return []
    repaired = text = unescape(text) if '"' not in text else text
    # Each repair may change a correct text, so the next repair is made only if the text still cannot be
    # parsed.
    for repair in (None, _BAD_ESCAPE, _TRAILING_COMMA):
        if repair is not None:
            repaired = repair.sub(r"\\\\" if repair is _BAD_ESCAPE else r"\1", repaired)
        documents = _decode(repaired)
        if documents:
            return documents
    # Other nodes have URLs and times too. So the single values are used only if they belong to an article.
    values = _single_values(text[:100_000]) if '"@type"' in text else {}
    return [{"@type": "Article", **values}] if "headline" in values or _SAYS_ARTICLE.search(text) else []


def _single_values(text: str) -> dict[str, Any]:
    """Return values of a broken JSON text by name.

    For each name in :data:`_SINGLE`, the first value that can be parsed and is complete is returned.
    """
    decoder = json.JSONDecoder(strict=False)
    found: dict[str, Any] = {}
    for match in islice(_SINGLE.finditer(text), _MOST_SINGLE):
        if match[1] in found:
            continue
        try:
            value, end = decoder.raw_decode(text, match.end())
        except (ValueError, RecursionError):
            continue
        # If a string is followed by other text, an unescaped quote has ended the string too early.
        if _ENDS_VALUE.match(text, end) or not text[end:].strip():
            found[match[1]] = value
    return found


def _decode(text: str) -> list[Any]:
    # strict=False accepts raw line breaks in strings.
    decoder = json.JSONDecoder(strict=False)
    documents: list[Any] = []
    at = 0
    while at < len(text) and len(documents) < 20:
        try:
            document, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        documents.append(document)
        # Some sites write several documents one after the other, separated by commas or semicolons.
        while at < len(text) and text[at] in " \t\r\n;,":
            at += 1
    return documents


def _bare(url: str) -> str:
    """Return a URL in lower case without scheme, ``www.``, query and final slash.

    These parts are removed because pages write them inconsistently in their own URL.
    """
    bare = re.split(r"[?#]", url, maxsplit=1)[0].rpartition("//")[2]
    return bare.removeprefix("www.").rstrip("/").lower()


def _addresses(node: Node) -> Iterator[str]:
    """Yield the URLs that a node states for itself."""
    for name in ("url", "mainEntityOfPage", "@id"):
        value = node.get(name)
        if isinstance(value, dict):
            value = value.get("@id") or value.get("url")
        if isinstance(value, str):
            yield value


def texts(value: Any, depth: int = MAX_NAMES_DEPTH) -> list[str]:
    """Return the texts of a value that may be a string, a node with a name, or a list of these.

    Nested nodes are followed for ``depth`` steps. Other values have no texts.
    """
    if isinstance(value, str):
        text = plain(value[:20_000])
        return [text] if text else []
    if depth == 0:
        return []
    if isinstance(value, dict):
        named = value.get("name") or value.get("@value") or value.get("headline") or value.get("@list")
        return texts(named, depth - 1) or _full_name(value)
    if isinstance(value, list):
        return [text for item in value[:100] if not isinstance(item, list) for text in texts(item, depth - 1)]
    return []


def scalar(value: Any) -> str:
    """Return a string or a number as text. The result is empty for other values.

    For a list, the first value is used. For a node, its ``@value`` is used.

    >>> scalar(["2024-05-03"]), scalar({"@value": 1714745110}), scalar(None)
    ('2024-05-03', '1714745110', '')
    """
    for _ in range(MAX_NAMES_DEPTH):
        if isinstance(value, list):
            value = value[0] if value else None
        elif isinstance(value, dict):
            value = value.get("@value")
    return str(value) if isinstance(value, str | int | float) else ""


def _full_name(node: Node) -> list[str]:
    parts = [node.get("givenName"), node.get("familyName")]
    name = plain(" ".join(part for part in parts if isinstance(part, str)))
    return [name] if name else []


def first_text(value: Any) -> str:
    """Return the first of the :func:`texts` of a value, or an empty string."""
    found = texts(value)
    return found[0] if found else ""
