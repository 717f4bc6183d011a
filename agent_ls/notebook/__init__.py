"""Read notebooks (.ipynb) as cells, and change cells without touching the rest of the file. Pure."""
