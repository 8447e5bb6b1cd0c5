"""WARC 1.1 (ISO 28500:2017): writes records and files that survive a crash, and reads what others wrote.

Files in reading order:

* ``records``: records as bytes
* ``folder``: a folder of files that one process writes
* ``reader``: reads files of others, bounded
"""
