"""Read git repositories without running a program that a repository's settings name."""
