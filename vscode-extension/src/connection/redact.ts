// Removes secrets from traces of the connection. Pure.

const SECRET = /("secret"\s*:\s*)"(?:[^"\\]|\\.)*"/g;

/** Replaces the secrets in a message (agent/setCredential). */
export function withoutSecrets(text: string): string {
  return text.replace(SECRET, '$1"…"');
}
