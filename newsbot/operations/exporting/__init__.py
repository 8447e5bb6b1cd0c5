"""Articles as files: JSON lines, CSV, Parquet, WARC."""

from newsbot.operations.exporting.formats import FORMATS, Format, Writer, format_of, writer_of
from newsbot.operations.exporting.increment import atomic_target, export_new

__all__ = ["FORMATS", "Format", "Writer", "atomic_target", "export_new", "format_of", "writer_of"]
