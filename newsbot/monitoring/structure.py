"""Computes the structure of a site: sections, links between them, and a tree of folders with counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

MAX_SECTIONS = 300
"""Maximum number of sections. Pages in further sections count for :data:`OTHERS`."""
MAX_LEVELS = 5
"""Maximum depth of folders. Pages in deeper folders count for the folder at this depth."""
MAX_FOLDERS = 20_000
"""Maximum number of folders of a site. Pages in further folders count only for the folder above."""
MAX_CHILDREN = 25
"""Maximum number of subfolders that are shown: the subfolders with the most pages.

All other subfolders are shown together in one line.
"""
MAX_NAME = 80
"""Maximum number of characters of a folder's name."""
OTHERS = "(others)"


def folders(url: str, domain: str, *, is_section: bool = False) -> tuple[str, ...]:
    """Return the folders that contain a page, from the top.

    If the host is not the domain of the site, the host is the first folder. ``is_section`` means that the
    page is the front page of a folder, even if its URL does not end in a slash.
    """
    host, path = _split(url)
    host = host.removeprefix("www.")
    names = path.split("/")
    if names and not (is_section and names[-1]):
        names.pop()
    found = [f"/{name[:MAX_NAME]}" for name in names if name][:MAX_LEVELS]
    return tuple([host[:MAX_NAME], *found] if host != domain else found)


def _split(url: str) -> tuple[str, str]:
    """Return host and path of a canonical http(s) URL, without the slash between them."""
    rest = url.partition("://")[2].partition("?")[0].partition("#")[0]
    place, _, path = rest.partition("/")
    place = place.rpartition("@")[2].lower()
    if place.startswith("["):  # an IPv6 address
        return place[1:].partition("]")[0], path
    return place.partition(":")[0], path


def section(places: tuple[str, ...]) -> str:
    """Return the section of a page in these folders: the first folder, or ``/``."""
    return places[0] if places else "/"


@dataclass(slots=True)
class Folder:
    """A folder. Its counts include all folders below it."""

    pages: int = 0
    broken: int = 0
    below: dict[str, Folder] = field(default_factory=dict)

    def plain(self, name: str, levels: int = MAX_LEVELS, children: int = MAX_CHILDREN) -> dict[str, Any]:
        """Return the folder as ``{"name", "pages", "broken", "below": [...]}``, the largest folders first.

        ``levels`` is the maximum depth, ``children`` the maximum number of subfolders of each folder.
        """
        found: dict[str, Any] = {"name": name, "pages": self.pages, "broken": self.broken, "below": []}
        if levels <= 0:
            return found
        inside = sorted(self.below.items(), key=lambda item: (-item[1].pages, item[0]))
        found["below"] = [one.plain(word, levels - 1, children) for word, one in inside[:children]]
        if rest := inside[children:]:
            pages, broken = sum(one.pages for _, one in rest), sum(one.broken for _, one in rest)
            name = f"({len(rest)} more)"
            found["below"].append({"name": name, "pages": pages, "broken": broken, "below": []})
        return found


class Structure:
    """Counts the pages of one site by folder and section, and the links between sections."""

    def __init__(self, domain: str) -> None:
        self.domain = domain
        self.root = Folder()
        self._folders = 0
        self._sections: dict[str, Folder] = {}
        self._links: Counter[tuple[str, str]] = Counter()
        self.depths: Counter[int] = Counter()

    def add(self, places: tuple[str, ...], *, broken: bool) -> str:
        """Count a page in its folders and in its section; return the section."""
        node = self.root
        self._count(node, broken)
        for name in places:
            if name not in node.below:
                if self._folders >= MAX_FOLDERS:
                    break
                self._folders += 1
                node.below[name] = Folder()
            node = node.below[name]
            self._count(node, broken)
        name = self._named(section(places))
        self._count(self._sections.setdefault(name, Folder()), broken)
        return name

    def link(self, source: str, target: str) -> None:
        """Count a link between two sections, or within one."""
        self._links[self._named(source), self._named(target)] += 1

    def sections(self) -> list[dict[str, Any]]:
        """Return the sections, those with the most pages first."""
        ordered = sorted(self._sections.items(), key=lambda item: (-item[1].pages, item[0]))
        return [{"section": name, "pages": one.pages, "broken": one.broken} for name, one in ordered]

    def links(self, limit: int) -> list[dict[str, Any]]:
        """Return the ``limit`` most frequent links between sections, the most frequent first."""
        ordered = sorted(self._links.items(), key=lambda item: (-item[1], item[0]))
        return [{"from": a, "to": b, "links": number} for (a, b), number in ordered[:limit]]

    def _named(self, name: str) -> str:
        if name in self._sections or len(self._sections) < MAX_SECTIONS:
            return name
        return OTHERS

    @staticmethod
    def _count(folder: Folder, broken: bool) -> None:
        folder.pages += 1
        folder.broken += broken
