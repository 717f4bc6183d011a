"""One folder per wire format. Pure: no socket, no clock, no environment variable."""
