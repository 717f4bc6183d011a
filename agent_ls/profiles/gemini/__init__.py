"""Google's Gemini models (000 section 3.6)."""
