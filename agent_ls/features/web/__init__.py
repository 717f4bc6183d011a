"""Web access for tools, as far as the settings allow it: fetch pages by GET, and search with a provider."""
