"""Parses search queries into a tree of conditions, and converts them to expressions of SQLite's FTS5.

docs/search.md has the grammar of queries. Every text is a valid query. The parser corrects errors as far as
possible, for example an unknown field, an invalid date, or a quote or bracket that is not closed. It
adds a note on each correction to :attr:`Query.notes`.

The expressions (https://www.sqlite.org/fts5.html, section 3) are for an index with four columns: the stems of
the title, of the text and of the authors, and ``marks``. Marks are words that are added to each article: one
mark that all articles have, one for the site, one for the language, one for the section, and one for each
label. Marks and the stems of authors begin with a character that does not
occur in the stems of texts.

Phrases of short words ("in the end") are expensive, because most articles have these words. So each pair of
adjacent short stems is also a word of the index (:func:`pairs_of`), and a phrase is searched only in articles
that have its pairs.

Labels of articles, such as categories and places, come from other apps. An app registers the fields by which
queries name them (:attr:`newsbot.config.apps.App.labels`). The labels of an article are words of the index.
If the version of a field changes, the index is rebuilt, and searches use the old one until then.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice, pairwise
from typing import Protocol

from newsbot.clock import DATES, parse_moment
from newsbot.config.apps import active_apps, known_apps, load
from newsbot.config.settings import SettingsLike
from newsbot.items import Article, ArticleFilter
from newsbot.pages.text.words import letters, query_stems, words_of
from newsbot.urls import ascii_host

MAX_QUERY = 1000
"""Maximum length of a query in characters. The rest is ignored."""
MAX_TERMS = 32
"""Maximum number of words, phrases and marks (:class:`Mark`) in a query. The rest is ignored."""
MAX_DEPTH = 8
"""Maximum number of levels of brackets."""
MAX_SECTION = 100
"""Maximum number of characters of a section that are compared."""
MIN_BEGINNING = 2
"""Minimum number of letters before a ``*``."""
FIELDS = ("title", "author", "site", "tag", "lang", "section", "since", "until", "story", "event")

FORM, POST = "form", "post"
"""The field of the form of articles (:class:`newsbot.apps.search.query.FormField`), and a value of it."""

_QUOTES = str.maketrans(dict.fromkeys("“”„«»", '"'))
_TOKEN = re.compile(
    # The value of a field must be directly after the colon: ``title: bridge`` is two words.
    r"(?P<bracket>[()])"
    # A phrase, a bracket or a word may have a minus, a field or both before it, as in -title:"new bridge" and
    # -(a b).
    r"|(?P<minus>-)?(?:(?P<field>[A-Za-z]+):(?=[^\s()]))?"
    r'(?:"(?P<phrase>[^"]*)(?P<closed>"?)|(?P<open>\()|(?P<word>[^\s"()]+))',
)
_OPERATORS = ("AND", "OR", "NOT")


@dataclass(frozen=True, slots=True)
class Term:
    """A word, or a phrase of several words in this order."""

    text: str
    field: str = ""
    """The searched field: ``title``, ``author``, or empty for title and text."""
    beginning: bool = False
    """True if the last word is only the beginning of the searched words (``build*``)."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A condition on the site, the language, the section, a tag or a label."""

    field: str
    """``site``, ``lang``, ``section``, ``tag`` or the field of a label."""
    value: str
    names: tuple[str, ...] = ()
    """What the value stands for when the query is parsed: the domains of the sites with the tag, or labels.
    Empty for the other fields."""


@dataclass(frozen=True, slots=True)
class Not:
    """A condition that an article must not match."""

    node: Node


@dataclass(frozen=True, slots=True)
class All:
    """A condition that holds if all of several conditions hold."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Any:
    """A condition that holds if at least one of several conditions holds."""

    nodes: tuple[Node, ...]


Node = Term | Mark | Not | All | Any


@dataclass(slots=True)
class Query:
    """A parsed query."""

    node: Node | None = None
    since: datetime | None = None
    until: datetime | None = None
    story: str | None = None
    event: str | None = None
    notes: list[str] = field(default_factory=list)
    """Notes for the user: the parts that were corrected, and what to write instead."""
    blank: bool = False
    """True if the query has only white space."""

    @property
    def empty(self) -> bool:
        """True if the query has no condition. A query of punctuation is empty but not blank."""
        return not (self.node or self.since or self.until or self.story or self.event)

    def terms(self) -> Iterator[Term]:
        """Yield the terms of the query, except terms within :class:`Not`."""
        yield from _terms(self.node)

    def parts(self) -> tuple[Node, ...]:
        """Return the top-level conditions, which must all match."""
        if self.node is None:
            return ()
        return self.node.nodes if isinstance(self.node, All) else (self.node,)


def narrowed(query: str, *, tag: str | None = None, section: str | None = None) -> str:
    """Return a query that matches only articles of the sites with a tag, or of a section."""
    fields = (("tag", tag), ("section", section))
    found = [f'{name}:"{value.replace(chr(34), " ")}"' for name, value in fields if value]
    # The fields come first, because a quote or a bracket that is not closed extends to the end.
    return " ".join([*found, *([f"({query})" if found else query] if query.strip() else [])])


Tagged = Callable[[str], Sequence[str]]
"""A function that returns the domains of the sites with a tag."""
Named = Mapping[str, Callable[[str], Sequence[str]]]
"""Field of a label -> a function that returns the labels that a value names."""


def parse(query: str, tagged: Tagged = lambda _tag: (), named: Named | None = None) -> Query:
    """Parse a query. ``tagged`` returns the sites that have a tag, and ``named`` has the fields of labels.

    Raises only exceptions that these functions raise.
    """
    return _Parser(query.translate(_QUOTES), tagged, named or {}).query()


def describe(node: Node) -> str:
    """Return the text of a condition in the syntax of queries."""
    if isinstance(node, Term):
        text = f'"{node.text}"' if len(node.text.split()) > 1 else node.text
        return (f"{node.field}:{text}" if node.field else text) + "*" * node.beginning
    if isinstance(node, Mark):
        return f'{node.field}:"{node.value}"' if " " in node.value else f"{node.field}:{node.value}"
    if isinstance(node, Not):
        return f"-{describe(node.node)}"
    between = " OR " if isinstance(node, Any) else " AND "
    return f"({between.join(map(describe, node.nodes))})"


def _terms(node: Node | None) -> Iterator[Term]:
    if isinstance(node, Term):
        yield node
    elif isinstance(node, All | Any):
        for one in node.nodes:
            yield from _terms(one)


class _Parser:
    def __init__(self, text: str, tagged: Tagged, named: Named) -> None:
        self._tagged, self._named = tagged, named
        self._fields = (*FIELDS, *named)
        self._query = Query(blank=not text.strip())
        self._tokens = list(_TOKEN.finditer(text[:MAX_QUERY]))
        if len(text) > MAX_QUERY:
            self._note(f"only the first {MAX_QUERY} characters are searched")
        self._at = 0
        self._terms = 0
        self._ignored = 0
        """Number of open brackets that are ignored because they are nested too deep."""

    def query(self) -> Query:
        parts = []
        while self._at < len(self._tokens):
            part = self._either(0)
            if part is not None:
                parts.append(part)
            if self._at < len(self._tokens):  # _either() stopped at a closing bracket without an opening one
                self._note("a closing bracket has no opening bracket: write ( before the words it groups")
                self._at += 1
        self._query.node = _all(parts)
        return self._query

    def _either(self, depth: int) -> Node | None:
        """Read conditions with OR between them, up to a closing bracket or the end.

        The closing bracket itself is not read. Return None if there is no condition.
        """
        groups: list[list[Node]] = [[]]
        operator = ""
        while (token := self._next()) is not None and (token["bracket"] != ")" or self._ignored):
            self._at += 1
            # This bracket closes a group that was nested too deep. The words in this group belong to the
            # group around it.
            if token["bracket"] == ")":
                self._ignored -= 1
                continue
            # -AND and title:AND are searches for the word
            if token["word"] in _OPERATORS and not token["field"] and not token["minus"]:
                operator = self._operator(token["word"], groups)
                continue
            node = self._part(token, depth, without=operator == "NOT")
            operator = ""
            if node is not None:
                groups[-1].append(node)
        # the query, or the part in brackets, ends with an operator
        if operator or (len(groups) > 1 and not groups[-1]):
            self._note("AND, OR and NOT need a word after them; to search for them, put them in quotes")
        # AND has precedence over OR: each group between two ORs is joined with AND first.
        found = [one for one in map(_all, groups) if one is not None]
        return found[0] if len(found) == 1 else Any(tuple(found)) if found else None

    def _operator(self, word: str, groups: list[list[Node]]) -> str:
        if word != "NOT" and not groups[-1]:
            self._note(f"{word} needs a word before and after it; to search for {word}, put it in quotes")
        elif word == "OR":
            groups.append([])
        return word

    def _next(self) -> re.Match[str] | None:
        if self._terms >= MAX_TERMS:
            if any(token["bracket"] != ")" for token in self._tokens[self._at :]):
                self._note(f"only the first {MAX_TERMS} words and fields are searched")
            self._at = len(self._tokens)  # ends the loops of all callers
            return None
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _part(self, token: re.Match[str], depth: int, *, without: bool) -> Node | None:
        without ^= token["minus"] is not None  # NOT -x is x
        if token["bracket"] or token["open"]:
            node = self._bracket(depth)
        else:
            node = self._condition(token, without=without)
        return Not(node) if without and node is not None else node

    def _bracket(self, depth: int) -> Node | None:
        if depth >= MAX_DEPTH:  # limits the recursion, because _either() calls this method for each bracket
            self._note(f"brackets can be nested {MAX_DEPTH} deep; deeper brackets are ignored")
            self._ignored += 1
            return None
        node = self._either(depth + 1)
        if self._at < len(self._tokens):
            self._at += 1
        elif self._terms < MAX_TERMS:
            self._note("a bracket was not closed: the group extends to the end")
        return node

    def _condition(self, token: re.Match[str], *, without: bool) -> Node | None:
        name = (token["field"] or "").lower()
        value = (token["phrase"] if token["word"] is None else token["word"]).strip()
        if token["word"] is None and not token["closed"]:
            self._note("a quote was not closed: the phrase extends to the end")
        if name in ("since", "until", "story", "event"):
            if without:
                self._note(f"-{name}: cannot be excluded and was ignored")
                return None
            if self._whole(name, value):
                return None  # an invalid date is searched as a word, below
        elif name in ("site", "lang", "section"):
            self._terms += 1
            return Mark(name, _domain(value) if name == "site" else value.lower())
        elif name == "tag" or name in self._named:
            return self._mark(name, value)
        elif name and name not in FIELDS:
            known = ", ".join(f"{one}:" for one in self._fields)
            self._note(f"{name}: is not a field and was searched as a word; fields are {known}")
        # The name and value of an unknown field become a phrase, because "note:x" can be a text with a colon.
        text = f"{name} {value}" if name and name not in FIELDS else value
        if value[-1:] == ":" and value[:-1].lower() in self._fields:
            self._note(f"{value} was searched as a word; write the value directly after the colon")
        return self._term(text, name if name in ("title", "author") else "")

    def _mark(self, name: str, value: str) -> Mark:
        self._terms += 1
        if name == "tag":
            value = value.lower()
            names = tuple(self._tagged(value))
            missing = "no site has this tag; tags are in the rules of sites (key tags)"
        else:
            names, missing = tuple(self._named[name](value)), f"there is no such {name}"
        if not names:
            self._note(f"{name}:{value}: {missing}")
        return Mark(name, value, names)

    def _term(self, text: str, name: str) -> Term | None:
        words = words_of(text)[:MAX_TERMS]
        if not words:
            return None
        self._terms += 1
        beginning = text.endswith("*")
        if beginning and len(words[-1]) < MIN_BEGINNING:
            self._note(f"{text}: is too short; give {MIN_BEGINNING} letters before the *")
            beginning = False
        return Term(" ".join(words), name, beginning)

    def _whole(self, name: str, value: str) -> bool:
        """Set a field of the whole query. Return False if a date is needed and the value is not a date."""
        if name in ("story", "event"):
            setattr(self._query, name, value)
            return True
        try:
            setattr(self._query, name, parse_moment(value, datetime.now(UTC)))
        except ValueError:
            self._note(f"{name}:{value}: is not a date and was searched as a word; write {DATES}")
            return False
        return True

    def _note(self, text: str) -> None:
        if text not in self._query.notes:
            self._query.notes.append(text)


def _domain(value: str) -> str:
    """Return the domain of a site in its stored form. ``value`` is a domain or the URL of a page."""
    return ascii_host(value.rpartition("//")[2].partition("/")[0]).removeprefix("www.")


def _all(nodes: list[Node]) -> Node | None:
    """Return one condition for all ``nodes``.

    They are joined with AND, but several sites, languages or sections are joined with OR. An article has only
    one of each, so AND between two sites would match no article.
    """
    joined: list[Node] = []
    for name in ("site", "lang", "section"):
        marks = [one for one in nodes if isinstance(one, Mark) and one.field == name]
        if len(marks) > 1:
            joined.append(Any(tuple(marks)))
            nodes = [one for one in nodes if one not in marks]
    joined = [*nodes, *joined]
    return joined[0] if len(joined) == 1 else All(tuple(joined)) if joined else None


@dataclass(frozen=True, slots=True)
class Hit:
    """One found article."""

    article: Article
    snippet: str
    """A part of the text, with the matches between ``[`` and ``]``."""
    score: float
    """BM25: a higher score is better. 0 if the matches are ordered by time."""
    copies: int = 0
    """Number of other articles in its story. Only one article of a story is returned."""


_MARK, _AUTHOR = "\N{SECTION SIGN}", "\N{PILCROW SIGN}"
"""The first characters of marks and of the stems of authors. The stems of texts never contain them. Therefore
a search in title and text needs no column filter, which would slow down phrases of frequent words by a fifth.
"""
PAIR = "\N{BROKEN BAR}"
"""The first character of pairs of stems."""
SHORT = 3
"""Maximum number of letters of a stem in a pair. In Russian and English news, a seventh of all adjacent stems
are pairs, among them most of the frequent ones."""
EVERY = f"{_MARK}all"
"""The mark of every article."""
NONE = f"{_MARK}none"
"""A mark that no article has. It is used for conditions that cannot match."""
BETWEEN = "\N{MIDDLE DOT}"
"""Separates two authors. It is not part of any stem, so a phrase cannot match across two authors."""


def site_mark(domain: str) -> str:
    """Return the mark of the articles of a site."""
    # FTS5 would split a domain at its dots. Hexadecimal digits are a single word.
    return f"{_MARK}s{domain.encode('utf-8', 'replace').hex()}"


def language_mark(code: str) -> str:
    """Return the mark of the articles in a language."""
    return f"{_MARK}l{code.lower().encode('utf-8', 'replace').hex()}"


def section_mark(section: str) -> str:
    """Return the mark of the articles of a section. Upper and lower case are the same."""
    name = " ".join(section.lower().replace('"', " ").split())[:MAX_SECTION]
    return f"{_MARK}c{name.encode('utf-8', 'replace').hex()}"


def label_mark(field: str, label: str) -> str:
    """Return the mark of the articles with a label. All marks of a field have the same beginning."""
    # x is not a hexadecimal digit
    return f"{_MARK}x{field.encode().hex()}x{label.encode('utf-8', 'replace').hex()}"


def pairs_of(stems: Sequence[str]) -> list[str]:
    """Return the pairs of adjacent stems of at most :data:`SHORT` letters, each as one word."""
    short = pairwise([stem if len(stem) <= SHORT else "" for stem in stems])
    return [f"{PAIR}{one}{PAIR}{other}" for one, other in short if one and other]


def author_stem(stem: str) -> str:
    """Return a stem of an author's name in the form in which it is indexed."""
    return _AUTHOR + stem


def expression(query: Query, where: ArticleFilter, languages: Sequence[str]) -> str:
    """Return the FTS5 expression of a query and a filter, without their dates, story and event.

    ``languages`` are the languages in which articles were stemmed
    (:func:`newsbot.pages.text.words.stemming`). Each word is replaced by its stems in these languages.
    """
    nodes = _nodes(query, where)
    # Posts are found only if the query asks for them.
    nodes += [] if any(map(_names_form, nodes)) else [Not(Mark(FORM, POST, (POST,)))]
    return expression_of(All(tuple(nodes)), languages)


def ranking(query: Query, where: ArticleFilter, languages: Sequence[str]) -> dict[str, bool]:
    """Return FTS5 expressions that together give the matches of :func:`expression` the same BM25 scores.

    The values are True for words and phrases. Excluded words and languages are left out, because they add
    nothing to a score. So the expressions can match other articles too.
    """
    nodes = [one for one in _nodes(query, where) if not isinstance(one, Not)]
    nodes = [one for one in nodes if not isinstance(one, Mark) or one.field != "lang"]
    return {expression_of(one, languages): isinstance(one, Term) for one in nodes}


def _nodes(query: Query, where: ArticleFilter) -> list[Node]:
    nodes = list(query.parts())
    nodes += [Mark("site", where.source)] if where.source is not None else []
    return nodes + ([Mark("lang", where.language)] if where.language is not None else [])


def _names_form(node: Node) -> bool:
    """Return True if a condition has the field ``form``."""
    if isinstance(node, All | Any):
        return any(map(_names_form, node.nodes))
    return _names_form(node.node) if isinstance(node, Not) else isinstance(node, Mark) and node.field == FORM


def expression_of(node: Node, languages: Sequence[str]) -> str:
    """Return the FTS5 expression of one condition."""
    if isinstance(node, Term):
        return _of_term(node, languages)
    if isinstance(node, Mark):
        return _of_mark(node)
    if isinstance(node, Not):  # NOT of FTS5 needs a left side
        return f"({EVERY} NOT {expression_of(node.node, languages)})"
    if not isinstance(node, All):
        return f"({' OR '.join(expression_of(one, languages) for one in node.nodes)})"
    wanted = [expression_of(one, languages) for one in node.nodes if not isinstance(one, Not)]
    unwanted = [expression_of(one.node, languages) for one in node.nodes if isinstance(one, Not)]
    text = " AND ".join(wanted) or EVERY
    return f"(({text}) NOT ({' OR '.join(unwanted)}))" if unwanted else f"({text})"


def _of_mark(mark: Mark) -> str:
    if mark.field in ("lang", "section"):
        return (language_mark if mark.field == "lang" else section_mark)(mark.value)
    if mark.field in ("site", "tag"):
        marks = [site_mark(one) for one in (mark.names if mark.field == "tag" else (mark.value,))]
    else:
        marks = [label_mark(mark.field, one) for one in mark.names]
    return f"({' OR '.join(marks) or NONE})"


def stems_of(query: Query, languages: Sequence[str]) -> frozenset[str]:
    """Return the stems that a snippet marks.

    These are the stems of all terms, except names of authors, because authors are not part of the text.
    """
    shown = (term for term in query.terms() if term.field != "author")
    return frozenset(stem for term in shown for run in query_stems(term.text, languages) for stem in run)


def _of_term(term: Term, languages: Sequence[str]) -> str:
    runs = [(run, "") for run in query_stems(term.text, languages)]
    if term.beginning:  # a prefix cannot be stemmed, so it is compared with the stored stems
        *before, last = term.text.split()
        begun = query_stems(" ".join(before), languages) or [()]
        runs += [((*run, letters(last)), " *") for run in begun]
    if term.field == "author":
        phrases = [f'"{" ".join(map(author_stem, run))}"{star}' for run, star in runs]
    else:
        phrases = [_phrase(*run) for run in runs]
    return f"({'title : ' if term.field == 'title' else ''}({' OR '.join(phrases)}))"


def _phrase(run: Sequence[str], star: str) -> str:
    """Return the expression of stems that follow each other. With a ``star``, the last one is a prefix."""
    pairs = [f'"{pair}"' for pair in pairs_of(run[:-1] if star else run)]
    if pairs and len(run) == 2:
        return pairs[0]
    # FTS5 compares the positions of the phrase's words only in articles that have all pairs.
    return " AND ".join([f'"{" ".join(run)}"{star}', *pairs])


# --- labels
MAX_LABELS = 200
"""Maximum number of labels of one field for one article. The rest is left out."""


class LabelField(Protocol):
    """Finds the labels of one field. The methods of one object are called in one thread."""

    def version(self) -> str:
        """Return a text that changes whenever articles can get other labels; empty if none has a label."""

    def labels(self, article: Article, stems: Sequence[str]) -> Iterable[str]:
        """Return the labels of an article, the most important first.

        ``stems`` are the stems of its title and text (:func:`newsbot.pages.text.words.stems`).
        """

    def named(self, value: str) -> Sequence[str]:
        """Return the labels that a value in a query names. An article with any of them matches."""

    def title(self, label: str) -> str:
        """Return a label in the form that people read."""


FORMS = ("article", "live", "gallery", "post")


class FormField:
    """The field ``form``: the form of an article (:attr:`newsbot.items.Article.form`)."""

    def __init__(self, settings: SettingsLike) -> None:
        """All settings have the same forms."""

    def version(self) -> str:
        """See :class:`LabelField`."""
        return "1"

    def labels(self, article: Article, stems: Sequence[str]) -> Iterable[str]:  # noqa: ARG002  (an interface)
        """See :class:`LabelField`."""
        return (article.form,)

    def named(self, value: str) -> Sequence[str]:
        """Return the forms that a value names. ``any`` names all of them."""
        return FORMS if value.lower() == "any" else [one for one in FORMS if one == value.lower()]

    def title(self, label: str) -> str:
        """See :class:`LabelField`."""
        return label


class Labels:
    """The fields of the active apps."""

    def __init__(self, fields: Mapping[str, LabelField] | None = None) -> None:
        self.fields: Mapping[str, LabelField] = fields or {}

    @property
    def named(self) -> Named:
        """The functions that return the labels of a value, by field."""
        return {name: field.named for name, field in self.fields.items()}

    def version(self) -> str:
        """Return the version of all fields; empty if no article has a label."""
        versions = {name: field.version() for name, field in self.fields.items()}
        return "\n".join(f"{name} {version}" for name, version in versions.items() if version)

    def of(self, article: Article, stems: Sequence[str]) -> list[tuple[str, str]]:
        """Return the labels of an article as pairs of field and label."""
        return [
            (name, label)
            for name, field in self.fields.items()
            for label in islice(field.labels(article, stems), MAX_LABELS)
        ]


NO_LABELS = Labels()


def open_labels(settings: SettingsLike) -> Labels:
    """Return the fields that the active apps register."""
    found: dict[str, LabelField] = {}
    for app in active_apps(settings.get("NEWSBOT_APPS")):
        found |= {name: load(place)(settings) for name, place in app.labels.items()}
    return Labels(found)


def any_label() -> Named:
    """Return functions that accept each value, by field. A label can be added after a query is saved."""
    return {name: lambda value: (value,) for app in known_apps().values() for name in app.labels}
