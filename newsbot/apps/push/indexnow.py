"""Parses IndexNow notices (https://www.indexnow.org/documentation), rssCloud verifications and XML-RPC pings.

With IndexNow a site reports which of its URLs have changed. ``GET /indexnow?url=…&key=…`` reports one URL. A
POST of ``{"host", "key", "keyLocation"?, "urlList"}`` reports up to 10,000 URLs. A key proves who the
sender is only if the key file is on the host of the reported URLs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from xml.etree.ElementTree import ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from newsbot.urls import canonicalize, host_key

MAX_URLS = 10_000
MAX_KEY_FILE = 4096
"""Maximum number of bytes of a key file that are read."""
_KEY = re.compile(r"[A-Za-z0-9-]{8,128}")


class BadNotice(ValueError):
    """The request is not a valid IndexNow notice. The text tells the sender the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A valid notice. Its key file has not been read yet."""

    host: str
    key: str
    key_location: str
    """The URL of the key file.

    It is on the host of the reported URLs. All these URLs are in the folder of the key file or below it.
    """
    urls: tuple[str, ...]


def of_query(query: Mapping[str, str]) -> Notice:
    """Return the notice in the query of a GET request. Raises :class:`BadNotice`."""
    url = query.get("url", "")
    return _notice(_host_of(url), query.get("key", ""), query.get("keyLocation"), [url])


def of_json(body: bytes) -> Notice:
    """Return the notice in the body of a POST request. Raises :class:`BadNotice`."""
    try:
        document: Any = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadNotice("the body is not JSON") from error
    if not isinstance(document, dict):
        raise BadNotice("the body is not a JSON object")
    urls = document.get("urlList")
    if not isinstance(urls, list) or not urls or not all(isinstance(url, str) for url in urls):
        raise BadNotice("urlList is not a list of URLs")
    if len(urls) > MAX_URLS:
        raise BadNotice(f"urlList has {len(urls)} URLs, but at most {MAX_URLS} are allowed")
    host, key, location = (document.get(name) for name in ("host", "key", "keyLocation"))
    if not isinstance(host, str) or not isinstance(key, str) or not isinstance(location, str | None):
        raise BadNotice("host, key and keyLocation must be strings")
    return _notice(_host_of(f"http://{host}/"), key, location, urls)


def is_key_file(body: bytes, key: str) -> bool:
    """Return True if a key file contains only the key, in UTF-8. White space around the key is ignored."""
    return body[:MAX_KEY_FILE].decode("utf-8-sig", "replace").strip() == key


def _notice(host: str, key: str, location: str | None, urls: list[str]) -> Notice:
    if not _KEY.fullmatch(key):
        raise BadNotice("the key must have 8 to 128 characters: letters, digits, dashes")
    # Without keyLocation, the protocol expects the key file at the root of the host.
    place = location or f"{_scheme(urls[0])}://{host}/{key}.txt"
    if _host_of(place) != host:
        raise BadNotice(f"keyLocation is not on {host}")
    # A host can be shared, for example by blogs. The owner of one folder may report only the pages in this
    # folder.
    folder = urlsplit(canonicalize(place)).path.rpartition("/")[0] + "/"
    for url in urls:
        if _host_of(url) != host:
            raise BadNotice(f"{url[:200]} is not on {host}")
        if not (urlsplit(canonicalize(url)).path or "/").startswith(folder):
            raise BadNotice(f"{url[:200]} is not below the folder of the key file")
    return Notice(host=host, key=key, key_location=place, urls=tuple(urls))


def _scheme(url: str) -> str:
    return "http" if url.startswith("http:") else "https"


def _host_of(url: str) -> str:
    try:
        canonicalize(url)
        return host_key(url)
    except ValueError as error:
        raise BadNotice(f"{url[:200]!r} is not the URL of a page") from error


MAX_BODY = 64 * 1024
METHODS = ("weblogUpdates.ping", "weblogUpdates.extendedPing")
"""Names of the XML-RPC methods of pings."""


def challenge_of(query: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the feed and the challenge in the verification request of an rssCloud server, or None.

    The server sends notices only after it has received its challenge as the response
    (https://www.rssboard.org/rsscloud-interface).
    """
    url, challenge = query.get("url"), query.get("challenge")
    return (url, challenge[:500]) if url and challenge else None


def pinged(body: bytes) -> list[str]:
    """Return the URLs in an XML-RPC ping: the site, then the changed page and the feed if they are given.

    Raises ``ValueError`` if ``body`` is not such a call.
    """
    try:
        # This is fromstring() of defusedxml, because the sender is unknown and XML entities could expand to
        # gigabytes.
        call = fromstring(body[:MAX_BODY], forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise ValueError("the body is not an XML-RPC call") from error
    if call.tag != "methodCall" or (call.findtext("methodName") or "").strip() not in METHODS:
        raise ValueError("the method is not weblogUpdates.ping")
    # The first parameter is the name of the site.
    values = ["".join(value.itertext()).strip() for value in call.findall("params/param/value")]
    urls = [value for value in values[1:5] if value.startswith(("http://", "https://"))]
    if not urls:
        raise ValueError("weblogUpdates.ping has no URL")
    return urls


def ping_answer(fault: str = "") -> str:
    """Return the XML-RPC response to a ping. ``fault`` is the reason for a refusal; empty means success."""
    message = fault or "Thanks for the ping."
    return (
        '<?xml version="1.0"?><methodResponse><params><param><value><struct>'
        f"<member><name>flerror</name><value><boolean>{int(bool(fault))}</boolean></value></member>"
        f"<member><name>message</name><value>{message}</value></member>"
        "</struct></value></param></params></methodResponse>"
    )
