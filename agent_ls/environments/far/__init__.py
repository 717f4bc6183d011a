"""Another machine or a container as an ExecutionEnvironment.

The far end is `LocalEnvironment`, sent to the other machine as a zip and run by the Python of that machine
(end.py). The near end starts a program whose input and output lead to it (`ssh`, `docker exec`, …:
launchers.py) and exchanges frames with the far end (frames.py). docs/remote.md describes it for users.
"""
