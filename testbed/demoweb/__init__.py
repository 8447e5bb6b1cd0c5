"""A generated web of six news hosts for tests and benchmarks, served from loopback.

The output is byte for byte the same for the same size, seed and moment: published figures depend on this.
"""
