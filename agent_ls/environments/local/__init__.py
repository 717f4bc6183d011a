"""This machine: files, processes, search."""
