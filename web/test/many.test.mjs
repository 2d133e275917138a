// Opens reports of many runs in headless Chromium: RTSCOPE_REPORT=many.html npm --prefix web run test:many
// (the file: cargo run -p rtscope-report --example sample_report -- many.html 100).
import assert from "node:assert/strict";
import { resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { launch, open as openIn } from "./browser.mjs";

const report = resolve(process.env.INIT_CWD ?? ".", process.env.RTSCOPE_REPORT ?? "");

describe("a report of many runs", () => {
  let chromium;
  before(async () => (chromium = await launch()));
  after(() => chromium?.close());

  const open = (options = {}) => openIn(chromium.browser, pathToFileURL(report).href, { viewport: { width: 1280, height: 900 }, ...options });

  /** Names of the runs in the menu, each kernel's. */
  const runs = (page) =>
    page.evaluate(() => [...document.querySelectorAll("nav .kernel")].map((k) => [...k.querySelectorAll("li a")].map((a) => a.textContent.trim())));

  for (const unfolded of [false, true]) test(`at 1280 pixels nothing is cut off or goes sideways, ${unfolded ? "all open" : "folded"}`, async () => {
    const { page, close } = await open();
    if (unfolded) {
      await page.locator("details.whole, details.menu").evaluateAll((all) => all.forEach((d) => (d.open = true)));
      await page.locator("figure.chart.drawn").last().waitFor();
    }
    const seen = await page.evaluate(() => {
      const cut = [];
      for (const t of document.querySelectorAll("svg text")) {
        const [a, s] = [t.getBoundingClientRect(), t.ownerSVGElement.getBoundingClientRect()];
        if (a.width > 0 && (a.left < s.left - 1 || a.right > s.right + 1)) cut.push(t.textContent);
      }
      const wide = [...document.querySelectorAll(".scroll, nav, .panel")].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent.slice(0, 60));
      return { over: document.documentElement.scrollWidth - innerWidth, cut, wide };
    });
    assert.deepEqual(seen, { over: 0, cut: [], wide: [] });
    await close();
  });

  test("on paper a run takes at most three pages", async (t) => {
    const { page, close } = await open();
    const number = await page.locator("details.whole").count();
    // A hundred runs take as long as that.
    if (number > 20) t.skip(`${number} runs`);
    else {
      const paper = (await page.pdf({ format: "A4" })).toString("latin1");
      const pages = paper.match(/\/Type\s*\/Page\b(?!s)/g).length;
      assert.ok(pages > number / 3 && pages <= 3 * number + 6, `${pages} pages for ${number} runs`);
    }
    await close();
  });

  test("many runs: no two of a kernel have one name, and each link opens its run", async () => {
    const { page, said, close } = await open();
    const names = await runs(page);
    for (const kernel of names) assert.equal(new Set(kernel).size, kernel.length, kernel.join(", "));
    assert.ok(names.flat().every((n) => n.length <= 30), names.flat().join(", "));
    assert.equal(await page.locator("details.whole:not([open]) figure.chart.drawn").count(), 0, "folded runs are drawn");
    await page.locator("nav .menu > summary").click();
    await page.locator("nav li a").nth(5).click();
    const id = (await page.evaluate(() => location.hash)).slice(1);
    await page.locator(`#${id} figure.chart.drawn`).first().waitFor();
    const top = (await page.locator(`#${id}`).boundingBox()).y;
    assert.ok(top > 0 && top < 200, `the run is at ${top}`);
    assert.ok(await page.locator("nav .panel").isHidden(), "the menu stays open");
    assert.deepEqual(said, []);
    await close();
  });

  test("many runs: words narrow down table, menu and sections, and no word brings all back", async () => {
    const { page, close } = await open();
    const shown = () => page.evaluate(() => ["#summary tr[data-run]", "section.run", "nav li"].map((s) => document.querySelectorAll(`${s}:not(.away)`).length));
    const all = await shown();
    assert.ok(all.every((n) => n === all[0]), all.join(", "));
    await page.locator("nav .filter").fill("NONE rt");
    const some = await shown();
    assert.ok(some[0] > 0 && some[0] < all[0] && some.every((n) => n === some[0]), some.join(", "));
    assert.equal(await page.locator("nav .found").textContent(), `${some[0]} of ${all[0]}`);
    await page.locator("nav .filter").fill("no such run");
    assert.deepEqual(await shown(), [0, 0, 0]);
    await page.locator("nav .filter").fill("");
    assert.deepEqual(await shown(), all);
    await close();
  });

  test("many runs: without JavaScript each run can be reached and opened", async () => {
    const { page, close } = await open({ javaScriptEnabled: false });
    await page.locator("nav .menu > summary").click();
    assert.ok(await page.locator("nav li a").last().isVisible());
    const run = page.locator("details.whole").first();
    if (!(await run.evaluate((d) => d.open))) await run.locator("summary.run-head").click();
    assert.ok(await page.locator("section.run .static svg").first().isVisible());
    assert.ok(await page.locator("nav .filter").isHidden());
    await close();
  });
});
