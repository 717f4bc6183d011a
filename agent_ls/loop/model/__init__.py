"""One model call: its streamed answer, its retries and its failures."""
