"""The interface of document readers. A document reader reads files that are articles but not HTML, e.g. PDF.

Apps register document readers (:attr:`newsbot.config.apps.App.documents`). A reader writes the content of a
file as a page in HTML, so that the extraction, the rules and the rights apply to it as to every other page.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

HTML = "text/html; charset=utf-8"
"""The content type of converted files."""


@dataclass(frozen=True, slots=True)
class Converted:
    """A file as a page."""

    html: bytes
    """The page, in UTF-8."""
    complete: bool = True
    """False if the file is longer than what was read."""


class DocumentReader(Protocol):
    """Reads files of some formats."""

    @property
    def extensions(self) -> Collection[str]:
        """The extensions of these files in URLs, in lower case and without a dot. Links to them are read."""

    def recognises(self, url: str, content_type: str, body: bytes) -> bool:
        """Return True if a response is such a file. ``content_type`` is its header, empty if it has none."""

    def to_html(self, url: str, content_type: str, body: bytes) -> Converted:
        """Return the file as a page.

        Raises :class:`newsbot.errors.NotAnArticle`. The function may run in any thread.
        """


def reader_of(
    readers: Sequence[DocumentReader], url: str, content_type: str, body: bytes
) -> DocumentReader | None:
    """Return the first reader that recognises a response; None if it is a page."""
    return next((one for one in readers if one.recognises(url, content_type, body)), None)


def html_of(readers: Sequence[DocumentReader], url: str, content_type: str, body: bytes) -> tuple[bytes, str]:
    """Return the page and the content type of a document; every other response as it is.

    Raises :class:`newsbot.errors.NotAnArticle` if the document cannot be read.
    """
    reader = reader_of(readers, url, content_type, body)
    return (body, content_type) if reader is None else (reader.to_html(url, content_type, body).html, HTML)


def extensions_of(readers: Sequence[DocumentReader]) -> frozenset[str]:
    """Return the extensions of the files that can be read."""
    return frozenset(extension for one in readers for extension in one.extensions)
