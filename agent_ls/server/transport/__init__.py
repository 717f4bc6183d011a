"""How bytes reach the server: stdio, TCP, WebSocket, framing and JSON-RPC."""
