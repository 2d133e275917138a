// The flame chart of an explained sample: click a frame to zoom to it, find functions by name.
import { time, type FlameData } from "./data";

const SVG = "http://www.w3.org/2000/svg";
const ROW = 18;
const AXIS = 22;
/** Frames narrower than this many pixels are not drawn; zooming shows them. */
const NARROWEST = 0.2;
/** Average width of a character of the frames' text, in pixels. */
const CHARACTER = 6.4;

function element(name: string, attributes: Record<string, string | number>, text = ""): SVGElement {
  const e = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, String(value));
  if (text) e.textContent = text;
  return e;
}

/** Steps of an axis over [from, to]: about six, in 1, 2 or 5 times a power of ten. */
function ticks(from: number, to: number): number[] {
  const raw = Math.max(1, (to - from) / 6);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= raw) ?? raw;
  const all: number[] = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) all.push(t);
  return all;
}

/** Draws the chart into its figure, and again when it is zoomed, searched or resized. */
export class Flame {
  private from = 0;
  private to: number;
  private wanted = "";
  private width = 0;
  private readonly live: HTMLElement;
  private readonly found: HTMLElement;

  constructor(
    private readonly figure: HTMLElement,
    private readonly data: FlameData,
  ) {
    this.to = data.latency;
    this.live = figure.querySelector<HTMLElement>(".live")!;
    this.found = document.createElement("p");
    this.found.className = "muted found-frames";
    this.found.setAttribute("role", "status");
    figure.querySelector<HTMLButtonElement>("button.reset")?.addEventListener("click", () => this.zoom(0, data.latency));
    const search = figure.querySelector<HTMLInputElement>("input.search");
    search?.addEventListener("input", () => {
      this.wanted = search.value.trim().toLowerCase();
      this.draw();
    });
    figure.classList.add("drawn");
    const folded = figure.closest<HTMLDetailsElement>("details.whole");
    if (!folded || folded.open) this.draw();
    else folded.addEventListener("toggle", () => this.draw(), { once: true });
  }

  private zoom(from: number, to: number): void {
    this.from = from;
    this.to = Math.max(to, from + 1);
    this.draw();
  }

  /** Draws again if the figure has another width than it was drawn for. */
  resize(): void {
    if (this.figure.clientWidth > 0 && this.figure.clientWidth !== this.width) this.draw();
  }

  private draw(): void {
    this.width = this.figure.clientWidth;
    if (this.width === 0) return;
    const { frames, names } = this.data;
    const perNs = this.width / (this.to - this.from);
    const rows = frames.reduce((most, f) => Math.max(most, f[0] + 1), 1);
    const height = rows * ROW + AXIS;
    const svg = element("svg", { class: "plot flame", width: this.width, height, viewBox: `0 0 ${this.width} ${height}` });
    for (const t of ticks(this.from, this.to)) {
      const x = (t - this.from) * perNs;
      svg.append(element("path", { class: "grid", d: `M${x} 0V${rows * ROW}` }));
      const anchor = x < 40 ? "start" : x > this.width - 40 ? "end" : "middle";
      svg.append(element("text", { class: "tick", x, y: height - 6, "text-anchor": anchor }, time(t)));
    }
    for (const [row, start, ns, name, colour] of frames) {
      const left = Math.max(start, this.from);
      const right = Math.min(start + ns, this.to);
      const width = (right - left) * perNs;
      if (width < NARROWEST) continue;
      const text = names[name] ?? "";
      const x = (left - this.from) * perNs;
      const matches = this.wanted !== "" && row > 0 && text.toLowerCase().includes(this.wanted);
      const away = this.wanted !== "" && row > 0 && !matches;
      const g = element("g", { class: matches ? "frame match" : away ? "frame away" : "frame" });
      g.append(element("title", {}, `${text}: ${time(ns)} from +${time(start)}`));
      g.append(element("rect", { class: `cell f${colour}`, x, y: row * ROW, width, height: ROW - 1 }));
      const room = Math.floor((width - 6) / CHARACTER);
      if (room >= 3) {
        const label = text.length > room ? `${text.slice(0, room - 1)}…` : text;
        g.append(element("text", { class: "small", x: x + 3, y: row * ROW + 13 }, label));
      }
      g.addEventListener("click", () => this.zoom(start, start + ns));
      svg.append(g);
    }
    this.say();
    this.live.replaceChildren(svg, this.found);
    this.figure.dataset.xMin = String(this.from);
    this.figure.dataset.xMax = String(this.to);
  }

  /** How much of the latency the wanted functions took, with what they called; without a search how fine the chart is. */
  private say(): void {
    const { frames, names, shortest, latency } = this.data;
    if (this.wanted === "") {
      this.found.textContent = shortest > 1 ? `Frames shorter than ${time(shortest)} are left out.` : "";
      return;
    }
    // A frame inside of one that was counted is not counted again; frames come by start and row.
    let sum = 0;
    let count = 0;
    let covered = 0;
    for (const [row, start, ns, name] of frames) {
      if (row === 0 || !(names[name] ?? "").toLowerCase().includes(this.wanted)) continue;
      count += 1;
      const from = Math.max(start, covered);
      sum += Math.max(0, start + ns - from);
      covered = Math.max(covered, start + ns);
    }
    const percent = ((100 * sum) / Math.max(1, latency)).toFixed(1);
    this.found.textContent = count ? `${count} frame${count === 1 ? "" : "s"}, ${time(sum)} (${percent} %)` : "No frame has this in its name.";
  }
}
