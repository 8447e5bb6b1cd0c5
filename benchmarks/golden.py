"""Golden runs: crawl and extraction results that a refactoring of newsbot must not change.

    python -m benchmarks.golden record FOLDER [--only sqlite|servers|extraction] [--pages DIR]
    python -m benchmarks.golden compare FOLDER [--only …] [--pages DIR] [--json]

``record`` runs three parts and writes one ``<part>.json.gz`` for each into FOLDER:

* ``sqlite``: crawls of a generated web on loopback (1,200 articles) with a fixed clock, on the data file;
* ``servers``: the same crawls on a real Redis and a real MongoDB;
* ``extraction``: all fields that :func:`newsbot.pages.extraction.extract` reads from each page of DIR (sets
  with ``index.jsonl``; default: ``shared/extraction`` in the nearest folder above). Values are kept as
  hashes.

``compare`` runs the parts again, prints the differences by field with a few examples each, and exits with 1
if there are any. ``--keep DIR`` writes the new run to DIR for inspection.

Crawls are made repeatable as follows. They make one request at a time. The clock stands still while the
crawl has work and jumps to the next moment at which something is due (:mod:`testbed.otherclock`). Random
generators that newsbot makes without a seed return a constant. PYTHONHASHSEED is fixed. Four crawls run at
:data:`MOMENTS`; between them some pages change, some are removed, and one host publishes new articles.

Records do not depend on the format of the data: only :func:`_read_pages`, :func:`_read_articles`,
:func:`_read_sources` and :func:`_steady` know how newsbot stores its data and where its clock is.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final
from zlib import crc32

from testbed.otherclock import LOOK_AGAIN, SharedTime, sleeping

ROOT: Final = Path(__file__).resolve().parent.parent
PARTS: Final = ("sqlite", "servers", "extraction")
NOW: Final = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR: Final = 3600.0
MOMENTS: Final = (0.0, 1 * HOUR, 10 * HOUR, 80 * HOUR)
"""Start times of the crawls, relative to NOW."""
LONGEST: Final = 6 * HOUR
"""Limit in seconds of newsbot's clock: a crawl that takes longer is an error."""
ARTICLES: Final = 1050
"""Number of articles of the demo. Some of them cannot be found. The additional host is not included."""
DEFAULTS: Final = """\
delay: 0
concurrency: 4
max_depth: 5
interval: {feed: 10m, sitemap: 10m, section: 10m, other: 30d}
"""
"""Rules for all hosts: articles are fetched again at the ages that newsbot chooses."""
EXAMPLES: Final = 5
Table = dict[str, dict[str, Any]]
"""Key of a row (usually a URL) -> field -> value."""
Result = dict[str, Table]
"""Name of a table -> its rows."""

TIMING_STATS: Final = (
    "newsbot/time/",
    "elapsed_time",
    "memusage/",
    "start_time",
    "finish_time",
    "newsbot/cpu",
)
"""Prefixes of stats that are left out, because they may depend on the machine."""


# --- the web
class GoldenWeb:
    """The demo and an additional host; both change between crawls."""

    def __init__(self, demo: Callable[[Any], Any], answer: Callable[..., Any]) -> None:
        self.crawl = 0
        """Index of the current crawl, from 0."""
        self._demo, self._answer = demo, answer

    def __call__(self, request: Any) -> Any:
        """Return the answer to a request."""
        if request.host == DAILY:
            return self._daily(request.path)
        answer = self._demo(request)
        if self.crawl == 0 or answer.kind != "article" or answer.status != 200:
            return answer
        chance = crc32(request.path.encode())
        if chance % 29 == 0 and self.crawl >= 2:
            return self._answer(status=410, kind="missing", body=b"<h1>410</h1>")
        if chance % 7 == 0 and "Content-Encoding" not in answer.headers:
            body = answer.body.replace(b"</p>", f" Update {self.crawl} of this report.</p>".encode(), 1)
            return replace(answer, body=body, last_modified=NOW.timestamp() + MOMENTS[self.crawl])
        return answer

    def _daily(self, path: str) -> Any:
        if path == "/feed.xml":
            items = "".join(_item(number) for number in range(max(0, self._born - 60), self._born))
            feed = f"<rss version='2.0'><channel><title>Daily</title>{items}</channel></rss>"
            return self._answer(
                kind="feed", body=feed.encode(), headers={"Content-Type": "application/rss+xml"}
            )
        number = path.removeprefix("/news/").removesuffix(".html")
        if not number.isdigit() or int(number) >= self._born:
            return self._answer(status=404, kind="missing", body=b"<h1>404</h1>")
        page = _daily_page(int(number)).encode()
        return self._answer(kind="article", body=page, headers={"Content-Type": "text/html; charset=utf-8"})

    @property
    def _born(self) -> int:
        return PER_CRAWL * (self.crawl + 1)


DAILY: Final = "daily.golden.example"
PER_CRAWL: Final = 40
_TEXT: Final = """
council harbour bridge school budget mayor river station market theatre museum railway hospital
storm election report meeting decision neighbours workers farmers engineers residents visitors
tickets prices opened closed delayed repaired promised refused announced expected measured counted
early late again northern southern central public private local national winter summer morning
evening yesterday today
"""
_WORDS: Final = _TEXT.split()


def _published(number: int) -> datetime:
    before = MOMENTS[number // PER_CRAWL] - 60.0 * (PER_CRAWL - number % PER_CRAWL)
    return datetime.fromtimestamp(NOW.timestamp() + before, UTC)


def _title(number: int) -> str:
    return " ".join(random.Random(f"title {number}").sample(_WORDS, 6)).capitalize()


def _item(number: int) -> str:
    return (
        f"<item><title>{_title(number)}</title><link>http://{DAILY}/news/{number}.html</link>"
        f"<pubDate>{_published(number):%a, %d %b %Y %H:%M:%S} GMT</pubDate></item>"
    )


def _daily_page(number: int) -> str:
    """Return an article. Every tenth article is a copy of the previous article with one changed sentence."""
    text_number = number - 1 if number % 10 == 9 else number
    chance = random.Random(text_number)
    sentences = [" ".join(chance.choices(_WORDS, k=14)).capitalize() + "." for _ in range(18)]
    if text_number != number:
        sentences[5] = "The editors added this sentence to what they had written before about all of it."
    text = "".join(f"<p>{' '.join(sentences[at : at + 3])}</p>" for at in range(0, 18, 3))
    return (
        f"<html lang='en'><head><title>{_title(number)}</title>"
        f"<meta property='article:published_time' content='{_published(number).isoformat()}'></head>"
        f"<body><article><h1>{_title(number)}</h1>{text}</article></body></html>"
    )


def _serve(stack: ExitStack, rules: Path) -> tuple[GoldenWeb, dict[str, str]]:
    """Start the site and write the rules. Only this function knows the generator of the site."""
    from testbed.demoweb.plan import make_plan  # noqa: PLC0415
    from testbed.demoweb.rulefiles import write_rules  # noqa: PLC0415
    from testbed.demoweb.web import DemoWeb  # noqa: PLC0415
    from testbed.loopback import LoopbackServer  # noqa: PLC0415
    from testbed.messages import Answer  # noqa: PLC0415

    web = GoldenWeb(DemoWeb(make_plan(ARTICLES, seed=1, now=NOW)), Answer)
    write_rules(rules)
    (rules / "_defaults.yaml").write_text(DEFAULTS, encoding="utf-8")
    rule = f"domain: {DAILY}\nfeeds: [http://{DAILY}/feed.xml]\nfollow: [feeds]\ndelay: 0\n"
    (rules / f"{DAILY}.yaml").write_text(rule, encoding="utf-8")
    server = stack.enter_context(LoopbackServer(web))
    return web, server.environment


# --- crawls
def crawl(backend: str) -> Result:
    """Crawl at each of the moments and return the result. ``backend``: sqlite or servers."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="newsbot-golden-")))
        web, proxies = _serve(stack, folder / "rules")
        settings = {"NEWSBOT_DATA": str(folder / "data"), "NEWSBOT_RULES": str(folder / "rules")}
        settings |= _start_servers(stack) if backend == "servers" else {"REDIS_URL": "", "MONGO_URI": ""}
        names: set[str] = set()
        for number, moment in enumerate(MOMENTS):
            web.crawl = number
            names |= _crawl_once(folder, proxies | settings, NOW.timestamp() + moment)
        return _read(settings) | {"stats": {name: {} for name in sorted(names)}}


def _start_servers(stack: ExitStack) -> dict[str, str]:
    from testbed.temporary import own_mongo, own_redis  # noqa: PLC0415

    mongo = stack.enter_context(own_mongo())
    return {"REDIS_URL": stack.enter_context(own_redis()), "MONGO_URI": f"{mongo.uri}newsbot"}


def _crawl_once(folder: Path, environment: Mapping[str, str], begin: float) -> set[str]:
    """Run one crawl in a process of its own; return the names of its stats."""
    SharedTime(folder / "time", begin)
    stats, log = folder / "stats.json", folder / "crawl.log"
    stats.unlink(missing_ok=True)
    one_at_a_time = ("CONCURRENT_REQUESTS=1", "CONCURRENT_ITEMS=1", "SCRAPER_SLOT_MAX_ACTIVE_SIZE=1")
    options = (
        *one_at_a_time,
        "NEWSBOT_PROGRESS=0",
        f"NEWSBOT_STATS_FILE={stats}",
        "NEWSBOT_LEASE_SECONDS=86400",
    )
    words = ["crawl", "news", "-L", "WARNING", *(word for option in options for word in ("-s", option))]
    command = [sys.executable, "-m", "benchmarks.golden", "child", str(folder / "time"), str(begin + LONGEST)]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("NEWSBOT_")}
    with log.open("ab") as file:
        done = subprocess.run(
            [*command, *words],
            cwd=ROOT,
            env={**clean, "PYTHONHASHSEED": "0", **environment},
            stdout=file,
            stderr=file,
            check=False,
        )
    if done.returncode or not stats.exists():
        raise RuntimeError(f"the crawl failed: {log.read_text(encoding='utf-8')[-3000:]}")
    found = json.loads(stats.read_text(encoding="utf-8"))
    if found["finish_reason"] != "finished":
        raise RuntimeError(f"the crawl ended as {found['finish_reason']}: {log.read_text()[-3000:]}")
    return {name for name in found if not name.startswith(TIMING_STATS)}


def _child(file: str, end: str, *words: str) -> None:
    """Run Scrapy with these arguments and the clock in ``file``."""
    _steady(SharedTime(Path(file)), float(end))
    from scrapy.cmdline import execute  # noqa: PLC0415

    execute(["scrapy", *words])


def _steady(shared: SharedTime, end: float) -> None:
    """Give newsbot this clock and constant randomness. Call it before newsbot is imported."""
    vars(random)["Random"] = Steady
    from newsbot import clock  # noqa: PLC0415

    clock.system_clock = shared
    from newsbot import backends  # noqa: PLC0415
    from newsbot.crawl import recovery, scheduler  # noqa: PLC0415

    vars(backends)["system_clock"] = time.time  # the frontier on Redis needs the clock, too
    vars(recovery)["PAGES_AT_ONCE"] = 10**6  # all due pages are queued before the first request
    names = vars(scheduler)
    names["call_later"] = sleeping(names["call_later"], shared, end, 0.0)
    names["LOOK_AGAIN"] = LOOK_AGAIN


class Steady(random.Random):
    """A generator without a seed always returns 0.5; others work as usual."""

    def __init__(self, seed: Any = None) -> None:
        asks = sys._getframe(1).f_globals.get("__name__", "")  # noqa: SLF001  (documented, CPython only)
        self._is_steady = seed is None and asks.startswith("newsbot.")
        super().__init__(0 if self._is_steady else seed)

    def random(self) -> float:
        """Return a number from 0 to 1."""
        return 0.5 if self._is_steady else super().random()


# --- results of a crawl
def _read(settings: dict[str, Any]) -> Result:
    from newsbot import backends  # noqa: PLC0415

    end = NOW.timestamp() + MOMENTS[-1] + LONGEST
    with (
        closing(backends.open_frontier(settings, lambda: end)) as frontier,
        closing(backends.open_storage(settings)) as storage,
    ):
        articles = dict(_read_articles(storage))
        pages = dict(_read_pages(storage, frontier, articles))
        return {"pages": pages, "articles": articles, "sources": dict(_read_sources(storage))}


def _after(moment: float | None) -> float | None:
    """Return POSIX seconds as seconds after NOW, to the millisecond."""
    return None if moment is None else round(moment - NOW.timestamp(), 3)


def _read_pages(storage: Any, frontier: Any, articles: Table) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each known URL with its plan and its stored article."""
    fetched = {str(row["extraction"].get("fetched", row["url"])): url for url, row in articles.items()}
    kept = {page: (url, articles[url]) for page, url in fetched.items()} | {
        url: (url, row) for url, row in articles.items()
    }
    pages = list(storage.pages.iter())
    queued = frontier.known([page.fingerprint for page in pages])
    for page in pages:
        article_url, article = kept.get(page.url, (None, {}))
        in_queue = queued.get(page.fingerprint)
        yield (
            page.url,
            {
                "kind": str(page.kind),
                "state": page.state,
                "next_due": _after(page.next_due),
                "content_hash": page.content_hash,
                "http_status": page.http_status,
                "depth": page.depth,
                "checks": page.checks,
                "changes": page.changes,
                "failures": page.failures,
                "referrer_count": page.referrer_count,
                "article": article_url,
                "story": article.get("story"),
                "queue": None if in_queue is None else in_queue.state,
                # a frontier on Redis may not have the due time yet: newsbot copies it from the storage later
                "queue_due": _after(in_queue.next_due) if in_queue and in_queue.state == "pending" else None,
            },
        )


def _read_articles(storage: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    for article in storage.articles.iter():
        fields = asdict(article)
        yield fields.pop("canonical_url"), _plain_fields(fields)


def _read_sources(storage: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    # `rhythm` is left out: it is the private state of a policy, and next_due follows from it
    for source in storage.sources.all():
        fields = {
            name: getattr(source, name)
            for name in ("polls", "unchanged", "new_links", "failures", "last_error")
        }
        times = {name: _after(getattr(source, name)) for name in ("last_poll", "last_new", "next_due")}
        yield source.url, {"kind": str(source.kind), **fields, **times}


_HASHED: Final = frozenset(
    {
        "canonical_url",
        "title",
        "text",
        "summary",
        "authors",
        "agencies",
        "tags",
        "section",
        "image",
        "structure",
    }
)


def _plain_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an article as short values, without text of a publisher."""
    plain: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, datetime):
            plain[name] = value.isoformat()
        elif isinstance(value, float):
            plain[name] = round(value, 6)
        elif name in _HASHED and value:
            plain[name] = _digest(value)
        else:
            plain[name] = value
    return plain


def _digest(value: Any) -> str:
    """Return a hash, and the length of the hashed value (for a text: the number of characters)."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{digest[:16]}:{len(value)}"


# --- extraction
def extract_all(folder: Path) -> Result:
    """Extract each page of the sets in a folder, on two processes."""
    jobs = []
    for index in sorted(folder.glob("*/index.jsonl")):
        for line in index.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            name = f"{index.parent.name}/{row['html']}"
            # One page has no URL, and one has an invalid URL.
            url = row["url"] if row["url"].startswith("http") else f"https://example.org/{name}"
            jobs.append((name, str(index.parent / row["html"]), url))
    if not jobs:
        raise SystemExit(f"no pages below {folder}: name the folder of the sets with --pages")
    with ProcessPoolExecutor(2, mp_context=get_context("spawn"), initializer=_fix_clock) as pool:
        rows = pool.map(_extract_one, [file for _, file, _ in jobs], [url for *_, url in jobs], chunksize=10)
        return {"extraction": {key: row for (key, *_), row in zip(jobs, rows, strict=True)}}


def _fix_clock() -> None:
    from newsbot import clock  # noqa: PLC0415

    clock.system_clock = NOW.timestamp


def _extract_one(file: str, url: str) -> dict[str, Any]:
    from newsbot.pages.extraction import extract  # noqa: PLC0415

    with gzip.open(file) as packed:
        article = extract(packed.read(), url)
    if article is None:
        return {"found": False}
    return {"found": True, **_plain_fields(asdict(article))}


def _pages_folder() -> Path:
    for folder in ROOT.parents:
        if (folder / "shared/extraction").is_dir():
            return folder / "shared/extraction"
    raise SystemExit(
        "no folder shared/extraction above the repository: name the folder of the sets with --pages"
    )


# --- records
def run(part: str, pages: Path | None) -> Result:
    """Run one part and return its tables."""
    return extract_all(pages or _pages_folder()) if part == "extraction" else crawl(part)


def save(folder: Path, part: str, result: Result) -> Path:
    """Write a record; equal results give equal bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{part}.json.gz"
    text = json.dumps(result, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode("utf-8", "surrogatepass"), mtime=0))
    return path


def load(folder: Path, part: str) -> Result:
    """Read a record. Raises ``FileNotFoundError``."""
    text = gzip.decompress((folder / f"{part}.json.gz").read_bytes()).decode("utf-8", "surrogatepass")
    result: Result = json.loads(text)
    return result


def differences(before: Result, after: Result) -> dict[str, list[str]]:
    """Return the differences, one line per row, grouped by table and field."""
    after = json.loads(json.dumps(after))  # the same form as a loaded record
    found: dict[str, list[str]] = defaultdict(list)
    for table in sorted(before.keys() | after.keys()):
        old, new = before.get(table, {}), after.get(table, {})
        for key in sorted(old.keys() | new.keys()):
            if key not in new:
                found[f"{table}: missing"].append(key)
            elif key not in old:
                found[f"{table}: new"].append(key)
            else:
                for name, text in _fields_that_differ(old[key], new[key]):
                    found[f"{table}: {name}"].append(f"{key}  {text}")
    return dict(found)


def _fields_that_differ(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield name, f"{_short(old.get(name))} -> {_short(new.get(name))}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 90 else text[:90] + "…"


def _run_all(parts: tuple[str, ...], pages: Path | None) -> Iterator[tuple[str, Result, float]]:
    """Yield each part with its result and duration; the two crawls run in parallel."""

    def timed(part: str) -> tuple[str, Result, float]:
        began = time.monotonic()
        result = run(part, pages)
        return part, result, time.monotonic() - began

    crawls = [part for part in parts if part != "extraction"]
    with ThreadPoolExecutor(2) as pool:
        yield from pool.map(timed, crawls)
    if "extraction" in parts:
        yield timed("extraction")


def _record(options: argparse.Namespace, parts: tuple[str, ...]) -> int:
    for part, result, seconds in _run_all(parts, options.pages):
        path = save(options.folder, part, result)
        rows = ", ".join(f"{len(rows)} {table}" for table, rows in result.items())
        print(f"{part}: {rows}; {seconds:.0f} s; {path} {path.stat().st_size / 1024:.0f} kB", flush=True)
    return 0


def _compare(options: argparse.Namespace, parts: tuple[str, ...]) -> int:
    rows: list[dict[str, Any]] = []
    recorded = {part: load(options.folder, part) for part in parts}
    for part, result, seconds in _run_all(parts, options.pages):
        if options.keep is not None:
            save(options.keep, part, result)
        found = differences(recorded[part], result)
        rows += [{"part": part, "what": what, "rows": lines} for what, lines in found.items()]
        if not options.json:
            print(f"{part}: {'equal' if not found else 'DIFFERS'} ({seconds:.0f} s)", flush=True)
            for what, lines in found.items():
                print(f"  {what}: {len(lines)}")
                for line in lines[:EXAMPLES]:
                    print(f"    {line}")
    if options.json:
        print(json.dumps(rows, ensure_ascii=False))
    return 1 if rows else 0


def main() -> int:
    """Record or compare."""
    if sys.argv[1:2] == ["child"]:
        _child(*sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--pages", type=Path, help="folder of the sets of pages")
    parser.add_argument("--keep", type=Path, help="with compare: write the new run here")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    parts = (options.only,) if options.only else PARTS
    return _record(options, parts) if options.action == "record" else _compare(options, parts)


if __name__ == "__main__":
    sys.exit(main())
