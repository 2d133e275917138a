// The page's chart data, as written by crates/rtscope-report/src/html/data.rs, and the bins made from them.

/** One distribution. */
export interface Series {
  label: string;
  /** Highest sample, ns. */
  max: number | null;
  /** Unit that values were rounded down to, ns. */
  res: number;
  /** Width of every bin, ns, where a tool kept equal-width bins; 0 for the histogram's own slots. */
  unit: number;
  /** Edges that came too early: the samples are below zero on the linear axis. */
  early?: boolean;
  /** For each non-empty slot: distance of its lowest value from the previous slot's (ns), then its count. */
  bins: number[];
}

/** One line of a percentile chart: the latency in us at each position. */
export interface Line {
  label: string;
  kind: "raw" | "corrected" | "one";
  /** Index of the colour, for "one". */
  index: number;
  values: (number | null)[];
}

/** The data of one record's charts. */
export interface RecordData {
  id: string;
  /** What the samples are called: "Latency" or "Jitter". */
  quantity: string;
  /** Length of the run, s. */
  elapsed: number;
  series: Series[];
  positions: number[];
  lines: Line[];
  /** The worst samples of each series: [time in s, latency in us]. */
  worst: [number, number][][];
  /** Flame charts of explained samples. */
  flames?: FlameData[];
}

/** What ran from the timer's expiry to the wake-up. */
export interface FlameData {
  /** ns. */
  latency: number;
  /** Shorter frames were left out, ns. */
  shortest: number;
  names: string[];
  /** Of each frame: row, start and length in ns, index of its name, colour. */
  frames: [number, number, number, number, number][];
}

/** Slots of a series: lowest and highest value of each (ns), and its count. */
export interface Slots {
  early: boolean;
  low: Float64Array;
  high: Float64Array;
  count: Float64Array;
}

/** Width in ns of the histogram slot that begins at `low`: 1 below 2048, then at most 1/1024 of the value. */
export function slotWidth(low: number): number {
  return low < 2048 ? 1 : 2 ** (Math.floor(Math.log2(low)) - 10);
}

export function decode(s: Series): Slots {
  const n = s.bins.length / 2;
  const slots = { early: s.early ?? false, low: new Float64Array(n), high: new Float64Array(n), count: new Float64Array(n) };
  let low = 0;
  for (let i = 0; i < n; i++) {
    low += s.bins[2 * i] ?? 0;
    slots.low[i] = low;
    // Equal-width bins hold values that were rounded down, so count them at their lower end.
    const high = s.unit > 0 ? low : low + slotWidth(low) - 1;
    slots.high[i] = s.max === null ? high : Math.min(high, Math.max(s.max, low));
    slots.count[i] = s.bins[2 * i + 1] ?? 0;
  }
  return slots;
}

/** The smallest number of the 1-2-5 series at or above `v`. */
export function nice(v: number): number {
  if (!(v > 1)) return 1;
  const power = 10 ** Math.floor(Math.log10(v));
  for (const f of [1, 2, 5, 10]) if (f * power >= v * (1 - 1e-12)) return f * power;
  return 10 * power;
}

/** Plotted instead of a count of 0: a stair line drops below the axis where there is no sample. */
export const FLOOR = 0.1;

/** Left edges of the bins (us), and the counts of each series. */
export type Binned = { x: number[]; y: number[][]; width: string };

/**
 * Equal-width bins over [from, to] ns: about `wanted` of them, never finer than the slots in that range or the data. The bins of early samples are
 * those of their amounts, mirrored.
 */
export function linearBins(all: Slots[], resolution: number, from: number, to: number, wanted: number): Binned {
  const furthest = Math.max(to, -from);
  const finest = Math.max(resolution, 2 * slotWidth(furthest));
  let width = nice(Math.max((to - from) / wanted, furthest < 2048 ? resolution : finest));
  width = Math.ceil(width / resolution) * resolution;
  const first = Math.floor(from / width);
  const n = Math.floor(to / width) - first + 2;
  const x = Array.from({ length: n }, (_, i) => ((first + i) * width) / 1e3);
  const bin = (s: Slots, i: number) => {
    const amount = Math.floor((s.high[i] ?? 0) / width);
    return (s.early ? -1 - amount : amount) - first;
  };
  return { x, y: all.map((s) => fill(s, n, (i) => bin(s, i))), width: `bins of ${time(width)}` };
}

const PER_DECADE = 116;

/** Bins of 2 % each over [from, to] ns. */
export function logBins(all: Slots[], from: number, to: number): Binned {
  const bin = (ns: number) => Math.floor(Math.log10(Math.max(ns, 1)) * PER_DECADE);
  const first = bin(from);
  const n = bin(to) - first + 2;
  const x = Array.from({ length: n }, (_, i) => 10 ** ((first + i) / PER_DECADE) / 1e3);
  return { x, y: all.map((s) => fill(s, n, (i) => bin(((s.low[i] ?? 0) + (s.high[i] ?? 0)) / 2) - first)), width: "bins of 2 %" };
}

function fill(s: Slots, n: number, bin: (i: number) => number): number[] {
  const y = new Array<number>(n).fill(FLOOR);
  for (let i = 0; i < s.count.length; i++) {
    const b = bin(i);
    if (b >= 0 && b < n) {
      const before = y[b] ?? FLOOR;
      y[b] = (before === FLOOR ? 0 : before) + (s.count[i] ?? 0);
    }
  }
  return y;
}

/** A time in a suitable unit. */
export function time(ns: number): string {
  if (ns < 1e3) return `${ns} ns`;
  if (ns < 1e6) return `${+(ns / 1e3).toPrecision(4)} µs`;
  if (ns < 1e9) return `${+(ns / 1e6).toPrecision(4)} ms`;
  return `${+(ns / 1e9).toPrecision(4)} s`;
}

/** Short form of a number on an axis. */
export function short(v: number): string {
  for (const [scale, unit] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]] as const) {
    if (Math.abs(v) >= scale) return `${+(v / scale).toPrecision(6)}${unit}`;
  }
  return `${+v.toPrecision(6)}`;
}
