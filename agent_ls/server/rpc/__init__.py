"""From a message to its handler and back: routing, errors, idempotency, and events sent to clients."""
