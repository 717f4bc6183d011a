from __future__ import annotations

import unittest

from shop.cart import discount


class Discount(unittest.TestCase):
    def test_percent_is_taken_off(self) -> None:
        self.assertEqual(discount(200, 10), 180)


if __name__ == "__main__":
    unittest.main()
