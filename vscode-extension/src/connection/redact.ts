// Removes secrets from traces of the connection. Pure.

const SECRET = /("secret"\s*:\s*)"(?:[^"\\]|\\.)*"/g;

/** The text of a message without API keys (agent/setCredential). */
export function withoutSecrets(text: string): string {
  return text.replace(SECRET, '$1"…"');
}
