"""One client for several wire formats: types, engines without I/O, and one transport."""
