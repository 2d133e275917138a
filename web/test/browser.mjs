// Starts a headless Chromium for the tests, with a page in it.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

// Without windows it takes half of the CPU time: 34 s for 69 s for the tests of one report.
const PROGRAM = process.env.RTSCOPE_CHROMIUM ?? ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"].find((p) => existsSync(p));

/** Starts the browser with a profile of its own, a directory that goes with it. */
export async function launch() {
  const profile = mkdtempSync(join(tmpdir(), "rtscope-browser-"));
  const browser = await chromium.launch({
    executablePath: PROGRAM,
    headless: true,
    args: FLAGS,
    env: { ...process.env, HOME: profile },
  });
  const close = async () => {
    await browser.close();
    rmSync(profile, { recursive: true, force: true });
  };
  return { browser, profile, close };
}

/** A page with `url` open, and all it said and asked for; `before` runs in it before its own script. */
export async function open(browser, url, { before, ...options }) {
  const context = await browser.newContext(options);
  // The lab's tests run beside these.
  context.setDefaultTimeout(90_000);
  const page = await context.newPage();
  if (before) await page.addInitScript(before);
  const said = [];
  const asked = [];
  page.on("console", (m) => said.push(`${m.type()}: ${m.text()}`));
  page.on("pageerror", (e) => said.push(`exception: ${e.message}`));
  context.on("request", (r) => asked.push(r.url()));
  await page.goto(url, { waitUntil: "load" });
  if (options.javaScriptEnabled !== false) await page.waitForSelector("html[data-ready=true]");
  return { page, said, asked, close: () => context.close() };
}
