// The worst samples over time: shows whether the tail comes in bursts, periodically or once.
import uPlot from "uplot";
import { accessibleLegend, axis, base, type Chart } from "./chart";
import { short, type RecordData } from "./data";
import { seriesColour } from "./theme";

export function worstChart(host: HTMLElement, data: RecordData, log: boolean, width: number): Chart | undefined {
  const times = [...new Set(data.worst.flatMap((w) => w.map(([at]) => at)))].sort((a, b) => a - b);
  if (!times.length) return undefined;
  const index = new Map(times.map((t, i) => [t, i]));
  const columns = data.worst.map((w) => {
    const y = new Array<number | null>(times.length).fill(null);
    for (const [at, us] of w) {
      const i = index.get(at);
      // Of two samples of a series at the same time, show the higher one.
      if (i !== undefined) y[i] = Math.max(us, y[i] ?? 0);
    }
    return y;
  });
  const full: [number, number] = [0, Math.max(data.elapsed, times[times.length - 1] ?? 0)];
  let chart: Chart | undefined;
  const options: uPlot.Options = {
    ...base(width, () => chart),
    scales: {
      x: { time: false, range: (_u, min, max) => [min, max] },
      y: log ? { distr: 3, range: (_u, min, max) => [min / 1.3, max * 1.3] } : { range: (_u, _min, max) => [0, max * 1.08] },
    },
    axes: [
      axis("Time since start (s)", { size: 32 }),
      axis(`${data.quantity} (µs)${log ? ", logarithmic" : ""}`, { size: 64, values: (_u, v) => v.map((y) => (y == null ? "" : short(y))) }),
    ],
    series: [
      { label: "s", value: (_u, v) => (v == null ? "–" : v.toFixed(6)) },
      ...data.series.map((s, i): uPlot.Series => ({
        label: s.label,
        stroke: () => seriesColour(i),
        paths: () => null,
        points: { show: true, size: 8, fill: () => seriesColour(i), stroke: () => seriesColour(i) },
        value: (_u, v) => (v == null ? "–" : `${v.toFixed(2)} µs`),
      })),
    ],
  };
  const plot = new uPlot(options, [times, ...columns], host);
  const show = (min: number, max: number) => plot.setScale("x", { min, max });
  chart = {
    plot,
    zoom: (min, max) => max > min && show(Math.max(min, full[0]), Math.min(max, full[1])),
    reset: () => show(...full),
  };
  chart.reset();
  accessibleLegend(plot);
  return chart;
}
