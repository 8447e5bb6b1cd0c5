"""Articles as files: JSON lines, CSV, Parquet, WARC; and as a feed. Sites as OPML.

Files in reading order:

* ``formats``: the formats, and how to get the writer of one
* ``parquet``: Apache Parquet
* ``feed``: Atom and RSS
* ``opml``: the feeds of all sites
* ``increment``: exports that continue where the last one of the same name ended
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
