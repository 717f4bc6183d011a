"""Edit suggestions at the cursor: the request to the model, and the cleaned answer."""
