"""Articles as files: JSON lines, CSV, Parquet, WARC."""

from newsbot.operations.exporting.formats import FORMATS, Format, Writer, format_of, writer_of
from newsbot.operations.exporting.increment import export_new
from newsbot.operations.exporting.target import atomic_target

__all__ = ["FORMATS", "Format", "Writer", "atomic_target", "export_new", "format_of", "writer_of"]
