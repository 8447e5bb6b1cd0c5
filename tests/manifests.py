"""Reads the manifest of the demo."""

from __future__ import annotations

import json
from pathlib import Path

from newsbot.apps.demo.server import Expected, Manifest


def load_manifest(path: Path) -> Manifest:
    """Return the manifest in a file that :meth:`Manifest.save` wrote."""
    data = json.loads(path.read_text(encoding="utf-8"))
    return Manifest(**data | {"articles": [Expected(**row) for row in data["articles"]]})
