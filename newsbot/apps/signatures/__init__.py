"""Signs requests, so that sites can verify that they come from this newsbot.

* ``signing``: the signer, the directory with its public key, and the middleware that signs requests
"""
