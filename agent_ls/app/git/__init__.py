"""Reading of git repositories, without running a program that a repository names."""
