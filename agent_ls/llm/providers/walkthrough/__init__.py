"""The built-in walkthrough: a provider with scripted answers instead of a model, always labelled as scripted."""

from __future__ import annotations

NAME = "walkthrough"
