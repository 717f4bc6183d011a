"""A program in the editor's terminal that runs commands there and sends their output to the server.

It imports little, and only from the standard library, because a person waits for its start.
"""
