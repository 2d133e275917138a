// The percentile chart: 1/(1-q) across on a logarithmic axis, latency up, raw and corrected.
import uPlot from "uplot";
import { accessibleLegend, axis, base, type Chart } from "./chart";
import { short, type RecordData } from "./data";
import { colour, seriesColour, seriesDash } from "./theme";

/** 0 %, 50 %, 90 %, 99 % ... */
function percent(x: number): string {
  const decade = Math.round(Math.log10(x));
  if (Math.abs(x - 2) < 1e-9) return "50%";
  if (decade <= 0) return "0%";
  return decade === 1 ? "90%" : decade === 2 ? "99%" : `99.${"9".repeat(decade - 2)}%`;
}

/** Any position as a percentile, with enough digits to distinguish it from 100 %. */
function exact(x: number): string {
  const q = 100 * (1 - 1 / x);
  return `${q.toFixed(Math.max(1, Math.ceil(Math.log10(x)) - 1))}%`;
}

export function percentileChart(host: HTMLElement, data: RecordData, log: boolean, width: number): Chart | undefined {
  if (!data.lines.length || !data.positions.length) return undefined;
  const full: [number, number] = [1, Math.max(10, data.positions[data.positions.length - 1] ?? 10)];
  let chart: Chart | undefined;
  const options: uPlot.Options = {
    ...base(width, () => chart),
    scales: {
      x: { time: false, distr: 3, range: (_u, min, max) => [min, max] },
      y: log ? { distr: 3, range: (_u, min, max) => [min / 1.2, max * 1.3] } : { range: (_u, _min, max) => [0, max * 1.08] },
    },
    axes: [
      axis("Percentile (1/(1-q), logarithmic)", {
        size: 32,
        // On a narrow screen the labels of 0 % and 50 % would touch.
        splits: (u, _i, min, max) => [1, ...(u.width < 500 ? [] : [2]), ...Array.from({ length: 19 }, (_, i) => 10 ** (i + 1))].filter((x) => x >= min && x <= max),
        filter: (_u, splits) => splits,
        values: (_u, splits) => splits.map((x) => (x == null ? "" : percent(x))),
        space: 10,
      }),
      axis(`${data.quantity} (µs)${log ? ", logarithmic" : ""}`, { size: 64, values: (_u, v) => v.map((y) => (y == null ? "" : short(y))) }),
    ],
    series: [
      { label: "percentile", value: (_u, v) => (v == null ? "–" : exact(v)) },
      ...data.lines.map((l): uPlot.Series => ({
        label: l.label,
        stroke: () => (l.kind === "one" ? seriesColour(l.index) : colour("ink")),
        width: l.kind === "one" ? 1.2 : 2.2,
        dash: l.kind === "corrected" ? [5, 4] : l.kind === "one" ? seriesDash(l.index) : [],
        points: { show: false },
        value: (_u, v) => (v == null ? "–" : `${v.toFixed(2)} µs`),
      })),
    ],
  };
  const plot = new uPlot(options, [data.positions, ...data.lines.map((l) => l.values)], host);
  const show = (min: number, max: number) => plot.setScale("x", { min, max });
  chart = {
    plot,
    zoom: (min, max) => max / min > 1.01 && show(Math.max(min, full[0]), Math.min(max, full[1])),
    reset: () => show(...full),
  };
  chart.reset();
  accessibleLegend(plot);
  return chart;
}
