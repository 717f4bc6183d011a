"""The execution of a tool call: arguments, approval, running, output, and the result for the model."""
