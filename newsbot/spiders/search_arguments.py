"""Parses and checks the arguments of ``scrapy crawl search -a name=value``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from newsbot.crawl.arguments import Arguments, address, count, given_values, lines_of, words
from newsbot.errors import ArgumentError
from newsbot.search.phrases import Finder, Wanted

MAX_NAME = 100
"""Maximum number of characters of a search's name that are stored."""
MAX_PAGES = 10_000
"""Default of ``max_pages``, because a site may have endless pages."""

Follow = Literal["links", "known"]

HELP = {
    "sites": "domains of rule files, comma separated; without sites and url all rules",
    "url": "one address to begin with; the search stays on its site",
    "urls": "several addresses, comma or space separated",
    "text": "texts to find, separated by |: text=bridge|town hall",
    "texts_file": "a file with one text per line",
    "regex": "one regular expression to find: regex=\\d+ (dead|injured)",
    "regexes_file": "a file with one regular expression per line",
    "search": "the name of the results; default: the texts and expressions",
    "follow": "links (known pages, and the pages that they link to; the default) or known (known pages only)",
    "max_pages": f"maximum number of requested pages (default: {MAX_PAGES})",
}
"""The meaning of each argument. Error messages show it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Searching:
    """The arguments of one search."""

    name: str
    finder: Finder
    follow: Follow = "links"
    max_pages: int = MAX_PAGES
    scope: Arguments
    """The arguments that all spiders have. They name the sites."""


def parse_searching(given: Mapping[str, Any]) -> Searching:
    """Return the checked arguments. Raises :class:`ArgumentError`, whose message says what is allowed."""
    values = given_values(given, HELP)
    texts = [text.strip() for text in values.get("text", "").split("|")] if values.get("text") else []
    texts += lines_of("texts_file", values.get("texts_file"))
    regexes = [values["regex"]] if values.get("regex") else []
    regexes += lines_of("regexes_file", values.get("regexes_file"))
    wanted = [*(Wanted(text) for text in texts), *(Wanted(text, regex=True) for text in regexes)]
    if not wanted:
        raise ArgumentError(f"say what to find: text={HELP['text'].partition('text=')[2]}, or regex=…")
    try:
        finder = Finder(wanted)
    except ValueError as error:
        raise ArgumentError(f"text or regex: {error}") from error
    urls = [*words(values.get("url")), *words(values.get("urls"))]
    name = values.get("search") or " | ".join(one.text for one in wanted)
    return Searching(
        name=name[:MAX_NAME],
        finder=finder,
        follow=_follow(values.get("follow")),
        max_pages=count("max_pages", values.get("max_pages"), HELP) or MAX_PAGES,
        scope=Arguments(
            sites=tuple(word.lower() for word in words(values.get("sites"))),
            urls=tuple(address("url", url) for url in urls),
        ),
    )


def _follow(value: str | None) -> Follow:
    if value in (None, "", "links"):
        return "links"
    if value == "known":
        return "known"
    raise ArgumentError(f"follow={value}: not understood; follow is {HELP['follow']}")
