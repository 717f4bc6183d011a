"""The version, alone in a module so that nothing else is imported to read it."""

from __future__ import annotations

__version__ = "0.1.0"
