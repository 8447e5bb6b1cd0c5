"""The webs and servers on which tests and benchmarks run, all on loopback.

* ``loopback``: an HTTP server that is also a forward proxy, so that each host has its own name
* ``messages``: its requests and answers; ``wire``: how they are sent
* ``mockserver``: sites whose pages a test registers, and named misbehaviours
* ``articles``: short articles and feeds for such sites; ``attacks``: sites that attack another one
* ``demoweb``: a generated web of six news hosts with a list of all its articles
* ``feed_world``: generated feeds for polling policies, without a server
* ``servers``: MongoDB and free ports; ``redisserver``: Redis; ``temporary``: both for the time of a benchmark
* ``newsroom``: invented data of a newsroom; ``walks``: tasks of people at the pages, in a browser
* ``otherclock``: runs a command of newsbot with a simulated clock

Tests and benchmarks import this package. Neither imports the other.
"""
