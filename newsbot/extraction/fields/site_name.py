"""Finds the possible names of a site, and removes them from headlines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from urllib.parse import urlsplit

from lxml.html import HtmlElement

from newsbot import urls
from newsbot.extraction.page.jsonld import first_text
from newsbot.extraction.page.page import Page, text_of
from newsbot.extraction.strings import key, plain
from newsbot.text.languages import compiled, words

MAX_TITLE = 400
"""Maximum length of a headline. The rest is cut off."""

# e.g. "Headline | Site", "Headline - Site", "Headline_Site", "Headline: example.org". Signs that words may
# contain, such as "-", count only between spaces.
_SEPARATOR = re.compile(
    r"\s+[|¦│‖•·«»‹›—–\-:/~]{1,2}\s+|\s*[|｜│‖ㅣ]\s*|\s+::\s+|\s*»\s*$|--|_(?=[^_]{2,20}$)|\s*›\s*"
    r"|:\s+(?=[\w-]{2,20}\.[a-z]{2,4}$)"
)
_NO_HEADLINE = (
    r"[\w-]{2,20}\.(?:com|org|net|info|news|tv|eu|de|at|ch|fr|it|es|pt|pl|cz|sk|hu|ro|bg|gr|tr|nl|be|se|no|dk|"
    r"fi|is|ie|lt|lv|ee|by|kz|ru|ua|uk|us|ca|au|nz|in|id|my|sg|jp|kr|cn|tw|hk|vn|il|za|br|mx|ar|cl|co|me)|\d{1,4}[./-]\d{1,2}[./-]\d{2,4}|"
    r"%(page)s\s\d{1,3}"
)
"""Parts of a title that are never a headline: a host name, a date, a page number."""
_DATED = re.compile(r",\s\d{1,2}\.\d{1,2}\.\d{4}$")
"""The date after the name of the site: "… - РИА Новости, 03.05.2024"."""
_COLON = re.compile(r"\s*[:：]\s*")
_SITE_ENDS = r"[\u3400-\u9fff\w]{1,10}%(site_ends)s"
"""The name of a Chinese site."""
_UNSPACED = re.compile(
    r"(?<=[\u3040-\u9fff\uac00-\ud7af\uff00-\uff65”’])(?:[-_–－＿]{1,2}|(?<!—)—)(?=[^-_–—－＿\s]{2,20}$)"
)
"""The dash before the name of a Chinese or Japanese site, without spaces: "新闻标题-新华网"."""
# Latin letters by Cyrillic letter.
_ROMAN = dict(zip("абвгдежзийклмнопрстуфхцчшщъыьэюяёіїєґў", (
    "a", "b", "v", "g", "d", "e", "zh", "z", "i", "y", "k", "l", "m", "n", "o", "p", "r", "s", "t", "u", "f",
    "h", "c", "ch", "sh", "sch", "", "y", "", "e", "yu", "ya", "e", "i", "i", "e", "g", "u",
), strict=True))  # fmt: skip


def clean_title(title: str, sites: Sequence[str]) -> str:
    """Return ``title`` without a leading or trailing part that names the site.

    ``sites`` is the result of :func:`site_names`.

    >>> clean_title("Rain in May - The Daily News", ["daily news"])
    'Rain in May'
    """
    title = plain(title)[:MAX_TITLE]
    # The name may occur on both sides or twice: "Rain in May | The Daily News | dailynews.com".
    for _ in range(3):
        shorter = _without_label(_without_site(title, sites), sites)
        if shorter == title:
            break
        title = shorter
    return title.strip(" |│»›–—-")


def _without_site(title: str, sites: Sequence[str]) -> str:
    parts = list(_SEPARATOR.finditer(title))
    if not parts:
        return title
    # Only the first and the last part can be the name of the site. A part between them never is.
    last, first = parts[-1], parts[0]
    tail = title[last.end() :]
    if (_names_site(tail, sites) or compiled(_NO_HEADLINE).fullmatch(tail)) and title[: last.start()].strip():
        return title[: last.start()]
    if _names_site(title[: first.start()], sites) and title[first.end() :].strip():
        return title[first.end() :]
    return title


def _without_label(title: str, sites: Sequence[str]) -> str:
    """Remove the name of the site before or after a colon, or after a dash without spaces.

    A single word (in ASCII) before or after a colon is kept, because it may be the subject of the story. A
    dash without spaces separates the name only in languages that do not write spaces.
    """
    dash = _UNSPACED.search(title)
    if dash is not None and (
        key(tail := title[dash.end() :]) in sites or compiled(_SITE_ENDS).fullmatch(tail)
    ):
        return title[: dash.start()]
    colons = list(_COLON.finditer(title))
    for at in (colons[-1], colons[0]) if colons else ():
        head, tail = title[: at.start()], title[at.end() :]
        for part, rest in ((tail, head), (head, tail)):
            name = key(part)
            if name in sites and (" " in name or not name.isascii()) and rest.strip():
                return rest
    return title


def _names_site(part: str, sites: Sequence[str]) -> bool:
    name = key(_DATED.sub("", part))
    if not name:
        return True
    return len(name) < 60 and any(_is_name_of(name, site) for site in sites)


def _is_name_of(name: str, site: str) -> bool:
    # Names are compared without spaces, because host names have none.
    together, joined = site.replace(" ", ""), name.replace(" ", "")
    if name == site or joined == together or romanised(joined) == together:
        return True
    # One of the two names may contain the other: "Example" and "example.org". If the part is much longer than
    # the name of the site, it is a headline.
    shorter, longer = sorted((joined, together), key=len)
    parts = name.split()
    if len(shorter) >= 4 and shorter in longer:
        return len(parts) <= len(site.split()) + 3 and len(longer) < 3 * len(shorter)
    # A short name must be a whole word, and the other words must be common: "BBC News" at bbc.co.uk.
    if any(romanised(end) == site for end in (parts[0], parts[-1])) and all(
        part in words("site_words") or romanised(part) == site for part in parts
    ):
        return True
    return len(parts) > 1 and site.isascii() and 3 <= len(site) <= 20 and _abbreviates(site, parts)


def _abbreviates(label: str, parts: Sequence[str]) -> bool:
    """True if ``label`` consists of the first letters of ``parts`` in order: nytimes, wsj, latimes.

    >>> _abbreviates("nytimes", ["the", "new", "york", "times"])
    True
    """
    # ``reached`` has the positions in the label up to which the parts read so far can account for its
    # letters. Every part must give at least one letter, except articles and "and".
    reached = {0}
    for part in parts:
        further = set(reached) if part in words("articles") else set()
        for start in reached:
            for size in range(1, min(len(part), len(label) - start) + 1):
                if label[start + size - 1] != part[size - 1]:
                    break
                further.add(start + size)
        reached = further
    return len(label) in reached


def romanised(word: str) -> str:
    """Return a Cyrillic word in the Latin letters of host names.

    >>> romanised("фонтанка")
    'fontanka'
    """
    return word if word.isascii() else "".join(_ROMAN.get(sign, sign) for sign in word)


def _leads_up(heading: HtmlElement, page: Page) -> bool:
    """True for a heading that names the site or a section.

    Such a heading is a link to a folder above the page's URL.
    """
    link = next(chain(heading.iter("a"), heading.iterancestors("a")), None)
    target = urls.resolve(page.url, link.get("href") or "") if link is not None else None
    # A single heading is the headline, even if it is a link, as on a home page with one story.
    if target is None or len(page.h1) < 2:
        return False
    there, here = urlsplit(target), page.parts.path
    folder = re.sub(r"/index\.\w{3,5}$", "/", there.path or "/")
    return there.hostname == page.host and folder.endswith("/") and here != folder and here.startswith(folder)


def site_names(page: Page) -> list[str]:
    """Return the possible names of the site as keys (:func:`~newsbot.extraction.strings.key`).

    They come from the metadata, the publisher, headings that link to the site, and the labels of the host.
    """
    publisher = page.article.get("publisher") if page.article else None
    raw = [
        page.meta("og:site_name"),
        page.meta("application-name"),
        page.meta("twitter:site").lstrip("@"),
        page.meta("apple-mobile-web-app-title"),
        first_text(page.nodes.follow(publisher)),
        *(text_of(heading, 100) for heading in page.h1[:3] if _leads_up(heading, page)),
    ]
    labels = [
        label
        for label in page.host.split(".")
        if label not in ("www", "com", "co", "m", "org", "net", "news")
    ]
    own = labels[:-1] or labels  # without the top-level domain
    host = [page.host.removeprefix("www."), *[label for label in own if len(label) > 2 or len(own) == 1]]
    found = [key(name) for name in [*raw, *host] if name and len(name) < 60]
    return list(dict.fromkeys(filter(None, found)))
