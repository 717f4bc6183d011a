"""Tests of the plugin-free client's chat document."""
