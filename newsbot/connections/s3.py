"""Opens folders in S3-compatible object stores, with the package pyarrow."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from newsbot.config.apps import load_optional
from newsbot.errors import UserError


def object_store(address: str, user: str, *, patience: float) -> tuple[Any, str]:
    """Return a ``pyarrow.fs.S3FileSystem`` and the folder in it, for an address such as
    ``s3://key:secret@bucket/folder?region=…&endpoint_override=…``.

    ``user`` is what needs the package, and ``patience`` the time to wait for a response in seconds. Raises
    :class:`newsbot.errors.UserError`, without the secret.
    """
    files = load_optional("pyarrow.fs", "parquet", user)
    parts = urlsplit(address)
    options: dict[str, Any] = dict(parse_qsl(parts.query))
    if parts.username:
        options |= {"access_key": unquote(parts.username), "secret_key": unquote(parts.password or "")}
    bucket = parts.netloc.rpartition("@")[2]
    # The part after a slash in a secret would become the folder, and appear in errors.
    if parts.scheme != "s3" or not bucket or ":" in bucket or "@" in parts.path:
        raise UserError(
            f"{user}: the address must have the form s3://key:secret@bucket/folder, with %2F for a slash in "
            "the secret"
        )
    try:
        store = files.S3FileSystem(connect_timeout=patience, request_timeout=patience, **options)
    except (TypeError, ValueError, OSError) as error:  # errors of pyarrow are ValueErrors or OSErrors
        raise UserError(f"s3: {error}") from None
    return store, f"{bucket}{unquote(parts.path)}".rstrip("/")
