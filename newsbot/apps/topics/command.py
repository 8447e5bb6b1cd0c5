"""``scrapy categories``."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from newsbot.apps.operations.articles import find_article
from newsbot.apps.search.articles import ArticleSearch, open_search
from newsbot.apps.topics import categories as topics
from newsbot.apps.topics.categories import Category, Definition, Examples, categories, model_of, stems_of
from newsbot.backends import stored
from newsbot.cli.command import Action, Argument, Call
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import columns, counted
from newsbot.clock import iso, utc
from newsbot.errors import ArgumentError, did_you_mean
from newsbot.storage.base import Storage
from newsbot.urls import canonicalize

MAX_SHOWN = 30
"""Maximum number of sites in the table of ``test``."""


def learn(call: Call) -> None:
    """Learn one category, or all of them again."""
    definition = _definition(call)
    name = call.options.name
    if name is None and definition != Definition():
        raise ArgumentError("give a name before the URLs and options, e.g. sport")
    with stored(call.settings) as storage, closing(open_search(call.settings, storage)) as search:
        search.follow()
        if name is not None and definition != Definition():
            topics.define(storage.notes, name, _checked(storage, search, definition))
        known = categories(storage.notes)
        if name is not None and name not in known:
            raise ArgumentError(
                f"{name}: say what belongs to it: URLs of articles, --section, --tag or --query"
                f"{did_you_mean(name, known)}"
            )
        made = []
        for one in [name] if name is not None else list(known):
            examples, model = topics.learn(storage, search, one)
            made.append(topics.save(storage.notes, one, known[one].definition, examples, model))
            call.note(f"{one}: {_summary(made[-1])}")
    if call.json:
        call.document([_row(one) for one in made])
    call.note("the search index is rebuilt with the categories; searches use the old one until then")


def test(call: Call) -> None:
    """Print the figures of a category by site."""
    with stored(call.settings) as storage, closing(open_search(call.settings, storage)) as search:
        search.follow()
        category = _known(storage, call.options.name)
        examples, _ = topics.learn(storage, search, category.name)
    sizes = Counter(site for site, sure in zip(examples.sites, examples.sure, strict=True) if sure)
    rows = [_figures(examples, site, sizes[site]) for site, _ in sizes.most_common()]
    total = {**_figures(examples, None, sizes.total()), "site": "all sites"}
    assert examples.judged is not None
    unsure = [bool(one) for one, sure in zip(examples.judged.found, examples.sure, strict=True) if not sure]
    if call.json:
        call.document({**total, "sites": rows, "elsewhere": {"articles": len(unsure), "found": sum(unsure)}})
        return
    names = ("site", "articles", "examples", "precision", "recall", "f1")
    shown = [total, *rows[:MAX_SHOWN]]
    call.table(
        columns("site * | articles > | examples > | precision > | recall > | F1 >"),
        ([_shown(row[name]) for name in names] for row in shown),
    )
    if len(rows) > MAX_SHOWN:
        call.note(f"and {counted(len(rows) - MAX_SHOWN, 'more site')} (--json lists all)")
    if unsure:
        call.note(
            f"the category was also found in {sum(unsure)} of {counted(len(unsure), 'article')} of these "
            "sites that no category names"
        )


def listing(call: Call) -> None:
    """List the categories."""
    with stored(call.settings, stale=True) as storage:
        known = categories(storage.notes)
    call.listing(
        [_row(one) for one in known.values()],
        columns("category | examples > | precision > | recall > | F1 > | learned | named by *"),
        (
            (
                one.name,
                one.examples,
                *(_shown(value) for value in (one.figures.precision, one.figures.recall, one.figures.f1)),
                iso(utc(one.learned)) if one.learned else "-",
                _named_by(one.definition),
            )
            for one in known.values()
        ),
        empty=f"no category; to name one: {PROGRAM} categories learn NAME --section SECTION",
    )


def show(call: Call) -> None:
    """Print the probability of each category for one article."""
    with stored(call.settings, stale=True) as storage:
        article = find_article(call, storage)
        models = {name: model_of(storage.notes, one) for name, one in categories(storage.notes).items()}
    counts = Counter(stems_of(article))
    rows: list[dict[str, Any]] = [
        {
            "category": name,
            "probability": round(model.probability(counts), 4),
            "threshold": model.threshold,
            "belongs": model.probability(counts) >= model.threshold,
        }
        for name, model in models.items()
        if model is not None
    ]
    rows.sort(key=lambda row: -row["probability"])
    call.listing(
        rows,
        columns("category | probability > | threshold > | belongs"),
        ([_shown(value) for value in row.values()] for row in rows),
        empty="no category",
    )


def forget(call: Call) -> None:
    """Delete a category."""
    with stored(call.settings) as storage:
        topics.forget(storage.notes, _known(storage, call.options.name).name)
    call.note(f"{call.options.name}: deleted")


def _definition(call: Call) -> Definition:
    options = call.options
    urls = list(options.url)
    if options.file is not None:
        try:
            lines = options.file.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise ArgumentError(f"{options.file}: cannot be read ({error})") from error
        urls += [line.strip() for line in lines if line.strip()]
    try:
        canonical = tuple(map(canonicalize, urls))
    except ValueError as error:
        raise ArgumentError(str(error)) from error
    return Definition(_words(options.section), _words(options.tag), options.query or "", canonical)


def _words(value: str | None) -> tuple[str, ...]:
    return tuple(word.strip().casefold() for word in (value or "").split(",") if word.strip())


def _checked(storage: Storage, search: ArticleSearch, definition: Definition) -> Definition:
    """Return the definition with the URLs under which its articles are stored.

    Raises :class:`ArgumentError` if the query has an error or a URL is no article.
    """
    if definition.query and (notes := search.explain(definition.query, found=True)):
        raise ArgumentError(f"correct the query: {notes[0]}")
    known = storage.articles.get_many(definition.urls)
    for url in definition.urls:
        if url not in known:
            raise ArgumentError(f"{url}: is not a stored article")
    return replace(definition, urls=tuple(known[url].canonical_url for url in definition.urls))


def _known(storage: Storage, name: str) -> Category:
    known = categories(storage.notes)
    if name not in known:
        raise ArgumentError(f"{name}: there is no such category{did_you_mean(name, known)}")
    return known[name]


def _row(one: Category) -> dict[str, Any]:
    return {
        "category": one.name,
        "sections": list(one.definition.sections),
        "tags": list(one.definition.tags),
        "query": one.definition.query,
        "urls": list(one.definition.urls),
        "examples": one.examples,
        "others": one.others,
        "threshold": one.threshold,
        "learned": iso(utc(one.learned)) if one.learned else None,
        **_values(one.figures),
    }


def _values(found: topics.Figures) -> dict[str, float]:
    return {name: round(getattr(found, name), 4) for name in ("precision", "recall", "f1")}


def _figures(examples: Examples, site: str | None, articles: int) -> dict[str, Any]:
    found = examples.figures(site)
    return {
        "site": site,
        "articles": articles,
        "examples": found.right + found.missed,
        **_values(found),
    }


def _named_by(definition: Definition) -> str:
    parts = [
        f"sections {', '.join(definition.sections)}" if definition.sections else "",
        f"tags {', '.join(definition.tags)}" if definition.tags else "",
        definition.query,
        counted(len(definition.urls), "URL") if definition.urls else "",
    ]
    return "; ".join(filter(None, parts))


def _summary(one: Category) -> str:
    found = one.figures
    return (
        f"{counted(one.examples, 'example')} and {counted(one.others, 'other article')}; on sites that were "
        f"not seen: precision {found.precision:.2f}, recall {found.recall:.2f}, F1 {found.f1:.2f}"
    )


def _shown(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.2f}" if isinstance(value, float) else value


_NAME = Argument("name", help="name of the category")

ACTIONS = (
    Action(
        "learn",
        "Learn a category from stored articles; without a name, learn all categories again",
        learn,
        Argument("name", nargs="?", help="name of the category: letters, digits and -"),
        Argument("url", nargs="*", help="URLs of stored articles that belong to it"),
        Argument("--from", dest="file", type=Path, metavar="FILE", help="a file with such URLs, one a line"),
        Argument(
            "--section",
            metavar="NAME,…",
            help="articles that a site files under these sections: field section, or a part of the URL",
        ),
        Argument("--tag", metavar="NAME,…", help="articles with these tags of their sites"),
        Argument("--query", help="articles that match this query"),
        writes=True,
    ),
    Action(
        "test",
        "Print precision, recall and F1 of a category by site, learned without the articles of that site",
        test,
        _NAME,
    ),
    Action("list", "List the categories", listing),
    Action(
        "show",
        "Print the probability of each category for an article",
        show,
        Argument("url", help="any URL of the article"),
    ),
    Action("forget", "Delete a category", forget, _NAME, writes=True),
)
