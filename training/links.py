"""How well public filters, a single decision tree and newsbot recognise article URLs before a download.

Reads the links of :mod:`training.labels` (weak labels). Rows:

* ``everything``, ``courlan``, ``newspaper4k``: each link is judged alone. ``courlan`` and ``newspaper4k`` are
  in ``benchmarks/requirements.txt`` and are left out if they are not installed;
* ``one tree``: one decision tree per domain, trained on half of its links, with the global prior;
* ``newsbot``: ``rules.learn``, trained on the same half;
* ``newsbot, patterns``: only the regular expressions that newsbot would write into rule files;
* ``newsbot, new domains``: the prior alone, fitted without the domains that it judges (ten folds of domains);
* ``newsbot, as shipped``: the shipped prior, which was set by a person who knew these domains.

The rows with training also use a prior that was fitted on other domains only. The links are split into halves
``--seeds`` times. Each row counts only links that were not used for training. ``us`` is the processor time
per link in microseconds. The last two rows are the total time of judging and ranking a link by a learned
rule: for the links of the saved pages in their order, and for each link once.

    python -m training.links [--links FILE] [--seeds 3] [--domains] [--json]
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from newsbot.clock import system_clock, utc
from newsbot.items import Link, Where
from newsbot.pages.rules import shape
from newsbot.pages.rules.learn import BOUND, Node, boost, learn, path_of
from newsbot.pages.rules.learn import lately as of_rules
from newsbot.pages.rules.rule import Rule
from newsbot.pages.rules.shape import traits
from newsbot.ranking.judging import judge
from training.labels import LINKS, Labelled, labelled, rates, rows
from training.prior import fit_prior

FOLDS = 10
JUDGED = ("judging links of pages", "judging links never seen")
Prior = Callable[[str], float]
Chooser = Callable[[str], bool]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--links", type=Path, default=LINKS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--domains", action="store_true", help="also a row for each domain and method")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if not options.links.exists():
        parser.error(f"{options.links} does not exist; name a file with --links")
    table = list(measure(options.links, options.seeds, domains=options.domains))
    if options.json:
        print(json.dumps(table, ensure_ascii=False))
        return
    for row in table:
        print("  ".join(f"{key}={value}" for key, value in row.items()))


def measure(links: Path, seeds: int, *, domains: bool = False) -> Iterator[dict[str, Any]]:
    """Yield one row per method, and the cost of judging."""
    pages = labelled(links)
    priors = priors_of_others(labelled(links, at_least=0), {page.domain for page in pages})
    counts: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    seconds, judged = defaultdict[str, float](float), Counter[str]()
    for domain, own in _by_domain(pages).items():
        for seed in range(seeds):
            train, test = _halves(own, seed)
            for way, chosen in _ways(train, priors[domain]).items():
                began = time.process_time()
                verdicts = [chosen(page.url) for page in test]
                seconds[way] += time.process_time() - began
                judged[way] += len(test)
                for page, taken in zip(test, verdicts, strict=True):
                    counts[way][domain][_cell(page.positive, taken)] += 1
    for way, by_domain in counts.items():
        yield _row(way, by_domain, seconds[way] / judged[way])
        if domains:
            for domain, count in sorted(by_domain.items()):
                precision, recall = rates(count)
                yield {"way": way, "domain": domain, "precision": precision, "recall": recall}
    for way, cost in zip(JUDGED, _cost_of_judging(links, pages), strict=True):
        yield {"way": way, "us": round(cost * 1e6, 1)}


def priors_of_others(pages: Sequence[Labelled], wanted: set[str]) -> Mapping[str, Prior]:
    """For each wanted domain, return a prior that was fitted without the fold of this domain."""
    domains = sorted({page.domain for page in pages})
    random.Random(1).shuffle(domains)
    priors: dict[str, Prior] = {}
    for fold in range(FOLDS):
        left_out = set(domains[fold::FOLDS])
        prior = fit_prior([page for page in pages if page.domain not in left_out])
        priors |= dict.fromkeys(left_out & wanted, prior)
    return priors


def _ways(train: Sequence[Labelled], prior: Prior) -> dict[str, Chooser]:
    examples = [(page.url, page.positive) for page in train]
    rule = learn(examples, prior=prior)
    patterns = [re.compile(one.text, re.ASCII) for one in rule.patterns]
    one_tree = _one_tree(examples, prior)
    ways: dict[str, Chooser] = {"everything": lambda _url: True}
    ways |= public_filters()
    ways["one tree"] = one_tree
    ways["newsbot"] = lambda url: rule.log_odds(url) >= 0.0
    ways["newsbot, patterns"] = lambda url: any(one.search(path_of(url)) for one in patterns)
    ways["newsbot, new domains"] = lambda url: prior(url) >= 0.0
    ways["newsbot, as shipped"] = lambda url: shape.log_odds(url) >= 0.0
    return ways


def _one_tree(examples: list[tuple[str, bool]], prior: Prior) -> Chooser:
    """Return a single tree over the prior. It has one round at the full learning rate and no bias, and all
    labels are trusted."""
    urls, labels = [url for url, _ in examples], [label for _, label in examples]
    first = [max(-BOUND, min(BOUND, prior(url))) for url in urls]
    trees = boost([traits(url) for url in urls], labels, first, trust=1e9, rounds=1)
    tree = trees[0] if trees else Node()
    return lambda url: max(-BOUND, min(BOUND, prior(url))) + tree.value(traits(url)) >= 0.0


@cache
def public_filters() -> dict[str, Chooser]:
    """Return the installed filters of other projects."""
    found: dict[str, Chooser] = {}
    try:
        check_url = importlib.import_module("courlan").check_url
        found["courlan"] = lambda url: check_url(url) is not None
        found["courlan strict"] = lambda url: check_url(url, strict=True) is not None
        newspaper = importlib.import_module("newspaper.urls")
        # otherwise this filter downloads the list of public suffixes
        newspaper.tldextract.extract = newspaper.tldextract.TLDExtract(suffix_list_urls=())
        found["newspaper4k"] = lambda url: bool(newspaper.valid_url(url))
    except ImportError:
        pass
    return found


def _cost_of_judging(path: Path, pages: Sequence[Labelled]) -> Iterator[float]:
    """Yield the seconds per link to judge links by learned rules: all links of pages, and each link once."""
    by_domain = _by_domain(pages)
    learned = {name: learn([(page.url, page.positive) for page in own]) for name, own in by_domain.items()}
    now = utc(system_clock())
    found = [
        (Rule(domain=domain), learned[domain], Link(url=url, where=Where.BODY, text=text or None))
        for domain, url, text in rows(path)
        if domain in learned
    ]
    once = {link.url: (rule, own, link) for rule, own, link in found}
    for links in (found, list(once.values())):
        shape.lately.clear()
        of_rules.clear()
        began = time.process_time()
        for rule, own, link in links:
            judge(link, rule, depth=1, now=now, learned=own)
        yield (time.process_time() - began) / len(links)


def _by_domain(pages: Sequence[Labelled]) -> dict[str, list[Labelled]]:
    found: dict[str, list[Labelled]] = defaultdict(list)
    for page in pages:
        found[page.domain].append(page)
    return found


def _halves(own: Sequence[Labelled], seed: int) -> tuple[list[Labelled], list[Labelled]]:
    shuffled = sorted(own, key=lambda page: page.url)
    random.Random(seed).shuffle(shuffled)
    return shuffled[: len(shuffled) // 2], shuffled[len(shuffled) // 2 :]


def _cell(positive: bool, taken: bool) -> str:
    if taken:
        return "tp" if positive else "fp"
    return "fn" if positive else "tn"


def _row(way: str, by_domain: Mapping[str, Counter[str]], seconds: float) -> dict[str, Any]:
    each = [rates(count) for count in by_domain.values()]
    precision, recall = rates(sum(by_domain.values(), Counter[str]()))
    return {
        "way": way,
        "precision": precision,
        "recall": recall,
        "macro_precision": round(sum(rate[0] for rate in each) / len(each), 3),
        "macro_recall": round(sum(rate[1] for rate in each) / len(each), 3),
        "us": round(seconds * 1e6, 1),
    }


if __name__ == "__main__":
    main()
