"""The exact key of a text: equal for texts that differ only in what readers do not notice.

The key is a hash of the sequence of words (:mod:`newsbot.text.words`): case, ё and е, accents, invisible
characters, punctuation and white space make no difference; a word more or in another place does.
"""

from __future__ import annotations

from hashlib import blake2b

from newsbot.text.words import token_bytes, tokens

__all__ = ["text_key", "tokens"]

_KEY_BYTES = 16  # two different texts of 10**9 share a key with a chance of 10**-21


def text_key(text: str) -> str:
    """Return the key of ``text`` (without its title), 32 hexadecimal digits.

    All texts without a word (empty, only signs) share one key.
    """
    return blake2b(b" ".join(token_bytes(text)), digest_size=_KEY_BYTES).hexdigest()
