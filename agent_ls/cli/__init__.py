"""One file per command: arguments only, no logic."""
