"""Which address real pages call their canonical one: their own, a form of it, or another one.

Pages without an address and pages that are not articles are left out.

    python -m benchmarks.claims FOLDER [--sets fundus,traf,htmldate,fundeval,aeb]
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from benchmarks.extraction import load_definitions
from newsbot.errors import NotAnArticle
from newsbot.pages.extraction import read_page
from newsbot.pages.extraction.addresses import is_variant, on_one_host
from newsbot.urls import canonicalize, fingerprint


def kind_of(url: str, claim: str) -> str:
    """Return how the canonical address ``claim`` of the page ``url`` is related to its own address."""
    own = canonicalize(url)
    if fingerprint(own) == fingerprint(claim):
        return "own"
    if is_variant(own, claim):
        return "form"
    return "same host" if on_one_host(own, claim) else "other host"


def measure(data: Path, names: list[str]) -> Counter[str]:
    """Return the number of pages of each kind."""
    found: Counter[str] = Counter()
    for name in names:
        for page in load_definitions(data).ds_flat(str(data / name)):
            try:
                found[kind_of(page["url"], read_page(page["read"](), page["url"]).canonical_url)] += 1
            except (NotAnArticle, ValueError):
                continue
    return found


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the folder with score.py and the sets of pages")
    parser.add_argument(
        "--sets", default="fundus,traf,htmldate,fundeval,aeb", help="names of sets, with commas"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    found = measure(options.folder, options.sets.split(","))
    print(
        json.dumps(found)
        if options.json
        else "\n".join(f"{kind:<12}{count:>6}" for kind, count in found.most_common())
    )


if __name__ == "__main__":
    main()
