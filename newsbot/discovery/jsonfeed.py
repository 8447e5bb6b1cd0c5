"""Reads JSON Feed (https://www.jsonfeed.org/version/1.1/), including feeds that are cut off or broken."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from newsbot.discovery.feed_types import (
    MAX_AUTHORS,
    MAX_ITEMS,
    MAX_RAW_LEAD,
    Collector,
    Feed,
    FeedError,
    RawItem,
)

_WHOLE = 4 << 20
"""Maximum length of a feed that is parsed as a whole, in characters. Longer feeds are parsed item by item, to
save memory."""
_ITEMS = re.compile(r'"items"\s{0,20}:\s{0,20}\[')
_BETWEEN = re.compile(r"[\s,]*+")
_DECODER = json.JSONDecoder()


def read_json(text: str, found: Collector) -> Feed:
    """Return the content of a JSON Feed; ``found`` is an empty collector.

    Raises :class:`FeedError` if the text is another JSON document.
    """
    whole = _whole(text)
    if whole is None:
        found.problem("malformed")
        # The items before the fault can still be read one by one.
        items = _ITEMS.search(text)
        if items is None:
            raise FeedError("not_a_feed")
        _read_items(_one_by_one(text, items.end()), found)
        return found.feed()
    if not isinstance(whole.get("items"), list):
        raise FeedError("not_a_feed")
    _read_top(whole, found)
    _read_items(iter(whole["items"]), found)
    found.problem("too_many_items", len(whole["items"]) - MAX_ITEMS)
    return found.feed()


def _whole(text: str) -> dict[str, Any] | None:
    """Return the parsed document; None if it is too long or broken, or if it is not a JSON object."""
    if len(text) > _WHOLE:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _one_by_one(text: str, position: int) -> Iterator[Any]:
    """Yield the items that begin at ``position``, up to the first item that cannot be parsed."""
    while True:
        blank = _BETWEEN.match(text, position)
        position = blank.end() if blank else position
        try:
            item, position = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            return
        yield item


def _read_top(whole: dict[str, Any], found: Collector) -> None:
    found.set_title(_text(whole, "title"))
    if home := _text(whole, "home_page_url"):
        found.site_url = found.resolve(home)
    if own := _text(whole, "feed_url"):
        found.self_url = found.resolve(own)
    if following := _text(whole, "next_url"):
        found.next_url = found.resolve(following)
    hubs = whole.get("hubs")
    for hub in hubs[:20] if isinstance(hubs, list) else ():
        if isinstance(hub, dict) and (address := _text(hub, "url")):
            found.add_hub(address, "rsscloud" if _text(hub, "type").lower() == "rsscloud" else "websub")


def _read_items(items: Iterator[Any], found: Collector) -> None:
    for item in items:
        if found.full:
            return
        if not isinstance(item, dict):
            item = {}  # noqa: PLW2901 - it counts as an item without a link
        own = _text(item, "id")
        addresses = [address for key in ("url", "external_url") if (address := _text(item, key))]
        if own.lower().startswith(("http://", "https://")):
            addresses.append(own)
        found.add(
            RawItem(
                addresses=[(address, None) for address in addresses],
                title=_text(item, "title"),
                published=[_text(item, "date_published")],
                modified=[_text(item, "date_modified")],
                lead=_lead(item),
                authors=_authors(item),
            )
        )


def _authors(item: dict[str, Any]) -> list[str]:
    """Return the names in ``authors``, or in ``author`` of version 1.0."""
    given = item.get("authors") or [item.get("author")]
    authors = given[:MAX_AUTHORS] if isinstance(given, list) else []
    return [name for one in authors if isinstance(one, dict) and (name := _text(one, "name"))]


def _lead(item: dict[str, Any]) -> str:
    texts = (_text(item, key) for key in ("summary", "content_text", "content_html"))
    return next((text[:MAX_RAW_LEAD] for text in texts if text.strip()), "")


def _text(value: dict[str, Any], key: str) -> str:
    text = value.get(key)
    return text[:20_000] if isinstance(text, str) else ""
