"""All hosts of the demo as one handler, with the faults of some pages.

Faults of the first request only: ``flaky`` answers 500, ``busy`` answers 503 with Retry-After, ``broken``
breaks off in the middle, ``hang-up`` closes the connection. Faults of each request: ``slow`` waits,
``latin-header`` and ``utf8-header`` declare a wrong charset, ``year-9999`` has a date in that year.
"""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from newsbot.apps.demo.server import without_tracking
from testbed.demoweb.hosts import HERALD, HOSTS, Host
from testbed.demoweb.noise import noise_kind, noise_page
from testbed.demoweb.plan import Plan
from testbed.demoweb.site import make_routes, page
from testbed.messages import Answer, Request

SLOW_SECONDS = 1.0
RETRY_AFTER = 1


class DemoWeb:
    """Answers for every host of a plan. Called by one thread."""

    def __init__(self, plan: Plan, hosts: Sequence[Host] = HOSTS) -> None:
        self.plan = plan
        self._hosts = {host.ascii: host for host in hosts}
        self._routes = {host.ascii: make_routes(plan, host) for host in hosts}
        self._faults = {(paper.host.ascii, paper.path): paper.fault for paper in plan.papers if paper.fault}
        self._tries: Counter[tuple[str, str]] = Counter()

    def __call__(self, request: Request) -> Answer:
        """Return the answer to a request."""
        host = self._hosts.get(request.host)
        if host is None:
            return self._elsewhere(request)
        path = without_tracking(request.path)
        route = self._routes[host.ascii].get(path)
        if route is None:
            return _compressed(self._noise(host, path), host, request)
        answer = self._with_fault(host, path, route())
        return _compressed(answer, host, request)

    def _elsewhere(self, request: Request) -> Answer:
        if f"www.{request.host}" == HERALD.ascii:
            return Answer(status=301, kind="redirect", headers={"Location": HERALD.base + request.path})
        return Answer(status=502, kind="elsewhere", body=b"no such host in the demo\n")

    def _noise(self, host: Host, path: str) -> Answer:
        kind = noise_kind(path)
        if kind is None:
            return page(host, "missing", "<h1>404</h1>", status=404)
        if kind == "image":
            body = b"\xff\xd8\xff\xe0" + bytes(2000)
            return Answer(kind=kind, body=body, headers={"Content-Type": "image/jpeg"})
        kind = "forbidden" if path.startswith(host.disallowed) else kind
        return page(host, kind, noise_page(host, path))

    def _with_fault(self, host: Host, path: str, answer: Answer) -> Answer:
        fault = self._faults.get((host.ascii, path))
        if fault is None:
            return answer
        self._tries[host.ascii, path] += 1
        if fault in _ONCE and self._tries[host.ascii, path] > 1:
            return answer
        return {**_ONCE, **_ALWAYS}[fault](answer)


def _fail(answer: Answer) -> Answer:
    return Answer(status=500, kind=answer.kind, body=b"<h1>Internal Server Error</h1>")


def _busy(answer: Answer) -> Answer:
    return Answer(status=503, kind=answer.kind, headers={"Retry-After": str(RETRY_AFTER)})


def _relabelled(answer: Answer, charset: str) -> Answer:
    return replace(answer, headers={**answer.headers, "Content-Type": f"text/html; charset={charset}"})


_ONCE: Mapping[str, Callable[[Answer], Answer]] = {
    "flaky": _fail,
    "busy": _busy,
    "broken": lambda answer: replace(answer, cut=len(answer.body) // 2),
    "hang-up": lambda answer: replace(answer, hang_up=True),
}
"""Faults of the first request; later requests are answered normally."""

_ALWAYS: Mapping[str, Callable[[Answer], Answer]] = {
    "slow": lambda answer: replace(answer, delay=SLOW_SECONDS),
    "latin-header": lambda answer: _relabelled(answer, "iso-8859-1"),
    "utf8-header": lambda answer: _relabelled(answer, "utf-8"),
    "year-9999": lambda answer: answer,  # the page itself has the fault
}


def _compressed(answer: Answer, host: Host, request: Request) -> Answer:
    """Compress the answer with gzip if the host and the client support it."""
    if not host.gzip or not answer.body or "gzip" not in request.headers.get("accept-encoding", ""):
        return answer
    headers = {**answer.headers, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    return replace(answer, body=gzip.compress(answer.body, 5, mtime=0), headers=headers)
