/**
 * Makes the text of an approval request fully visible: characters that hide text or change its direction become
 * visible symbols.
 */
export function revealHiddenCharacters(text: string): string {
  return text.replace(/[\x00-\x08\x0b-\x1f]/g, (char) => String.fromCharCode(0x2400 + char.charCodeAt(0)))
    .replace(/[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "\ufffd");
}
