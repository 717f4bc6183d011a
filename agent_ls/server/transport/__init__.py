"""Connections between client and server: stdio, TCP, WebSocket, framing and JSON-RPC."""
