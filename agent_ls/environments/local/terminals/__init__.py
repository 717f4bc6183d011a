"""Commands in a terminal: one of the editor, or one without a view."""
