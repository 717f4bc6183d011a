"""Parse, apply and compare patches. Pure: text in, text out; never opens a file."""
