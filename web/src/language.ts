// uPlot formats numbers in the browser's language as soon as it is loaded. npm's Chromium, started with the locale C, calls its
// language `en-US@posix`, which Intl refuses: no chart would be drawn. Such a browser formats as English does.
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, "language", { value: "en-US" });
}
