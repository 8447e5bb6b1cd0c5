"""Signs requests, so that sites can verify that they come from this newsbot.

* ``signing``: the signer, and the directory with its public key
* ``middleware``: signs requests
"""
