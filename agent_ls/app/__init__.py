"""Composition root of every face: session, store, policy and environments; no protocol."""
