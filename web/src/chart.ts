// What the three charts share: a frame with buttons, axes in the page's colours, zoom by dragging, reset by double click,
// a legend with keyboard control.
import uPlot from "uplot";
import { colour } from "./theme";

const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
export const HEIGHT = 340;

/** A drawn chart. */
export interface Chart {
  plot: uPlot;
  /** Shows the range of x from `min` to `max`. */
  zoom: (min: number, max: number) => void;
  /** Shows the whole range of x. */
  reset: () => void;
}

export function axis(label: string, more: uPlot.Axis = {}): uPlot.Axis {
  return {
    label,
    font: FONT,
    labelFont: FONT,
    labelSize: 24,
    stroke: () => colour("muted"),
    grid: { stroke: () => colour("grid"), width: 1 },
    ticks: { stroke: () => colour("grid"), width: 1, size: 4 },
    ...more,
  };
}

/** Draws a dashed vertical line with a text over the series. */
export function mark(u: uPlot, x: number, text: string): void {
  const { min, max } = u.scales.x as uPlot.Scale;
  if (min == null || max == null || x < min || x > max) return;
  const { ctx, bbox } = u;
  const px = u.valToPos(x, "x", true);
  const right = px > bbox.left + bbox.width / 2;
  const ratio = devicePixelRatio || 1;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour("mark");
  ctx.lineWidth = ratio;
  ctx.setLineDash([3 * ratio, 3 * ratio]);
  ctx.beginPath();
  ctx.moveTo(px, bbox.top);
  ctx.lineTo(px, bbox.top + bbox.height);
  ctx.stroke();
  ctx.font = `600 ${12 * ratio}px system-ui, sans-serif`;
  ctx.textAlign = right ? "right" : "left";
  ctx.textBaseline = "top";
  ctx.fillText(text, px + (right ? -6 : 6) * ratio, bbox.top + 4 * ratio);
  ctx.restore();
}

/** The options that all charts share. Zooming calls the chart's `zoom`, which may compute finer data for the visible range. */
export function base(width: number, chart: () => Chart | undefined): Pick<uPlot.Options, "width" | "height" | "cursor" | "legend" | "hooks"> {
  return {
    width,
    height: HEIGHT,
    legend: { live: true, isolate: false, markers: { dash: (u, i) => (u.series[i]?.dash?.length ? "dashed" : "solid") } },
    cursor: {
      drag: { x: true, y: false, setScale: false },
      points: { size: 7 },
      bind: {
        dblclick: () => () => {
          chart()?.reset();
          return null;
        },
      },
    },
    hooks: {
      setSelect: [
        (u) => {
          // A mere click gives a selection without width.
          if (u.select.width < 4) return;
          const from = u.posToVal(u.select.left, "x");
          const to = u.posToVal(u.select.left + u.select.width, "x");
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          chart()?.zoom(from, to);
        },
      ],
    },
  };
}

/** Makes the legend usable by keyboard and by a screen reader. */
export function accessibleLegend(u: uPlot): void {
  u.root.querySelectorAll<HTMLElement>(".u-legend tr.u-series").forEach((row, i) => {
    const head = row.querySelector<HTMLElement>("th");
    if (!head || i === 0) return;
    head.tabIndex = 0;
    head.setAttribute("role", "button");
    const say = () => head.setAttribute("aria-pressed", String(!row.classList.contains("u-off")));
    say();
    head.addEventListener("click", () => setTimeout(say));
    head.addEventListener("keydown", (e) => {
      if (e.key === "Enter" || e.key === " ") {
        e.preventDefault();
        head.click();
      }
    });
  });
}
