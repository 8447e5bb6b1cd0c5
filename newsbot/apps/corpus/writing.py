"""``newsbot corpus``: writes the shards of a corpus, with quality signals, and its data card.

The signals of repetition and of stop words are those of Gopher (Rae et al. 2021, arXiv:2112.11446, table A1),
which FineWeb and datatrove use too. Shares are from 0 to 1.

Two exports of the same articles have the same bytes: rows have a fixed order, and nothing depends on the time
of the export.
"""

from __future__ import annotations

import gzip
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any, get_type_hints

from newsbot import __version__
from newsbot.apps.operations.articles import chosen
from newsbot.apps.optional import load_optional
from newsbot.backends import stored
from newsbot.cli.command import Action, Argument, Call, moment, one_of, positive
from newsbot.cli.terminal import counted, lines
from newsbot.clock import iso
from newsbot.errors import ArgumentError, UserError
from newsbot.items import Article, ArticleFilter, batched
from newsbot.pages.rights import LICENSE, opted_out
from newsbot.pages.text.languages import by_language, certainty
from newsbot.pages.text.words import tokens
from newsbot.urls import fingerprint


@dataclass(frozen=True, slots=True)
class Signals:
    """The quality signals of one article, as columns of a corpus."""

    characters: int
    words: int
    lines: int
    mean_word_length: float
    """In characters."""
    stop_word_share: float | None
    """Share of the words that are stop words of the language; None if its stop words are not known."""
    letter_share: float
    """Share of the characters other than spaces that are letters."""
    duplicate_line_share: float
    """Share of the lines that occur before in the text."""
    top_2gram_share: float
    """Share of the characters in the most frequent pair of words."""
    duplicate_5gram_share: float
    """Share of the words in sequences of five words that occur before in the text."""
    language_confidence: float
    opt_out: bool
    """True if a signal reserves the page against use by AI."""
    licence: str | None
    """Address of the licence that the site states."""


def signals(article: Article) -> Signals:
    """Return the signals of an article."""
    text = article.text
    words = tokens(text)
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    known = by_language("stop_words").get(article.language or "")
    visible = [sign for sign in text if not sign.isspace()]
    return Signals(
        characters=len(text),
        words=len(words),
        lines=len(lines),
        mean_word_length=_share(sum(map(len, words)), len(words)),
        stop_word_share=None
        if known is None
        else _share(sum(map(frozenset(known).__contains__, words)), len(words)),
        letter_share=_share(sum(sign.isalpha() for sign in visible), len(visible)),
        duplicate_line_share=_share(len(lines) - len(set(lines)), len(lines)),
        top_2gram_share=_top(words),
        duplicate_5gram_share=_repeated(words),
        language_confidence=round(certainty(f"{article.title}\n{text}", article.language), 4),
        opt_out=opted_out(article.rights),
        licence=article.rights.get(LICENSE),
    )


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def _top(words: Sequence[str]) -> float:
    """Return the share of the characters that are in the most frequent pair of words.

    A pair that occurs only once does not count.
    """
    pairs = Counter(pairwise(words))
    if not pairs:
        return 0.0
    pair, number = max(pairs.items(), key=lambda item: (item[1], item[0]))
    return _share(number * sum(map(len, pair)), sum(map(len, words))) if number > 1 else 0.0


def _repeated(words: Sequence[str]) -> float:
    seen: set[tuple[str, ...]] = set()
    repeated: set[int] = set()
    for at in range(len(words) - 4):
        gram = tuple(words[at : at + 5])
        if gram in seen:
            repeated.update(range(at, at + 5))
        seen.add(gram)
    return _share(len(repeated), len(words))


META = (
    "title",
    "url",
    "source",
    "language",
    "authors",
    "section",
    "tags",
    "published_at",
    "published_precision",
    "fetched_at",
)
"""Fields of articles that are columns, after ``id`` and ``text``."""
_MEANINGS = {
    "id": "permanent key of the article (hash of its canonical URL)",
    "text": "the text, a line for each paragraph",
    "near_duplicate_group": "articles with nearly the same text have the same value",
    "characters": "length of the text",
    "words": "number of words",
    "lines": "number of lines",
    "mean_word_length": "mean length of a word, in characters",
    "stop_word_share": "share of the words that are stop words of the language; empty if they are not known",
    "letter_share": "share of the visible characters that are letters",
    "duplicate_line_share": "share of the lines that occur before in the text",
    "top_2gram_share": "share of the characters in the most frequent pair of words",
    "duplicate_5gram_share": "share of the words in sequences of five words that occur before in the text",
    "language_confidence": "how sure the language is, 0 to 1",
    "opt_out": "the site or the page reserves the text against use by AI",
    "licence": "address of the licence that the site states",
}


@dataclass(slots=True)
class Totals:
    """What the data card says of the whole corpus."""

    articles: int = 0
    characters: int = 0
    opt_outs: int = 0
    """Number of articles that were left out because of their rights."""
    copies: int = 0
    """Number of articles that were left out because the corpus has their text."""
    first: datetime | None = None
    last: datetime | None = None
    languages: Counter[str] = field(default_factory=Counter)
    sites: Counter[str] = field(default_factory=Counter)

    def add(self, article: Article) -> None:
        """Count an article."""
        self.articles += 1
        self.characters += len(article.text)
        self.languages[article.language or "unknown"] += 1
        self.sites[article.source] += 1
        if (moment := article.published_at) is not None:
            self.first = min(self.first or moment, moment)
            self.last = max(self.last or moment, moment)


def corpus(call: Call) -> None:
    """Write a corpus into a new folder."""
    options = call.options
    folder: Path = options.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):  # files of other people must not be replaced, such as README.md
            raise ArgumentError(f"{folder}: must be a new or empty folder")
        (folder / "data").mkdir()
    except OSError as error:
        raise ArgumentError(f"{folder}: must be a new or empty folder ({error.strerror})") from error
    totals = Totals()
    tell = lines(call.note, {})
    try:
        with stored(call.settings, stale=True) as storage:
            chosen_rows = _rows(storage.articles.iter(replace(chosen(call), posts=False)), totals, call)
            write = _write_parquet if options.format == "parquet" else _write_jsonl
            for number, shard in enumerate(batched(chosen_rows, options.shard)):
                write(folder / "data", number, shard)
                tell("articles", totals.articles)
        (folder / "README.md").write_text(card(totals, chosen(call), options.format), encoding="utf-8")
    except OSError as error:
        raise UserError(f"{folder}: cannot be written ({error.strerror or error})") from error
    if call.json:
        call.document(
            {
                "folder": str(folder),
                "articles": totals.articles,
                "opt_outs": totals.opt_outs,
                "copies": totals.copies,
            }
        )
    call.note(f"{counted(totals.articles, 'article')} written to {folder}")
    if totals.opt_outs:
        call.note(f"{counted(totals.opt_outs, 'article')} left out, because their rights forbid use by AI")
    if totals.copies:
        call.note(f"{counted(totals.copies, 'copy', 'copies')} left out")


def _rows(articles: Iterable[Article], totals: Totals, call: Call) -> Iterator[dict[str, Any]]:
    seen: set[bytes] = set()
    for article in articles:
        if opted_out(article.rights) and not call.options.with_opt_outs:
            totals.opt_outs += 1
            continue
        group = article.story or article.canonical_url
        if not call.options.with_copies:
            if (key := blake2b(group.encode(), digest_size=16).digest()) in seen:
                totals.copies += 1
                continue
            seen.add(key)
        totals.add(article)
        yield row_of(article)


def row_of(article: Article) -> dict[str, Any]:
    """Return the row of an article."""
    return {
        "id": fingerprint(article.canonical_url).hex(),
        "text": article.text,
        **{name: getattr(article, name) for name in META},
        "near_duplicate_group": article.story or article.canonical_url,
        **asdict(signals(article)),
    }


def _write_jsonl(folder: Path, number: int, rows: Sequence[dict[str, Any]]) -> None:
    with (
        (folder / f"train-{number:05}.jsonl.gz").open("wb") as raw,
        # Without a name and a time in the header, the same rows make the same bytes.
        gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed,
        io.TextIOWrapper(packed, "utf-8", "replace") as file,
    ):
        for row in rows:
            plain = {name: iso(one) if isinstance(one, datetime) else one for name, one in row.items()}
            file.write(json.dumps(plain, ensure_ascii=False) + "\n")


def _write_parquet(folder: Path, number: int, rows: Sequence[dict[str, Any]]) -> None:
    pa = load_optional("pyarrow", "parquet", "the format parquet (not jsonl)")
    pq = load_optional("pyarrow.parquet", "parquet", "the format parquet")
    listed, moment = pa.list_(pa.string()), pa.timestamp("us", tz="UTC")
    kinds: dict[Any, Any] = {
        int: pa.int64(),
        float: pa.float64(),
        float | None: pa.float64(),
        bool: pa.bool_(),
    }
    types = {name: kinds.get(kind, pa.string()) for name, kind in get_type_hints(Signals).items()}
    types |= {"authors": listed, "tags": listed, "published_at": moment, "fetched_at": moment}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in rows[0]])
    table = pa.Table.from_pylist([_without_surrogates(row) for row in rows], schema=schema)
    pq.write_table(table, folder / f"train-{number:05}.parquet", compression="zstd")


def _without_surrogates(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row whose texts can be written as UTF-8."""
    return {
        name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
        for name, value in row.items()
    }


def card(totals: Totals, where: ArticleFilter, kind: str) -> str:
    """Return the data card, in the form of the Hugging Face Hub."""
    codes = sorted(code for code in totals.languages if code != "unknown")
    size = next((name for most, name in _SIZES if totals.articles < most), "n>1T")
    span = f"{totals.first:%Y-%m-%d} to {totals.last:%Y-%m-%d}" if totals.first and totals.last else "unknown"
    asked = {"site": where.source, "language": where.language, "since": where.since, "until": where.until}
    selection = ", ".join(f"{name} {value}" for name, value in asked.items() if value)
    return _CARD.format(
        languages="".join(["language:\n", *(f"- '{code}'\n" for code in codes)]) if codes else "",
        size=size,
        pattern="data/*.parquet" if kind == "parquet" else "data/*.jsonl.gz",
        totals=totals,
        span=span,
        version=__version__,
        selection=f"Selection: {selection}.\n" if selection else "",
        meanings="\n".join(f"| `{name}` | {meaning} |" for name, meaning in _MEANINGS.items()),
        fields=", ".join(f"`{name}`" for name in META),
        of_languages=_counts(totals.languages),
        of_sites=_counts(totals.sites, 100),
    )


_CARD = """\
---
license: other
license_name: rights-of-the-publishers
task_categories:
- text-generation
{languages}size_categories:
- {size}
configs:
- config_name: default
  data_files: {pattern}
---

# News articles

{totals.articles} articles with {totals.characters} characters, published {span}, collected by \
newsbot {version}.
{selection}
## Rights

The texts belong to their publishers. The column `opt_out` says whether a site or a page reserves them \
against use by AI (robots.txt, TDMRep, RSL, headers, meta tags); `licence` names its licence.
Left out: {totals.opt_outs} reserved articles and {totals.copies} copies.

## Columns

| column | meaning |
|---|---|
{meanings}
| {fields} | fields of the article |

## Languages and sites

| language | articles |
|---|---|
{of_languages}
| site | articles |
|---|---|
{of_sites}"""


_SIZES = [
    (10**3, "n<1K"),
    (10**4, "1K<n<10K"),
    (10**5, "10K<n<100K"),
    (10**6, "100K<n<1M"),
    (10**7, "1M<n<10M"),
    (10**8, "10M<n<100M"),
    (10**9, "100M<n<1B"),
]
"""Number of articles below which the Hub's category of size applies."""


def _counts(numbers: Counter[str], most: int | None = None) -> str:
    """Return the rows of a table, the largest numbers first."""
    ordered = sorted(numbers.items(), key=lambda item: (-item[1], item[0]))[:most]
    return "".join(f"| {name} | {number} |\n" for name, number in ordered)


ACTIONS = (
    Action(
        "",
        "Write the articles as shards with quality signals, and a data card (docs/corpus.md)",
        corpus,
        Argument("folder", type=Path, help="a new or empty folder"),
        Argument(
            "--format",
            type=one_of("parquet", "jsonl"),
            default="parquet",
            help="parquet (default) or jsonl",
        ),
        Argument("--shard", metavar="N", type=positive, default=50_000, help="articles in a shard (50000)"),
        Argument("--source", metavar="DOMAIN", help="only of this site"),
        Argument("--language", metavar="CODE", help="only articles in this language, e.g. ru"),
        Argument("--since", metavar="DATE", type=moment, help="published since DATE: 2024-05, 7d, yesterday"),
        Argument("--until", metavar="DATE", type=moment, help="published before DATE"),
        Argument("--with-opt-outs", action="store_true", help="also articles whose rights forbid use by AI"),
        Argument(
            "--with-copies", action="store_true", help="also copies of texts that the corpus has already"
        ),
    ),
)
