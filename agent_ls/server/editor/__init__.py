"""Access to the editor: documents, edits, diagnostics, language features."""
