"""The loop without an editor: exec."""
