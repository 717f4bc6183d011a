import assert from "node:assert/strict";
import { test } from "node:test";
import { nameInWorktree } from "../../connection/uris";

// req: H23
test("a file of a worktree is named by its path there", () => {
  assert.equal(nameInWorktree("/state/worktrees/s1/a b.py", "file:///state/worktrees/s1"), "a b.py (worktree)");
  assert.equal(nameInWorktree("/state/worktrees/s10/a.py", "file:///state/worktrees/s1"), undefined);
  assert.equal(nameInWorktree("/w/a.py", undefined), undefined);
});
