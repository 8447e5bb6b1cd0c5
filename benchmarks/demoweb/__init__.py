"""A generated web of six news hosts for tests and benchmarks, served from loopback.

Its output is the same byte for byte for the same size, seed and moment: published figures depend on it.
"""
