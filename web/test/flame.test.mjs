// Opens a report with explained samples in headless Chromium: RTSCOPE_REPORT=explained.html npm --prefix web run test:flame
// (the file: cargo run -p rtscope-report --example sample_report -- explained.html explained).
import assert from "node:assert/strict";
import { resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { launch, open as openIn } from "./browser.mjs";

const report = resolve(process.env.INIT_CWD ?? ".", process.env.RTSCOPE_REPORT ?? "");

describe("flame charts of explained samples", () => {
  let chromium;
  before(async () => (chromium = await launch()));
  after(() => chromium?.close());

  const open = (options = {}) => openIn(chromium.browser, pathToFileURL(report).href, { viewport: { width: 1280, height: 900 }, ...options });
  const first = (page) => page.locator("figure.chart[data-chart=flame]").first();
  const range = (figure) => figure.evaluate((f) => [Number(f.dataset.xMin), Number(f.dataset.xMax)]);

  test("three are drawn, in place of their pictures, and nothing is asked for or complained of", async () => {
    const { page, said, asked, close } = await open();
    assert.equal(await page.locator("figure.drawn[data-chart=flame] .live svg").count(), 3);
    assert.equal(await first(page).locator(".static").isVisible(), false);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.deepEqual([said, asked.length, over], [[], 1, 0]);
    await close();
  });

  test("a click zooms to a frame, a button goes back", async () => {
    const { page, close } = await open();
    const figure = first(page);
    const [from, to] = await range(figure);
    assert.equal(from, 0);
    const frames = figure.locator(".live g.frame");
    const before = await frames.count();
    // Its last frame is the last cause's.
    await frames.last().click();
    const [zoomed, end] = await range(figure);
    assert.ok(zoomed > 0 && end === to, `${zoomed} to ${end} of ${to}`);
    assert.ok((await frames.count()) < before);
    await figure.locator("button.reset").click();
    assert.deepEqual(await range(figure), [from, to]);
    await close();
  });

  test("zoomed in, frames show that were too narrow before", async () => {
    const { page, close } = await open();
    const figure = first(page);
    const leaf = figure.locator(".live g.frame", { hasText: "function_with_a_name_" });
    await leaf.first().dispatchEvent("click");
    const [from, to] = await range(figure);
    assert.ok(to - from <= 40, `${from} to ${to}`);
    assert.match(await figure.locator(".live text.small").last().textContent(), /^function_with_a_name_\d+$/);
    await close();
  });

  test("a search marks functions and says what they took", async () => {
    const { page, close } = await open();
    const figure = first(page);
    const say = () => figure.locator(".found-frames").textContent();
    assert.match(await say(), /^Frames shorter than 25 ns are left out\.$/);
    await figure.locator("input.search").fill("SYS_mmap");
    assert.equal(await figure.locator(".live g.match").count(), 1);
    assert.match(await say(), /^1 frame, 119\.9\d* µs \(99\.\d %\)$/);
    await figure.locator("input.search").fill("nothing like it");
    assert.equal(await say(), "No frame has this in its name.");
    await close();
  });

  test("without the script the pictures are there", async () => {
    const { page, close } = await open({ javaScriptEnabled: false });
    assert.equal(await first(page).locator(".static svg").isVisible(), true);
    await close();
  });
});
