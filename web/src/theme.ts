// Colours from the page's CSS variables, and the switch between dark and light.

const COLOURS = 8;

export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim() || "gray";
}

export function seriesColour(i: number): string {
  return colour(`s${i % COLOURS}`);
}

/** The dash pattern of a series; it distinguishes series that repeat a colour. */
export function seriesDash(i: number): number[] {
  return [[], [5, 3], [2, 2], [8, 3, 2, 3]][Math.floor(i / COLOURS) % 4] ?? [];
}

/** Calls `changed` when the theme changes: by the button, or by the system as long as the button was not used. */
export function watchTheme(button: HTMLButtonElement | null, changed: () => void): void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const label = () => {
    if (button) button.textContent = dark() ? "Light theme" : "Dark theme";
  };
  label();
  if (button) {
    button.hidden = false;
    button.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      label();
      changed();
    });
  }
  system.addEventListener("change", () => {
    label();
    changed();
  });
}
