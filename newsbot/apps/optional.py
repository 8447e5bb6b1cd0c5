"""Imports packages that are not installed with every newsbot."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from newsbot.errors import UserError


def load_optional(module: str, extra: str, user: str) -> Any:
    """Import and return a module of an optional package.

    ``extra`` is the extra of newsbot that contains the package, and ``user`` is what needs it. Raises
    :class:`newsbot.errors.UserError` if the package is missing.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        # It is a bug if a module of another package is missing.
        package = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != package:
            raise
        raise UserError(f"{user} needs the package {package}; run: pip install 'newsbot[{extra}]'") from error
