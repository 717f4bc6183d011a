"""The command line: one module per command. A module defines the command's arguments; the logic is in other
packages.
"""
