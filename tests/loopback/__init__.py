"""Wire formats of the stand-in for model providers: each checks requests as the real service does."""
