"""Message handlers, one file per group of messages. Handlers only pass work on."""
