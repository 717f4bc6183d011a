"""The built-in walkthrough: a scripted stand-in for a model, always labelled as scripted."""

from __future__ import annotations

NAME = "walkthrough"
