"""A local web for tests: pages registered by a test, and named misbehaviours at fixed paths.

It is also a forward proxy (``site.proxy_env``), so that a test may use any host name::

    def test_something(site):
        site.page("http://example.test/a", "<h1>A</h1>")
        site.page("/b", b"...", headers={"Content-Type": "text/html"})   # on any host

Misbehaviours, on every host:

=========================================  ==========================================================
``/status/503?retry_after=1&times=2``      the status (for the first ``times`` requests, then 200)
``/slow?seconds=1``                        waits before it answers
``/trickle?seconds=1``                     sends a body in ten pieces over this time
``/drop``                                  closes the connection without an answer
``/truncated``                             breaks off in the middle of the body
``/redirect?to=URL&status=302``            one redirect
``/redirect-loop``                         to itself, via a second address
``/redirect-chain/5``                      five redirects, then a page
``/etag`` and ``/last-modified``           conditional requests give 304
``/charset/windows-1251?header=utf-8``     text in the first charset; the header names the second (or none)
``/gzip``                                  gzip, no charset
``/bad-gzip``                              declares gzip but is not compressed
``/huge?mb=12``                            a stream without a length; endless without ``mb``
``/binary-as-html``                        bytes of a picture as text/html
``/empty``                                 200 without a body
=========================================  ==========================================================
"""

from __future__ import annotations

import gzip
import itertools
from collections import Counter
from collections.abc import Callable, Mapping

from newsbot.apps.demo.server import ServedRequest
from testbed.loopback import LoopbackServer
from testbed.messages import Answer, Request

HTML = {"Content-Type": "text/html; charset=utf-8"}
TEXT = "Съешь же ещё этих мягких французских булок"
PIECE = b"x" * 2**16

Page = Callable[[Request], Answer]


class MockServer(LoopbackServer):
    """See the module's docstring. ``log`` has all requests; :meth:`seen` returns the paths of one host."""

    def __init__(self) -> None:
        super().__init__(self.answer)
        self._pages: dict[str, Page] = {"/robots.txt": lambda _: Answer(status=404)}
        self._tries: Counter[str] = Counter()

    @property
    def proxy_env(self) -> dict[str, str]:
        """Environment variables that send all requests to this server."""
        return self.environment

    def url(self, path: str = "/") -> str:
        """Return the URL of a path on the server's own host, without the proxy."""
        return self.address + path

    def page(
        self,
        address: str,
        body: str | bytes | Page = "",
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        **answer: object,
    ) -> str:
        """Register a page and return its URL.

        ``address`` is a URL, or a path for all hosts. ``body`` may be a function from a request to an
        answer. ``answer`` takes the other fields of :class:`Answer`.
        """
        if callable(body):
            page = body
        else:
            content = body.encode() if isinstance(body, str) else body
            fixed = Answer(status=status, body=content, headers={**HTML, **(headers or {})}, **answer)  # type: ignore[arg-type]
            page = lambda _: fixed  # noqa: E731
        self._pages[address.removeprefix("http://")] = page
        return address if "://" in address else self.url(address)

    def robots(self, text: str, *, status: int = 200, host: str = "") -> None:
        """Set robots.txt of one host, or of all."""
        where = f"http://{host}/robots.txt" if host else "/robots.txt"
        self.page(where, text, status=status, headers={"Content-Type": "text/plain"})

    def seen(self, host: str | None = None) -> list[str]:
        """Return the requested paths in order, of one host or of all."""
        return [record.path for record in self.log if host is None or record.host == host]

    def requests(self, path: str) -> list[ServedRequest]:
        """Return the records of requests for one path."""
        return [record for record in self.log if record.path == path]

    def answer(self, request: Request) -> Answer:
        """Return the registered page, or the misbehaviour of the path."""
        for address in (request.host + request.path, request.path):
            if (page := self._pages.get(address)) is not None:
                return page(request)
        name, _, rest = request.path.partition("?")[0].strip("/").partition("/")
        misbehave = _MISBEHAVIOURS.get(name)
        if misbehave is None:
            return Answer(status=404, body=b"<h1>404</h1>", headers=HTML)
        self._tries[request.host + request.path] += 1
        return misbehave(request, rest, self._tries[request.host + request.path])


def _page(text: str = "fine") -> Answer:
    body = f"<html><head><title>{text}</title></head><body><p>{text}</p></body></html>"
    return Answer(body=body.encode(), headers=HTML)


def _status(request: Request, rest: str, tries: int) -> Answer:
    query = request.query
    if tries > int(query.get("times", 10**9)):
        return _page()
    headers = {**HTML, "Retry-After": query["retry_after"]} if "retry_after" in query else HTML
    return Answer(status=int(rest), body=f"<h1>{rest}</h1>".encode(), headers=headers)


def _slow(request: Request, rest: str, tries: int) -> Answer:
    return Answer(body=_page().body, headers=HTML, delay=float(request.query.get("seconds", 1)))


def _trickle(request: Request, rest: str, tries: int) -> Answer:
    return Answer(
        pieces=[b"<p>piece</p>\n"] * 10, headers=HTML, pause=float(request.query.get("seconds", 1)) / 10
    )


def _drop(request: Request, rest: str, tries: int) -> Answer:
    return Answer(hang_up=True)


def _truncated(request: Request, rest: str, tries: int) -> Answer:
    body = _page("cut " * 500).body
    return Answer(body=body, headers=HTML, cut=len(body) // 2)


def _redirect(request: Request, rest: str, tries: int) -> Answer:
    status = int(request.query.get("status", 302))
    return Answer(status=status, headers={"Location": request.query["to"]})


def _redirect_loop(request: Request, rest: str, tries: int) -> Answer:
    return Answer(status=302, headers={"Location": "/redirect-loop" if rest else "/redirect-loop/again"})


def _redirect_chain(request: Request, rest: str, tries: int) -> Answer:
    left = int(rest or 1)
    return Answer(status=302, headers={"Location": f"/redirect-chain/{left - 1}"}) if left else _page("end")


def _etag(request: Request, rest: str, tries: int) -> Answer:
    return Answer(body=_page("etag").body, headers=HTML)


def _last_modified(request: Request, rest: str, tries: int) -> Answer:
    headers = {**HTML, "Last-Modified": "Fri, 20 Nov 2026 08:00:00 GMT"}
    if "if-modified-since" in request.headers:
        return Answer(status=304, headers=headers)
    return Answer(body=_page("last-modified").body, headers=headers, validators=False)


def _charset(request: Request, rest: str, tries: int) -> Answer:
    named = request.query.get("header")
    body = f"<html><head><title>{TEXT}</title></head><body><p>{TEXT}</p></body></html>".encode(rest)
    content_type = "text/html" + (f"; charset={named}" if named else "")
    return Answer(body=body, headers={"Content-Type": content_type})


def _gzip(request: Request, rest: str, tries: int) -> Answer:
    headers = {"Content-Type": "text/html", "Content-Encoding": "gzip"}
    return Answer(body=gzip.compress(_page("packed").body, mtime=0), headers=headers)


def _bad_gzip(request: Request, rest: str, tries: int) -> Answer:
    return Answer(body=b"\x1f\x8b no gzip at all", headers={**HTML, "Content-Encoding": "gzip"})


def _huge(request: Request, rest: str, tries: int) -> Answer:
    size = request.query.get("mb")
    pieces = itertools.repeat(PIECE, int(size) * 16) if size else itertools.repeat(PIECE)
    return Answer(pieces=pieces, headers=HTML)


def _binary_as_html(request: Request, rest: str, tries: int) -> Answer:
    return Answer(body=b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40, headers=HTML)


def _empty(request: Request, rest: str, tries: int) -> Answer:
    return Answer(headers=HTML)


_MISBEHAVIOURS: dict[str, Callable[[Request, str, int], Answer]] = {
    "status": _status,
    "slow": _slow,
    "trickle": _trickle,
    "drop": _drop,
    "truncated": _truncated,
    "redirect": _redirect,
    "redirect-loop": _redirect_loop,
    "redirect-chain": _redirect_chain,
    "etag": _etag,
    "last-modified": _last_modified,
    "charset": _charset,
    "gzip": _gzip,
    "bad-gzip": _bad_gzip,
    "huge": _huge,
    "binary-as-html": _binary_as_html,
    "empty": _empty,
}
