"""A client of the demo's web without a network."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

import lxml.etree
import lxml.html

from testbed.demoweb.hosts import HOSTS
from testbed.demoweb.web import DemoWeb
from testbed.messages import Answer, Request

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
SIZE = 150


class Client:
    """Calls the demo's handler directly, as the server's thread does."""

    def __init__(self, web: DemoWeb) -> None:
        self.web = web

    def once(self, url: str, **headers: str) -> Answer:
        parts = urlsplit(url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return self.web(Request("GET", parts.netloc.encode("idna").decode(), path, headers))

    def get(self, url: str) -> Answer:
        """Fetch with one retry, because some pages fail at first."""
        first = self.once(url)
        broken = first.status >= 500 or first.hang_up or first.cut is not None
        return self.once(url) if broken else first

    def tree(self, url: str) -> Any:
        host = urlsplit(url).netloc
        charset = next(host_.charset for host_ in HOSTS if host_.name == host)
        return lxml.html.document_fromstring(self.get(url).body.decode(charset))


def find(body: bytes, xpath: str) -> list[str]:
    """Return the strings that an XPath finds in well-formed XML."""
    found: Any = lxml.etree.fromstring(body).xpath(xpath)
    return [str(text) for text in found]


def links_of(client: Client, url: str) -> set[str]:
    tree = client.tree(url)
    return {urljoin(url, href) for href in tree.xpath("//a/@href")}
