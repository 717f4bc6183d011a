"""How the events of a session read as text: the words for each fact, and the writer of text that only grows."""
