"""Learns the forms of a site's article URLs from labelled URLs.

The labels are automatic. Three kinds of URLs are labelled as articles: links in feeds, links in news
sitemaps, and fetched articles. Links in menus and other fetched pages are labelled as other pages. The
*prior* is an estimate that is the same for all sites (:mod:`newsbot.pages.rules.shape`). A few shallow
decision trees over traits of the URL correct the prior. A trait is a boolean feature of a URL. If both the
label and the trees say that a URL is an article, the URL is used to make regular expressions
(:func:`induce`): they are grouped by their form, which is the number of segments, the kinds of the segments,
and the extension. For each group, several expressions are built, from strict to lenient. The most lenient
expression that matches only a few other pages is kept. All match from the beginning of the path.

The trees are learned by gradient boosting of the logistic loss. The values of leaves and the gains of splits
follow T. Chen, C. Guestrin, "XGBoost: A Scalable Tree Boosting System" (KDD 2016), equations 5 and 7. Both
are computed from the first and second derivatives of the loss. :data:`SHRINKAGE` is the regularization
(lambda). With few examples, the result stays near the prior. With many examples, it can be far from it.

The number of examples of a site (:class:`Examples`) is limited. The newest URLs are kept, and URLs of fetched
pages are preferred.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from newsbot.pages.rules.rule import PatternSet, compile_pattern
from newsbot.pages.rules.shape import OddsTable, kind_of, log_odds, probability, split_path, traits, words_in
from newsbot.urls import canonicalize

MIN_ARTICLES = 3
"""Minimum number of articles that a pattern must match. A single unusual URL is not enough for a pattern."""
MIN_PRECISION = 0.8
"""Minimum precision of a pattern: the share of articles among the known pages that the pattern matches."""
_TOLERATED = 0.03
"""Maximum loss of precision when a strict pattern is replaced by a more lenient one."""
MAX_PATTERNS = 12
"""Maximum number of patterns of one site."""
_MAX_NAMES = 6
"""Maximum number of names that are listed as alternatives for a segment, as in ``(?:news|sport)``."""
_MIN_EACH = 2
"""Minimum number of examples for each of these names."""
_MAX_FORMS = 60
"""Maximum number of groups that are tried. The largest groups are tried."""
_SHOWN = 3
"""Maximum number of articles that are stored as examples of a pattern."""
_SLUGS = ("slug", "mixed", "code", "word")
# Matches the end of the path, with or without a query.
_END = r"(?:\?|$)"


@dataclass(frozen=True, slots=True)
class LearnedPattern:
    """A regular expression for path and query of a URL, and the number of known pages that it matches."""

    text: str
    articles: int
    """Number of known articles that the pattern matches."""
    others: int
    """Number of other known pages that the pattern matches."""
    examples: tuple[str, ...]
    """Path and query of some of the matched articles."""

    @property
    def precision(self) -> float:
        """The share of articles among the known pages that it matches."""
        return self.articles / max(1, self.articles + self.others)


@dataclass(frozen=True, slots=True)
class _Known:
    """Path and query of the known pages: articles, other pages, and pages with a doubtful label."""

    good: list[str]
    bad: list[str]
    doubtful: list[str]


@dataclass(frozen=True, slots=True)
class _Example:
    path: str
    segments: tuple[str, ...]
    extension: str
    slash: bool
    query: str


def induce(
    articles: Sequence[str], others: Sequence[str], doubtful: Sequence[str] = ()
) -> list[LearnedPattern]:
    """Return patterns for the URLs of articles. The pattern that matches the most articles comes first.

    Each pattern matches at least MIN_ARTICLES articles that the patterns before it do not match. Its
    precision is at least MIN_PRECISION, computed with one additional wrong match. All URLs are canonical.
    ``doubtful`` are other pages whose label is probably wrong. They are counted in the result, but they never
    exclude a pattern.
    """
    examples = {example.path: example for example in map(_example, articles)}
    known = _Known(list(examples), [path_of(url) for url in others], [path_of(url) for url in doubtful])
    found: dict[str, LearnedPattern] = {}
    for group in _groups(list(examples.values())):
        pattern = _chosen(group, known)
        if pattern is not None:
            found[pattern.text] = pattern
    return _cover(list(found.values()), known.good)


def path_of(url: str) -> str:
    """Return path and query of a URL. Patterns are searched in this part."""
    # "https://" has 8 characters.
    at = url.find("/", 8)
    return url[at:] if at > 0 else "/"


def _example(url: str) -> _Example:
    _, segments, extension, slash, query = split_path(url)
    return _Example(path_of(url), tuple(segments), extension, slash, query)


def _groups(examples: list[_Example]) -> Iterator[list[_Example]]:
    """Yield groups of examples with the same form, large groups first.

    Each example is in two groups. In one group, all segments of the examples have the same kinds. In the
    second group, only the last segments have the same kind.
    """
    groups: dict[tuple[object, ...], list[_Example]] = defaultdict(list)
    for one in examples:
        kinds = tuple(_coarse(segment) for segment in one.segments)
        groups[len(one.segments), kinds, one.extension, one.slash, _item_key(one.query)].append(one)
        groups[len(one.segments), kinds[-1:], one.extension, one.slash, _item_key(one.query)].append(one)
    largest = sorted(groups.values(), key=len, reverse=True)[:_MAX_FORMS]
    yield from (group for group in largest if len(group) >= MIN_ARTICLES and group[0].segments)


def _coarse(segment: str) -> str:
    kind = kind_of(segment)
    return "name" if kind in _SLUGS else kind


def _item_key(query: str) -> str | None:
    """Return the key of a query that has a single key with a number as value, else None.

    Such a number often identifies the page.
    """
    key, _, value = query.partition("=")
    return key if value.isdecimal() else None


def _chosen(group: list[_Example], known: _Known) -> LearnedPattern | None:
    """Return the most lenient expression of a group that is precise enough, or None."""
    best: LearnedPattern | None = None
    best_share = 0.0
    for text in _expressions(group):
        try:
            compile_pattern(text)
        except ValueError:  # no pattern can be made from URLs with unusual characters
            continue
        hits = _matched(text, known.good)
        wrong = len(_matched(text, known.bad))
        # A few matches may all be articles by chance, so an additional wrong match is assumed.
        share = len(hits) / max(1, len(hits) + wrong)
        if len(hits) < MIN_ARTICLES or len(hits) / (len(hits) + wrong + 1) < _needed(wrong):
            continue
        if best is None or share >= best_share - _TOLERATED:
            doubted = len(_matched(text, known.doubtful))
            # The share is compared with the best share so far, so that many small losses do not add up.
            best_share = max(share, best_share)
            best = LearnedPattern(text, len(hits), wrong + doubted, tuple(hits[:_SHOWN]))
    return best


def _matched(text: str, paths: Iterable[str]) -> list[str]:
    pattern = PatternSet((text,))
    return [path for path in paths if pattern.first(path) is not None]


def _needed(wrong: int) -> float:
    """Return the minimum precision of a pattern with this number of wrong matches.

    Without wrong matches, MIN_ARTICLES articles are enough.
    """
    return MIN_PRECISION if wrong else MIN_ARTICLES / (MIN_ARTICLES + 1)


def _cover(patterns: list[LearnedPattern], good: list[str]) -> list[LearnedPattern]:
    """Return a small set of patterns that together match most articles.

    The choice is greedy: the next pattern is always the pattern that matches the most remaining articles.
    Finding the smallest set would take a search through all combinations.
    """
    matched = {one.text: set(_matched(one.text, good)) for one in patterns}
    left, chosen = set(good), list[LearnedPattern]()
    while patterns and len(chosen) < MAX_PATTERNS:
        best = max(patterns, key=lambda one: (len(matched[one.text] & left), one.precision, -len(one.text)))
        new = matched[best.text] & left
        if len(new) < MIN_ARTICLES:
            break
        chosen.append(best)
        left -= new
        patterns.remove(best)
    return chosen


def _expressions(group: list[_Example]) -> Iterator[str]:
    """Yield expressions for a group, from strict to lenient."""
    # Column n has segment n of each example.
    columns = list(zip(*(one.segments for one in group), strict=True))
    key = _item_key(group[0].query)
    last = key is None
    for names, strict in ((True, True), (True, False), (False, True), (False, False)):
        parts = [_segment(column, names=names) for column in columns[:-1]]
        end = _last_segment(columns[-1], strict=strict) if last else _segment(columns[-1], names=True)
        if group[0].extension:
            end += _literal("." + group[0].extension)
        path = "^/" + "/".join([*parts, end]) + ("/?" if not group[0].extension else "")
        yield path + (rf"\?{_literal(key)}=\d+$" if key else _END)


def _segment(values: Sequence[str], *, names: bool) -> str:
    """Return an expression for a segment that is not the last."""
    if number := _number(values):
        return number
    found = Counter(values)
    if len(found) == 1:
        return _literal(values[0])
    if headed := _headed_number(values):
        return headed
    if names and len(found) <= _MAX_NAMES and min(found.values()) >= _MIN_EACH:
        return "(?:" + "|".join(_literal(name) for name in sorted(found)) + ")"
    return "[^/?]+"


def _literal(text: str) -> str:
    return re.escape(text).replace(r"\-", "-")  # outside of brackets, "-" needs no escape


def _number(values: Sequence[str]) -> str | None:
    kinds = set(map(kind_of, values))
    if kinds == {"year"}:
        return r"(?:19|20)\d\d"
    if kinds == {"day"}:
        return r"\d\d" if all(len(value) == 2 for value in values) else r"\d\d?"
    if kinds <= {"number", "small", "day", "year"}:
        return _digits(min(map(len, values)))
    return None


def _digits(least: int) -> str:
    """Return an expression for numbers with at least this many digits.

    For long numbers the expression requires only five digits. Five digits are specific enough, and ids of
    further articles may be shorter.
    """
    return r"\d+" if least == 1 else rf"\d{{{min(least, 5)},}}"


def _headed_number(values: Sequence[str]) -> str | None:
    """Return an expression for values with a common prefix before a number, else None.

    Examples: ``article123``, ``id_123``, ``!123``.
    """
    head = _shared_head(values).rstrip("0123456789")
    if head and all(value[len(head) :].isdecimal() for value in values):
        return _literal(head) + _digits(min(len(value) - len(head) for value in values))
    return None


def _last_segment(values: Sequence[str], *, strict: bool) -> str:
    """Return an expression for the last segment.

    The forms are tried in this order: a number, letters and a number, words and a number, words. If none
    fits, the expression matches any text.
    """
    if number := _number(values) or _headed_number(values):
        return number
    tail = _tail_digits(values)
    # town-hall-12345
    if tail and strict:
        return rf"[^/?]+\D{_digits(tail)}"
    # 12345-town-hall
    if all(re.match(r"\d{4,}\D", value) for value in values):
        return r"\d{4,}[^/?]+"
    head = _id_head(values)
    words = min(words_in(value[len(head) :]) for value in values)
    # town-hall-opens-again; further words after the fourth are optional
    if words >= 3 or (strict and words >= 2):
        return _literal(head) + rf"[^/?-]+(?:-[^/?-]+){{{min(words, 4) - 1},}}"
    # town-hall-2nd
    if strict and all(re.search(r"\d", value[len(head) :]) for value in values):
        return _literal(head) + r"[^/?\d]*\d[^/?]*"
    return _literal(head) + "[^/?]+"


def _shared_head(values: Sequence[str]) -> str:
    # A prefix that the alphabetically first and last values have in common is a prefix of all values.
    first, last = min(values), max(values)
    at = next((place for place, sign in enumerate(first) if last[place : place + 1] != sign), len(first))
    return first[:at]


def _id_head(values: Sequence[str]) -> str:
    """Return the letters before the first number or capital of all values: ``art`` in ``art12-title``."""
    letters = re.match(r"[A-Za-z]*", _shared_head(values))
    head = letters[0] if letters else ""
    after = [value[len(head) : len(head) + 1] for value in values]
    return head if all(sign.isdecimal() or sign.isupper() for sign in after) else ""


def _tail_digits(values: Sequence[str]) -> int:
    """Return the lowest number of digits at the end of the values, or 0 if it is below 4."""
    found = [re.search(r"\d+$", value) for value in values]
    length = min((len(one[0]) if one else 0) for one in found)
    return length if length >= 4 else 0


ROUNDS = 8
"""Maximum number of trees."""
RATE = 0.5
"""Factor by which the value of each tree is multiplied (learning rate)."""
MAX_DEPTH = 4
"""Maximum number of tests between the root and a leaf."""
MIN_LEAF = 2
"""Minimum number of examples on each side of a split."""
SHRINKAGE = 0.5
"""Regularization of the values of leaves (lambda in the paper)."""
MIN_GAIN = 0.5
"""Minimum reduction of the loss by a split, without the factor 1/2 of the paper."""
_FLAT = 1e-3
"""Added to second derivatives. For confident guesses they are almost 0, but these guesses can need
corrections too."""

Names = frozenset[str]
"""The traits of one URL."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a tree: a test for a trait with two branches, or a leaf with log-odds.

    Leaves have no ``trait``.
    """

    odds: float = 0.0
    trait: str | None = None
    yes: Node | None = None
    no: Node | None = None

    def value(self, names: Names) -> float:
        """Return the log-odds of the leaf for a URL with these traits."""
        node = self
        while node.trait is not None and node.yes is not None and node.no is not None:
            node = node.yes if node.trait in names else node.no
        return node.odds

    def leaves(self, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], float]]:
        """Yield (conditions, log-odds) for each leaf. The conditions are the tests that lead to the leaf."""
        if self.trait is None or self.yes is None or self.no is None:
            yield above, self.odds
            return
        yield from self.yes.leaves((*above, self.trait))
        yield from self.no.leaves((*above, "not " + self.trait))

    def plain(self) -> Any:
        """Return the tree as a JSON-serializable value: a number for a leaf, otherwise ``[trait, yes,
        no]``."""
        if self.trait is None or self.yes is None or self.no is None:
            return round(self.odds, 4)
        return [self.trait, self.yes.plain(), self.no.plain()]


def from_plain(value: Any, depth: int = MAX_DEPTH) -> Node:
    """Return the tree from a value that :meth:`Node.plain` returned. Raises ``ValueError`` for other
    values."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return Node(odds=float(value))
    if depth > 0 and isinstance(value, list) and len(value) == 3 and isinstance(value[0], str):
        return Node(0.0, value[0], from_plain(value[1], depth - 1), from_plain(value[2], depth - 1))
    raise ValueError("the learned rule cannot be read")


def boost(
    names: Sequence[Names],
    labels: Sequence[bool],
    first: Sequence[float],
    trust: float,
    rounds: int = ROUNDS,
) -> list[Node]:
    """Return trees that correct the first guess. The caller multiplies their sum by RATE and adds it to the
    guess.

    ``names``, ``labels`` and ``first`` have one item per URL: its traits, whether it is an article, and the
    log-odds of the first guess. Automatic labels are sometimes wrong. So a label has a lower weight if the
    first guess contradicts it. The weight is one half if the log-odds of the guess for the opposite label are
    equal to ``trust``.
    """
    weights = [
        # The weight is a logistic function of the log-odds of the guess for the opposite label. min()
        # prevents an overflow of exp().
        1.0 / (1.0 + math.exp(min(30.0, (-odds if label else odds) - trust)))
        for odds, label in zip(first, labels, strict=True)
    ]
    odds = list(first)
    trees: list[Node] = []
    for _ in range(rounds):
        slopes, bends = _derivatives(odds, labels, weights)
        tree = _grow(list(range(len(names))), names, slopes, bends, MAX_DEPTH)
        if tree.trait is None and abs(tree.odds) < _FLAT:
            break
        trees.append(tree)
        odds = [before + RATE * tree.value(own) for before, own in zip(odds, names, strict=True)]
    return trees


def _derivatives(
    odds: Sequence[float], labels: Sequence[bool], weights: Sequence[float]
) -> tuple[list[float], list[float]]:
    """Return the first and the second derivatives of the weighted loss with respect to the log-odds.

    Both lists have one item per URL.
    """
    slopes, bends = [], []
    for one, label, weight in zip(odds, labels, weights, strict=True):
        chance = probability(one)
        # The derivative of the logistic loss with respect to the log-odds is chance - label.
        slopes.append(weight * (chance - label))
        bends.append(weight * (chance * (1.0 - chance) + _FLAT))
    return slopes, bends


def _grow(
    members: list[int], names: Sequence[Names], slopes: Sequence[float], bends: Sequence[float], depth: int
) -> Node:
    """Return the best tree for these members (indexes of URLs), with at most ``depth`` tests to a leaf."""
    slope, bend = sum(slopes[one] for one in members), sum(bends[one] for one in members)
    trait = _best(members, names, slopes, bends, (slope, bend)) if depth else None
    if trait is None:
        return Node(odds=-slope / (bend + SHRINKAGE))  # equation 5 of the paper
    yes = [one for one in members if trait in names[one]]
    no = [one for one in members if trait not in names[one]]
    return Node(
        0.0,
        trait,
        _grow(yes, names, slopes, bends, depth - 1),
        _grow(no, names, slopes, bends, depth - 1),
    )


def _best(
    members: list[int],
    names: Sequence[Names],
    slopes: Sequence[float],
    bends: Sequence[float],
    whole: tuple[float, float],
) -> str | None:
    """Return the trait that splits the members best, or None if no split gains MIN_GAIN.

    ``whole`` has the sums of the first and second derivatives over all members.
    """
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0])
    for one in members:
        for trait in names[one]:
            found = sums[trait]
            found[0] += slopes[one]
            found[1] += bends[one]
            found[2] += 1
    slope, bend = whole
    # equation 7: the gain is the sum of this value for both sides of a split, minus this value for the whole
    before = slope * slope / (bend + SHRINKAGE)
    best, gain = None, MIN_GAIN
    for trait, (part, bent, number) in sorted(sums.items()):  # sorted, so that the tree is always the same
        if number < MIN_LEAF or len(members) - number < MIN_LEAF:
            continue
        # Only the sums over the members with the trait were computed. The sums over the other members are the
        # whole minus these sums.
        rest = slope - part
        gained = part * part / (bent + SHRINKAGE) + rest * rest / (bend - bent + SHRINKAGE) - before
        # A tiny difference is a rounding error. In this case the first trait in alphabetical order is kept,
        # so that the tree is the same on every machine.
        if gained > gain + 1e-9:
            best, gain = trait, gained
    return best


MAX_EXAMPLES = 2000
"""Maximum number of URLs per label that are used. If there are more, a sample is used."""
TRUST = 2.5
"""A label that contradicts a prior with these log-odds has the weight one half (see :func:`boost`)."""
LEANING = 0.5
"""Added to the log-odds of every result, because a missed article is worse than an unnecessary fetch."""
BOUND = 4.0
"""Maximum absolute value of the prior's log-odds. It is limited so that a site's examples can correct the
prior."""
FORMAT = 1
"""Version of the stored form of a learned rule. Increase it if :meth:`LearnedRule.plain` changes."""

Prior = Callable[[str], float]
"""A function that returns the log-odds of a canonical URL."""

lately = OddsTable()
"""A cache of recently computed log-odds. The rules of all sites share it."""
_numbers = count()


@dataclass(frozen=True, slots=True)
class LearnedRule:
    """The learned rule of one site. Without examples it equals the global prior."""

    trees: tuple[Node, ...] = ()
    patterns: tuple[LearnedPattern, ...] = ()
    articles: int = 0
    """Number of articles among the examples from which the rule was learned."""
    others: int = 0
    """Number of other pages among these examples."""
    prior: Prior = log_odds
    _number: int = field(default_factory=_numbers.__next__, compare=False, repr=False)
    """A number that is unique in the process. It separates the rules of different sites in the cache."""

    def is_article(self, url: str) -> bool:
        """Return True if a URL looks like an article of this site. Return False for a text that is not a
        URL."""
        return self.score(url) >= 0.5

    def score(self, url: str) -> float:
        """Return the probability, from 0 to 1, that the page is an article. Return 0 for a text that is not a
        URL."""
        try:
            return probability(self.log_odds(canonicalize(url)))
        except ValueError:
            return 0.0

    def log_odds(self, url: str) -> float:
        """Return the log-odds of a canonical URL."""
        if not self.trees:
            return self.prior(url)
        mark = hash((self._number, url))
        odds = lately.get(mark)
        return lately.put(mark, self._corrected(url)) if odds is None else odds

    def _corrected(self, url: str) -> float:
        odds, names = self.prior(url), traits(url)
        return (
            max(-BOUND, min(BOUND, odds)) + LEANING + RATE * sum([tree.value(names) for tree in self.trees])
        )

    def plain(self) -> dict[str, Any]:
        """Return the rule, without its prior, as a JSON-serializable mapping for :func:`learned_from`."""
        return {
            "format": FORMAT,
            "trees": [tree.plain() for tree in self.trees],
            "patterns": [[one.text, one.articles, one.others, list(one.examples)] for one in self.patterns],
            "articles": self.articles,
            "others": self.others,
        }


def learned_from(plain: Mapping[str, Any]) -> LearnedRule:
    """Return the rule from a value that :meth:`LearnedRule.plain` returned.

    Raises ``ValueError`` if the value is damaged or has another :data:`FORMAT`.
    """
    try:
        if plain["format"] != FORMAT:
            raise ValueError("the learned rule was written by another version of newsbot")
        return LearnedRule(
            trees=tuple(from_plain(tree) for tree in plain["trees"]),
            patterns=tuple(
                LearnedPattern(str(text), int(articles), int(others), tuple(map(str, examples)))
                for text, articles, others, examples in plain["patterns"]
            ),
            articles=int(plain["articles"]),
            others=int(plain["others"]),
        )
    except (KeyError, TypeError) as error:
        raise ValueError("the learned rule cannot be read") from error


def learn(labelled: Iterable[tuple[str, bool]], *, prior: Prior = log_odds) -> LearnedRule:
    """Return the rule that is learned from pairs of a URL and a label (True for articles).

    A URL with both labels counts as an article, because menus link to articles too. Invalid URLs are ignored.
    ``prior`` returns the log-odds of a canonical URL and does not depend on the site.
    """
    known: dict[str, bool] = {}
    for url, label in labelled:
        try:
            canonical = canonicalize(url)
        except ValueError:
            continue
        known[canonical] = known.get(canonical, False) or label
    good = _sample([url for url, label in known.items() if label])
    bad = _sample([url for url, label in known.items() if not label])
    urls = good + bad
    if not urls:
        return LearnedRule(prior=prior)
    labels = [True] * len(good) + [False] * len(bad)
    names = [traits(url) for url in urls]
    first = [max(-BOUND, min(BOUND, prior(url))) for url in urls]
    rule = LearnedRule(
        trees=tuple(boost(names, labels, first, TRUST)), articles=len(good), others=len(bad), prior=prior
    )
    # Labels are sometimes wrong. If the trees reject a URL that is labelled as an article, no pattern is made
    # from it. If the trees accept a URL that is labelled as another page, the URL may be an article and does
    # not exclude a pattern.
    likely = [url for url in good if rule.log_odds(url) >= 0.0]
    doubtful = {url for url in bad if rule.log_odds(url) >= LEANING}
    others = [url for url in bad if url not in doubtful]
    return replace(rule, patterns=tuple(induce(likely, others, sorted(doubtful))))


def _sample(urls: list[str]) -> list[str]:
    """Return at most MAX_EXAMPLES URLs. The choice is pseudo-random, and it is always the same for the same
    URLs."""
    keys = {url: hashlib.blake2b(url.encode("utf-8", "replace"), digest_size=8).digest() for url in urls}
    return sorted(urls, key=keys.__getitem__)[:MAX_EXAMPLES]


MAX_KEPT = 200
"""Maximum number of URLs per label that are kept for a site."""
MAX_URL = 200
"""Maximum length in characters of a URL that is used as an example."""
MIN_EXAMPLES = 8
"""Minimum number of examples per label. With fewer examples, the patterns of a site are not learned."""
GROWTH = 1.25
"""The patterns are learned again when the number of examples has grown by this factor."""
WINDOW = 20
"""Number of recently fetched pages that are used to judge a pattern."""
MIN_FETCHED = 8
"""A pattern can be removed only if it matched at least this number of fetched pages."""
MAX_GIVEN_UP = 20
"""Maximum number of removed patterns that are stored for a site."""
MAX_PLAIN = 28_000
"""Maximum size in characters of the stored examples with one label."""
RETIRED_BELOW = 0.3
"""A pattern is removed if the share of articles among the last pages that it matched is below this value."""


@dataclass(slots=True)
class Examples:
    """The example URLs of one site. URLs are canonical."""

    articles: dict[str, bool] = field(default_factory=dict)
    """URLs of articles. The value is True if the page was fetched and was an article."""
    others: dict[str, bool] = field(default_factory=dict)
    """URLs of other pages. The value is True if the page was fetched and was not an article."""
    seen: int = 0
    """Number of examples that were added since this object was created."""
    learned_at: int = 0
    """The value of ``seen`` when the patterns were last learned."""
    due: bool = False
    """True if a pattern was removed after the patterns were last learned. They must then be learned again."""
    given_up: list[str] = field(default_factory=list)
    """The last patterns that were removed because their pages were no longer articles.

    URLs that they match are not accepted from other workers as examples of articles.
    """
    _revived: set[str] = field(default_factory=set)
    """Patterns that were removed and learned again. An old note of another worker must not remove these
    patterns."""
    _outcomes: dict[str, deque[bool]] = field(default_factory=dict)
    """Pattern -> one value for each of the last fetched pages that it matched, True for an article."""

    def heard(self, url: str, *, article: bool) -> None:
        """Add a URL that was not fetched. Its label depends on the place where the link was found.

        Links in feeds are labelled as articles, and links in menus as other pages. If the page was fetched
        before, its label is not changed.
        """
        # others.get() is True for a page that was fetched. The result of a fetch overrides the place of a
        # link.
        if len(url) > MAX_URL or url in self.articles or self.others.get(url):
            return
        if not article:
            self._put(self.others, url, fetched=False)
        else:
            self.others.pop(url, None)
            self._put(self.articles, url, fetched=False)

    def fetched(self, url: str, *, article: bool, rule: LearnedRule | None = None) -> str | None:
        """Record whether a fetched page was an article.

        If too few pages of a pattern of ``rule`` are articles, the pattern is removed and returned. Otherwise
        None is returned.
        """
        if len(url) > MAX_URL:
            return None
        (self.others if article else self.articles).pop(url, None)
        self._put(self.articles if article else self.others, url, fetched=True)
        return self._weigh(url, article, rule) if rule is not None else None

    def wants_learning(self) -> bool:
        """Return True if there are enough new examples to learn the patterns, for the first time or again."""
        if min(len(self.articles), len(self.others)) < MIN_EXAMPLES:
            return False
        # At least MIN_EXAMPLES examples must be new, because GROWTH alone is reached too soon if there are
        # only a few examples.
        return self.due or self.seen >= max(self.learned_at * GROWTH, self.learned_at + MIN_EXAMPLES)

    def learn(self) -> LearnedRule:
        """Learn from all examples and return the learned rule."""
        self.learned_at, self.due = self.seen, False
        rule = learn(self.labelled())
        kept = {pattern.text for pattern in rule.patterns}
        self._revived |= kept.intersection(self.given_up)
        self.given_up = [text for text in self.given_up if text not in kept]
        self._outcomes = {text: outcomes for text, outcomes in self._outcomes.items() if text in kept}
        return rule

    def labelled(self) -> Iterable[tuple[str, bool]]:
        """Yield each URL with its label, which is True for articles."""
        yield from ((url, True) for url in self.articles)
        yield from ((url, False) for url in self.others)

    def plain(self) -> dict[str, Any]:
        """Return the examples as a JSON-serializable mapping for :meth:`merge`.

        If the URLs are very long, only the last URLs are included, so that the value fits into one note of
        the storage.
        """
        return {
            "articles": _last(self.articles),
            "others": _last(self.others),
            "given_up": list(self.given_up),
        }

    def merge(self, plain: Mapping[str, Any]) -> None:
        """Add examples of another worker or an earlier crawl. ``plain`` is a value that :meth:`plain`
        returned.

        Labels that are known here are not changed. Patterns that the other worker has removed are removed
        here too. If the value does not have the expected form, nothing is changed and ``ValueError`` is
        raised.
        """
        try:
            # The whole value is read before anything is changed, so that a faulty value changes nothing.
            outcomes = [
                (str(url), bool(fetched), article)
                for name, article in (("articles", True), ("others", False))
                for url, fetched in plain.get(name, ())[:MAX_KEPT]
            ]
            given_up = [re.compile(str(text), re.ASCII) for text in plain.get("given_up", ())[:MAX_GIVEN_UP]]
        except (TypeError, AttributeError, ValueError, re.error) as error:
            raise ValueError("the examples of a site cannot be read") from error
        # Patterns are handled first, because the examples of a removed pattern must not be added again.
        for pattern in given_up:
            if pattern.pattern not in self.given_up and pattern.pattern not in self._revived:
                self._forget(pattern.pattern)
        for url, fetched, article in outcomes:
            if article and self._is_given_up(url):
                continue
            if url not in self.articles and url not in self.others:
                home = self.articles if article else self.others
                if len(home) < MAX_KEPT:
                    home[url] = fetched
                    self.seen += 1

    def _put(self, home: dict[str, bool], url: str, *, fetched: bool) -> None:
        self.seen += url not in home
        # The URL is removed and added again, so that the dict is in the order of last use. If the dict is
        # full, the oldest URL that was not fetched is dropped. If all URLs were fetched, the oldest URL is
        # dropped.
        known = home.pop(url, False)
        home[url] = known or fetched
        if len(home) > MAX_KEPT:
            del home[next((one for one, sure in home.items() if not sure), next(iter(home)))]

    def _weigh(self, url: str, article: bool, rule: LearnedRule) -> str | None:
        """Record whether the page was an article, for the first pattern that matches ``url``.

        If the pattern is removed as a consequence, it is returned. Otherwise None is returned.
        """
        path = path_of(url)
        for pattern in rule.patterns:
            if re.search(pattern.text, path, re.ASCII) is None:
                continue
            outcomes = self._outcomes.setdefault(pattern.text, deque(maxlen=WINDOW))
            outcomes.append(article)
            if len(outcomes) >= MIN_FETCHED and sum(outcomes) < RETIRED_BELOW * len(outcomes):
                self._forget(pattern.text)
                return pattern.text
            return None
        return None

    def _forget(self, pattern: str) -> None:
        """Remove a pattern, and the examples of articles that it matches.

        If these examples were kept, the same pattern would be learned again.
        """
        for url in [url for url in self.articles if re.search(pattern, path_of(url), re.ASCII)]:
            del self.articles[url]
        self._outcomes.pop(pattern, None)
        self.given_up = [*self.given_up, pattern][-MAX_GIVEN_UP:]
        self.due = True

    def _is_given_up(self, url: str) -> bool:
        return any(re.search(pattern, path_of(url), re.ASCII) for pattern in self.given_up)


def _last(home: Mapping[str, bool]) -> list[list[Any]]:
    """Return the URLs of ``home`` that fit into :data:`MAX_PLAIN` characters, each as ``[URL, fetched]``.

    Fetched URLs are chosen first, and newer URLs before older URLs. The result has the order of ``home``.
    """
    room, chosen = MAX_PLAIN, set()
    for wanted in (True, False):
        for url in [url for url, fetched in home.items() if fetched is wanted][::-1]:
            room -= len(url) + 10  # 10 characters for quotes, brackets and the flag in JSON
            if room >= 0:
                chosen.add(url)
    return [[url, fetched] for url, fetched in home.items() if url in chosen]
