"""Commands as child processes: start them, read their output, wait for them and end them."""
