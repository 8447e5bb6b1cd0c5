"""Requests and answers of the loopback server, including faulty answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True, slots=True)
class Request:
    """The request of a client. ``path`` includes the query; ``host`` is lower case, without port 80."""

    method: str
    host: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def query(self) -> dict[str, str]:
        """The parameters of the query, each with its last value."""
        return dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer of the server."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = ""
    """The type of the page, for the log."""
    pieces: Iterable[bytes] | None = None
    """Pieces that are sent one by one, chunked, in place of ``body``; may be endless."""
    pause: float = 0.0
    """Seconds between pieces."""
    delay: float = 0.0
    """Seconds before anything is sent."""
    cut: int | None = None
    """Break the connection after this many bytes of the body; 0 sends the headers only."""
    hang_up: bool = False
    """Close the connection without an answer."""
    last_modified: float | None = None
    """POSIX seconds. If set, If-Modified-Since is answered."""
    validators: bool = True
    """Send an ETag and answer conditional requests."""
