// Checks a report's accessibility with axe in headless Chromium: RTSCOPE_REPORT=out.html npm --prefix web run test:axe.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { launch, open as openIn } from "./browser.mjs";

const report = resolve(process.env.INIT_CWD ?? ".", process.env.RTSCOPE_REPORT ?? "");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// Two at a time: one page takes little more than one CPU.
describe("axe finds nothing", { concurrency: 2 }, () => {
  let chromium;
  before(async () => (chromium = await launch()));
  after(() => chromium?.close());

  // What is folded is found when it is open. Contrast takes more than half of axe's time, and no colour depends on the width: it is judged
  // once in each theme, and in the dark one nothing else but the other rule that asks for colours. Where report.test.mjs judges all texts in
  // both themes (RTSCOPE_TEXTS_JUDGED=1), it is judged here in the light one alone.
  const dark = { runOnly: process.env.RTSCOPE_TEXTS_JUDGED ? ["link-in-text-block"] : ["color-contrast", "link-in-text-block"] };
  const others = { rules: { "color-contrast": { enabled: false } } };
  for (const { width, colorScheme = "light", unfolded = true, rules } of [
    { width: 390, rules: {} },
    { width: 768, rules: others },
    { width: 1280, rules: others },
    { width: 1280, rules: dark, colorScheme: "dark" },
    { width: 1280, rules: others, unfolded: false },
  ])
    test(`at ${width} pixels, ${colorScheme}, ${unfolded ? "all open" : "as it opens"}`, async () => {
      const { page, close } = await openIn(chromium.browser, pathToFileURL(report).href, { viewport: { width, height: 900 }, colorScheme });
      if (unfolded) await page.locator("details").evaluateAll((all) => all.forEach((d) => (d.open = true)));
      await page.evaluate(axe);
      const found = await page.evaluate((rules) => window.axe.run(document, { resultTypes: ["violations"], ...rules }), rules);
      // A report need not have a link amid text.
      assert.ok(found.passes.length > 0 || (rules.runOnly && found.inapplicable.length > 0), "no rule was applied");
      const said = found.violations.map((v) => `${v.impact} ${v.id}: ${v.help}: ${v.nodes.length} nodes, such as ${v.nodes[0].target.join(" ")} ${v.nodes[0].html.slice(0, 160)}`);
      assert.deepEqual(said, []);
      await close();
    });
});
