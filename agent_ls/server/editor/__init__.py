"""The editor as the server sees it: documents, edits, diagnostics, language features."""
