"""Web access for tools: pages by GET and searches by a provider, as far as the settings allow them."""
