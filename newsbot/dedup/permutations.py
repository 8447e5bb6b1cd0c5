"""The permutations of signatures, from datasketch's MinHash alone.

``import datasketch`` also imports its other sketches and, for them, scipy's integration: a quarter of the
time in which any command of newsbot starts. So its package is not run, only the module that makes
permutations.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec

import numpy as np
from numpy.typing import NDArray

_PACKAGE = "datasketch"


def affine32(count: int, seed: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return factors and offsets of ``count`` permutations as datasketch's scheme affine32 draws them."""
    before = _loaded()
    spec = find_spec(_PACKAGE)
    if spec is None:
        raise ModuleNotFoundError(f"No module named {_PACKAGE!r}", name=_PACKAGE)
    if _PACKAGE not in before:
        sys.modules[_PACKAGE] = module_from_spec(spec)
    try:
        made = import_module(f"{_PACKAGE}.minhash").MinHash(num_perm=count, seed=seed, scheme="affine32")
    finally:
        for name in _loaded() - before:  # who imports the package later gets the whole of it
            del sys.modules[name]
    factors, offsets = made.permutations.copy()
    return factors, offsets


def _loaded() -> set[str]:
    return {name for name in sys.modules if name.partition(".")[0] == _PACKAGE}
