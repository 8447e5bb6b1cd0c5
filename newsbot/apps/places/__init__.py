"""Places that articles name, in Russian, English and German.

Files in reading order:

* ``gazetteer``: the names of countries, of states of the USA and of cities, and the forms of Russian names
* ``mentions``: which names in a text mean a place
* ``field``: the field ``place`` of searches
"""
