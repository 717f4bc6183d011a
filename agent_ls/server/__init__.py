"""The language server. No other package knows LSP, JSON-RPC or pygls."""
