"""The simulator: compares ways to watch sites before a site is touched (docs/simulator.md)."""
