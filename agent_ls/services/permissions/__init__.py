"""Permissions: path policy, sandbox, rules of the session, workspace trust, and the approver."""
