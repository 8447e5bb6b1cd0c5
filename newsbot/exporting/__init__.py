"""Articles as files: JSON lines, CSV, Parquet, WARC."""

from newsbot.exporting.formats import FORMATS, Format, Writer, format_of, writer_of
from newsbot.exporting.increment import export_new
from newsbot.exporting.target import atomic_target

__all__ = ["FORMATS", "Format", "Writer", "atomic_target", "export_new", "format_of", "writer_of"]
