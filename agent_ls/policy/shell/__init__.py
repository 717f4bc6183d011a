"""What a command line would do, as far as its grammar tells."""
