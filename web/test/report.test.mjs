// Opens a report in headless Chromium: RTSCOPE_REPORT=out.html npm --prefix web test
// (the file: cargo run -p rtscope-report --example sample_report -- out.html). With RTSCOPE_RECORDS_ALONE=1 without what is the same
// whatever the report holds.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { launch, open as openIn } from "./browser.mjs";

const report = process.env.RTSCOPE_REPORT ? resolve(process.env.INIT_CWD ?? ".", process.env.RTSCOPE_REPORT) : "";

test("RTSCOPE_REPORT names a report", () => {
  assert.ok(report, "set RTSCOPE_REPORT to the path of an HTML report; these tests pass only against a real one");
  assert.ok(existsSync(report), `${report} does not exist`);
});

// Two at a time: one page takes little more than one CPU.
describe("the report in Chromium", { concurrency: 2, skip: report && existsSync(report) ? false : "no report" }, () => {
  const url = report ? pathToFileURL(report).href : "";
  let chromium;
  before(async () => (chromium = await launch()));
  after(() => chromium?.close());

  const open = (options = {}) => openIn(chromium.browser, url, { viewport: { width: 1200, height: 900 }, ...options });

  const first = (page) => page.locator("figure.chart.drawn[data-chart=latency]").first();
  const range = (figure) => figure.evaluate((f) => [Number(f.dataset.xMin), Number(f.dataset.xMax)]);

  /** For tests of what does not depend on the report's records: one report is enough for them. */
  const any = { skip: process.env.RTSCOPE_RECORDS_ALONE ? "the same for all reports" : false };

  /** Pixels of a chart's canvas that are not transparent, and a hash of all. */
  const pixels = (figure) =>
    figure.evaluate((f) => {
      const drawn = f.querySelector("canvas");
      // A copy: reading the page's own canvas back would make Chromium warn.
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [drawn.width, drawn.height];
      const ctx = canvas.getContext("2d", { willReadFrequently: true });
      ctx.drawImage(drawn, 0, 0);
      const { data } = ctx.getImageData(0, 0, canvas.width, canvas.height);
      let filled = 0;
      let hash = 7;
      const colours = new Set();
      for (let i = 0; i < data.length; i += 4) {
        if (data[i + 3] > 0) {
          filled++;
          colours.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
        }
        hash = (hash * 31 + data[i] + data[i + 1] * 3 + data[i + 2] * 7 + data[i + 3]) >>> 0;
      }
      return { filled, hash, colours: colours.size };
    });

  /** Two frames, so that the charts have drawn what was asked. */
  const settle = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

  async function drag(page, figure, from, to) {
    const over = figure.locator(".u-over");
    await over.scrollIntoViewIfNeeded();
    const box = await over.boundingBox();
    const y = box.y + box.height / 2;
    await page.mouse.move(box.x + box.width * from, y);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * ((from + to) / 2), y, { steps: 4 });
    await page.mouse.move(box.x + box.width * to, y, { steps: 4 });
    await page.mouse.up();
    await settle(page);
  }

  test("no console message, no request, every chart drawn", async () => {
    const { page, said, asked, close } = await open();
    const figures = page.locator("figure.chart");
    const n = await figures.count();
    assert.ok(n >= 3 && n % 3 === 0, `${n} charts`);
    const data = JSON.parse(await page.locator("#charts").textContent());
    const has = {
      latency: (d) => d.series.some((s) => s.bins.length > 0),
      percentile: (d) => d.lines.length > 0,
      worst: (d) => d.worst.some((w) => w.length > 0),
    };
    assert.ok(data.some(has.latency), "the report holds no samples at all");
    for (let i = 0; i < n; i++) {
      const figure = figures.nth(i);
      const { chart, record } = await figure.evaluate((f) => ({ ...f.dataset }));
      const drawn = await figure.evaluate((f) => f.classList.contains("drawn"));
      assert.equal(drawn, has[chart](data[Number(record)]), `chart ${i} (${chart})`);
      // A record without samples keeps its picture, which says so.
      if (!drawn) continue;
      const { filled, colours } = await pixels(figure);
      assert.ok(filled > 1000 && colours > 3, `chart ${i}: ${filled} pixels, ${colours} colours`);
      assert.ok(await figure.locator(".static").isHidden(), `chart ${i} still shows its picture`);
    }
    assert.deepEqual(said, []);
    assert.deepEqual(asked, [url]);
    await close();
  });

  test("charts are drawn in a browser whose language is none that Intl knows", any, async () => {
    const { page, said, close } = await open({
      before: () => Object.defineProperty(Navigator.prototype, "language", { get: () => "en-US@posix" }),
    });
    assert.ok((await page.locator("figure.chart.drawn").count()) > 0);
    assert.deepEqual(said, []);
    await close();
  });

  test("the policy stops a script that somebody adds", any, async () => {
    const arrived = [];
    const server = createServer((request, response) => {
      arrived.push(request.url);
      response.end("caught");
    });
    await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
    const beacon = `http://127.0.0.1:${server.address().port}`;
    const { page, said, close } = await open();
    const fetched = await page.evaluate((to) => {
      const s = document.createElement("script");
      s.textContent = "window.intruder = true";
      document.body.append(s);
      const i = new Image();
      i.src = `${to}/image.png`;
      const f = document.createElement("iframe");
      f.src = `${to}/frame`;
      document.body.append(i, f);
      return fetch(`${to}/fetch`).then(() => true, () => false);
    }, beacon);
    await settle(page);
    assert.equal(fetched, false);
    assert.equal(await page.evaluate(() => window.intruder), undefined);
    assert.ok(said.some((s) => s.includes("Content Security Policy")), said.join("\n"));
    // The server does answer: requests that did not arrive were stopped by the policy.
    assert.equal(await (await fetch(`${beacon}/control`)).text(), "caught");
    assert.deepEqual(arrived, ["/control"]);
    server.close();
    await close();
  });

  test("a drag zooms every kind of chart, and a double click resets it", async () => {
    const { page, said, close } = await open();
    for (const kind of ["latency", "percentile", "worst"]) {
      const figure = page.locator(`figure.chart.drawn[data-chart=${kind}]`).first();
      const full = await range(figure);
      const before = await pixels(figure);
      await drag(page, figure, 0.3, 0.6);
      const near = await range(figure);
      assert.ok(near[0] > full[0] && near[1] < full[1], `${kind}: ${full} became ${near}`);
      assert.notEqual((await pixels(figure)).hash, before.hash, `${kind}: the picture is the same`);
      const box = await figure.locator(".u-over").boundingBox();
      await page.mouse.dblclick(box.x + box.width / 2, box.y + box.height / 2);
      await settle(page);
      assert.deepEqual(await range(figure), full, `${kind}: not reset`);
      await drag(page, figure, 0.2, 0.4);
      await figure.locator("button.reset").click();
      await settle(page);
      assert.deepEqual(await range(figure), full, `${kind}: the button does not reset`);
    }
    assert.deepEqual(said, []);
    await close();
  });

  test("on the linear axis what came early is below zero, and nothing else is", async () => {
    const { page, said, close } = await open();
    const data = JSON.parse(await page.locator("#charts").textContent());
    const figures = page.locator("figure.chart.drawn[data-chart=latency]");
    for (let i = 0; i < (await figures.count()); i++) {
      const figure = figures.nth(i);
      const { series } = data[Number(await figure.getAttribute("data-record"))];
      const earliest = Math.max(0, ...series.filter((s) => s.early).map((s) => s.max)) / 1e3;
      const first = (await figure.getAttribute("data-log")) === "true";
      for (const log of [first, !first]) {
        const [min, max] = await range(figure);
        const right = log ? min > 0 : min <= -earliest && min >= -1.1 * earliest;
        assert.ok(right && max > 0, `chart ${i}, ${log ? "logarithmic" : "linear"}: ${min} to ${max}, earliest ${earliest}`);
        await figure.locator("button.axis-kind").click();
        await settle(page);
      }
    }
    assert.deepEqual(said, []);
    await close();
  });

  test("bins get finer as one zooms in, down to the data, and further zooming breaks nothing", async () => {
    const { page, said, close } = await open();
    const figure = first(page);
    if ((await figure.getAttribute("data-log")) === "true") await figure.locator("button.axis-kind").click();
    const bins = () => figure.locator(".live").getAttribute("data-bins");
    const coarse = await bins();
    await drag(page, figure, 0.1, 0.2);
    assert.notEqual(await bins(), coarse);
    for (let i = 0; i < 12; i++) await drag(page, figure, 0.4, 0.6);
    const [min, max] = await range(figure);
    assert.ok(max > min, `${min} to ${max}`);
    assert.deepEqual(said, []);
    await close();
  });

  test("the legend hides and shows a series, by mouse and by keyboard", any, async () => {
    const { page, close } = await open();
    const figure = first(page);
    const row = figure.locator(".u-legend tr.u-series").nth(1);
    const off = () => row.evaluate((r) => r.classList.contains("u-off"));
    const before = await pixels(figure);
    await row.locator("th").click();
    await settle(page);
    assert.ok(await off());
    assert.equal(await row.locator("th").getAttribute("aria-pressed"), "false");
    // Away from the pointer, which may highlight something.
    await page.mouse.move(0, 0);
    await settle(page);
    assert.notEqual((await pixels(figure)).hash, before.hash, "the series is still drawn");
    await row.locator("th").focus();
    await page.keyboard.press("Enter");
    await settle(page);
    assert.ok(!(await off()));
    await close();
  });

  test("the axis switches between linear and logarithmic and back", async () => {
    const { page, said, close } = await open();
    const figure = first(page);
    const before = await pixels(figure);
    const button = figure.locator("button.axis-kind");
    const label = await button.textContent();
    await button.click();
    await settle(page);
    assert.notEqual(await button.textContent(), label);
    assert.notEqual((await pixels(figure)).hash, before.hash);
    await button.click();
    await settle(page);
    assert.equal(await button.textContent(), label);
    assert.deepEqual(said, []);
    await close();
  });

  /** Every visible text with its contrast against what lies behind it (WCAG 2). */
  const contrasts = (page) =>
    page.evaluate(() => {
      const canvas = document.createElement("canvas");
      canvas.width = canvas.height = 1;
      const ctx = canvas.getContext("2d", { willReadFrequently: true });
      // A page has few colours and thousands of texts; each look at the canvas takes long.
      const known = new Map();
      const rgba = (css) => {
        if (!known.has(css)) {
          ctx.clearRect(0, 0, 1, 1);
          ctx.fillStyle = css;
          ctx.fillRect(0, 0, 1, 1);
          known.set(css, ctx.getImageData(0, 0, 1, 1).data);
        }
        return known.get(css);
      };
      const light = ([r, g, b]) => {
        const f = (c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
        return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b);
      };
      const behind = (e) => {
        for (let at = e; at; at = at.parentElement) {
          const c = rgba(getComputedStyle(at).backgroundColor);
          if (c[3] === 255) return c;
        }
        return rgba("white");
      };
      const found = [];
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const e = node.parentElement;
        if (!node.textContent.trim() || !e.checkVisibility({ checkVisibilityCSS: true }) || e.closest("script,style,.skip")) continue;
        const ink = e instanceof SVGElement ? getComputedStyle(e).fill : getComputedStyle(e).color;
        const [a, b] = [light(rgba(ink)), light(behind(e))];
        found.push({ text: node.textContent.trim().slice(0, 40), ratio: (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) });
      }
      return found;
    });

  for (const scheme of ["light", "dark"]) {
    test(`every text is readable in the ${scheme} theme`, async () => {
      for (const javaScriptEnabled of [true, false]) {
        const { page, close } = await open({ colorScheme: scheme, javaScriptEnabled });
        await page.locator("details").evaluateAll((all) => all.forEach((d) => (d.open = true)));
        const found = await contrasts(page);
        assert.ok(found.length > 50, `only ${found.length} texts`);
        assert.deepEqual(found.filter((f) => f.ratio < 4.5), []);
        await close();
      }
    });
  }

  test("the button switches the theme, charts included", any, async () => {
    const { page, said, close } = await open({ colorScheme: "light" });
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const [light, before] = [await background(), await pixels(first(page))];
    await page.locator("button.theme").click();
    await settle(page);
    assert.notEqual(await background(), light);
    assert.notEqual((await pixels(first(page))).hash, before.hash, "the charts kept their colours");
    assert.deepEqual((await contrasts(page)).filter((f) => f.ratio < 4.5), []);
    await page.locator("button.theme").click();
    assert.equal(await background(), light);
    assert.deepEqual(said, []);
    await close();
  });

  test("print shows the pictures, in the light theme, and of what is folded what was opened", async () => {
    const { page, close } = await open({ colorScheme: "dark" });
    await page.emulateMedia({ media: "print" });
    const n = await page.locator("figure.chart").count();
    for (let i = 0; i < n; i++) {
      const figure = page.locator("figure.chart").nth(i);
      assert.ok(await figure.locator(".static svg").isVisible(), `picture ${i}`);
      assert.ok(await figure.locator(".live").isHidden(), `chart ${i}`);
    }
    const list = page.locator("details:not(.whole):not(.menu)").filter({ has: page.locator("dl.facts") }).first();
    assert.ok(await list.locator("dd").first().isHidden());
    assert.match(await list.locator("summary").evaluate((e) => getComputedStyle(e, "::after").content), /folded/);
    await list.evaluate((e) => (e.open = true));
    assert.ok(await list.locator("dd").first().isVisible());
    assert.equal(await list.locator("summary").evaluate((e) => getComputedStyle(e, "::after").content), "none");
    // A run is printed whether it is folded or not.
    const run = page.locator("details.whole").first();
    await run.evaluate((e) => (e.open = false));
    const heights = [run, run.locator("> summary")].map(async (e) => (await e.boundingBox()).height);
    const [whole, head] = await Promise.all(heights);
    assert.ok(whole > head + 20, `${whole} pixels high, ${head} of them its head`);
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
    await close();
  });

  test("no table loses a column on paper", async () => {
    const { page, close } = await open({ viewport: { width: 718, height: 1000 } });
    await page.emulateMedia({ media: "print" });
    const cut = await page.evaluate(() => [...document.querySelectorAll("td, th, .badge")].filter((e) => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map((e) => e.textContent));
    assert.deepEqual(cut, []);
    await close();
  });

  test("without JavaScript the pictures are there and nothing promises more", any, async () => {
    const { page, asked, close } = await open({ javaScriptEnabled: false });
    const n = await page.locator("figure.chart").count();
    assert.ok(n >= 3);
    for (let i = 0; i < n; i++) {
      const svg = page.locator("figure.chart").nth(i).locator(".static svg");
      assert.ok(await svg.isVisible(), `picture ${i}`);
      const box = await svg.boundingBox();
      assert.ok(box.width > 200 && box.height > 100, JSON.stringify(box));
    }
    assert.equal(await page.locator("button:visible").count(), 0);
    assert.deepEqual(asked, [url]);
    await close();
  });

  test("the record comes out as it went in", async () => {
    const { page, close } = await open();
    const button = page.locator("button.download").first();
    const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
    assert.match(download.suggestedFilename(), /^[A-Za-z0-9-]+\.json$/);
    const stream = await download.createReadStream();
    let text = "";
    for await (const chunk of stream) text += chunk;
    const record = JSON.parse(text);
    assert.equal(record.schema, "rtscope-record/1");
    assert.equal(`${record.id}.json`, download.suggestedFilename());
    await close();
  });

  for (const [name, width] of [["a phone", 360], ["a wide screen", 1900]]) {
    test(`the page fits ${name}`, async () => {
      const { page, close } = await open({ viewport: { width, height: 800 } });
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(over <= 0, `${over} pixels too wide`);
      const canvas = await page.locator("figure.chart.drawn canvas").first().boundingBox();
      assert.ok(canvas.width <= width, `canvas ${canvas.width}`);
      // Pictures that are drawn for a wide page go sideways instead of becoming too small to read.
      const smallest = await page.evaluate(() => {
        const seen = [...document.querySelectorAll(".wide svg")].filter((svg) => svg.getBoundingClientRect().width > 0);
        return seen.map((svg) => Math.min(...[...svg.querySelectorAll("text")].map((t) => parseFloat(getComputedStyle(t).fontSize))) * svg.getScreenCTM().a);
      });
      assert.ok(width > 700 || smallest.every((size) => size >= 8.4), `texts of ${smallest} pixels`);
      // The charts follow the window's size.
      await page.setViewportSize({ width: 800, height: 800 });
      await settle(page);
      await settle(page);
      const after = await page.locator("figure.chart.drawn canvas").first().boundingBox();
      assert.notEqual(after.width, canvas.width);
      await close();
    });
  }

  test("at 1280 pixels nothing is cut off or goes sideways", async () => {
    const { page, close } = await open({ viewport: { width: 1280, height: 900 } });
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

  // Only a report of stock and RT kernels has this section (sample_report's kind `kernels`).
  const versus = report && existsSync(report) && readFileSync(report, "utf8").includes(' id="versus"');
  const paired = { skip: versus ? false : "no stock kernel beside its RT partner in this report" };

  test("stock against RT: the table says what the records hold, and the clock", paired, async () => {
    const { page, close } = await open({ javaScriptEnabled: false });
    const records = await page.locator("script[id^=record-]").evaluateAll((all) => all.map((s) => JSON.parse(s.textContent)));
    const highest = (release, load) =>
      Math.max(
        ...records
          .filter((r) => r.system.kernel.release === release && r.load === load)
          .flatMap((r) => r.distributions.map((d) => d.max)),
      );
    const tables = page.locator("#versus table.figures");
    const lists = page.locator("#versus ul.kernels");
    const n = await tables.count();
    assert.ok(n >= 1 && n === (await lists.count()), `${n} tables`);
    for (let i = 0; i < n; i++) {
      const releases = (await lists.nth(i).locator("li").allTextContents()).map((t) => t.trim().split(/\s+/)[1]);
      const rows = tables.nth(i).locator("tbody tr");
      for (let r = 0; r < (await rows.count()); r++) {
        const load = await rows.nth(r).locator("th").textContent();
        const maxima = await rows.nth(r).locator("td.strong").allTextContents();
        const wanted = releases.map((release) => highest(release, load));
        // Half of a hundredth may be rounded either way.
        const near = wanted.every((ns, k) => Math.abs(Number(maxima[k]) - ns / 1000) < 0.00501);
        assert.ok(near && maxima.length === wanted.length, `${releases} under ${load}: ${maxima}, not ${wanted}`);
        const ratio = Number(await rows.nth(r).locator(".ratio").textContent());
        assert.ok(Math.abs(ratio / (wanted[0] / wanted[1]) - 1) < 0.01, `${ratio} under ${load}`);
        assert.match(await rows.nth(r).locator("td").last().textContent(), /^(virtual|host)/);
        const ranged = await rows.nth(r).locator("td").first().evaluate((e) => getComputedStyle(e).textAlign);
        assert.equal(ranged, "right");
      }
    }
    await close();
  });

  for (const width of [390, 1200]) {
    test(`stock against RT: a readable plot for each load at ${width} pixels`, paired, async () => {
      const { page, said, close } = await open({ viewport: { width, height: 844 } });
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(over <= 0, `${over} pixels too wide`);
      const rows = await page.locator("#versus tbody tr").count();
      const plots = page.locator("#versus .multiples svg");
      assert.equal(await plots.count(), rows);
      const places = new Set();
      for (let i = 0; i < rows; i++) {
        const plot = plots.nth(i);
        const box = await plot.boundingBox();
        assert.ok(box.width > 300 && box.height > 150, JSON.stringify(box));
        const seen = await plot.evaluate((svg) => ({
          label: svg.getAttribute("aria-label"),
          text: svg.textContent,
          smallest: Math.min(...[...svg.querySelectorAll("text")].map((t) => parseFloat(getComputedStyle(t).fontSize))) * svg.getScreenCTM().a,
          areas: [...svg.querySelectorAll(".area")].map((a) => [getComputedStyle(a).fill, Number(getComputedStyle(a).fillOpacity)]),
          cut: [...svg.querySelectorAll("text")].filter((t) => t.getBoundingClientRect().right > svg.getBoundingClientRect().right + 1).map((t) => t.textContent),
        }));
        assert.match(seen.label, /stock: mean .* maximum .*RT: mean .* maximum/);
        assert.match(seen.text, /µs of (virtual|host) time/);
        assert.ok(seen.smallest >= 9, `text of ${seen.smallest} pixels`);
        assert.equal(seen.areas.length, 2);
        assert.notEqual(seen.areas[0][0], seen.areas[1][0], "both kernels have one colour");
        assert.ok(seen.areas.every((a) => a[1] < 0.5), "one hides the other");
        assert.deepEqual(seen.cut, []);
        places.add(Math.round(box.x));
      }
      assert.equal(places.size, width > 1000 ? 2 : 1, "columns of plots");
      // The name of the load stays in sight when the table is scrolled sideways.
      const scroll = page.locator("#versus .scroll").last();
      const name = scroll.locator("tbody th").first();
      const before = (await name.boundingBox()).x;
      await scroll.evaluate((e) => (e.scrollLeft = e.scrollWidth));
      assert.ok(Math.abs((await name.boundingBox()).x - before) < 1);
      assert.deepEqual(said, []);
      await close();
    });
  }

  test("stock against RT: nothing is lost in print", paired, async () => {
    const { page, close } = await open({ colorScheme: "dark", viewport: { width: 760, height: 1000 } });
    await page.emulateMedia({ media: "print" });
    const tables = page.locator("#versus .scroll");
    for (let i = 0; i < (await tables.count()); i++) {
      const hidden = await tables.nth(i).evaluate((e) => e.scrollWidth - e.clientWidth);
      assert.ok(hidden <= 0, `table ${i} is ${hidden} pixels too wide for the paper`);
    }
    assert.ok(await page.locator("#versus .multiples svg").first().isVisible());
    await close();
  });

  test("a page whose script was changed does not run it", any, async () => {
    // The policy has the hash of the built script: with a single byte changed, the page must stay static.
    const text = readFileSync(report, "utf8");
    const at = text.lastIndexOf("<script>") + "<script>".length;
    const changed = join(chromium.profile, "changed.html");
    writeFileSync(changed, `${text.slice(0, at)} ${text.slice(at)}`);
    const context = await chromium.browser.newContext();
    const page = await context.newPage();
    await page.goto(pathToFileURL(changed).href);
    assert.equal(await page.evaluate(() => document.documentElement.dataset.ready), undefined);
    assert.ok(await page.locator("figure.chart .static svg").first().isVisible());
    await context.close();
  });
});
