"""Read notebooks (.ipynb) as cells, and change cells without changing the rest of the file. Pure."""
