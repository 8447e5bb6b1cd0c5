"""Places that articles name, in Russian, English and German.

* ``mentions``: names of places, which of them a text means, and the field ``place`` of searches
"""
