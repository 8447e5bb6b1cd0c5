"""Share of downloads that are articles, among links that look like articles: real pages behind a proxy.

Crawls the hosts of a replayed web (``replayweb.py`` of the shared data; ``siblings.py`` made its corpus).
Each host has a feed, a news sitemap, and a front page with nine noise links for each article. The URLs of
half of the noise links look like articles. Each rule has one line and the home page. ``useful`` is the share
of articles among the pages that the server sent, without robots.txt, feeds, sitemaps and front pages.
``found`` is the number of articles that the server sent, divided by the number of all articles.

``CORPUS`` may also be a folder with ``index.jsonl``. ``--most`` limits the number of articles of each host;
``--least`` leaves out hosts with fewer articles. With ``--workers``, that many workers share a Redis server
and a MongoDB server; ``--kills`` times, one of them is killed and started again. With ``--born``, that many
articles are published during the crawl, one each second; the crawl is then continuous, and polls the home
page each 10 seconds, the feed each 40, and the sitemap each 60.

``--forms`` selects the URLs of noise links: those of the replayed web (``replay``), 18 other forms
(``other``), or forms of more languages and forms that articles have on other sites (``foreign``). With
``--headlines`` the texts of noise links consist of words from the host's headlines; otherwise the text is
"more".

    python -m benchmarks.lookalikes --replay REPLAYWEB.PY --corpus CORPUS.JSON [--forms other] [--headlines]
        [--hosts 40] [--delay 0.1] [--workers 2 --kills 6] [--born 140]
"""

from __future__ import annotations

import argparse
import asyncio
import html
import json
import os
import random
import re
import runpy
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from newsbot.backends import open_storage
from testbed.servers import free_port
from testbed.temporary import own_mongo, own_redis

BETWEEN_KILLS = 7.0
"""Seconds between two kills."""
POLLS = """interval: {section: 10s, feed: 40s, sitemap: 60s}
recrawl: {section: fixed, feed: fixed, sitemap: fixed}
"""
"""The rule of sites with articles that are published during the crawl."""
FORMS = {
    "replay": (),
    "other": (
        "/deals/{}-cheap-flights-this-weekend",
        "/recipes/grandmothers-apple-pie-with-cinnamon-{}",
        "/obituaries/john-smith-{}",
        "/events/{}/jazz-night-in-the-old-town",
        "/jobs/senior-accountant-wanted-in-the-city-{}.html",
        "/weather/2026/11/{}",
        "/quiz/how-well-do-you-know-the-capital-{}/",
        "/podcast/episode-{}-the-week-in-review",
        "/horoscope/what-the-stars-say-for-leo-{}.html",
        "/tv-guide/{}",
        "/stock/{}-inc",
        "/classifieds/two-room-flat-near-the-park-{}",
        "/forum/thread-{}-what-do-you-think-of-it.html",
        "/shop/blue-winter-jacket-for-men-p{}.html",
        "/newsletter/{}",
        "/map?lat={}",
        "/index.php?option=com_content&id={}",
        "/slideshow/{}/the-best-of-the-season",
    ),
    "foreign": (
        "/angebote/die-besten-matratzen-im-grossen-vergleich-{}.html",
        "/gewinnspiel-{}-mitmachen-und-reise-gewinnen",
        "/recettes/tarte-aux-pommes-de-grand-mere_{}.html",
        "/petites-annonces/vente-appartement-trois-pieces-{}",
        "/sorteo/comprobar-numero-de-la-loteria-{}/",
        "/programma-tv/cosa-vedere-stasera-in-tv-{}/",
        "/promo/skidki-do-50-protsentov-v-magazinakh-{}",
        "/%D0%B0%D1%84%D0%B8%D1%88%D0%B0/%D0%BA%D0%BE%D0%BD%D1%86%D0%B5%D1%80%D1%82-{}",
        "/emlak/satilik-daire-sehir-merkezinde-{}",
        "/ogloszenia/sprzedam-mieszkanie-w-centrum,{}.html",
        "/%E4%BA%BA%E6%B0%97%E3%83%A9%E3%83%B3%E3%82%AD%E3%83%B3%E3%82%B0/{}",
        "/2026/11/22/{}-things-to-do-this-weekend",
        "/article/sponsored-the-future-of-banking-is-here-{}",
        "/ten-reasons-to-subscribe-today-{}.html",
        "/a-{}",
        "/story/{}",
        "/amp/news/the-story-in-short-{}",
        "/content/{}/view.aspx",
    ),
}
"""Addresses of noise links. ``{}`` stands for a number. If there are none, the replayed web is unchanged."""
OWN_CERTIFICATES = ("-s", "DOWNLOAD_VERIFY_CERTIFICATES=0")
"""The replayed web has a self-signed certificate."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replay", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--forms", choices=FORMS, default="replay")
    parser.add_argument("--headlines", action="store_true")
    parser.add_argument("--kinds", choices=("old", "finite", "new"), default="new")
    parser.add_argument("--seconds", type=int, default=420, help="the crawl stops after this time")
    parser.add_argument("--keep", type=Path, help="keep the data of the crawl in this folder")
    parser.add_argument("--most", type=int, default=10**6, help="maximum number of articles of a host")
    parser.add_argument("--least", type=int, default=1, help="leave out hosts with fewer articles")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--born", type=int, default=0, help="number of articles published during the crawl")
    parser.add_argument("--hosts", type=int, default=40)
    parser.add_argument("--delay", type=float, default=0.1)
    options = parser.parse_args(arguments)
    rows = corpus_of(options.corpus, options.most, options.least)
    with tempfile.TemporaryDirectory(prefix="newsbot-lookalikes-") as folder:
        print(json.dumps(measure(Path(folder), rows, options)))


def corpus_of(place: Path, most: int, least: int) -> list[dict[str, Any]]:
    """Return the pages of a JSON file, or of a folder with ``index.jsonl``.

    There are at most ``most`` pages of each host, and none of hosts with less than ``least`` pages.
    """
    if place.is_file():
        rows = json.loads(place.read_text(encoding="utf-8"))
        for row in rows:
            row["file"] = str((place.parent / row["file"]).resolve())
    else:
        lines = (place / "index.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [{**row, "file": str(place / row["html"])} for row in map(json.loads, lines)]
    hosts: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        title = row.get("title") or (row.get("gold") or {}).get("title")
        hosts[urlsplit(row["url"]).hostname or ""].append({**row, "title": title})
    return [row for host, some in hosts.items() if host and len(some) >= least for row in some[:most]]


def measure(folder: Path, rows: list[dict[str, Any]], options: argparse.Namespace) -> dict[str, Any]:
    """Crawl once and return the figures."""
    hosts = sorted({urlsplit(row["url"]).hostname or "" for row in rows})[: options.hosts]
    rules, log = folder / "rules", folder / "log"
    rules.mkdir()
    polls = POLLS if options.born else ""
    (rules / "_defaults.yaml").write_text(f"delay: {options.delay}\n{polls}", encoding="utf-8")
    for host in hosts:
        domain = host.removeprefix("www.")
        (rules / f"{domain}.yaml").write_text(f"domain: {domain}\nseeds: http://{host}/\n", encoding="utf-8")
    corpus = folder / "corpus.json"
    wanted = [row for row in rows if urlsplit(row["url"]).hostname in hosts]
    corpus.write_text(json.dumps(wanted), encoding="utf-8")
    port = free_port()
    words = ["--corpus", str(corpus), "--port", str(port), "--log", str(log), "--noise-kinds", options.kinds]
    words += ["--born", str(options.born), "--every", "1"]
    serve = f"from benchmarks.lookalikes import serve; serve({str(options.replay)!r}, {options.forms!r}, "
    serve += f"{options.headlines}, {words!r})"
    proxy = f"http://127.0.0.1:{port}"
    own = {"NEWSBOT_RULES": str(rules), "NEWSBOT_RETRY_SCALE": "0.05"}
    own |= {"http_proxy": proxy, "https_proxy": proxy}
    with ExitStack() as stack:
        place = {"NEWSBOT_DATA": str(options.keep or folder / "data")}
        if options.workers > 1:
            place = {
                "REDIS_URL": stack.enter_context(own_redis()),
                "MONGO_URI": stack.enter_context(own_mongo()).uri,
            }
        server = stack.enter_context(
            subprocess.Popen([sys.executable, "-c", serve], stdout=subprocess.DEVNULL)
        )
        time.sleep(2)  # the server makes a certificate first
        crawl({**os.environ, **own, **place}, options)
        server.terminate()
        with closing(open_storage(place)) as storage:
            stored = [article.fetched_url for article in storage.articles.iter()]
    return {**figures(log, len(wanted)), **in_store(stored, wanted)}


def crawl(environment: dict[str, str], options: argparse.Namespace) -> None:
    """Run the workers, and kill some of them on the way."""
    command = [sys.executable, "-m", "scrapy", "crawl", "news", "-s", "NEWSBOT_PROGRESS=0", *OWN_CERTIFICATES]
    command += ["-s", f"CLOSESPIDER_TIMEOUT={options.seconds}"]
    command += ["-a", "mode=continuous"] if options.born else []

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)

    workers = [start() for _ in range(options.workers)]
    for number in range(options.kills):
        time.sleep(BETWEEN_KILLS)
        place = number % len(workers)
        if workers[place].poll() is None:
            workers[place].kill()
            workers[place].wait()
            workers[place] = start()
    for worker in workers:
        worker.wait()


def in_store(stored: Sequence[str], wanted: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the number of stored articles, and the share of them that are not in the corpus."""
    known = {_bare(row["url"]) for row in wanted}
    other = [url for url in stored if _bare(url) not in known]
    shapes = Counter(re.sub(r"\d+", "#", urlsplit(url).path) for url in other)
    return {
        "stored": len(stored),
        "not in corpus": round(len(other) / max(1, len(stored)), 3),
        "other": dict(shapes.most_common(8)),
    }


def _bare(url: str) -> str:
    return url.partition("//")[2].removeprefix("www.").rstrip("/")


def serve(replay: str, forms: str, headlines: bool, words: list[str]) -> None:
    """Run the replayed web with other noise links, until the process is terminated."""
    sys.path.insert(0, str(Path(replay).parent))  # replayweb.py imports a module beside it
    replayed = runpy.run_path(replay)
    web = replayed["Web"]

    class Web(web):  # type: ignore[misc, valid-type]
        def noise_links(self, host: str, page: str) -> list[str]:
            links: list[str] = super().noise_links(host, page)
            draw = random.Random(f"{host}{page}{forms}")
            own = FORMS[forms]
            return [draw.choice(own).format(draw.randrange(10**6)) for _ in links] if own else links

        def front(self, host: str, page: str) -> str:
            text: str = super().front(host, page)
            draw = random.Random(f"{host}{page}texts")
            known = [word for entry in self.hosts[host] for word in (entry.get("title") or "").split()]

            def headline(_: re.Match[str]) -> str:
                return ">" + html.escape(" ".join(draw.choices(known, k=draw.randint(5, 11)))) + "</a>"

            return re.sub(">more</a>", headline, text) if headlines and known else text

    replayed["main"].__globals__["Web"] = Web
    sys.argv[1:] = words
    asyncio.run(replayed["main"]())


def figures(log: Path, articles: int) -> dict[str, Any]:
    """Return the figures from the log of the replayed web; ``articles``: the number of all articles."""
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    sent = [row for row in rows if row["status"] == 200 and row["method"] == "GET"]
    kinds = Counter(row["kind"] for row in sent)
    found = len({(row["host"], row["path"]) for row in sent if row["kind"] == "article"})
    seen: set[tuple[str, str]] = set()
    late = 0
    for row in rows:
        late += len(seen) >= 0.99 * articles
        if row["status"] == 200 and row["kind"] == "article":
            seen.add((row["host"], row["path"]))
    noise = Counter(re.sub(r"\d+", "#", row["path"]) for row in sent if row["kind"] == "noise")
    return {
        "useful": round(kinds["article"] / max(1, kinds["article"] + kinds["noise"]), 3),
        "found": round(found / max(1, articles), 3),
        "requests": len(rows),
        "requests after 99 %": late,
        "seconds": round(rows[-1]["t"] - rows[0]["t"]) if rows else 0,
        "noise": dict(noise.most_common(10)),
    }


if __name__ == "__main__":
    main()
