"""WARC 1.1 (ISO 28500:2017): records as bytes, files that survive a crash, and reading what others wrote."""
