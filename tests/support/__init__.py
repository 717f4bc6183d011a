"""Fakes, clients and servers that tests of several folders use."""

from __future__ import annotations

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
