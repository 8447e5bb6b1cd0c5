"""Lists the pictures, audio and video of an article, with what the page and the feed state about them.

Sizes, types and captions are those that the page or the feed states. No file is requested.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Any, cast

from lxml.html import HtmlElement

from newsbot import urls
from newsbot.items import Medium
from newsbot.pages.extraction.page.jsonld import first_text
from newsbot.pages.extraction.page.page import Page
from newsbot.pages.extraction.strings import squash

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
