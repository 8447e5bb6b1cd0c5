"""The people who may use the dashboard and the API: named tokens with roles, and a log of what they did.

Files in reading order:

* ``people``: people, their roles and tokens, what they have read and starred, and the log of their actions
* ``command``: ``newsbot team``
"""
