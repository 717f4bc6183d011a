"""The front end for programs:

`import agent_ls`, sessions and events. Independent of editors and of the command line.
"""
