"""The only package that knows LSP, JSON-RPC or pygls."""
