"""One folder per wire format. Engines: no socket, no clock, no environment variable."""
