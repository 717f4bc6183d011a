// Reduces the diff of a notebook file to the lines of its cells, without the surrounding JSON. Pure.

const LINE = /^([+\- ])\s*(?:"source"\s*:\s*\[?\s*)?("(?:[^"\\]|\\.)*")\s*\]?,?$/;

/** Returns the diff unchanged if it has no lines of cells. */
export function notebookDiff(diff: string): string {
  const lines = diff.split("\n").flatMap((line) => {
    if (line.startsWith("@")) return [line];
    const [, sign, text] = LINE.exec(line) ?? [];
    if (sign === undefined || text === undefined) return [];
    try {
      return (JSON.parse(text) as string).replace(/\n$/, "").split("\n").map((each) => `${sign}${each}`);
    } catch {
      return [];
    }
  });
  return lines.some((line) => !line.startsWith("@")) ? lines.join("\n") : diff;
}
