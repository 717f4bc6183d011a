"""Sessions on disk: list, page, read, resume and delete them."""
