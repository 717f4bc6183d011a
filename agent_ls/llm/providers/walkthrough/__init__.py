"""The built-in walkthrough: a scripted stand-in for a model, always labelled as such (H14)."""
