// What a trace of the connection may show. Pure.

const SECRET = /("secret"\s*:\s*)"(?:[^"\\]|\\.)*"/g;

/** The text of a message without the keys that it hands over (agent/setCredential). */
export function withoutSecrets(text: string): string {
  return text.replace(SECRET, '$1"…"');
}
