"""Tests of the face for editors without a plugin."""
