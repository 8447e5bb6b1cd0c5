"""Finds summary, section, tags, main picture and media of an article, and the form of its text.

The form is story, live blog or gallery. Texts that a paywall cuts off are detected. Media are pictures, audio
and video, with what the page and the feed state about them. No file is requested.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, cast

from lxml import etree
from lxml.html import HtmlElement

from newsbot import urls
from newsbot.items import Form, Medium
from newsbot.pages.extraction.fields import JSON_LD, META, MICRODATA, OPEN_GRAPH, Candidate
from newsbot.pages.extraction.page import Node, Page, base_of, first_text, has_type, scalar, texts
from newsbot.pages.extraction.visible import text_of
from newsbot.pages.text.languages import compiled
from newsbot.pages.text.words import key, plain, size, squash, word_list, words

# --- forms and paywalls
_LIVE_PATH = r"/%(live_paths)s(?:[/._-]|$)|[-_/]%(live_anywhere)s"
_LIVE_TITLE = r"^\W{0,3}%(live)s(?:\s{0,2}[:|–—.】\]-]|$)|%(live_anywhere)s|\s[–—|-]\s(?-i:LIVE|Live)$"
_LIVE_NAME = re.compile(r"live-?_?(?:blog|ticker|feed|updates|entry|post)", re.IGNORECASE)
_GALLERY_TITLE = r"^\W{0,3}%(galleries)s\s{0,2}[:|–—.-]|[(\[|:–—-]\s{0,2}%(gallery_ends)s\W{0,2}$"
_GALLERY_PATH = r"/%(gallery_paths)s(?:[/._-]|$)"
_GALLERY_TYPE = re.compile(r"(?:Image|Media|Photograph)Gallery$")
_LIVE_TYPE = re.compile(r"LiveBlogPosting$")
_STAMPS = 8
"""Minimum number of ``<time>`` elements in a live blog."""
_GALLERY_PICTURES = 5
"""Minimum number of pictures in a gallery."""
_MOST_PICTURES = 500
"""Maximum number of pictures that are counted."""
_BOXES_ABOVE = 10
"""Maximum number of ancestors of an element whose classes and ids are read."""
_MOST_TIMES = 60
"""Maximum number of ``<time>`` elements whose ancestors are checked."""
_GALLERY_TEXT = 3000
"""Maximum length of a gallery's text. A longer text is a story with pictures."""

# Parts of the class or id of a paywall.
_WALL = re.compile(
    r"pay-?wall|piano-(?:offer|inline)|reg-?wall|subscri(?:be|ption)-(?:wall|required|only)|premium-(?:content|"
    r"wall)|locked-content|metered|offer-?wall|abo-?wall",
    re.IGNORECASE,
)
# Each match of _WALL contains one of these strings.
_WALL_WORDS = ("wall", "piano-", "subscri", "premium-", "locked-content", "metered")
_NAMES = etree.XPath(
    "//*[not(self::body or self::html or self::script or self::style)]/@*[name()='class' or name()='id']",
    smart_strings=False,
)
_TEASER = 1500
"""Maximum length of the free part of an article, in letters. A longer text counts as complete."""
# The end of a text that was cut off.
_CUT = re.compile(r"(?:\.\.\.|…|\[…\])\W{0,3}$")
_MOST_MARKED = 5000
"""Maximum number of classes and ids that are searched for a paywall."""
# A single XPath for classes and ids is slow on pages with many siblings, because it sorts its result. The
# limit is higher than _MOST_MARKED, because _NAMES leaves out some elements.
_ALL_NAMES = tuple(
    etree.XPath(f"(//@{name})[position() <= {2 * _MOST_MARKED}]", smart_strings=False)
    for name in ("class", "id")
)
_MOST_PARTS = 20
"""Maximum number of parts of an article (``hasPart``) that are read."""
_MOST_LINES = 5000
"""Maximum number of elements that are searched for a subscription offer."""
_MOST_LETTERS = 60_000
"""Maximum number of letters that are searched for a subscription offer."""


def form_of(page: Page, title: str, text: str) -> Form:
    """Return the form of the text, judged by the page's structured data, URL, title and markup."""
    nodes = page.nodes.all
    if any(has_type(node, _LIVE_TYPE) and node.get("liveBlogUpdate") is not None for node in nodes):
        return "live"
    # Reports on concerts also contain the word "live". So the word in the URL or in the title alone is not
    # enough. The word must be in both, or the page must also have many <time> elements.
    named = bool(compiled(_LIVE_PATH).search(page.parts.path)) + bool(compiled(_LIVE_TITLE).search(title))
    if len(page.times) >= _STAMPS and (named or _is_marked_live(page)):
        return "live"
    if named > 1:
        return "live"
    if is_gallery(page, title) and size(text) < _GALLERY_TEXT:
        return "gallery"
    return "article"


def is_gallery(page: Page, title: str) -> bool:
    """True for a page whose URL, structured data or title declare a gallery of pictures."""
    return (
        bool(compiled(_GALLERY_PATH).search(page.parts.path) or compiled(_GALLERY_TITLE).search(title))
        or any(has_type(node, _GALLERY_TYPE) for node in page.nodes.all[:20])
    ) and _pictures(page) >= _GALLERY_PICTURES


def _is_marked_live(page: Page) -> bool:
    """True if at least _STAMPS of the page's ``<time>`` elements are in boxes named after a live blog."""
    marked = sum(
        any(
            _LIVE_NAME.search(f"{box.get('class') or ''} {box.get('id') or ''}"[:300])
            for box in islice(tag.element.iterancestors(), _BOXES_ABOVE)
            if box.tag != "body"
        )
        for tag in page.times[:_MOST_TIMES]
    )
    return marked >= _STAMPS


def is_partial(page: Page, text: str) -> bool:
    """Return True if ``text`` is only the part of the article that readers without a subscription get.

    A page may declare that it is not free and still contain all of its text. So there must also be a sign
    that text is missing: a declared word count that is much higher than the number of words in ``text``, or a
    short text before a subscription offer.
    """
    node = page.article or {}
    closed = _is_closed(node) or page.meta("article:content_tier").lower() in ("locked", "metered")
    stated = _word_count(node)
    # If the page declares a word count, only this count is checked. Sites count words differently, so a text
    # with at least 60 % of the declared number is complete.
    if closed and stated:
        return len(words(text)) < 0.6 * stated
    if size(text) > _TEASER:
        return False
    if closed:
        return True
    # Many sites offer subscriptions below complete texts, so the text must also end in "…" or have a paywall.
    return (bool(_CUT.search(text)) or _is_walled(page)) and _offers(page)


def _pictures(page: Page) -> int:
    """Return the number of pictures in figures, galleries and slides."""
    return sum(map(_is_shown, islice(page.tree.iter("img"), _MOST_PICTURES)))


def _is_shown(picture: HtmlElement) -> bool:
    return any(
        box.tag == "figure" or "gallery" in (named := box.get("class") or "") or "slide" in named
        for box in islice(picture.iterancestors(), _BOXES_ABOVE)
    )


def _is_closed(node: Node) -> bool:
    """True if the node declares that the article is not free (``isAccessibleForFree``, https://schema.org).

    The value may be a boolean or a word.
    """
    value = node.get("isAccessibleForFree")
    if value is None:
        # In Google's example for paywalls, parts of the page also declare it, each with a CSS selector.
        parts = node.get("hasPart")
        value = next(
            (
                part["isAccessibleForFree"]
                for part in (parts if isinstance(parts, list) else [parts])[:_MOST_PARTS]
                if isinstance(part, dict) and "isAccessibleForFree" in part and part.get("cssSelector")
            ),
            None,
        )
    return value is False or scalar(value).strip().lower() in ("false", "no", "http://schema.org/false")


def _word_count(node: Node) -> int:
    stated = scalar(node.get("wordCount")).strip()[:9]
    return int(stated) if stated.isdecimal() else 0


def _offers(page: Page) -> bool:
    """True if a visible line asks the reader to subscribe in order to continue reading."""
    lines = page.tree.iter("p", "div", "span", "h2", "h3", "a", "button")
    left = _MOST_LETTERS
    for element in islice(lines, _MOST_LINES):
        # Only the text directly in the element is read. Otherwise the text of nested boxes would be searched
        # once for each box.
        said = f"{element.text or ''} {' '.join(child.tail or '' for child in element[:3])}"
        if size(said) > 10 and len(said) < 400:
            if compiled("%(paywalls)s").search(said):
                return True
            left -= len(said)
            if left < 0:
                return False
    return False


def _is_walled(page: Page) -> bool:
    # Most pages contain none of these words. Checking for the words is much faster than the regular
    # expression.
    joined = "\n".join(name for find in _ALL_NAMES for name in cast("list[str]", find(page.tree))).lower()
    if not any(word in joined for word in _WALL_WORDS):
        return False
    names = cast("list[str]", _NAMES(page.tree))
    return _WALL.search("\n".join(name[:300] for name in names[:_MOST_MARKED])) is not None


# --- details
MAX_SUMMARY = 2000
"""Maximum length of a summary, in characters."""
MAX_TAGS = 30
"""Maximum number of tags of an article."""

_COMMA = re.compile(r"\s*[,;|]\s*")


def summary(page: Page, title: str) -> Candidate[str] | None:
    """Return the short description that the page states, or None.

    A description that is short or only repeats the title does not count.
    """
    metas = ("description", "twitter:description", "dc.description", "sailthru.description")
    for text, method in _stated(page, "description", ("og:description",), metas):
        if len(text) >= 20 and key(text) != key(title):
            return Candidate(text[:MAX_SUMMARY], method, 0.8)
    return None


def section(page: Page) -> Candidate[str] | None:
    """Return the section in the metadata of the page, or None."""
    metas = word_list(
        "parsely-section section cxenseparse:section sailthru.section category dc.subject.section"
    )
    for text, method in _stated(page, "articleSection", ("article:section", "og:article:section"), metas):
        # Some sites state the URL or the number of the section instead of its name.
        if 1 < len(text) <= 80 and not text.startswith(("http:", "https:")) and not text.isdecimal():
            return Candidate(text, method, 0.8)
    return None


def _stated(
    page: Page, name: str, open_graph: Sequence[str], metas: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield the values of a field with their methods, in the order JSON-LD, Open Graph, meta, microdata.

    ``name`` is the name of the field in JSON-LD and microdata. A value may be empty.
    """
    yield first_text((page.article or {}).get(name)), JSON_LD
    yield page.meta(*open_graph), OPEN_GRAPH
    yield page.meta(*metas), META
    for item in page.items.get(name, [])[:1]:
        yield item.get("content") or text_of(item, MAX_SUMMARY), MICRODATA


def tags(page: Page, title: str) -> Candidate[list[str]] | None:
    """Return the keywords of the first source that has keywords, or None."""
    node = page.article or {}
    for values, method in (
        (texts(node.get("keywords")), JSON_LD),
        (page.meta_all("article:tag", "og:article:tag"), OPEN_GRAPH),
        (page.meta_all("news_keywords", "parsely-tags", "sailthru.tags", "keywords"), META),
    ):
        found = clean_tags(values, title)
        if found:
            return Candidate(found, method, 0.8)
    return None


def clean_tags(values: Iterable[str], title: str = "") -> list[str]:
    """Return the tags in ``values``, which may be lists separated by commas.

    Duplicates, machine keys (``type:article``) and the title are left out.
    """
    found: dict[str, str] = {}
    for value in values:
        for part in _COMMA.split(plain(value[:5000])):
            name = key(part)
            # A long tag is a sentence: some sites repeat their description as keywords.
            if (
                name
                and len(part) <= 60
                and name != key(title)
                and ":" not in part
                and not part.startswith("http")
            ):
                found.setdefault(name, part.strip("#\"' "))
    return list(found.values())[:MAX_TAGS]


def image(page: Page) -> Candidate[str] | None:
    """Return the absolute URL of the main picture, or None."""
    for value, method in _images(page):
        resolved = urls.resolve(base_of(page), value) if value and len(value) < 2000 else None
        if resolved is not None:
            return Candidate(resolved, method, 0.8)
    return None


def _images(page: Page) -> Iterator[tuple[str, str]]:
    yield page.meta("og:image", "og:image:secure_url", "og:image:url"), OPEN_GRAPH
    if page.article is not None:
        yield _address(page.nodes.follow(page.article.get("image"))), JSON_LD
    yield page.meta("twitter:image", "twitter:image:src", "thumbnail"), META
    yield next(iter(page.links.get("image_src", ())), ""), META


def _address(value: Any) -> str:
    """Return the URL in the ``image`` of a JSON-LD node. The result is empty if there is none."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        value = value.get("url") or value.get("contentUrl") or value.get("@id")
        if isinstance(value, list):
            value = value[0] if value else None
    return value if isinstance(value, str) else ""


# --- media
MAX_MEDIA = 30
"""Maximum number of files of one article."""
MAX_CAPTION = 500
MAX_URL = 2000
MIN_SIDE = 100
"""Minimum width and height of a picture in the text, in pixels, if the page states them. Smaller ones are
symbols."""
MIN_NAME, MIN_NUMBER = 20, 12
"""Minimum length of the name of a file that is unique, without and with a number in it."""
MIN_LINE = 40
"""Minimum length of the lines by which the text is found in the page."""
MAX_ELEMENTS = 2000
MAX_SIZE = 2**31 - 1
"""Maximum size that is stored, in bytes or pixels."""
_ENDINGS = {
    "image": ("jpg", "jpeg", "png", "gif", "webp", "avif"),
    "audio": ("mp3", "m4a", "ogg", "oga", "opus", "wav", "flac", "aac"),
    "video": ("mp4", "m4v", "webm", "mov", "ogv", "m3u8"),
}
_FORMS = {ending: form for form, endings in _ENDINGS.items() for ending in endings}
_NUMBER = re.compile(r"\s*(\d{1,12})(?:\.\d+)?\s*(?:px)?\s*")
_SIZES = re.compile(r"[-_](?:\d{2,4}x\d{2,4}|\d{2,4}w|scaled)\b")
# A date, or a number that is not a width.
_FOLDERS = re.compile(r"/((?:19|20)\d\d[/-](?:0?[1-9]|1[0-2])(?:[/-]\d{1,2})?|\d{5,20})(?=/)")
_CANDIDATE = re.compile(r"(\S{1,2000})\s{1,9}(\d{1,5}(?:\.\d{1,3})?)[wx]")
_LAZY = ("data-src", "data-lazy-src", "data-original", "src")
_BOXES = ("aside", "nav", "footer", "form")
_STATED = {"image": "image", "video": "video", "audio": "audio", "associatedMedia": "", "encoding": ""}


def medium(
    url: str,
    *,
    form: str = "",
    mime: str = "",
    width: object = None,
    height: object = None,
    size: object = None,
    caption: str = "",
) -> Medium | None:
    """Return a picture, video or audio file; None if the address or the type is not one of such a file.

    ``form`` is the type; if it is empty, the MIME type or the address tells it.
    """
    kind = form or mime.partition("/")[0].lower() or _FORMS.get(_name_in(url).rpartition(".")[2].lower(), "")
    if kind not in _ENDINGS or not url.startswith(("http://", "https://")) or len(url) > MAX_URL:
        return None
    if _name_in(url).lower().endswith(".svg"):  # drawings are symbols and marks
        return None
    found = {
        "type": kind,
        "url": url,
        "mime": mime.partition(";")[0].strip().lower()[:100] if "/" in mime and "*" not in mime else "",
        "width": _whole(width),
        "height": _whole(height),
        "bytes": _whole(size),
        "caption": squash(caption)[:MAX_CAPTION].strip(),
    }
    return cast("Medium", {name: value for name, value in found.items() if value})


def listed(found: Iterable[Medium | None]) -> list[Medium]:
    """Return each file once, with all that is stated about it. Sizes of one picture are one file."""
    kept: dict[str, Medium] = {}
    for one in found:
        if one is not None and (len(kept) < MAX_MEDIA or _identity(one["url"]) in kept):
            key = _identity(one["url"])
            kept[key] = cast("Medium", {**one, **kept.get(key, {})})
    return list(kept.values())


def media(page: Page, main: str | None, text: str, given: Iterable[Medium] = ()) -> list[Medium]:
    """Return the files of an article. ``main`` is its main picture; ``given`` are the files of the feed.

    A file counts if the page or the feed states it, or if it is in the text or around the text.
    """
    stated = [medium(main or "", form="image"), *_of_open_graph(page), *_of_json_ld(page)]
    return listed([*stated, *_of_text(page, text), *given])


def _of_open_graph(page: Page) -> Iterator[Medium | None]:
    for form in ("image", "video", "audio"):
        name = f"og:{form}"
        addresses = page.meta_all(f"{name}:secure_url", name, f"{name}:url")
        for number, address in enumerate(addresses[:MAX_MEDIA]):
            stated = {key: page.meta(f"{name}:{key}") if number == 0 else "" for key in _OF_OG}
            if not stated["type"].startswith("text/"):  # a page with a player
                yield medium(
                    urls.resolve(page.url, address) or "",
                    form=form,
                    mime=stated["type"],
                    width=stated["width"],
                    height=stated["height"],
                    caption=stated["alt"],
                )


_OF_OG = ("type", "width", "height", "alt")


def _of_json_ld(page: Page) -> Iterator[Medium | None]:
    for name, form in _STATED.items():
        stated = (page.article or {}).get(name)
        for value in (stated if isinstance(stated, list) else [stated])[:MAX_MEDIA]:
            node = page.nodes.follow(value)
            node = {"url": node} if isinstance(node, str) else node if isinstance(node, dict) else {}
            address = first_text(node.get("contentUrl")) or first_text(node.get("url"))
            kind = str(node.get("@type")).removesuffix("Object").lower()
            yield medium(
                urls.resolve(page.url, address) or "" if address else "",
                form=form or (kind if kind in _ENDINGS else ""),
                mime=first_text(node.get("encodingFormat")),
                width=_value(node.get("width")),
                height=_value(node.get("height")),
                size=node.get("contentSize"),
                caption=next((said for key in _SAYS if (said := first_text(node.get(key)))), ""),
            )


_SAYS = ("caption", "description", "name")


def _value(stated: Any) -> Any:
    return stated.get("value") if isinstance(stated, dict) else stated


def _of_text(page: Page, text: str) -> Iterator[Medium | None]:
    body = _body(page.tree, frozenset(line for line in text.split("\n") if len(line) >= MIN_LINE))
    if body is None:
        return
    around = next((one for one in (body, *body.iterancestors()) if one.tag in ("article", "main")), body)
    if sum(1 for _ in around.iter("article")) > 1 and body.tag != "article":
        around = body  # a list of articles
    for number, element in enumerate(around.iter("img", "amp-img", "video", "audio")):
        if number >= MAX_ELEMENTS:
            return
        if not _is_beside(element, around):
            yield _of_element(element, page.url)


def _body(tree: HtmlElement, lines: Collection[str]) -> HtmlElement | None:
    """Return the smallest element that has most of the paragraphs with these lines."""
    counts: dict[HtmlElement, int] = {}
    total = 0
    for number, paragraph in enumerate(tree.iter("p")):
        if number >= MAX_ELEMENTS:
            break
        if squash(paragraph.text_content()) in lines:
            total += 1
            for box in paragraph.iterancestors():
                counts[box] = counts.get(box, 0) + 1
    # the ancestors of a paragraph come from the inside to the outside
    if not total:  # a text without paragraphs
        articles = list(islice(tree.iter("article"), 2))
        return articles[0] if len(articles) == 1 else None
    return next((box for box, count in counts.items() if 2 * count > total), None)


def _is_beside(element: HtmlElement, around: HtmlElement) -> bool:
    """Return True for a picture in a side column, and for one that leads to another page."""
    for box in element.iterancestors():
        if box is around:
            return False
        target = _name_in(box.get("href") or "").rpartition(".")[2].lower() if box.tag == "a" else "jpg"
        if box.tag in _BOXES or box.tag == "article" or target not in _FORMS:
            return True
    return False


def _of_element(element: HtmlElement, base: str) -> Medium | None:
    # The parser does not know that <source> has no content, so the picture may be some levels above.
    chosen = next((box for box in islice(element.iterancestors(), 5) if box.tag == "picture"), element)
    sources = [element, *chosen.iter("source")]
    stated = [*(one.get(name) for one in sources for name in _LAZY), *map(_largest, sources)]
    address = next((found for one in stated if one and (found := urls.resolve(base, one))), "")
    is_image = element.tag in ("img", "amp-img")
    width, height = (_whole(element.get(name)) for name in ("width", "height"))
    if is_image and any(0 < side < MIN_SIDE for side in (width, height)):
        return None
    figure = next((box for box in element.iterancestors() if box.tag == "figure"), None)
    captions = [] if figure is None else [one.text_content() for one in figure.iter("figcaption")]
    return medium(
        address,
        form="image" if is_image else str(element.tag),
        mime="" if is_image else next((one.get("type") for one in sources[1:] if one.get("type")), ""),
        width=width,
        height=height,
        caption=captions[0] if captions else element.get("alt") or element.get("title") or "",
    )


def _largest(element: HtmlElement) -> str:
    """Return the address of the largest picture in ``srcset``."""
    found = _CANDIDATE.findall(element.get("data-srcset") or element.get("srcset") or "")
    return max(found, key=lambda one: float(one[1]), default=("", ""))[0]


def _whole(stated: object) -> int:
    found = _NUMBER.fullmatch(str(stated)[:40])
    return min(int(found[1]), MAX_SIZE) if found else 0


def _name_in(url: str) -> str:
    return url.partition("?")[0].partition("#")[0].rpartition("/")[2]


def _identity(url: str) -> str:
    """Return the name of a file without its size in pixels, if the name is long enough to be unique.

    Folders of dates and numbers are part of it, because each day can have a file with the same name.
    """
    name = _SIZES.sub("", _name_in(url))
    least = MIN_NUMBER if any(map(str.isdigit, name)) else MIN_NAME
    return "/".join([*_FOLDERS.findall(url), name]) if len(name) > least else url
