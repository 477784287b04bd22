"""Libraries that single formats need, and the sentence for the one that is not there."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.util import find_spec

from profiler.errors import UsageError


@dataclass(frozen=True)
class Library:
    """`package`: what is imported; `install`: what pip is told; `user`: who needs it, first word capital."""

    package: str
    install: str
    user: str

    @property
    def missing(self) -> str | None:
        """Why the format cannot be written, one sentence; None where the library is there.

        Looks for the package without importing it.
        """
        return None if find_spec(self.package) is not None else self._sentence()

    def error(self) -> UsageError:
        """For a library that was found and yet cannot be imported, or is not there at all."""
        return UsageError(self._sentence(), field="format")

    def _sentence(self) -> str:
        if getattr(sys, "frozen", False):
            return f"{self.user} needs {self.package}, which this build does not have; choose another format."
        return f"{self.user} needs {self.package}; install it with: python -m pip install {self.install}."


PLOTLY = Library("plotly", "plotly", "The web page")
PYARROW = Library("pyarrow", '"decodescope[parquet]"', "Parquet")
