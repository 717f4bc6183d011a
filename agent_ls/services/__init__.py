"""Services that all sessions share: settings, permissions, the review, changes, models. No protocol."""
