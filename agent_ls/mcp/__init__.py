"""Servers of the Model Context Protocol: their configuration, their processes, and their tools for the model."""
