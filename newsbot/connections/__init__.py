"""Opens the data file, and connects to servers that the operator names, with readable messages of errors.

These modules declare no tables. The packages of the storage, the frontier and the near-duplicate index
declare them.

* ``sqlite``: the embedded data file
* ``http``: addresses that the operator names, such as a webhook
* ``s3``: folders in S3-compatible object stores
"""
