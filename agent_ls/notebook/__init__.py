"""Notebooks (.ipynb) as cells: reading, and changing them without touching the rest of the file (engine)."""
