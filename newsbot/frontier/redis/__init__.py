"""The frontier in Redis.

Files in reading order:

* ``frontier``: the frontier itself
* ``division``: the number of queues
* ``scripts``: runs the Lua scripts of ``newsbot/frontier/lua``
* ``layout``: the names of the keys, and the encoding of entries
"""

from newsbot.frontier.redis.frontier import RedisFrontier

__all__ = ["RedisFrontier"]
