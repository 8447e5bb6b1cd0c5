"""How a crawl judged what resembles what, beside what the demo's plan says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from benchmarks.demoweb.manifest import Manifest
from newsbot.items import Article
from newsbot.urls import canonicalize, fingerprint

COLUMNS = ("which texts resemble each other", "pairs", "in one story", "wrong")

_Pair = frozenset[bytes]


@dataclass(frozen=True, slots=True)
class Judged:
    """One sort of pairs of stored articles."""

    what: str
    pairs: int
    joined: int
    """Pairs that are in one story."""
    wrong: int
    """Of these those that should not be, or of the others those that should."""


def judge(articles: Iterable[Article], manifest: Manifest) -> list[Judged]:
    """Compare the stories of stored articles (any order) with the manifest."""
    story = {fingerprint(one.canonical_url): one.story or one.canonical_url for one in articles}
    source = {_key(one.url): one.source for one in manifest.articles}
    same = {pair for group in _families(manifest) for pair in _pairs(group & story.keys())}
    reports = {pair for group in manifest.templates for pair in _pairs(set(map(_key, group)) & story.keys())}
    joined = _joined(story)
    at_home = {pair for pair in same if len({source.get(key) for key in pair}) == 1}
    return [
        _judged("told again by another site", same - at_home, joined, wanted=True),
        _judged("told again by the same site", at_home, joined, wanted=True),
        _judged("one template, other numbers", reports, joined, wanted=False),
        _judged("anything else", joined - same - reports, joined, wanted=False),
    ]


def rows(judged: Sequence[Judged]) -> list[Sequence[object]]:
    """Return table rows under :data:`COLUMNS`."""
    return [(one.what, one.pairs, one.joined, one.wrong) for one in judged]


def _judged(what: str, pairs: set[_Pair], joined: set[_Pair], *, wanted: bool) -> Judged:
    together = len(pairs & joined)
    return Judged(what, len(pairs), together, len(pairs) - together if wanted else together)


def _families(manifest: Manifest) -> list[set[bytes]]:
    """Articles of one story: what was edited, and who printed each version word for word."""
    leader: dict[bytes, bytes] = {}
    for group in (*manifest.near, *manifest.reprints):
        keys = [_key(url) for url in group]
        old = {leader.get(key, key) for key in keys}
        first = min(old)
        leader |= {key: first for key, one in leader.items() if one in old} | dict.fromkeys(keys, first)
    families: defaultdict[bytes, set[bytes]] = defaultdict(set)
    for key, first in leader.items():
        families[first].add(key)
    return list(families.values())


def _joined(story: dict[bytes, str]) -> set[_Pair]:
    groups: defaultdict[str, set[bytes]] = defaultdict(set)
    for key, name in story.items():
        groups[name].add(key)
    return {pair for group in groups.values() for pair in _pairs(group)}


def _pairs(keys: set[bytes]) -> set[_Pair]:
    return {frozenset(pair) for pair in combinations(keys, 2)}


def _key(url: str) -> bytes:
    return fingerprint(canonicalize(url))
