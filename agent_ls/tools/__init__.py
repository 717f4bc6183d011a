"""What the model may do: one file per tool; each knows only an environment."""
