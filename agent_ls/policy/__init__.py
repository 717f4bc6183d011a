"""Policy: decides whether an effect is allowed, needs approval, or is refused."""
