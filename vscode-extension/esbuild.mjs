// Builds out/: the extension (Node.js), its webview (browser) and, with --tests, the unit tests. With --panel, builds the
// page of `agent-ls panel` instead; with --programs and a folder, the webview and the programs that tests run. Needs no
// network.
import { build, context } from "esbuild";
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";

const [, , ...words] = process.argv;
const flags = new Set(words);
const production = flags.has("--production");
const shared = { bundle: true, sourcemap: !production, minify: production, logLevel: "warning" };

const builds = [
  {
    ...shared,
    entryPoints: ["src/extension.ts"],
    outfile: "out/extension.js",
    platform: "node",
    format: "cjs",
    target: "node20",
    external: ["vscode"],
    // Prefer ES modules: the CommonJS files of some packages have a wrapper (UMD) that bundlers cannot analyse.
    mainFields: ["module", "main"],
  },
  {
    ...shared,
    entryPoints: ["src/webview/main.ts", "src/webview/style.css"],
    outdir: "out/webview",
    platform: "browser",
    format: "iife",
    target: "es2022",
    loader: { ".ttf": "file" },
    assetNames: "[name]",
  },
];

// The page of `agent-ls panel`, which is part of the Python package. Always minified, so that each build is the same.
const panel = {
  ...shared,
  entryPoints: { panel: "src/browser/main.ts", style: "src/browser/panel.css" },
  entryNames: "panel",
  outdir: "../agent_ls/panel/page",
  platform: "browser",
  format: "iife",
  target: "es2022",
  loader: { ".ttf": "file" },
  assetNames: "[name]",
  minify: true,
  sourcemap: false,
};

if (flags.has("--panel")) {
  rmSync(panel.outdir, { recursive: true, force: true });
  builds.splice(0, builds.length, panel);
  mkdirSync(panel.outdir, { recursive: true });
  for (const name of readdirSync("src/browser/static")) copyFileSync(`src/browser/static/${name}`, `${panel.outdir}/${name}`);
}

if (production) {
  rmSync("out", { recursive: true, force: true });
  copyFileSync("../LICENSE", "LICENSE");
  // Remove the links, because the linked pages are not in the package.
  writeFileSync("CHANGELOG.md", readFileSync("../docs/changelog.md", "utf8").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1"));
}

const forTests = (folder, outdir) => ({
  ...shared,
  entryPoints: readdirSync(folder).map((name) => `${folder}/${name}`),
  outdir,
  platform: "node",
  format: "cjs",
  target: "node20",
  external: ["vscode", "jsdom", "axe-core", "typescript"],
  outExtension: { ".js": ".cjs" },
});

if (flags.has("--tests")) {
  rmSync("out/test", { recursive: true, force: true });
  builds.push(forTests("src/test/unit", "out/test"));
}

if (flags.has("--programs")) {
  const outdir = words[words.indexOf("--programs") + 1];
  builds.splice(0, builds.length, { ...builds[1], outdir: `${outdir}/webview` }, forTests("src/test/programs", outdir));
}

if (flags.has("--watch")) {
  for (const options of builds) await (await context(options)).watch();
} else {
  await Promise.all(builds.map((options) => build(options)));
}
