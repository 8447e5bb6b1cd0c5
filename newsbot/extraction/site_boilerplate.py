"""Lines that a site prints on page after page: what stands in two different articles is no body.

A crawler reads many pages of a site and can remember their lines; a single page cannot show them. The
memory is an object that the caller keeps, one for each site. Reading a page never changes it, so that
extraction stays pure::

    memory = SiteMemory()
    for html, url in pages_of_one_site:
        article = read_page(html, url, memory=memory)
        memory.learn(url, article.text.splitlines())
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from newsbot.extraction.blocks import Block
from newsbot.extraction.line_table import SIZE as _SIZE
from newsbot.extraction.line_table import LineTable
from newsbot.extraction.strings import key

MAX_LINES = 20_000
"""Lines that are remembered of a site, 0.5 MB; the one not met for longest is forgotten first."""
MAX_SITES = 64
"""Sites whose lines :class:`SiteMemories` keeps."""
LINES_OF_MANY = 4000
"""Lines that it keeps of each, 0.1 MB."""
_LEAST = 12
"""Shorter lines ("He agreed.") may well stand in two articles."""
_SAME_ARTICLE = 0.6
"""Where so much of a text is known, it is the same article under another address, not boilerplate."""
_FEW = 3
_BACKGROUND = 120
"""So long a line may be a paragraph of background that an article takes over from an earlier one: it goes
only when a third one has it too."""
MAX_PLAIN = 45_000
"""Bytes of a memory in its plain form, before they are written as text: room for about 2,500 lines."""
_LONG = b"+"
_SEVERAL = b""
_FORMAT = 1


class SiteMemory:
    """Lines of one site, each with the article that it was met in or a note that there were several.

    Not thread-safe: one owner at a time.
    """

    def __init__(self, most: int = MAX_LINES) -> None:
        self._most = most
        self._owners = LineTable()
        self.changed = False
        """Set when something was learned; whoever keeps the memory elsewhere resets it."""

    def __len__(self) -> int:
        """Return how many lines are remembered."""
        return len(self._owners)

    def learn(self, address: str, lines: Sequence[str]) -> None:
        """Remember the lines of an article; ``address`` tells it from others, versions of it add nothing."""
        owner = _digest(address)
        marks = [mark for text in lines if (mark := _mark(text)) is not None]
        if self._is_copy(owner, marks):
            return
        for mark in marks:
            before = self._owners.get(mark)
            after = _with(before, owner, mark)
            self._owners.put(mark, after, met=True)
            self.changed |= after != before
        self._owners.forget(self._most)

    def plain(self) -> dict[str, Any]:
        """Return the memory as a JSON-able value of at most :data:`MAX_PLAIN` bytes, a third more as text.

        Lines of several articles go first, they are what counts; then those that were met last.
        """
        latest = self._owners.latest()
        lines = [line for line in latest if line[1] == _SEVERAL] + [line for line in latest if line[1]]
        packed: list[bytes] = []
        length = 0
        for mark, owners in lines:
            record = _packed(mark, owners)
            length += len(record)
            if length > MAX_PLAIN:
                break
            packed.append(record)
        return {"format": _FORMAT, "lines": b64encode(b"".join(reversed(packed))).decode("ascii")}

    def take(self, plain: Mapping[str, Any]) -> None:
        """Join what :meth:`plain` gave, here or elsewhere. Raises ``ValueError`` if it is no such thing."""
        for mark, owners in _unpacked(plain):
            known = self._owners.get(mark)
            if known is None or owners == _SEVERAL:
                known = owners
            for owner in _parts(owners):
                known = _with(known, owner, mark)
            self._owners.put(mark, known, met=False)
        self._owners.forget(self._most)

    def own(self, address: str, blocks: Iterable[Block]) -> list[Block]:
        """Return ``blocks`` of an article without those that other articles of the site have too."""
        given = list(blocks)
        owner = _digest(address)
        marks = [_mark(block.text) for block in given]
        if self._is_copy(owner, [mark for mark in marks if mark is not None]):
            return given
        return [
            block
            for block, mark in zip(given, marks, strict=True)
            if mark is None or self._is_own(mark, owner)
        ]

    def _is_own(self, mark: bytes, owner: bytes) -> bool:
        """True unless as many other articles have the line as make it the site's."""
        known = self._owners.get(mark)
        known = owner if known is None else known
        return known != _SEVERAL and _with(known, owner, mark) != _SEVERAL

    def _is_copy(self, owner: bytes, marks: list[bytes]) -> bool:
        """True when most lines belong to one other article."""
        others = [other for mark in marks if (other := self._owners.get(mark))]
        foreign = [other[:_SIZE] for other in others if owner not in _parts(other)]
        most = len(foreign) == len(marks) or len(foreign) > max(_FEW, _SAME_ARTICLE * len(marks))
        return most and len(set(foreign)) == 1


def _with(known: bytes | None, owner: bytes, mark: bytes) -> bytes:
    """The articles that have a line, with one more: side by side, or the note that there are too many."""
    if known is None:
        return owner
    if known == _SEVERAL or owner in _parts(known):
        return known
    most = 2 if len(mark) > _SIZE else 1
    return known + owner if len(known) < most * _SIZE else _SEVERAL


def _parts(known: bytes) -> list[bytes]:
    return [known[at : at + _SIZE] for at in range(0, len(known), _SIZE)]


def _packed(mark: bytes, owners: bytes) -> bytes:
    """A line in bytes: its digest, whether it is long and how many articles have it, their digests."""
    return mark[:_SIZE] + bytes([(len(mark) > _SIZE) << 4 | len(owners) // _SIZE]) + owners


def _unpacked(plain: Mapping[str, Any]) -> Iterator[tuple[bytes, bytes]]:
    text = plain.get("lines")
    if plain.get("format") != _FORMAT or not isinstance(text, str):
        raise ValueError("not in the form that this version knows")
    data = b64decode(text, validate=True)  # its fault is a ValueError too
    if len(data) > MAX_PLAIN:
        raise ValueError("too long")
    at = 0
    while at < len(data):
        head = data[at : at + _SIZE + 1]
        count = head[-1] & 15
        end = at + _SIZE + 1 + count * _SIZE
        if len(head) <= _SIZE or count > 2 or end > len(data):
            raise ValueError("broken off")
        yield head[:_SIZE] + (_LONG if head[-1] >> 4 else b""), data[at + _SIZE + 1 : end]
        at = end


class SiteMemories:
    """A memory for each site that a crawl meets; the one not asked for longest is forgotten first."""

    def __init__(self, most: int = MAX_SITES) -> None:
        self._most = most
        self._sites: OrderedDict[str, SiteMemory] = OrderedDict()

    def __contains__(self, domain: str) -> bool:
        return domain in self._sites

    def items(self) -> list[tuple[str, SiteMemory]]:
        """Return the domains and their memories, without touching their order."""
        return list(self._sites.items())

    def of(self, domain: str) -> SiteMemory:
        """Return the memory of a site, an empty one if it was not met."""
        memory = self._sites.setdefault(domain, SiteMemory(LINES_OF_MANY))
        self._sites.move_to_end(domain)
        while len(self._sites) > self._most:
            self._sites.popitem(last=False)
        return memory


def _mark(text: str) -> bytes | None:
    line = key(text)
    if len(line) < _LEAST:
        return None
    return _digest(line) + (_LONG if len(line) >= _BACKGROUND else b"")


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "replace"), digest_size=_SIZE).digest()
