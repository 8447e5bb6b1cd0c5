"""Two older ways to say that something changed, which prove nothing: hints about sources that we know anyway.

rssCloud (http://home.opml.org/rsscloud/): a POST with ``url=<feed>``; its server first asks with a GET
whose ``challenge`` is echoed. weblogUpdates.ping
(http://xmlrpc.com/weblogsCom.html): XML-RPC with name and address.
"""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

MAX_BODY = 64 * 1024
METHODS = ("weblogUpdates.ping", "weblogUpdates.extendedPing")


def challenge_of(query: Mapping[str, str]) -> tuple[str, str] | None:
    """Return feed and challenge of an rssCloud server's question, or None."""
    url, challenge = query.get("url"), query.get("challenge")
    return (url, challenge[:500]) if url and challenge else None


def pinged(body: bytes) -> list[str]:
    """Return the addresses that an XML-RPC ping names: the site's, then a changed page's and the feed's.

    Raises ``ValueError`` if ``body`` is no such call.
    """
    try:
        call = fromstring(body[:MAX_BODY], forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise ValueError("no XML-RPC call") from error
    if call.tag != "methodCall" or (call.findtext("methodName") or "").strip() not in METHODS:
        raise ValueError("no weblogUpdates.ping")
    values = ["".join(value.itertext()).strip() for value in call.findall("params/param/value")]
    urls = [value for value in values[1:5] if value.startswith(("http://", "https://"))]
    if not urls:
        raise ValueError("weblogUpdates.ping names no address")
    return urls


def ping_answer(fault: str = "") -> str:
    """Return the XML-RPC answer; the protocol knows ``flerror`` and a message."""
    message = fault or "Thanks for the ping."
    return (
        '<?xml version="1.0"?><methodResponse><params><param><value><struct>'
        f"<member><name>flerror</name><value><boolean>{int(bool(fault))}</boolean></value></member>"
        f"<member><name>message</name><value>{message}</value></member>"
        "</struct></value></param></params></methodResponse>"
    )
