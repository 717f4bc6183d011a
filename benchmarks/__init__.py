"""Benchmarks of the server's speed and memory. Each figure is compared with a floor of the same run."""
