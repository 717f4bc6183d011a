"""Commands confined to reading, tried against the real mechanisms of this machine."""
