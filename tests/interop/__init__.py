"""agent-ls with servers and clients that are not ours: llama.cpp, LiteLLM, aimock, and other LSP clients.

`make test-interop` fetches them. Without them these tests are skipped.
"""
