"""The tools that a model can call: one file per tool. A tool reaches the world only through its environment."""
