"""Same and similar texts: exact keys, MinHash signatures, the near-duplicate index, the decision."""
