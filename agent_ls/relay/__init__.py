"""A program of its own in the editor's terminal: it runs commands there and tells the server what they print.

It imports the standard library only, and little of that: a person waits for its start.
"""
