"""`python -m profiler` is `dscope`."""

from profiler.cli import main

if __name__ == "__main__":
    main()
