/** Formats an amount in US dollars with two decimals. Amounts below one cent are "<$0.01". */
export function formatMoney(usd: number): string {
  if (usd > 0 && usd < 0.01) return "<$0.01";
  return `$${usd.toFixed(2)}`;
}
