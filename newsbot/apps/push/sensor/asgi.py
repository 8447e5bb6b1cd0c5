"""The sensor as ASGI middleware (https://asgi.readthedocs.io/en/latest/specs/www.html)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from newsbot.apps.push.sensor.watching import MAX_PAGE, Notifier, Watch

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]


class Sensor:
    """Wraps the ASGI application ``app``.

    ``url``, ``secret`` and ``site`` have the same meaning as in
    :class:`newsbot.apps.push.sensor.watching.Notifier`.
    """

    def __init__(self, app: Application, url: str, secret: str, site: str) -> None:
        self._app = app
        self.watch = Watch(Notifier(url, secret, site))

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass the request to the application, and pass its response to the server without changes."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(self.watch, scope)

        async def pass_on(message: Message) -> None:
            await send(message)  # sent first, so that the visitor does not wait for the sensor
            answer.see(message)

        await self._app(scope, receive, pass_on)


class _Answer:
    """Copies the response to one request, and queues the copy once the response is complete."""

    def __init__(self, watch: Watch, scope: Message) -> None:
        self._watch = watch
        self._scope = scope
        self._headers: dict[str, str] = {}
        self._pieces: list[bytes] | None = None
        self._size = 0

    def see(self, message: Message) -> None:
        """Read one message of the response."""
        if message["type"] == "http.response.start":
            pairs = message.get("headers", ())
            self._headers = {name.decode("latin-1").lower(): text.decode("latin-1") for name, text in pairs}
            # A page for one person must not be reported.
            signed_in = any(name.lower() == b"authorization" for name, _ in self._scope.get("headers", ()))
            method, status = self._scope["method"], message["status"]
            if self._watch.wants(method, status, self._headers, signed_in=signed_in):
                self._pieces = []
        elif message["type"] == "http.response.body" and self._pieces is not None:
            # The rest of a very long page is not compared.
            if self._size < MAX_PAGE:
                self._pieces.append(bytes(message.get("body", b"")))
                self._size += len(self._pieces[-1])
            if not message.get("more_body"):
                self._watch.look(self._path(), self._headers, b"".join(self._pieces))
                self._pieces = None

    def _path(self) -> str:
        # raw_path is the path as the visitor requested it, and path is decoded. raw_path is optional in ASGI.
        raw = self._scope.get("raw_path") or self._scope["path"].encode()
        query = self._scope.get("query_string", b"")
        text = bytes(raw).decode("latin-1").partition("?")[0]
        return f"{text}?{query.decode('latin-1')}" if query else text
