// Replaces the static pictures of an rtscope report with zoomable charts. Without this script the page shows the pictures.
import "./language"; // before uPlot
import "uplot/dist/uPlot.min.css";
import type uPlot from "uplot";
import type { Chart } from "./chart";
import { HEIGHT } from "./chart";
import type { RecordData } from "./data";
import { Flame } from "./flame";
import { latencyChart } from "./latency";
import { percentileChart } from "./percentile";
import { wayAbout } from "./navigation";
import { watchTheme } from "./theme";
import { worstChart } from "./worst";

const KINDS = { latency: latencyChart, percentile: percentileChart, worst: worstChart };

/** An element of the page into which a chart is drawn. */
class Figure {
  private chart: Chart | undefined;
  private log: boolean;
  private readonly live: HTMLElement;

  constructor(
    private readonly figure: HTMLElement,
    private readonly data: RecordData,
    private readonly make: (host: HTMLElement, data: RecordData, log: boolean, width: number) => Chart | undefined,
  ) {
    this.live = figure.querySelector<HTMLElement>(".live")!;
    this.log = figure.dataset.log === "true";
    const axisButton = figure.querySelector<HTMLButtonElement>("button.axis-kind");
    const resetButton = figure.querySelector<HTMLButtonElement>("button.reset");
    const label = () => axisButton && (axisButton.textContent = this.log ? "Linear axis" : "Log axis");
    label();
    axisButton?.addEventListener("click", () => {
      this.log = !this.log;
      label();
      this.draw();
    });
    resetButton?.addEventListener("click", () => this.chart?.reset());
    // A folded run is drawn when it is opened: before that it has no width, and drawing a hundred runs would take long.
    const folded = figure.closest<HTMLDetailsElement>("details.whole");
    if (!folded || folded.open) this.draw();
    else folded.addEventListener("toggle", () => this.drawn || this.draw(), { once: true });
  }

  private get drawn(): boolean {
    return this.chart !== undefined;
  }

  private width(): number {
    return Math.max(240, Math.floor(this.figure.clientWidth));
  }

  draw(): void {
    const hidden = this.chart?.plot.series.map((s) => s.show === false) ?? [];
    this.chart?.plot.destroy();
    // The element must have its width before uPlot measures it.
    this.figure.classList.add("drawn");
    this.chart = this.make(this.live, this.data, this.log, this.width());
    this.figure.classList.toggle("drawn", this.chart !== undefined);
    if (!this.chart) return;
    hidden.forEach((off, i) => off && i > 0 && this.chart!.plot.setSeries(i, { show: false }));
    const plot = this.chart.plot;
    this.say(plot);
    (plot.hooks.setScale ??= []).push((u, key) => key === "x" && this.say(u));
  }

  /** States the visible range in attributes, for tests and for inspecting the page. */
  private say(u: uPlot): void {
    const { min, max } = u.scales.x!;
    if (min != null && max != null) {
      this.figure.dataset.xMin = String(min);
      this.figure.dataset.xMax = String(max);
    }
  }

  redraw(): void {
    if (this.drawn) this.draw();
  }

  resize(): void {
    const plot = this.chart?.plot;
    if (plot && this.figure.clientWidth > 0 && plot.width !== this.width()) plot.setSize({ width: this.width(), height: HEIGHT });
  }
}

function read<T>(id: string): T | undefined {
  const text = document.getElementById(id)?.textContent;
  return text ? (JSON.parse(text) as T) : undefined;
}

function download(id: string): void {
  const text = document.getElementById(`record-${id}`)?.textContent;
  if (!text) return;
  // The text is saved unparsed: parsing would round integers above 2^53.
  const url = URL.createObjectURL(new Blob([`${text.trim()}\n`], { type: "application/json" }));
  const a = document.createElement("a");
  a.href = url;
  a.download = `${id}.json`;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

function start(): void {
  const records = read<RecordData[]>("charts") ?? [];
  const figures: Figure[] = [];
  const flames: Flame[] = [];
  document.querySelectorAll<HTMLElement>("figure.chart").forEach((element) => {
    const data = records[Number(element.dataset.record)];
    const flame = data?.flames?.[Number(element.dataset.flame)];
    if (flame) flames.push(new Flame(element, flame));
    const make = KINDS[element.dataset.chart as keyof typeof KINDS];
    if (data && make) figures.push(new Figure(element, data, make));
  });
  watchTheme(document.querySelector("button.theme"), () => figures.forEach((f) => f.redraw()));
  new ResizeObserver(() => [...figures, ...flames].forEach((f) => f.resize())).observe(document.querySelector("main") ?? document.body);
  document.querySelectorAll<HTMLButtonElement>("button.download").forEach((b) => {
    b.hidden = false;
    b.addEventListener("click", () => download(b.dataset.id ?? ""));
  });
  wayAbout();
  document.documentElement.dataset.ready = "true";
}

start();
