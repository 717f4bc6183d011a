"""Conversions between LSP values and ours: positions, documents, client capabilities."""
