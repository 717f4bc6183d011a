"""Mentions whose content is attached to a message: symbols, git, terminals, pages, images."""
