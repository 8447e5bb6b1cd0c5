"""Reading the regular expressions of rule files: compiled, or refused with the reason."""

from __future__ import annotations

import re

from newsbot.rules.automaton import Refused
from newsbot.rules.runaway import refuse_runaway

MAX_LENGTH = 1000


def compile_pattern(text: str) -> re.Pattern[str]:
    """Return the compiled expression. Raises ``ValueError`` that says what is wrong and what to write."""
    if not text:
        raise ValueError("an empty pattern matches every URL; write for example ^/news/\\d+")
    return compile_safely(text, re.ASCII)


def compile_safely(text: str, flags: int) -> re.Pattern[str]:
    """Return an expression compiled with ``flags`` (of ``re.ASCII``, ``re.IGNORECASE``) that cannot run away.

    Raises ``ValueError`` that says what is wrong and what to write.
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"the pattern has {len(text)} characters; at most {MAX_LENGTH} are allowed")
    try:
        regex = re.compile(text, flags)
        refuse_runaway(text, flags)
    except re.error as error:
        where = "" if error.pos is None else f" at character {error.pos + 1}"
        raise ValueError(f"bad pattern {text!r}: {error.msg}{where}") from error
    except Refused as error:
        raise ValueError(f"bad pattern {text!r}: {error}") from error
    except (OverflowError, RecursionError) as error:
        raise ValueError("bad pattern: too large a number, or too deeply nested") from error
    return regex
