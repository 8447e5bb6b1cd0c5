"""Words, names of months and time zones, and differences between versions, in many languages.

Files in reading order:

* ``words``: cleans and compares strings; splits a text into words and normalizes them; stems of words
* ``languages``: words and phrases of each language, from the files in
  ``newsbot/pages/extraction/languages/``; finds the language of a text
* ``names``: names of months and time zones
* ``codings``: removes the content codings of bodies, such as gzip, and finds their charset
* ``differences``: the differences between two versions of an article
"""
