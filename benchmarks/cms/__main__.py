"""What a crawl finds on sites of common publishing systems, with a one-line rule.

Each installed system makes a site of ``--posts`` posts of the last 28 days with its default theme. The crawl
has default settings and a simulated clock (:mod:`testbed.otherclock`), so it takes little time. One day
later the site has 12 new posts and 10 edited ones, and the crawl is repeated. The benchmark prints for each
site:

* ``found``: share of the posts that were stored
* ``twice``: number of posts that are stored under a second address after both crawls; ``noise``: the share of
  stored items that are not posts
* ``title``, ``day``, ``minute``, ``authors``: shares of the found posts for which this field is right;
  ``sentences``: the share of their sentences that was stored; ``foreign``: the share of stored letters that
  are not from the post
* ``useful``: number of found posts per fetched page (without lists, feeds and sitemaps); ``requests``: number
  of requests of all kinds per found post; ``lists``: number of lists that were read
* ``new``: share of the new posts that the second crawl stored; ``edits``: share of the edits that it found;
  ``again``: number of requests of the second crawl

Pelican, Nikola and MkDocs come from PyPI (``benchmarks/requirements.txt``), Hugo, Jekyll (with
jekyll-theme-minima and ruby-jekyll-feed) and WordPress from Debian, Hexo and Docusaurus (@docusaurus/core,
@docusaurus/preset-classic, react, react-dom) from npm (``NODE_PATH`` names the folder).

    python -m benchmarks.cms [--posts 300] [--only pelican,hugo] [--keep FOLDER] [--json]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.cms.generators import static_sites
from benchmarks.cms.measure import Site, measure
from benchmarks.cms.wordpress import installed_themes, wordpress

POSTS = 300


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--posts", type=int, default=POSTS)
    parser.add_argument("--only", help="comma-separated sites (default: all that can be made here)")
    parser.add_argument("--keep", type=Path, help="folder for the sites and the data, which is kept")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    with ExitStack() as stack:
        folder = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="newsbot-cms-")))
        for site in _sites(folder / "sites", options.only, stack):
            row = measure(site, folder / "crawls" / site.name, options.posts)
            rows.append(row)
            if not options.json:
                _show(row, head=len(rows) == 1)
    if options.json:
        print(json.dumps(rows))


def _sites(folder: Path, only: str | None, stack: ExitStack) -> Iterator[Site]:
    folder.mkdir(parents=True, exist_ok=True)
    wanted = only.split(",") if only else None
    for site in static_sites(folder):
        if wanted is None or site.name in wanted:
            yield site
    for name in installed_themes():
        if wanted is None or name in wanted:
            yield stack.enter_context(wordpress(name, folder))


def _show(row: dict[str, Any], *, head: bool) -> None:
    if head:
        print("  ".join(f"{name:>9}" if name != "site" else f"{name:16}" for name in row))
    print(
        "  ".join(f"{_cell(value):>9}" if name != "site" else f"{value:16}" for name, value in row.items()),
        flush=True,
    )


def _cell(value: object) -> str:
    return "-" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
