"""Recognises documents, and writes their contents as pages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Collection, Iterator
from functools import cached_property
from html import escape
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from w3lib.encoding import http_content_type_encoding

from newsbot.errors import NotAnArticle
from newsbot.pages.discovery.reader import Converted

MAX_BYTES = 50 * 2**20
"""Maximum size of a document."""
MAX_SECONDS = 30
"""Maximum CPU time of a document in seconds. The process may run twice as long."""
_LIBRARIES = {"pdf": "pdfminer", "rtf": "striprtf", "markdown": "markdown_it"}
_EXTENSIONS = {
    "pdf": ("pdf",),
    "docx": ("docx",),
    "odt": ("odt",),
    "rtf": ("rtf",),
    "markdown": ("md", "markdown"),
    "text": ("txt",),
}
_HEAD = 1024
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The first bytes of old Office files, and of DOCX files with a password."""
_ENCRYPTED_OOXML = "EncryptedPackage".encode("utf-16-le")


class Documents:
    """Reads PDF, DOCX, ODT, RTF, Markdown and plain text. A format without its library is not read."""

    @cached_property
    def _formats(self) -> Collection[str]:
        return [one for one in _EXTENSIONS if one not in _LIBRARIES or find_spec(_LIBRARIES[one]) is not None]

    @property
    def extensions(self) -> Collection[str]:
        """See :class:`newsbot.pages.discovery.reader.DocumentReader`."""
        return [extension for one in self._formats for extension in _EXTENSIONS[one]]

    def recognises(self, url: str, content_type: str, body: bytes) -> bool:
        """See :class:`newsbot.pages.discovery.reader.DocumentReader`."""
        return format_of(url, content_type, body) in (*self._formats, "encrypted")

    def to_html(self, url: str, content_type: str, body: bytes) -> Converted:
        """See :class:`newsbot.pages.discovery.reader.DocumentReader`."""
        format_ = format_of(url, content_type, body)
        if format_ == "encrypted":
            raise NotAnArticle("encrypted")
        if len(body) > MAX_BYTES:
            raise NotAnArticle("too_complex")
        if format_ == "text":
            format_ = f"text={http_content_type_encoding(content_type) or ''}"
        contents = _parse(format_ or "", body)
        return Converted("".join(_page(contents)).encode("utf-8", "replace"), contents["complete"])


def format_of(url: str, content_type: str, body: bytes) -> str | None:
    """Return the format of a document; None if it is a page or another file. The content is decisive."""
    head = body[:_HEAD].removeprefix(b"\xef\xbb\xbf").lstrip()
    if b"%PDF-" in head and not head.startswith(b"<"):
        return "pdf"
    if head.startswith(b"{\\rtf"):
        return "rtf"
    if head.startswith(_OLE):
        return "encrypted" if _ENCRYPTED_OOXML in body else None
    if head.startswith(b"PK\x03\x04"):
        return _format_of_zip(body)
    kind = content_type.partition(";")[0].strip().lower()
    extension = urlsplit(url).path.rpartition(".")[2].lower()
    if kind in ("text/markdown", "text/x-markdown") or (
        kind == "text/plain" and extension in _EXTENSIONS["markdown"]
    ):
        return "markdown"
    is_text = kind == "text/plain" and not head.startswith((b"<", b"{", b"["))
    return "text" if is_text and b"\0\0" not in head else None


def _format_of_zip(body: bytes) -> str | None:
    """Return the format of a ZIP file by the names in its directory, which is at its end."""
    if b"mimetypeapplication/vnd.oasis.opendocument.text" in body[:200]:
        return "odt"
    return "docx" if b"word/document" in body[:4096] or b"word/document" in body[-65536:] else None


def _parse(format_: str, body: bytes) -> dict[str, Any]:
    """Parse a document in a process of its own. Raises :class:`NotAnArticle`."""
    # The process gets no other variables, because they may contain passwords of servers.
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "newsbot.apps.documents.child", format_, str(MAX_SECONDS)]
    try:
        done = subprocess.run(  # noqa: S603  (our own module; no shell reads the arguments)
            command, input=body, capture_output=True, timeout=2 * MAX_SECONDS, env=environment, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise NotAnArticle("too_complex") from error
    if done.returncode < 0:  # the process was killed by a limit
        raise NotAnArticle("too_complex")
    try:
        contents: dict[str, Any] = json.loads(done.stdout)
    except ValueError as error:
        raise NotAnArticle("damaged") from error
    if (reason := contents.get("refusal")) is not None:
        raise NotAnArticle(reason)
    # The text of a link is not enough: a text without a headline may be a table or a log.
    if format_.startswith("text=") and not contents["title"]:
        raise NotAnArticle("no_title")
    return contents


def _page(contents: dict[str, Any]) -> Iterator[str]:
    """Yield the page, with its metadata as JSON-LD."""
    title, language = escape(contents["title"]), contents["language"]
    metadata = {
        "@context": "https://schema.org",
        "@type": "NewsArticle",
        "headline": contents["title"],
        "author": [{"@type": "Person", "name": name} for name in contents["authors"]],
        "datePublished": contents["published"],
        "dateModified": contents["modified"],
        "inLanguage": language,
    }
    stated = json.dumps({name: value for name, value in metadata.items() if value}).replace("<", "\\u003c")
    yield f'<!DOCTYPE html>\n<html lang="{escape(language or "")}"><head>'
    yield f'<meta charset="utf-8"><title>{title}</title><meta property="og:type" content="article">'
    yield f'<script type="application/ld+json">{stated}</script></head>\n<body><article>'
    yield f"<h1>{title}</h1>\n" if title else "\n"
    in_list = False
    for block in contents["blocks"]:
        tag, text = block["tag"], escape(block["text"])
        if in_list != (tag == "li"):
            in_list = not in_list
            yield "<ul>\n" if in_list else "</ul>\n"
        yield f"<{tag}>{text}</{tag}>\n"
    yield f"{'</ul>' if in_list else ''}</article></body></html>\n"


READER = Documents()
