"""Articles as files: JSON lines, CSV, Parquet, WARC; and as a feed.

Files in reading order:

* ``formats``: the formats, and how to get the writer of one
* ``parquet``: Apache Parquet
* ``feed``: Atom and RSS
* ``increment``: exports that begin where the last one of the same name ended
"""

from newsbot.operations.exporting.formats import FORMATS, Format, Writer, format_of, writer_of
from newsbot.operations.exporting.increment import atomic_target, export_new

__all__ = ["FORMATS", "Format", "Writer", "atomic_target", "export_new", "format_of", "writer_of"]
