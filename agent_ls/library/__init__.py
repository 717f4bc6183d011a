"""The front end for Python programs (`import agent_ls`): sessions and events, without an editor or the
command line.
"""
