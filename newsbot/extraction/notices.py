"""Recognises pages with a message of the site: errors, bot challenges, logins and cookie consent."""

from __future__ import annotations

import re

from newsbot.extraction.strings import size
from newsbot.text.languages import compiled

_ERROR = (
    r"^\W*(?:%(error)s\W*)?(?:40[0134]|410|50[0234])\b.{0,40}$|%(error)s\W{1,3}[45]\d\d\b|^%(error)s\W*$|"
    r"%(errors)s"
)
_LEAST_CONSENT = 4
"""Minimum number of words about consent (such as "cookies") in a text that only asks for consent."""
_CONSENT_SHARE = 90
"""Maximum number of letters of such a text per word about consent."""
_PARTS = re.compile(r"\s[|–—:-]\s")
_LONG = 1500
"""Maximum length of a text that only asks for consent, in letters."""


def is_error(title: str) -> bool:
    """True if a part of a title is mostly an error message."""
    for part in _PARTS.split(title):
        match = compiled(_ERROR).search(part)
        # The message must be at least half of the part, because "Site admits: 'page not found' cost us
        # millions" is a headline.
        if match is not None and (match.end() - match.start()) * 2 >= len(part.strip()):
            return True
    return False


def is_challenge(text: str) -> bool:
    """True for the text of a page that checks whether the visitor is a robot."""
    return compiled("%(challenges)s").search(text) is not None


def is_login(text: str) -> bool:
    """True for a heading that asks the reader to sign in."""
    return compiled("%(logins)s").search(text) is not None


def asks_consent(text: str) -> bool:
    """True for a text that only asks for consent to cookies. News about cookies are longer."""
    length = size(text)
    if length > _LONG:
        return False
    found = len(compiled("%(consent)s").findall(text))
    return found >= _LEAST_CONSENT and found * _CONSENT_SHARE >= length
