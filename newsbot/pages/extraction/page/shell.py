"""Repairs the shell of a page: its ``html``, ``head`` and ``body`` tags.

Browsers follow the HTML standard (https://html.spec.whatwg.org/multipage/parsing.html). The tags of the shell
may be omitted or repeated, and text after ``</html>`` belongs to the body. libxml2 loses such text.
"""

from __future__ import annotations

import re

# A lookahead with a group, and the group after it, never backtrack. Python before 3.11.5 matches possessive
# groups with alternatives, (?:…|…)*+, wrongly (https://github.com/python/cpython/issues/106052).
_TOKEN = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))"
    r"|<(?P<raw>script|style|title|noscript|template|textarea|svg)(?=[\s>/])[^>]*+(?:(?<=/)>|>.*?(?:</(?P=raw)(?=[\s>/])[^>]*+>|\Z))"
    r"|<(?P<end>/?)(?P<shell>html|head|body)(?=[\s>/])(?=(?P<attributes>(?:[^>\"']|\"[^\"]*\"|'[^']*')*))(?P=attributes)>"
    r"|<[!?][^>]*+>"
    r"|</?(?P<other>[a-z][^\s>/]*+)[^>]*+>",
    re.IGNORECASE | re.DOTALL,
)
_IN_HEAD = frozenset({
    "script", "style", "title", "noscript", "template", "meta", "link", "base", "basefont", "bgsound",
})  # fmt: skip
_MOST_ATTRIBUTES = 2000
"""Number of characters after which no more attributes of repeated tags are kept."""
_SHELL_END = re.compile(r"</html[^>]*>(?:\s|<!--(?:(?!-->).)*-->)*", re.IGNORECASE | re.DOTALL)
_CLOSED = re.compile(r"<(?:html|head|body)(?=[\s/])[^>]{0,300}/>", re.IGNORECASE)


def is_odd(markup: str) -> bool:
    """True if libxml2 would read the shell of a page in another way than browsers."""
    # Most pages write these tags in lower case. A page that does not is repaired without need.
    end = markup.find("</html")
    if markup.count("<body") != 1 or (end >= 0 and _SHELL_END.fullmatch(markup, end) is None):
        return True
    return _CLOSED.search(markup) is not None


def with_standard_shell(markup: str) -> str:
    """Return ``markup`` with one ``html``, ``head`` and ``body``. Takes linear time."""
    head: list[str] = []
    body: list[str] = []
    attributes = {"html": "", "body": ""}
    parts = head
    at = 0
    # Without the limit, each tag that is not closed would be searched for ">" up to the end of the page.
    last = markup.rfind(">") + 1
    for token in _TOKEN.finditer(markup, 0, last):
        # In the body, text and tags are copied together, up to the next part that is not copied.
        if parts is body and token.lastgroup in ("raw", "other"):
            continue
        between = markup[at : token.start()]
        at = token.end()
        if at == last and token[0].startswith("<!--") and not token[0].endswith(("-->", "--!>")):
            at = len(markup)  # a comment without an end
        if between and not between.isspace():
            parts = body
        parts.append(between)
        name = (token["shell"] or "").lower()
        if name:
            if name in attributes and not token["end"] and len(attributes[name]) < _MOST_ATTRIBUTES:
                # The first value of an attribute counts, as in libxml2.
                attributes[name] += " " + token["attributes"].strip().rstrip("/")
            if name == "body" and not token["end"]:
                parts = body
        elif found := token["raw"] or token["other"]:
            if parts is head and found.lower() not in _IN_HEAD:
                parts = body
            parts.append(token[0])
    body.append(markup[at:])
    return (
        f"<!DOCTYPE html><html{attributes['html']}><head>{''.join(head)}</head>"
        f"<body{attributes['body']}>{''.join(body)}</body></html>"
    )
