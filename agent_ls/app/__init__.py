"""Build sessions for the server, the command line and the library. Contains no protocol."""
