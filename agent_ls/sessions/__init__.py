"""Sessions: create, list, own, follow, resume, roll back, export and delete them."""
