"""Git worktrees that sessions work in: making them, finding what changed in them, merging it into another folder."""
