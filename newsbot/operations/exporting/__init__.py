"""Exports articles as files (JSON lines, CSV, Parquet, WARC) or as a feed, and sites as OPML.

Files in reading order:

* ``formats``: the file formats and their writers
* ``parquet``: the writer for Apache Parquet
* ``feed``: articles as an Atom or RSS feed
* ``opml``: the feeds of all sites as OPML
* ``increment``: exports that continue where the last export of the same name ended
"""

from newsbot.operations.exporting.formats import FORMATS, Format, Writer, WriterType, format_of, writer_of
from newsbot.operations.exporting.increment import Following, atomic_target, export_new

__all__ = [
    "FORMATS",
    "Following",
    "Format",
    "Writer",
    "WriterType",
    "atomic_target",
    "export_new",
    "format_of",
    "writer_of",
]
