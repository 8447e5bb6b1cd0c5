"""WARC 1.1 (ISO 28500:2017): writes crash-safe files, and reads files of other programs.

Files in reading order:

* ``records``: records as bytes
* ``folder``: a folder of files that one process writes
* ``reader``: reads files of other programs, with limits
* ``remote``: files behind an address, and the lists of CC-NEWS
"""
