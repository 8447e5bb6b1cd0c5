"""Whether two pages of a site, one of which claims to be the other, hold one article. Pure."""

from __future__ import annotations

from newsbot.dedup.decision import DERIVED, SAME_ARTICLE, different_news, numbers_in
from newsbot.dedup.minhash import exact, shingle_hashes
from newsbot.items import Article
from newsbot.text.words import token_bytes

ANOTHER_TEXT = 0.3
"""Similarity below which two texts cannot be versions of one article, unless one is cut from the other."""
LEAST_WORDS = 25
"""Of shorter texts only the headlines tell."""
HEADLINE_WORDS = 4
"""Shorter ones ("Weather", "Read more") say nothing."""
SAME_HEADLINE, OTHER_HEADLINE = 0.8, 0.4


def is_one_article(one: Article, other: Article) -> bool:
    """Return True if the texts are one article's: the same, cut from each other, or versions of it.

    Versions may differ in much where their headline is the same. Like texts with other numbers are other
    news from one template, whatever the pages claim.
    """
    if one.content_hash and one.content_hash == other.content_hash:
        return True
    headline = headlines_agree(one.title, other.title)
    if min(len(token_bytes(one.text)), len(token_bytes(other.text))) < LEAST_WORDS:
        return bool(headline)
    alike, contained = exact(shingle_hashes(one.text), shingle_hashes(other.text))
    if alike < ANOTHER_TEXT and contained < DERIVED:
        return False
    if different_news(numbers_in(one.text), numbers_in(other.text)):
        return False
    return alike >= SAME_ARTICLE or contained >= DERIVED or bool(headline)


def headlines_agree(one: str, other: str) -> bool | None:
    """Tell whether two headlines are one article's; None where they do not say.

    Those that share most words agree if their numbers do; those that share few are of two articles.
    """
    left, right = set(token_bytes(one)), set(token_bytes(other))
    smaller = min(len(left), len(right))
    if smaller < HEADLINE_WORDS:
        return None
    shared = len(left & right) / smaller
    if shared >= SAME_HEADLINE:
        return numbers_in(one) == numbers_in(other)
    return None if shared >= OTHER_HEADLINE else False
