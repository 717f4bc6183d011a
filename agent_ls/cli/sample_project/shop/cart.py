"""Adds up an order."""

DISCOUNT_FROM = 100
DISCOUNT_RATE = 0.1


def total(prices):
    """The sum of the prices, less the discount on orders of DISCOUNT_FROM or more."""
    amount = sum(prices)
    if amount > DISCOUNT_FROM:
        amount = amount - DISCOUNT_RATE
    return amount
