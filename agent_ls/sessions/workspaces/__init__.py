"""Folders in which sessions work: git worktrees, other machines and containers."""
