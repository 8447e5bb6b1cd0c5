"""Opens the data file, with timeouts and readable messages of errors.

This package declares no tables. The packages of the storage, the frontier and the near-duplicate index
declare them.

* ``sqlite``: the embedded data file
"""
