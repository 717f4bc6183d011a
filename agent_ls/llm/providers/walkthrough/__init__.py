"""The built-in walkthrough: a scripted stand-in for a model, always labelled as such (H14)."""

from __future__ import annotations

NAME = "walkthrough"
