"""Estimates by a URL alone how likely it is an article's.

Each feature of the path adds to the log-odds; the logistic function of the sum is the prior. This module does
not know any site. The forms of a site's URLs belong to its rule and to what is learned from the site.
"""

from __future__ import annotations

import math
import re
from array import array
from functools import lru_cache

PLACES = 1 << 16


_TAG_BITS = 40


_TAGS = (1 << _TAG_BITS) - 1


_STEPS = 1000
"""Steps per unit of log-odds that are stored."""


_MIDDLE = 1 << 23


_LARGEST = (_MIDDLE - 1) / _STEPS


class OddsTable:
    """A fixed-size cache of numbers by hash.

    Each entry is one machine word: 40 bits of the hash, and the number in thousandths in 24 bits. Threads may
    share a table because a word is read and written as a whole. Together with the bits that choose the place,
    the probability that two URLs are confused is at most 2^-55 per lookup; a link would then get the odds of
    another link.
    """

    def __init__(self, places: int = PLACES) -> None:
        """``places``: a power of two."""
        self._mask = places - 1
        self._shift = self._mask.bit_length()
        self._words = array("Q", bytes(8 * places))

    def get(self, mark: int) -> float | None:
        """Return the number for a hash (of Python's ``hash``), or None if it is not in the table."""
        word = self._words[mark & self._mask]
        if not word or (word >> 24) != (mark >> self._shift) & _TAGS:
            return None
        return ((word & 0xFFFFFF) - _MIDDLE) / _STEPS

    def put(self, mark: int, odds: float) -> float:
        """Store a number; return it as :meth:`get` will, rounded to a thousandth."""
        number = round(max(-_LARGEST, min(_LARGEST, odds)) * _STEPS)
        self._words[mark & self._mask] = ((mark >> self._shift) & _TAGS) << 24 | (number + _MIDDLE)
        return number / _STEPS

    def __len__(self) -> int:
        """Return how many places there are."""
        return len(self._words)

    def clear(self) -> None:
        """Remove all numbers."""
        self._words = array("Q", bytes(8 * len(self._words)))


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


LISTS = _words(
    "arama archiv archive archives archivio area arhiv auteur auteurs author author-profile authors autor",
    "autoren avtor avtory buscar cat categories category collection collections columnist columnists",
    "contributor contributors dossier dossiers journalist journalists kategorie keyword keywords kolumne",
    "latest lenta list lists page pages paieska people person personen persons players poisk profil",
    "profile profiles ranking rankings recherche region regions rubric rubrics rubrika rubriki rubrique",
    "search section sections shows staff stats subject subjects suche tag tags team teams teg tegi tema",
    "temy thema theme themen themenspeziale themes topic topics user users word",
)
"""Pages that list others: topics, people, archives, search."""
RUBRICS = _words(
    "categories category kategori kategoria kategorie categoria categorie rubric rubrics rubrik rubrika",
    "rubriki rubrique rubriques section sections seccion sezione sektion ressort temy thema",
)
"""Lists that the menus of home pages use as the site's sections."""
UTILITIES = _words(
    "abo abonelik abonnement abos about about-us account advertise advertising agb amp anzeigen app apps",
    "auth bookmarks calendar careers cart cgi-bin checkout comment comments community community-standards",
    "contact contacto contacts contest contests cookie cookies coupon coupons crossword datenschutz",
    "datenschutzerklaerung donate download downloads e-paper embed epaper epg events faq favorites feed",
    "feeds forum forums game games gutscheine help hilfe horoscope horoskop impressum imprint info job",
    "jobs kalender karriere kiosk kontakt kontakte kontakty konto legal live livestream login mailing",
    "mapa marktplatz mediadaten mein mentions-legales my-account newsletter newsletters notifications",
    "o-nas oauth password plan-du-site podcast podcasts pogoda policies policy print privacy",
    "privacy-policy program programm promo puzzles quiz radio redakciya redaktion register registration",
    "registrierung reklama rss service services settings share shop sign-in signin signup sitemap spenden",
    "spiele stellenanzeigen store subscribe subscription subscriptions sudoku support terms",
    "terms-and-conditions terms-of-use tv uber-uns ueber-uns user-account vacancies vakansii",
    "veranstaltungen weather werbung wetter widget wp-admin wp-login.php",
)
"""Pages about the site itself: accounts, legal notes, services, games."""
ARTICLES = _words(
    "article articles articolo articulo artikel artikkel artikkeli beitrag doc feature features noticia",
    "noticias novosti nyheter post posts stati statya stories story",
)
"""Folders that contain articles."""
MEDIA = _words(
    "audio bilder bildergalerie foto fotos galerie galleries gallery infographics media mediathek",
    "multimedia photo photogallery photos slideshow video videos",
)
"""Folders of films, pictures and sound, with little text."""
ITEM_KEYS = _words(
    "aid article_id articleid artid doc id idxno item n news_id newsid nid no p sid storyid",
)
"""Query keys whose number identifies one page."""
LIST_KEYS = _words(
    "category filter offset order page pg q query s search sort start tag text type",
)
"""Query keys that page through, search or filter."""
HOUSE_WORDS = _words(
    "abo abonnement abonnieren agb cookie cookies coupons datenschutz datenschutzerklaerung",
    "datenschutzerklarung datenschutzhinweise gutschein gutscheine impressum kontakt kreuzwortraetsel",
    "login newsletter newsletters podcasts privacy rss subscribe sudoku",
)
"""Words in a slug that mark a page about the site itself."""


_MAX_LOOKED_AT = 512
_MAX_KEYS = 20


_DATE = re.compile(
    r"/(?:19|20)\d\d/(?:0?[1-9]|1[0-2]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)/"
    r"(?:0?[1-9]|[12]\d|3[01])(?=/|$)"
    r"|/(?:0[1-9]|[12]\d|3[01])/(?:0[1-9]|1[0-2])/(?:19|20)\d\d(?=/|$)"
    r"|(?<!\d)(?:19|20)\d\d[-_](?:0[1-9]|1[0-2])[-_](?:0[1-9]|[12]\d|3[01])(?!\d)"
    r"|(?<!\d)20[0-3]\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?!\d)"
)
_MONTH = re.compile(r"/(?:19|20)\d\d/(?:0?[1-9]|1[0-2])(?=/|$)|/(?:19|20)\d\d[-_](?:0[1-9]|1[0-2])(?=/|$)")
_NUMBER = re.compile(r"(?<![A-Za-z0-9%])\d{5,}(?![A-Za-z0-9])")
_DIGIT = re.compile(r"\d")
_UUID_LENGTH = 36
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TURNS = re.compile(r"(?<=[a-z])(?=\d)|(?<=\d)(?=[a-z])")
_ESCAPED = re.compile(r"(?:%[0-9A-Fa-f]{2}){2,}")
_SUFFIX = re.compile(r"\.(?:s?html?|php\d?|aspx?|jsp|phtml|xhtml|cms|ece)$", re.IGNORECASE)
_BREAKS = re.compile(r"[-_,+.~–]+")

_NUMBERED = re.compile(r"(?:article|artikel|art|story|news|a|id_?)-?_?\d{5,}", re.IGNORECASE)

lately = OddsTable()
"""A cache of recent results of :func:`log_odds`."""

_LIST_ID = re.compile(r"(?:s|t|c|r|cat|tag|th|topic|section|rubric|rubrik)[-_]\d{2,}", re.IGNORECASE)
"""The last segment of a section's address on some sites: ``/europa/s-12322``."""

_BIAS = -1.5
WEIGHTS = {
    # The slug: a headline, a number, a code, or few words at some depth.
    "6 words": 3.3,
    "5 words": 2.6,
    "4 words": 1.9,
    "words and number": 0.9,
    "number": 2.0,
    "number at top": 1.0,
    "code": 1.0,
    "3 at depth 1": -0.5,
    "3 at depth 2": -0.5,
    "3 at depth 3": 0.3,
    "3 at depth 4": 0.5,
    "2 at depth 1": -2.0,
    "2 at depth 2": -1.8,
    "2 at depth 3": -1.0,
    "2 at depth 4": -0.3,
    "1 at depth 1": -3.0,
    "1 at depth 2": -2.5,
    "1 at depth 3": -1.8,
    "1 at depth 4": -1.0,
    "front page": -4.0,
    # Dates in the path.
    "date": 3.0,
    "month": 2.0,
    "archive": -4.0,
    # Names of segments.
    "article": 2.2,
    "media": -0.7,
    "list": -3.0,
    "list above": -1.5,
    "utility": -3.0,
    "utility above": -1.5,
    "utility in slug": -2.5,
    "utility host": -3.0,
    # The rest.
    "suffix": 0.6,
    "query names item": 2.0,
    "query lists": -2.0,
}
"""Log-odds, set by hand after a regression over links of 29 sites; see ``benchmarks/ranking.py``."""


CLEARLY_NONE = -5.0
"""Log-odds below which a URL is not an article on any site: searches, lists, logins."""


def prior(url: str) -> float:
    """Return the probability that the page is an article, from 0 to 1, by its URL alone."""
    return probability(log_odds(url))


def log_odds(url: str) -> float:
    """Return the sum of the weights of all :func:`features`."""
    mark = hash(url)
    odds = lately.get(mark)
    if odds is None:
        odds = lately.put(mark, _BIAS + sum(WEIGHTS[feature] for feature in features(url)))
    return odds


def is_list_id(path: str) -> bool:
    """True for a section, by its last segment: ``s-12322``."""
    return _LIST_ID.fullmatch(path.rstrip("/").rpartition("/")[2]) is not None


def is_front_page(url: str) -> bool:
    """True for the front page of a host, with or without a query that does not identify a page."""
    path, _, query = url[8:].partition("/")[2].partition("?")
    return not path and (not query or _of_query(query) != ["query names item"])


def probability(odds: float) -> float:
    """Return the probability for log-odds."""
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, odds))))


def features(url: str) -> list[str]:
    """Return the features of an http(s) URL: keys of :data:`WEIGHTS`."""
    at = url.find("/", 8)
    host = url[url.find("//") + 2 : at if at > 0 else None]
    path, _, query = url[at : at + _MAX_LOOKED_AT].partition("?") if at > 0 else ("/", "", "")
    found = ["utility host"] if host.partition(".")[0].lower() in UTILITIES else []
    segments = [segment for segment in path.lower().split("/") if segment]
    asked = _of_query(query) if query else []
    if asked == ["query names item"] and len(segments) < 2:
        return [*found, *asked]
    if not segments:
        return [*found, "front page"]
    plain = _SUFFIX.sub("", segments[-1])
    if plain != segments[-1]:
        found.append("suffix")
    segments[-1] = plain
    tail = segments[-2:]
    digits = _DIGIT.search(path) is not None
    if digits and len(path) > _UUID_LENGTH:
        tail = [_UUID.sub("0a0a0a0a0", segment) for segment in tail]
    words = max(map(_words_in, tail))
    if digits:
        found += _of_date(path.lower(), segments)
    found += _of_slug(tail, words, len(segments), digits=digits)
    found += _of_names(segments, words)
    return found + asked


def _of_date(path: str, segments: list[str]) -> list[str]:
    day = _DATE.search(path) is not None
    if not day and _MONTH.search(path) is None:
        return []
    if len(segments[-1]) < 5 and all(map(str.isdecimal, segments[-2:])):
        return ["archive"]
    return ["date" if day else "month"]


def _of_slug(tail: list[str], words: int, depth: int, *, digits: bool) -> list[str]:
    """Return the features of the last two segments: words, a number, a code."""
    if is_list_id(tail[-1]):
        return ["list"]
    number = digits and (any(map(_NUMBER.search, tail)) or any(map(_NUMBERED.match, tail)))
    if words >= 4:
        return [f"{min(words, 6)} words", *(["words and number"] if number else [])]
    if number:
        return ["number" if depth > 1 else "number at top"]
    if digits and any(_is_code(part) for segment in tail for part in _BREAKS.split(segment)):
        return ["code"]
    return [f"{max(words, 1)} at depth {min(depth, 4)}"]


def _is_code(part: str) -> bool:
    return len(part) >= 9 and len(_TURNS.findall(part)) >= 3


@lru_cache(maxsize=1024)  # for the names of sections: the last segment of an address is there once
def _words_in(segment: str) -> int:
    if "%" in segment:
        segment = _ESCAPED.sub(_stand_in, segment)
    return sum(1 for word in _BREAKS.split(segment) if len(word) > 1 and word.isalpha())


def _stand_in(escaped: re.Match[str]) -> str:
    return "x" * (len(escaped[0]) // 6 + 2)  # a letter of another script takes six characters


_LISTED = (("list", "list above", LISTS), ("utility", "utility above", UTILITIES))


def _of_names(segments: list[str], words: int) -> list[str]:
    last = segments[-1]
    above = segments[:-1]
    found = []
    for name, above_name, listed in _LISTED:
        if last in listed:
            found.append(name)
        elif not listed.isdisjoint(above):
            found.append(name if words < 4 else above_name)
    if "utility" not in found and not HOUSE_WORDS.isdisjoint(_BREAKS.split(last)):
        found.append("utility in slug")
    if not MEDIA.isdisjoint(segments):
        found.append("media")
    if not ARTICLES.isdisjoint(above) or any(map(_NUMBERED.match, segments[-2:])):
        found.append("article")
    return found


def _of_query(query: str) -> list[str]:
    keys = {}
    for part in query.split("&")[:_MAX_KEYS]:
        key, _, value = part.partition("=")
        keys[key.lower()] = value
    if any(key in ITEM_KEYS and value.isdecimal() and len(value) > 2 for key, value in keys.items()):
        return ["query names item"]
    return [] if LIST_KEYS.isdisjoint(keys) else ["query lists"]
