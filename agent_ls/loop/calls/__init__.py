"""One tool call: arguments, approval, execution, output, and the result for the model."""
