/** The orders that are still open, the oldest first. */
export function open(orders) {
  return orders.filter((order) => order.state === "open");
}
