// Navigation in a page of many runs: a filter by words, and links that unfold the run they lead to.

/** The runs that match every word typed; undefined when nothing was typed. */
function wanted(typed: string): Set<string> | undefined {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return undefined;
  const found = new Set<string>();
  document.querySelectorAll<HTMLElement>("nav li[data-run]").forEach((li) => {
    if (words.every((w) => li.dataset.words!.includes(w))) found.add(li.dataset.run!);
  });
  return found;
}

function narrow(typed: string, found: HTMLElement | null): void {
  const runs = wanted(typed);
  document.querySelectorAll<HTMLElement>("[data-run]").forEach((e) => {
    e.classList.toggle("away", runs !== undefined && !runs.has(e.dataset.run!));
  });
  // Also hide kernels and tables whose runs are all hidden.
  document.querySelectorAll<HTMLElement>("nav .kernel, .kernel-runs, #summary .scroll").forEach((group) => {
    group.classList.toggle("away", !group.querySelector("[data-run]:not(.away)"));
  });
  const none = document.querySelector<HTMLElement>("nav .none");
  if (none) none.hidden = runs?.size !== 0;
  if (found) {
    found.hidden = runs === undefined;
    found.textContent = runs ? `${runs.size} of ${document.querySelectorAll("nav li[data-run]").length}` : "";
  }
}

/** Unfolds the run that the address names. */
function open(): void {
  const folded = document.getElementById(location.hash.slice(1))?.querySelector<HTMLDetailsElement>("details.whole");
  if (!folded || folded.open) return;
  folded.open = true;
  folded.scrollIntoView();
}

export function wayAbout(): void {
  const menu = document.querySelector<HTMLDetailsElement>("nav .menu");
  const filter = document.querySelector<HTMLInputElement>("nav .filter");
  const found = document.querySelector<HTMLElement>("nav .found");
  if (filter) {
    filter.hidden = false;
    const apply = () => narrow(filter.value, found);
    filter.addEventListener("input", apply);
    // A browser may keep the typed text when the page is reloaded.
    apply();
  }
  const close = () => menu && (menu.open = false);
  menu?.querySelector(".panel")?.addEventListener("click", (e) => (e.target as HTMLElement).closest("a") && close());
  document.addEventListener("click", (e) => !(e.target as HTMLElement).closest("nav") && close());
  document.addEventListener("keydown", (e) => e.key === "Escape" && close());
  // A link to the current run does not change the address, so there is no hashchange event.
  document.addEventListener("click", (e) => (e.target as HTMLElement).closest("a[href^='#run-']") && setTimeout(open));
  addEventListener("hashchange", open);
  open();
}
