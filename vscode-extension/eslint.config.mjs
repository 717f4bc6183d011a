// The ESLint configuration of the whole extension. `npm run lint` also fails on warnings.
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["out/", "node_modules/", "src/wire/", "**/*.mjs"] },
  ...tseslint.configs.strictTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        project: ["tsconfig.json", "src/webview/tsconfig.json", "src/browser/tsconfig.json", "src/test/tsconfig.json"],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      "max-lines": ["error", { max: 300 }],
      eqeqeq: "error",
      // Allow numbers in template strings without String().
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
      "@typescript-eslint/switch-exhaustiveness-check": "error",
    },
  },
  {
    // The webview must not import VS Code or Node.js. It communicates by messages only.
    files: ["src/webview/**"],
    rules: { "no-restricted-imports": ["error", { patterns: ["vscode", "vscode-*", "node:*", "../connection/client*", "../ctx*"] }] },
  },
  {
    // Pure modules, which are tested without an editor.
    files: [
      "src/snapshot/folds.ts",
      "src/snapshot/history.ts",
      "src/snapshot/items.ts",
      "src/snapshot/parts.ts",
      "src/connection/protocol.ts",
      "src/connection/recovery.ts",
      "src/sessions/interfaces.ts",
      "src/sessions/session.ts",
      "src/snapshot/snapshot.ts",
      "src/status/status_words.ts",
      "src/approvals/choices.ts",
      "src/chat/drafts.ts",
      "src/chat/feed.ts",
      "src/chat/labels.ts",
      "src/chat/slash.ts",
      "src/chat/views.ts",
      "src/review/model.ts",
      "src/review/texts.ts",
      "src/review/tree_model.ts",
      "src/review/words.ts",
      "src/context/asking.ts",
      "src/context/diagnostics_model.ts",
      "src/sessions/library.ts",
      "src/sessions/rows.ts",
      "src/terminals/follower.ts",
    ],
    rules: { "no-restricted-imports": ["error", { paths: ["vscode"], patterns: ["node:*", "vscode-*"] }] },
  },
  {
    // node:test itself waits for the promises that test() returns.
    files: ["src/test/**"],
    rules: { "@typescript-eslint/no-floating-promises": "off" },
  },
);
