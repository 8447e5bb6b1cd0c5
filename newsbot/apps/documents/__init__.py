"""Reads documents as articles: PDF, DOCX, ODT, RTF, Markdown and plain text (docs/documents.md).

Files in reading order:

* ``reader``: recognises documents, and writes their contents as pages
* ``child``: the process that parses one document, with limits of time and memory
* ``contents``: the text and the fields of a document, and the choice of its title
* ``pdf``, ``office``, ``plain``: the formats
"""
