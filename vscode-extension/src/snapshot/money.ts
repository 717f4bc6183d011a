/** Formats an amount in cents, with more digits for small amounts. */
export function formatMoney(usd: number): string {
  if (usd > 0 && usd < 0.01) return "<$0.01";
  return `$${usd.toFixed(2)}`;
}
