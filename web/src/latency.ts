// The field's usual plot: latency across, samples up on a logarithmic axis, a stair line for each CPU.
// Jitter has a sign: on the linear axis, what came early is below zero. Zooming in makes the bins finer.
import uPlot from "uplot";
import { accessibleLegend, axis, base, mark, type Chart } from "./chart";
import { decode, FLOOR, linearBins, logBins, short, type Binned, type RecordData, type Slots } from "./data";
import { seriesColour, seriesDash } from "./theme";

export function latencyChart(host: HTMLElement, data: RecordData, log: boolean, width: number): Chart | undefined {
  const slots = data.series.map(decode);
  const end = (s: Slots) => s.high[s.high.length - 1] ?? 0;
  const earliest = log ? 0 : Math.max(0, ...slots.filter((s) => s.early).map(end));
  const last = Math.max(0, ...slots.filter((s) => log || !s.early).map(end));
  const first = Math.max(1, Math.min(...slots.map((s) => s.low[0] ?? Infinity)));
  if (last === 0 && earliest === 0 && !slots.some((s) => s.count.length)) return undefined;
  const resolution = Math.max(1, ...data.series.map((s) => s.res));
  const full: [number, number] = log ? [first / 1.2 / 1e3, Math.max(last * 1.2, first * 10) / 1e3] : [(0 - earliest * 1.03) / 1e3, Math.max(last * 1.03, 10 * resolution) / 1e3];
  const binned = (from: number, to: number): Binned =>
    log ? logBins(slots, from * 1e3, to * 1e3) : linearBins(slots, resolution, from * 1e3, to * 1e3, Math.min(400, Math.max(150, width / 2)));
  const values = (b: Binned): uPlot.AlignedData => [b.x, ...b.y];
  const top = data.series.reduce<{ max: number; at: number; label: string }>(
    (t, s) => (s.max !== null && s.max > t.max ? { max: s.max, at: s.early && !log ? -s.max : s.max, label: s.label } : t),
    { max: 0, at: 0, label: "" },
  );
  let now = binned(...full);
  let chart: Chart | undefined;
  const b = base(width, () => chart);
  const options: uPlot.Options = {
    ...b,
    scales: {
      x: { time: false, distr: log ? 3 : 1, range: (_u, min, max) => [min, max] },
      y: { distr: 3, range: (_u, _min, max) => [0.8, Math.max(8, max * 1.6)] },
    },
    axes: [
      axis(`${data.quantity} (µs)${log ? ", logarithmic" : earliest > 0 ? ", early below zero" : ""}`, { size: 32, values: (_u, v) => v.map((x) => (x == null ? "" : short(x))) }),
      axis("Samples", { size: 56, values: (_u, v) => v.map((y) => (y == null ? "" : short(y))) }),
    ],
    series: [
      { label: "µs", value: (_u, v) => (v == null ? "–" : (+v.toFixed(3)).toString()) },
      ...data.series.map((s, i): uPlot.Series => ({
        label: s.max === null ? s.label : `${s.label} (max ${(s.max / 1e3).toFixed(2)})`,
        stroke: () => seriesColour(i),
        dash: seriesDash(i),
        width: 1.4,
        paths: uPlot.paths.stepped!({ align: 1 }),
        points: { show: false },
        value: (_u, v) => (v == null ? "–" : v <= FLOOR ? "0" : v.toLocaleString("en-US")),
      })),
    ],
    hooks: {
      ...b.hooks!,
      draw: [(u) => top.max > 0 && mark(u, top.at / 1e3, `max ${(top.max / 1e3).toFixed(2)} µs, ${top.label}`)],
    },
  };
  const plot = new uPlot(options, values(now), host);
  const show = (from: number, to: number) => {
    now = binned(from, to);
    plot.batch(() => {
      plot.setData(values(now), false);
      plot.setScale("x", { min: from, max: to });
    });
    host.dataset.bins = now.width;
  };
  chart = {
    plot,
    zoom: (min, max) => {
      const from = Math.max(min, full[0]);
      const to = Math.min(max, full[1]);
      // Zooming ends at 4 ns: two bins at the finest resolution.
      if ((to - from) * 1e3 >= 4) show(from, to);
    },
    reset: () => show(...full),
  };
  show(...full);
  accessibleLegend(plot);
  return chart;
}
