"""Changes on disk: files written by tools, by commands and by other programs."""
