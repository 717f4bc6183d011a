"""The local channel of a server: other processes of the same user read and control the server's sessions
through a Unix socket.
"""
