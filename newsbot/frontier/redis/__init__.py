"""The frontier in Redis.

Files in reading order:

* ``frontier``: the frontier itself
* ``scripts``: runs the Lua scripts of ``newsbot/frontier/lua``
* ``keys``: the names of the keys
* ``codec``: the encoding of entries
"""

from newsbot.frontier.redis.frontier import RedisFrontier

__all__ = ["RedisFrontier"]
