"""Front ends without an editor: exec, demo and apply-patch."""
