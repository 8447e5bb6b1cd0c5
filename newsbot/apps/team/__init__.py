"""The people who may use the dashboard and the API: named tokens with roles, and a log of what they did.

Files in reading order:

* ``people``: people, their roles and their tokens
* ``journal``: the log of actions
* ``reading``: what a person has read and starred
* ``command``: ``newsbot team``
"""
