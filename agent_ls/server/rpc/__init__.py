"""Dispatch messages to their handlers: routing, access checks, idempotency, and events sent to clients."""
