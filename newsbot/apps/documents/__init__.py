"""Reads documents as articles: PDF, DOCX, ODT, RTF, Markdown and plain text (docs/documents.md).

Files in reading order:

* ``reader``: recognises documents, and writes their contents as pages
* ``child``: the process that parses one document, with limits of time and memory
* ``formats``: the contents of a document, the choice of its title, and all formats but PDF
* ``pdf``: PDF files
"""

from newsbot.config.apps import App

APP = App(
    name="documents",
    package="newsbot.apps.documents",
    documents=("newsbot.apps.documents.reader:READER",),
)
