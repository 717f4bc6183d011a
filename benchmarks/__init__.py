"""Speed and size of the server as an editor meets them, each beside a floor that was measured in the same run."""
