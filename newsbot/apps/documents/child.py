"""The process that parses one document. It reads the file from stdin, and writes JSON to stdout.

``python -m newsbot.apps.documents.child FORMAT SECONDS``. Its limits protect the crawl from files that need
much time or memory, such as archives that unpack to gigabytes.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from functools import partial

from newsbot.apps.documents import formats
from newsbot.apps.documents.formats import Contents, RefusedError

MAX_MEMORY = 512 * 2**20
"""Maximum address space in bytes."""


def main() -> None:
    """Parse the document, and write its contents or ``{"refusal": token}``."""
    with suppress(ValueError, OSError):  # macOS does not limit the address space
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    seconds = int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        contents = _parser(sys.argv[1])(sys.stdin.buffer.read())
        contents.finish()
        answer = asdict(contents)
    except RefusedError as error:
        answer = {"refusal": str(error)}
    except MemoryError:
        answer = {"refusal": "too_complex"}
    except Exception:  # noqa: BLE001  (parsers raise errors of any type for damaged files)
        answer = {"refusal": "damaged"}
    sys.stdout.write(json.dumps(answer))


def _parser(format_: str) -> Callable[[bytes], Contents]:
    """Return the parser of a format. Only its own libraries are imported."""
    if format_ == "pdf":
        from newsbot.apps.documents.pdf import read_pdf

        return read_pdf
    kind, _, charset = format_.partition("=")
    if kind == "text":
        return partial(formats.read_text, charset=charset)
    read: Callable[[bytes], Contents] = getattr(formats, f"read_{kind}")
    return read


if __name__ == "__main__":
    main()
