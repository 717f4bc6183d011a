"""The processes that belong to one command: find and end them together, on POSIX and on Windows."""
