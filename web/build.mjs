// Bundles the report's script and style: `node build.mjs OUT_DIR` writes OUT_DIR/report.js and OUT_DIR/report.css.
// A single script without modules or imports, so that the page that contains it makes no requests.
import { build } from "esbuild";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2];
if (!out) {
  console.error("usage: node build.mjs OUT_DIR");
  process.exit(2);
}
// uPlot's licence requires its notice to accompany its code.
const uplot = join(here, "node_modules", "uplot");
const { version } = JSON.parse(readFileSync(join(uplot, "package.json"), "utf8"));
const licence = readFileSync(join(uplot, "LICENSE"), "utf8").trim().replaceAll("*/", "* /");
await build({
  absWorkingDir: here,
  entryPoints: { report: join(here, "src", "main.ts") },
  outdir: out,
  bundle: true,
  format: "iife",
  target: ["es2020"],
  minify: true,
  charset: "utf8",
  legalComments: "none",
  banner: { js: `/*! Contains uPlot ${version}.\n${licence}\n*/` },
  logLevel: "warning",
});
