"""The commands that run without an editor: exec, demo and apply-patch."""
