"""One client for several provider APIs: message types, pure codecs, and one HTTP transport."""
