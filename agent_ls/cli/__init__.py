"""One file per command, with its arguments only; the logic is in other packages."""
