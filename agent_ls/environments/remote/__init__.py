"""Another machine or a container as an ExecutionEnvironment.

The remote end is `LocalEnvironment`, sent to the other machine as a zip and run by the Python of that machine
(end.py). The near end is the code on this machine. It starts a client program (`ssh`, `docker exec`, …:
launchers.py) whose pipes lead to the remote end, and exchanges frames with the remote end (frames.py).
docs/remote.md is the documentation for users.
"""
