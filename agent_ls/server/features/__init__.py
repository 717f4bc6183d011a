"""One file per group of messages; handlers only hand work on."""
