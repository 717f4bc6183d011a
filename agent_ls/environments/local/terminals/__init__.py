"""Run commands in a terminal of the editor, or in a terminal without a view."""
