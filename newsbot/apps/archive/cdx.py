"""Reads web archives over HTTP: WARC files as streams, and the captures of a site's pages from their indexes.

Short documents are requested with pauses between them. The monthly file lists of Common Crawl's news data
(CC-NEWS) are read too. Files are not stored on disk. If a connection breaks, it is reopened at the same
position with a Range request (RFC 9110, section 14).

The Wayback Machine has one index for all years
(https://github.com/internetarchive/wayback/tree/master/wayback-cdx-server). It is read in parts; each answer
ends with the resume key of the next part. Common Crawl has an index for each of its collections, which
``collinfo.json`` lists (https://index.commoncrawl.org/). It is read page by page, and the pages of the sites
are parts of large WARC files. Answers may be JSON or lines of text.
"""

from __future__ import annotations

import io
import json
import re
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from http.client import HTTPException, HTTPResponse
from typing import Any, Protocol
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote_plus, urlencode, urlsplit
from urllib.request import Request, urlopen

from newsbot.apps.archive.reader import Page, WarcFault, plain_body, read_records
from newsbot.errors import MAX_QUOTE, NewsbotError

TRIES = 6
"""Maximum number of attempts for one read, including the first attempt."""
FIRST_WAIT = 2.0
"""Seconds before the second attempt. Each further wait is twice as long."""
TIMEOUT = 60.0
"""Seconds without data after which a connection counts as broken."""
LONGEST_WAIT = 600.0
"""Maximum number of seconds that an archive may ask to wait (Retry-After)."""
BUSY = frozenset((429, 500, 502, 503, 504))
"""HTTP statuses after which a request is repeated."""
MAX_LIST = 32 * 2**20
"""Maximum size in bytes of a decompressed file list. A month has about 500 files."""
_STEP = 1 << 16
_NAME = re.compile(r"crawl-data/CC-NEWS/[0-9]{4}/[0-9]{2}/[\w-][\w.-]*\.warc\.gz")
"""Matches a path of a WARC file.

Other paths in a list are ignored, so that a list cannot lead to other files.
"""
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)")


class RemoteFault(NewsbotError):
    """A remote file cannot be read. ``str()`` returns the reason.

    ``status`` is the HTTP status of the last response if the response was an error, else 0.
    """

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


class TooLargeFault(RemoteFault):
    """The response is larger than the caller wants."""


class RemoteFile:
    """A file at an HTTP(S) URL, read as a stream from any position.

    It has the interface of :class:`newsbot.apps.archive.reader.Stream`. ``say`` is called with one line of
    text before each retry. Nothing is requested before the first :meth:`read`.
    """

    def __init__(self, url: str, user_agent: str, say: Callable[[str], None]) -> None:
        self.url = url
        self._user_agent, self._say = user_agent, say
        self._at = 0
        self._size: int | None = None
        self._answer: HTTPResponse | None = None

    def seek(self, at: int) -> int:
        """Set and return the position of the next :meth:`read`, in bytes from the start of the file."""
        self.close()
        self._at = at
        return at

    def read(self, size: int) -> bytes:
        """Return up to ``size`` bytes. An empty result means the end of the file.

        The method blocks until there are data. Raises :class:`RemoteFault` after :data:`TRIES` failed
        attempts. The waiting time between attempts increases.
        """
        wait = FIRST_WAIT
        for left in reversed(range(TRIES)):
            try:
                return self._read(size)
            except (OSError, HTTPException) as error:  # HTTPError and URLError are OSErrors too
                # The position is unchanged, so the next attempt opens a connection at the same byte.
                self.close()
                text, status = _reason(error), error.code if isinstance(error, HTTPError) else 0
            if not left:
                break
            self._say(f"{self.url}: {text} at byte {self._at:,}; retrying in {wait:g} s")
            time.sleep(wait)
            wait *= 2
        raise RemoteFault(f"{text}; gave up after {TRIES} attempts", status)

    def close(self) -> None:
        """Close the connection if it is open. A later :meth:`read` opens a new connection."""
        if self._answer is not None:
            self._answer.close()
            self._answer = None

    def _read(self, size: int) -> bytes:
        """Make one attempt to read. Raises ``OSError`` or ``HTTPException``."""
        if self._size is not None and self._at >= self._size:
            return b""
        if self._answer is None:
            self._answer = self._opened()
            if self._answer is None:
                return b""
        data = self._answer.read(size)
        # If the server closes the connection early, http.client returns no data and does not raise. Only the
        # expected size shows that this is not the end of the file.
        if not data and self._size is not None:
            raise ConnectionError(f"the response ended {self._size - self._at:,} bytes too early")
        self._at += len(data)
        return data

    def _opened(self) -> HTTPResponse | None:
        """Request the file from the current position on, and return the response.

        Returns None if the position is at or after the end of the file.

        Raises ``OSError`` for network errors, error statuses, and responses that do not continue the file at
        the current position.
        """
        headers = {"User-Agent": self._user_agent} | ({"Range": f"bytes={self._at}-"} if self._at else {})
        try:
            request = Request(self.url, headers=headers)  # noqa: S310  # the setting allows http and https
            answer: HTTPResponse = urlopen(request, timeout=TIMEOUT)  # noqa: S310
        except HTTPError as error:
            error.close()
            if error.code == 416:  # Range Not Satisfiable: the position is at or after the end
                return None
            raise
        # A response with status 206 (Partial Content) must begin at the requested position. A proxy may send
        # another part from its cache.
        part = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
        if answer.status == 206 and (part is None or int(part[1]) != self._at):
            answer.close()
            raise ConnectionError("the server sent a different part of the file than requested")
        # Content-Range has the size of the whole file. In a response with status 206, Content-Length has only
        # the size of the part.
        length = answer.headers.get("Content-Length", "")
        size = int(part[2]) if part else int(length) if length.isdecimal() else None
        # The file may be replaced between two attempts. Parts of two different files must not be joined.
        if self._size is not None and size != self._size:
            answer.close()
            raise ConnectionError("the size of the file has changed")
        self._size = size
        if answer.status != 206:  # the server ignores Range and sends the whole file
            self._pass_over(answer)
        return answer

    def _pass_over(self, answer: HTTPResponse) -> None:
        """Read and drop the data before the current position, for servers without support for Range."""
        left = self._at
        while left:
            data = answer.read(min(left, _STEP))
            if not data:
                answer.close()
                raise ConnectionError("the response ended too early")
            left -= len(data)


@dataclass(frozen=True, slots=True)
class Answer:
    """A response with its headers by lower-case name."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class PacedClient:
    """Sends GET requests one after the other, with a pause of ``delay`` seconds between two to one host.

    ``say`` is called with one line of text before each retry.
    """

    def __init__(self, user_agent: str, delay: float, say: Callable[[str], None]) -> None:
        self._user_agent, self._delay, self._say = user_agent, delay, say
        self._next: dict[str, float] = {}
        """The earliest time of the next request, by host (monotonic)."""

    def get(self, url: str, most: int, headers: Mapping[str, str] | None = None) -> Answer:
        """Return the response, whose body may have at most ``most`` bytes.

        Raises :class:`RemoteFault` if the server cannot be reached or stays busy after :data:`TRIES`
        attempts, or if the body is larger.
        """
        wait, host = FIRST_WAIT, urlsplit(url).netloc
        for left in reversed(range(TRIES)):
            time.sleep(max(0.0, self._next.get(host, 0.0) - time.monotonic()))
            asked, status = 0.0, 0
            try:
                answer = self._get(url, most, headers or {})
                if answer.status not in BUSY:
                    return answer
                text, status = f"the server responded with status {answer.status}", answer.status
                after = answer.headers.get("retry-after", "")
                asked = min(float(after), LONGEST_WAIT) if after.isdecimal() else 0.0
            except (OSError, HTTPException) as error:
                text = _reason(error)
            finally:
                self._next[host] = time.monotonic() + self._delay
            if left:
                rest = max(wait, asked)
                self._say(f"{host}: {text}; retrying in {rest:g} s")
                time.sleep(rest)
                wait *= 2
        raise RemoteFault(f"{host}: {text}; gave up after {TRIES} attempts", status)

    def _get(self, url: str, most: int, headers: Mapping[str, str]) -> Answer:
        request = Request(url, headers={"User-Agent": self._user_agent, **headers})  # noqa: S310  # as above
        try:
            answer = urlopen(request, timeout=TIMEOUT)  # noqa: S310
        except HTTPError as error:
            answer = error
        with answer:
            body = answer.read(most + 1)
            found = {name.lower(): value for name, value in answer.headers.items()}
            status = int(answer.status)
        if len(body) > most:
            raise TooLargeFault(f"{urlsplit(url).netloc}: a response has more than {most >> 20} MiB")
        if found.get("content-length", "").isdecimal() and len(body) < int(found["content-length"]):
            raise ConnectionError("the response ended too early")
        return Answer(status, found, body)


def news_files(base: str, month: str, client: PacedClient) -> list[str]:
    """Return the URLs of the WARC files of one month, in the order of the list and without duplicates.

    ``base`` is the URL of a copy of the data set, for example ``https://data.commoncrawl.org/``; ``month``
    has the form ``2026-11``. Raises :class:`RemoteFault` if the list cannot be read, is damaged or too large,
    or contains no file.
    """
    root = base.rstrip("/") + "/"
    url = f"{root}crawl-data/CC-NEWS/{month.replace('-', '/')}/warc.paths.gz"
    answer = client.get(url, MAX_LIST)
    if answer.status != 200:
        raise RemoteFault(f"{url}: the server responded with status {answer.status}", answer.status)
    unpacker = zlib.decompressobj(wbits=31)
    try:
        # The size is limited, because a small file could unpack to gigabytes. One more byte than allowed is
        # read, so that the check below can see that the list is too large.
        text = unpacker.decompress(answer.body, MAX_LIST + 1)
    except zlib.error as error:
        raise RemoteFault(f"{url}: not a gzipped list of files ({error})") from error
    if not unpacker.eof or len(text) > MAX_LIST:
        raise RemoteFault(f"{url}: the list is incomplete or larger than {MAX_LIST // 2**20} MiB")
    lines = text.decode("ascii", "replace").split()
    names = list(dict.fromkeys(line for line in lines if _NAME.fullmatch(line)))
    if not names:
        raise RemoteFault(f"{url}: the list contains no file of CC-NEWS")
    return [root + name for name in names]


def _reason(error: Exception) -> str:
    """Return the reason for an error in a few words, for a message."""
    if isinstance(error, HTTPError):
        return f"the server responded with status {error.code}"
    # URLError holds the real error in ``reason``, which may also be a text.
    cause: Any = error.reason if isinstance(error, URLError) else error
    return str(getattr(cause, "strerror", None) or cause or type(cause).__name__)


PART = 5000
"""Maximum number of captures in an answer of the Wayback Machine."""
MAX_ANSWER = 64 * 2**20
"""Maximum size in bytes of an answer of an index."""
MAX_RECORD = 32 * 2**20
"""Maximum size in bytes of a compressed record."""
LATER = timedelta(days=90)
"""Maximum time from the publication of an article to its capture, if the publication has a last day."""
FIELDS = ("urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length")
"""The fields of a line of text."""
_NAMES = {"original": "url", "mimetype": "mime", "statuscode": "status"}
"""Names of fields at the Wayback Machine -> at Common Crawl."""
_MOMENT = re.compile(r"[0-9]{14}")
_COLLECTION = re.compile(r"CC-MAIN-(20[0-9]{2})-[0-9]{2,4}(?:-[0-9]{2,4})?")
_RECORD = re.compile(r"crawl-data/[\w-]+(?:/[\w-][\w.-]*)+\.warc\.gz")
_ORIGINAL = "x-archive-orig-"
_NOT_THERE = 404

Place = dict[str, Any]
"""A position in an index, as JSON values."""


@dataclass(frozen=True, slots=True)
class Capture:
    """One archived response. The values are those of the index; ``moment`` has 14 digits, in UTC."""

    url: str
    moment: str
    digest: str = ""
    file: str = ""
    offset: int = 0
    length: int = 0

    @property
    def at(self) -> datetime:
        """The time of the capture. Raises ``ValueError`` unless :attr:`has_time`."""
        return datetime.strptime(self.moment, "%Y%m%d%H%M%S").replace(tzinfo=UTC)

    @property
    def has_time(self) -> bool:
        """True if there is such a time."""
        try:
            return bool(self.at)
        except ValueError:
            return False


@dataclass(frozen=True, slots=True)
class Part:
    """Some captures of an index, sorted by URL and time."""

    place: Place
    """The position of this part."""
    label: str
    """The position in words."""
    captures: Sequence[Capture] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which captures are looked for."""

    domain: str
    since: datetime
    until: datetime | None = None

    @property
    def last(self) -> datetime | None:
        """The time of the last capture; None for no limit."""
        return None if self.until is None else self.until + LATER


class Index(Protocol):
    """The index of an archive. All methods raise :class:`RemoteFault`."""

    def parts(self, wanted: Wanted, place: Place) -> Iterator[Part]:
        """Yield the parts of the index from a position on; an empty ``place`` is the beginning."""

    def fetch(self, capture: Capture, max_body: int) -> Page | None:
        """Return an archived page, or None if the archive does not return it."""

    def address(self, capture: Capture) -> str:
        """Return the URL of an archived page."""


class Wayback:
    """The Wayback Machine, or an archive with the same interface. ``base`` is its URL."""

    def __init__(self, base: str, client: PacedClient) -> None:
        self._base, self._client = base.rstrip("/"), client

    def parts(self, wanted: Wanted, place: Place) -> Iterator[Part]:
        """Yield the parts of the index from a position on."""
        key, number = str(place.get("key", "")), int(place.get("part", 1))
        seen = {key}
        asked = [*_asked(wanted), ("filter", "statuscode:200"), ("filter", "mimetype:text/html")]
        asked += [("collapse", "digest"), ("limit", str(PART)), ("showResumeKey", "true")]
        while True:
            query = urlencode([*asked, *([("resumeKey", _plain(key))] if key else [])])
            url = f"{self._base}/cdx/search/cdx?{query}"
            answer = _index(self._client, url)
            if answer.status == _NOT_THERE:  # an index without captures of the site responds with status 200
                raise RemoteFault(f"{url}: the server responded with status 404", _NOT_THERE)
            captures, following = read_answer(answer.body)
            yield Part({"key": key, "part": number}, f"part {number}", captures)
            if not following or following in seen:
                return
            seen.add(following)
            key, number = following, number + 1

    def fetch(self, capture: Capture, max_body: int) -> Page | None:
        """Return an archived page as the site sent it (``id_``)."""
        try:
            answer = self._client.get(
                f"{self._base}/web/{capture.moment}id_/{_quoted(capture.url)}", max_body
            )
        except TooLargeFault:
            return None
        original = {
            name.removeprefix(_ORIGINAL): value
            for name, value in answer.headers.items()
            if name.startswith(_ORIGINAL)
        }
        headers = {**answer.headers, **original}
        if answer.status != 200:
            return None
        # The headers of encodings describe this answer, and not the original response.
        body = plain_body(answer.headers, answer.body, max_body)
        return Page(capture.url, capture.at, answer.status, headers, body)

    def address(self, capture: Capture) -> str:
        """Return the URL of an archived page, for people."""
        return f"{self._base}/web/{capture.moment}/{capture.url}"


class CommonCrawl:
    """Common Crawl: ``base`` is the URL of its indexes, ``files`` that of its files."""

    def __init__(self, base: str, files: str, client: PacedClient) -> None:
        self._base, self._files, self._client = base.rstrip("/"), files.rstrip("/"), client

    def parts(self, wanted: Wanted, place: Place) -> Iterator[Part]:
        """Yield the pages of the indexes of all collections of the time, the oldest collection first."""
        names = self._collections(wanted)
        begun = str(place.get("collection", ""))
        page = int(place.get("page", 0))
        if begun in names:
            names = names[names.index(begun) :]
        else:
            page = 0
        for number, name in enumerate(names):
            asked = [*_asked(wanted), ("filter", "=status:200"), ("filter", "mime:html")]
            url = f"{self._base}/{name}-index?{urlencode(asked)}"
            pages = self._pages(url)
            for at in range(page if not number else 0, pages):
                answer = _index(self._client, f"{url}&page={at}")
                captures, _ = read_answer(answer.body)
                label = f"{name}, page {at + 1} of {pages}"
                yield Part({"collection": name, "page": at}, label, [one for one in captures if one.file])

    def _collections(self, wanted: Wanted) -> list[str]:
        answer = _index(self._client, f"{self._base}/collinfo.json")
        try:
            known = json.loads(answer.body)
            found = [(one["id"], str(one.get("from") or ""), str(one.get("to") or "")) for one in known]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise RemoteFault(f"{self._base}/collinfo.json: not a list of collections") from error
        last = wanted.last
        names = []
        for name, begin, end in found:
            # The name becomes a part of a URL, so only names of the documented form are used.
            if not isinstance(name, str) or (match := _COLLECTION.fullmatch(name)) is None:
                continue
            is_over = (end or f"{match[1]}-99") < f"{wanted.since:%Y-%m-%d}"
            is_later = last is not None and (begin or match[1]) > f"{last:%Y-%m-%d}T99"
            if not is_over and not is_later:
                names.append(name)
        return sorted(names)

    def _pages(self, url: str) -> int:
        """Return the number of pages of an index; 0 if it has no captures of the site."""
        answer = _index(self._client, f"{url}&showNumPages=true")
        if answer.status == _NOT_THERE:
            return 0
        try:
            found = json.loads(answer.body)
            return int(found["pages"] if isinstance(found, Mapping) else found)
        except (ValueError, LookupError, TypeError, OverflowError, RecursionError) as error:
            raise RemoteFault(f"{url}: no number of pages") from error

    def fetch(self, capture: Capture, max_body: int) -> Page | None:
        """Return an archived page, from its part of a WARC file."""
        if _RECORD.fullmatch(capture.file) is None or not 0 < capture.length <= MAX_RECORD:
            return None
        end = capture.offset + capture.length - 1
        answer = self._client.get(
            f"{self._files}/{capture.file}", capture.length, {"Range": f"bytes={capture.offset}-{end}"}
        )
        if answer.status != 206:
            return None
        try:
            records = read_records(io.BytesIO(answer.body), max_body=max_body)
            page = next((one.page for one in records if one.page is not None), None)
        except WarcFault:
            return None
        return page if page is None or page.at else replace(page, at=capture.at)

    def address(self, capture: Capture) -> str:
        """Return the URL of the file, with the place of the record."""
        return f"{self._files}/{capture.file}#bytes={capture.offset}-{capture.offset + capture.length - 1}"


def read_answer(body: bytes) -> tuple[list[Capture], str]:
    """Return the captures in an answer of an index, and the resume key.

    An answer is an array of arrays, or has a line for each capture: fields that are separated by spaces, an
    object, or key, time and an object. Raises :class:`RemoteFault` if it is something else.
    """
    try:
        return _rows(json.loads(body)) if body.lstrip().startswith(b"[") else _lines(body)
    except (ValueError, TypeError, AttributeError, LookupError, OverflowError, RecursionError) as error:
        begin = body[:MAX_QUOTE].decode("utf-8", "replace").split("\n", 1)[0]
        raise RemoteFault(f"the answer is not an index of captures: {begin!r}") from error


def _rows(rows: list[list[str]]) -> tuple[list[Capture], str]:
    names, key, found = list(rows[0]) if rows else [], "", []
    for row in rows[1:]:
        if len(row) == 1:
            key = str(row[0])
        elif row:
            found.append(_capture(dict(zip(names, row, strict=True))))
    return _with_times(found), key


def _lines(body: bytes) -> tuple[list[Capture], str]:
    found, key, is_end = [], "", False
    for line in body.decode("utf-8", "replace").splitlines():
        if not line.strip():
            is_end = True
        elif is_end:
            key = line.strip()
        elif line.startswith("{"):
            found.append(_capture(json.loads(line)))
        else:
            words = line.split(" ", 2)
            if words[-1].startswith("{"):
                found.append(_capture({"timestamp": words[1], **json.loads(words[2])}))
            else:
                found.append(_capture(dict(zip(FIELDS, line.split(), strict=True))))
    return _with_times(found), key


def _with_times(captures: Sequence[Capture]) -> list[Capture]:
    """Return the captures without those whose time cannot be, such as 30 February."""
    return [one for one in captures if one.has_time]


def _capture(row: Mapping[str, str]) -> Capture:
    values = {_NAMES.get(name, name): value for name, value in row.items()}
    moment = str(values.get("timestamp", ""))
    if _MOMENT.fullmatch(moment) is None or not isinstance(values.get("url"), str):
        raise ValueError(moment)
    return Capture(
        url=values["url"],
        moment=moment,
        digest=str(values.get("digest", "")),
        file=str(values.get("filename", "")),
        offset=int(values.get("offset", 0)),
        length=int(values["length"]) if "filename" in values else 0,
    )


def _index(client: PacedClient, url: str) -> Answer:
    answer = client.get(url, MAX_ANSWER)
    if answer.status not in (200, _NOT_THERE):
        raise RemoteFault(f"{url}: the server responded with status {answer.status}", answer.status)
    return Answer(answer.status, answer.headers, b"" if answer.status == _NOT_THERE else answer.body)


def _asked(wanted: Wanted) -> list[tuple[str, str]]:
    until = [("to", _digits(wanted.last))] if wanted.last else []
    site = [("url", wanted.domain), ("matchType", "domain"), ("output", "json")]
    return [*site, ("from", _digits(wanted.since)), *until]


def _digits(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y%m%d%H%M%S}"


def _plain(key: str) -> str:
    """Return a resume key without its encoding as a part of a query."""
    return key if re.search(r"[ ,)(]", key) else unquote_plus(key)


def _quoted(url: str) -> str:
    """Return a URL as a part of a path. Captures may contain letters that are not ASCII."""
    return quote(url, safe="%/:=&?~#+!$,;'@()*[]")
