"""The sensor as WSGI middleware (PEP 3333)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import quote

from newsbot.apps.push.sensor.watching import MAX_PAGE, Notifier, Watch

Environ = dict[str, Any]
Application = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]


class Sensor:
    """Wraps the WSGI application ``app``.

    ``url``, ``secret`` and ``site`` have the same meaning as in
    :class:`newsbot.apps.push.sensor.watching.Notifier`.
    """

    def __init__(self, app: Application, url: str, secret: str, site: str) -> None:
        self._app = app
        self.watch = Watch(Notifier(url, secret, site))

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Pass the request to the application, and pass its response to the server without changes."""
        seen: dict[str, Any] = {}

        def start(status: str, headers: list[tuple[str, str]], *fault: Any) -> Any:
            named = {name.lower(): text for name, text in headers}
            seen.update(status=int(status[:3]), headers=named)
            return start_response(status, headers, *fault)

        # `seen` can still be empty after this call, because some applications call start_response only when
        # the first part of their response is requested.
        answer = self._app(environ, start)
        if environ.get("REQUEST_METHOD") != "GET":
            return answer
        return _Seen(self.watch, environ, seen, answer)


class _Seen:
    """The response of the application. It is copied while the server reads it.

    When the server closes the response, a complete copy is queued.
    """

    def __init__(self, watch: Watch, environ: Environ, seen: dict[str, Any], answer: Iterable[bytes]) -> None:
        self._watch = watch
        self._environ = environ
        self._seen = seen
        self._answer = answer
        self._pieces: list[bytes] = []
        self._size = 0
        self._whole = False

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._answer:
            if self._size < MAX_PAGE:
                self._pieces.append(piece)
                self._size += len(piece)
            yield piece
        # This line is not reached if the visitor disconnects, because the server then closes the generator.
        self._whole = True

    def close(self) -> None:
        """Close the response of the application, as PEP 3333 requires.

        If the copy of the response is complete, it is queued.
        """
        close = getattr(self._answer, "close", None)
        if close is not None:
            close()
        if not self._whole or "status" not in self._seen:
            return
        headers, environ = self._seen["headers"], self._environ
        signed_in = "HTTP_AUTHORIZATION" in environ
        if self._watch.wants("GET", self._seen["status"], headers, signed_in=signed_in):
            self._watch.look(_path(environ), headers, b"".join(self._pieces))
        self._whole = False  # close() may be called twice


def _path(environ: Environ) -> str:
    # According to PEP 3333, each character of the path stands for one byte.
    path = (environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")).encode("latin-1")
    query = environ.get("QUERY_STRING", "")
    quoted = quote(path, safe="/:@!$&'()*+,;=~-._") or "/"
    return f"{quoted}?{query}" if query else quoted
