"""Whether a place on a page is navigation or content.

The nearest ancestor that says something decides: ``nav``, ``footer``, ``aside``, an ARIA role or a
class such as ``main-menu`` on one side, ``article`` and ``main`` on the other.
"""

from __future__ import annotations

import re

from lxml import etree

_NAVIGATION = frozenset(("nav", "footer", "aside", "menu"))
_CONTENT = frozenset(("article", "main"))
_TRANSPARENT = frozenset(
    ("html", "body", "a", "span", "h1", "h2", "h3", "h4", "p", "b", "strong", "em", "i", "td", "tr")
)
_NAVIGATION_ROLES = frozenset(
    ("navigation", "menu", "menubar", "banner", "contentinfo", "search", "toolbar", "complementary")
)
_NAVIGATION_NAME = re.compile(
    r"(?:^|[\s_-])(?:(?:main|site|top|sub|mega|side|foot|mobile|primary|secondary|sec|meta|service)?-?_?"
    r"(?:nav|navbar|navi|navigation|menu|footer|sidebar)|breadcrumbs?|pagination|pager|topbar|toolbar|masthead|"
    r"(?:site|page|main|global)[_-]?header|social|share|sharing|login|subscribe|cookie|copyright|language)s?(?:$|[\s_-])"
    r"|(?:[a-z](?:Nav|Navigation|Menu|Footer|Breadcrumbs?))(?:$|[\s_A-Z-])",
)
_MODIFIER = re.compile(r"(?:^|(?<=\s))(?:has|with|without|no|is|js|u|l)[_-]\S+")
_MAX_NAMES = 300

_NEUTRAL, _CONTENT_STATE, _NAVIGATION_STATE = 0, 1, 2


class Context:
    """Answers for one page; remembers what it found, so that each element is looked at once."""

    def __init__(self) -> None:
        self._states: dict[etree._Element, int] = {}

    def is_navigation(self, element: etree._Element) -> bool:
        """Tell whether ``element`` stands in navigation."""
        return self._state(element) == _NAVIGATION_STATE

    def _state(self, element: etree._Element) -> int:
        """Walk up to an ancestor whose state is known, then down again."""
        states = self._states
        path: list[etree._Element] = []
        current: etree._Element | None = element
        while current is not None and current not in states:
            path.append(current)
            current = current.getparent()
        state = _NEUTRAL if current is None else states[current]
        for node in reversed(path):
            state = _own_state(node, state)
            states[node] = state
        return state


def _own_state(element: etree._Element, outer: int) -> int:
    tag = element.tag
    if tag in _TRANSPARENT or not isinstance(tag, str):
        return outer
    if tag in _CONTENT:
        return _CONTENT_STATE
    if outer == _NAVIGATION_STATE or tag in _NAVIGATION:
        return _NAVIGATION_STATE
    if tag == "header":  # of the page, unless it is an article's
        return outer or _NAVIGATION_STATE
    return _NAVIGATION_STATE if _says_navigation(element.attrib) else outer


def _says_navigation(attributes: etree._Attrib) -> bool:
    if not attributes:
        return False
    if attributes.get("role") in _NAVIGATION_ROLES:
        return True
    names = f"{attributes.get('class', '')} {attributes.get('id', '')}"
    return len(names) > 1 and is_navigation_name(names)


def is_navigation_name(names: str) -> bool:
    """Tell whether classes and id of an element say that it is a menu, footer or the like."""
    names = names[:_MAX_NAMES]
    match = _NAVIGATION_NAME.search(names)
    if match is None:
        return False
    return _NAVIGATION_NAME.search(_MODIFIER.sub("", names)) is not None
