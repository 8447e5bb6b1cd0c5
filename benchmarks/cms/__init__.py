"""How well newsbot crawls sites of common publishing systems with their default themes.

Files in reading order:

* ``posts``: what each site publishes
* ``generators``: Pelican, Hugo, Jekyll, Nikola, MkDocs and Hexo
* ``wordpress`` (with ``wordpress.php``): WordPress
* ``measure``: crawls a site twice and compares
* ``__main__``: the table
"""
