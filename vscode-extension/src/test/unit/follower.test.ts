// req: H9
import assert from "node:assert/strict";
import { test } from "node:test";
import { Follower, type Read, type Source, type TranscriptOutput } from "../../terminals/follower";

function follow(source: Partial<Source>) {
  const written: string[] = [];
  const ends: string[] = [];
  const whole: Source = { read: () => Promise.resolve(undefined), transcript: () => undefined, ...source };
  const follower = new Follower(whole, { write: (text) => written.push(text), end: (how) => ends.push(how) });
  return { follower, ends, text: () => written.join("") };
}

/** A fake server that stores a text and returns at most a part of it per read. */
class Kept {
  text = "";
  exitCode: number | undefined;
  asked: number[] = [];

  read = (offset: number): Promise<Read> => {
    this.asked.push(offset);
    const points = Array.from(this.text);
    const piece = points.slice(offset, offset + 4);
    const isAll = offset + 4 >= points.length;
    const running = this.exitCode === undefined || !isAll;
    return Promise.resolve({ text: piece.join(""), nextOffset: offset + piece.length, running, ...(!running && { exitCode: this.exitCode ?? null }) });
  };
}

test("all output is read, in as many pages as necessary, each once", async () => {
  const kept = new Kept();
  const { follower, text, ends } = follow({ read: kept.read });
  kept.text = "one two three";
  await follower.readNewOutput();
  kept.text += " 👋 four";
  await follower.readNewOutput();
  assert.equal(text(), "one two three 👋 four");
  assert.deepEqual(ends, []);
  kept.exitCode = 3;
  await follower.readNewOutput();
  assert.deepEqual([text(), ends, follower.isRunning], ["one two three 👋 four", ["exit 3"], false]);
});

test("output that arrives during a read is read too, and nothing is requested after the end", async () => {
  const kept = new Kept();
  kept.text = "abcdefgh";
  const { follower, text, ends } = follow({ read: kept.read });
  await Promise.all([follower.readNewOutput(), follower.readNewOutput(), follower.readNewOutput()]);
  assert.equal(text(), "abcdefgh");
  kept.exitCode = 0;
  await follower.readNewOutput();
  const { length } = kept.asked;
  await follower.readNewOutput();
  assert.deepEqual([kept.asked.length, ends], [length, ["exit 0"]]);
});

test("without output from the server, the transcript's output is used", async () => {
  let transcript: TranscriptOutput = { text: "one\n" };
  const { follower, text, ends } = follow({ transcript: () => transcript });
  await follower.readNewOutput();
  transcript = { text: "one\ntwo\n" };
  await follower.readNewOutput();
  assert.equal(text(), "one\ntwo\n");
  transcript = { text: "one…", end: "exit 0, 1.0 s" };
  await follower.readNewOutput();
  assert.deepEqual([text(), ends], ["one\ntwo\n", ["exit 0, 1.0 s"]]);
});

test("after a reload the transcript of an ended command is displayed once", async () => {
  const { follower, text, ends } = follow({ transcript: () => ({ text: "all of it", end: "exit 1, 2.0 s" }) });
  await follower.readNewOutput();
  await follower.readNewOutput();
  assert.deepEqual([text(), ends], ["all of it", ["exit 1, 2.0 s"]]);
});

test("a disconnected server does not restart the output", async () => {
  const kept = new Kept();
  kept.text = "from the server";
  let isThere = true;
  const { follower, text, ends } = follow({
    read: (offset) => (isThere ? kept.read(offset) : Promise.resolve(undefined)),
    transcript: () => ({ text: "from the server, and the end", end: "exit 0" }),
  });
  await follower.readNewOutput();
  assert.equal(ends.length, 0);
  isThere = false;
  await follower.readNewOutput();
  assert.deepEqual([text(), ends], ["from the server", ["exit 0"]]);
});
