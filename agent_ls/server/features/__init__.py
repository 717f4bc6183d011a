"""Message handlers, one file per group of messages. Handlers only call other packages, which do the work."""
