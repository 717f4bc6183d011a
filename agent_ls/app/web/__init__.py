"""The web for tools: pages by GET, and searches that a provider makes. Only what the settings allow (P4)."""
