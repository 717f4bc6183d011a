"""Git worktrees that sessions work in: create them, find their changes, merge the changes into a folder."""
