"""What the numbers mean: pure functions of arrays and of `profiler.timeline` objects.

No files, no clocks, no torch. Each metric is defined once, here, for live and saved data.
"""
