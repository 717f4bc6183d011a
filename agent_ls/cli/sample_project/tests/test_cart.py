import unittest

from shop.cart import total


class CartTest(unittest.TestCase):
    def test_small_order_costs_the_sum(self):
        self.assertEqual(total([10, 20]), 30)

    def test_large_order_is_ten_percent_cheaper(self):
        self.assertAlmostEqual(total([150, 50]), 180)

    def test_discount_begins_at_one_hundred(self):
        self.assertAlmostEqual(total([60, 40]), 90)


if __name__ == "__main__":
    unittest.main()
