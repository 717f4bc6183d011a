"""The language server. No other package depends on LSP, JSON-RPC or pygls."""
