"""Signs requests, so that sites can verify that they come from this newsbot.

* ``middleware``: signs requests; the signer, and the directory with its public key
"""
