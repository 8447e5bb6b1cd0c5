"""Writes WARC files that survive crashes, and reads WARC files of other programs (WARC 1.1, ISO 28500:2017).

Files in reading order:

* ``records``: builds records as bytes
* ``folder``: writes records into a folder of files
* ``reader``: reads files of other programs, with limits
* ``remote``: reads files over HTTP, and the file lists of CC-NEWS
"""
