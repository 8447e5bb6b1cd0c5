"""Articles as files: JSON lines, CSV, Parquet, WARC."""

from newsbot.exporting.formats import FORMATS, Format, format_of, writer_of
from newsbot.exporting.target import atomic_target

__all__ = ["FORMATS", "Format", "atomic_target", "format_of", "writer_of"]
