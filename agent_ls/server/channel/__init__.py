"""The local channel of a server: other processes of the same user act in its sessions through a Unix socket."""
