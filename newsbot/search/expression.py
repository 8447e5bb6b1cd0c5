"""Converts a query to an expression of SQLite's FTS5 (https://www.sqlite.org/fts5.html, section 3).

The index has four columns: the stems of the title, of the text and of the authors, and ``marks``. Marks are
words that are added to an article: one that all articles have, one for the site, and one for the language.
"""

from __future__ import annotations

from collections.abc import Sequence

from newsbot.search.query import All, ArticleFilter, Mark, Node, Not, Query, Term
from newsbot.text.stems import asked_stems
from newsbot.text.words import letters

EVERY = "all"
"""The mark of every article."""
NONE = "none"
"""A mark that no article has. A condition that cannot match searches for it."""
BETWEEN = "\N{MIDDLE DOT}"
"""Separates two authors. It is not part of any stem, so a phrase cannot match across two authors."""
_COLUMNS = {"": "{title text}", "title": "title", "author": "authors"}
_EVERY = f'(marks : "{EVERY}")'


def site_mark(domain: str) -> str:
    """Return the mark of the articles of a site."""
    # FTS5 would split a domain at its dots; hexadecimal digits are one word.
    return "s" + domain.encode("utf-8", "replace").hex()


def language_mark(code: str) -> str:
    """Return the mark of the articles in a language."""
    return "l" + code.lower().encode("utf-8", "replace").hex()


def expression(query: Query, where: ArticleFilter, languages: Sequence[str]) -> str:
    """Return the FTS5 expression of a query and a filter, without their dates, story and event.

    ``languages`` are the languages in which articles were stemmed (:func:`newsbot.text.stems.stemming`). A
    word is searched as its stem in each of these languages.
    """
    nodes = list(query.parts())
    nodes += [Mark("site", where.source)] if where.source is not None else []
    nodes += [Mark("lang", where.language)] if where.language is not None else []
    return expression_of(All(tuple(nodes)), languages)


def expression_of(node: Node, languages: Sequence[str]) -> str:
    """Return the FTS5 expression of one condition."""
    if isinstance(node, Term):
        return _of_term(node, languages)
    if isinstance(node, Mark) and node.field == "tag":
        return f"(marks : ({' OR '.join(map(site_mark, node.sites)) or NONE}))"
    if isinstance(node, Mark):
        make = site_mark if node.field == "site" else language_mark
        return f'(marks : "{make(node.value)}")'
    if isinstance(node, Not):  # NOT of FTS5 needs a left side
        return f"({_EVERY} NOT {expression_of(node.node, languages)})"
    if not isinstance(node, All):
        return f"({' OR '.join(expression_of(one, languages) for one in node.nodes)})"
    wanted = [expression_of(one, languages) for one in node.nodes if not isinstance(one, Not)]
    unwanted = [expression_of(one.node, languages) for one in node.nodes if isinstance(one, Not)]
    text = " AND ".join(wanted) or _EVERY
    return f"(({text}) NOT ({' OR '.join(unwanted)}))" if unwanted else f"({text})"


def stems_of(query: Query, languages: Sequence[str]) -> frozenset[str]:
    """Return the stems that a snippet marks: those of all terms, except names of authors.

    Authors are not part of the text.
    """
    shown = (term for term in query.terms() if term.field != "author")
    return frozenset(stem for term in shown for run in asked_stems(term.text, languages) for stem in run)


def _of_term(term: Term, languages: Sequence[str]) -> str:
    runs = [f'"{" ".join(run)}"' for run in asked_stems(term.text, languages)]
    if term.beginning:  # a prefix cannot be stemmed, so it is compared with the stored stems
        *before, last = term.text.split()
        begun = asked_stems(" ".join(before), languages) or [()]
        runs += [f'"{" ".join((*run, letters(last)))}" *' for run in begun]
    return f"({_COLUMNS[term.field]} : ({' OR '.join(runs)}))"
