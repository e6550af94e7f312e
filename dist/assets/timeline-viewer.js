// The script of the page: reads the data block, draws one uPlot chart per panel, and switches between scenarios.
// It runs under a content security policy that allows exactly this text, and loads nothing.

const data = JSON.parse(document.getElementById("data").textContent);
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const darkPage = matchMedia("(prefers-color-scheme: dark)");
const narrow = matchMedia("(max-width: 600px)");

function formatBytes(bytes) {
  let value = Math.abs(bytes);
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${bytes < 0 ? "-" : ""}${value.toFixed(digits)} ${UNITS[unit]}`;
}

function formatSeconds(seconds) {
  if (seconds < 60) return `${seconds.toFixed(3)} s`;
  const rest = (seconds % 60).toFixed(2).padStart(5, "0");
  const minutes = Math.floor(seconds / 60);
  return minutes < 60
    ? `${minutes}:${rest}`
    : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest}`;
}

/** A base64 column of little-endian numbers. */
function column(base64, Type) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new Type(bytes.buffer);
}

/** The unit of a chart's axis, and its steps: 1, 2 and 5 times a power of ten of that unit. */
function unitOf({ high, counted }) {
  if (counted)
    return {
      name: "",
      bytes: 1,
      steps: [1, 10, 100, 1000, 1e4, 1e5].flatMap((power) => [power, 2 * power, 5 * power]),
    };
  let unit = 0;
  while (high >= 1000 * 1024 ** unit && unit < UNITS.length - 1) unit += 1;
  const bytes = 1024 ** unit;
  const steps = [0.01, 0.1, 1, 10, 100].flatMap((power) => [1, 2, 5].map((step) => step * power * bytes));
  return { name: UNITS[unit], bytes, steps: unit === 0 ? steps.filter((step) => step >= 1) : steps };
}

/** The values of parts upon those below them, which follow them; an unknown one adds nothing. */
function stacked(tables) {
  const sums = tables.map(([x, values]) => [x, [...values]]);
  for (let part = sums.length - 2; part >= 0; part--) {
    const below = (i) => tables.slice(part + 1).reduce((sum, [, values]) => sum + (values[i] ?? 0), 0);
    sums[part][1] = tables[part][1].map((value, i) => (value === null ? null : value + below(i)));
  }
  return sums;
}

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function colorOf({ light, dark }) {
  return darkPage.matches ? dark : light;
}

function tableOf(line) {
  const x = Array.from(column(line.x, Float32Array));
  const bytes = Array.from(column(line.bytes, Float64Array), (value) => (Number.isNaN(value) ? null : value));
  return [x, bytes];
}

/** Index of this series' sample that is nearest to the hovered one, because lines have different clocks. */
function nearest(values, from) {
  if (from === null || from === undefined) return from;
  for (let away = 0; away < 4096; away++) {
    if (values[from - away] !== undefined && values[from - away] !== null) return from - away;
    if (values[from + away] !== undefined && values[from + away] !== null) return from + away;
  }
  return from;
}

/** The outline of points in the chart's pixels. */
function outline(context, chart, [xs, values]) {
  xs.forEach((x, i) => {
    if (values[i] !== null) context.lineTo(chart.valToPos(x, "x", true), chart.valToPos(values[i], "y", true));
  });
}

/** Shades the series above its limit, or above the baseline. */
function shade(chart, panel, tables) {
  if (panel.excess === null) return;
  const { ctx: context, bbox } = chart;
  const of = (role) => tables[panel.lines.findIndex((line) => line.role === role)];
  const [xs, values] = of("series");
  const edge =
    panel.excess === "baseline"
      ? of("baseline-high")
      : [
          [panel.from, panel.to],
          [panel.excess, panel.excess],
        ];
  const bottom = bbox.top + bbox.height;
  context.save();
  context.beginPath();
  context.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  context.clip();
  context.beginPath();
  context.moveTo(bbox.left, bbox.top);
  context.lineTo(bbox.left, chart.valToPos(edge[1][0], "y", true));
  outline(context, chart, edge);
  context.lineTo(bbox.left + bbox.width, chart.valToPos(edge[1].at(-1), "y", true));
  context.lineTo(bbox.left + bbox.width, bbox.top);
  context.clip();
  context.beginPath();
  const known = xs.filter((_, i) => values[i] !== null);
  context.moveTo(chart.valToPos(known[0], "x", true), bottom);
  outline(context, chart, [xs, values]);
  context.lineTo(chart.valToPos(known.at(-1), "x", true), bottom);
  context.globalAlpha = 0.14;
  context.fillStyle = colorOf(data.fills.excess);
  context.fill();
  context.restore();
}

function highest(values) {
  return values.reduce((most, value) => (value !== null && value > most ? value : most), 0);
}

function sizeOf(host, panels) {
  const height = narrow.matches ? 230 : panels > 1 ? 240 : 320;
  return { width: Math.max(240, host.clientWidth), height };
}

function draw(panel, host, key, panels) {
  host.replaceChildren();
  const tables = panel.lines.map(tableOf);
  const isAccount = panel.place === "account";
  const joined = uPlot.join(isAccount ? stacked(tables) : tables);
  const axis = {
    stroke: css("--soft"),
    grid: { stroke: css("--grid"), width: 1 },
    ticks: { show: false },
    font: "13px system-ui, sans-serif",
  };
  const unit = unitOf(panel);
  const size = panel.counted ? String : formatBytes;
  const at = (role) => panel.lines.findIndex((line) => line.role === role) + 1;
  const isStepped = panel.unit !== "second";
  const position = (value) => (isStepped ? value.toFixed(1) : formatSeconds(value));
  const tick = (value) => {
    if (isStepped) return String(Number(value.toFixed(2)));
    return value < 60 ? `${Number(value.toFixed(3))} s` : formatSeconds(value).replace(/\.00$/, "");
  };
  const range = (value) => {
    // Readings within a step lie between two numbers.
    const [from, to] = isStepped ? [Math.floor(panel.from), Math.floor(value)] : [panel.from, value];
    return `${tick(from)} to ${tick(to)}`;
  };
  const options = {
    ...sizeOf(host, panels),
    scales: { x: { time: false }, y: { range: () => [0, panel.high * 1.08] } },
    axes: [
      {
        ...axis,
        size: 34,
        values: (_, ticks) =>
          ticks.map((value, i) => (i === 0 && isStepped ? `${panel.unit} ${tick(value)}` : tick(value))),
      },
      {
        ...axis,
        size: 68,
        incrs: unit.steps,
        values: (_, ticks) =>
          ticks.map((value) => (value === 0 ? "0" : `${Number((value / unit.bytes).toFixed(2))} ${unit.name}`.trim())),
      },
    ],
    series: [
      {
        label: isStepped ? panel.unit : "time",
        value: (_, value) => (value === null || value === undefined ? range(panel.to) : position(value)),
      },
      ...panel.lines.map((line, index) => ({
        label: line.label,
        class: line.role,
        stroke: colorOf(line.color),
        width: line.width,
        ...(isAccount ? { fill: colorOf(line.color) } : {}),
        dash: line.dash,
        points: { show: line.lone },
        spanGaps: false,
        // Without a pointer the legend has the highest value.
        value: (_, top, __, hovered) => {
          if (hovered === null || hovered === undefined) return size(highest(tables[index][1]));
          // The parts of an account have the same times.
          const value = isAccount ? tables[index][1][hovered] : top;
          return value === null || value === undefined ? "" : size(value);
        },
      })),
    ],
    bands:
      at("baseline-high") > 0
        ? [{ series: [at("baseline-high"), at("baseline-low")], fill: `${colorOf(data.fills.band)}b0` }]
        : [],
    cursor: {
      drag: { x: true, y: false },
      sync: { key, scales: ["x", null] },
      dataIdx: (self, series, hovered) => (series === 0 ? hovered : nearest(self.data[series], hovered)),
    },
    hooks: { drawAxes: [(chart) => shade(chart, panel, tables)] },
    legend: { live: true },
  };
  return new uPlot(options, joined, host);
}

const charts = new Map();
let shown = 0;

function show(index) {
  shown = index;
  for (const section of document.querySelectorAll("section[data-scenario]")) {
    section.hidden = Number(section.dataset.scenario) !== index;
  }
  for (const button of document.querySelectorAll("nav button")) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.scenario) === index));
  }
  redraw();
}

/** Charts that can be seen: those of the scenario, unless they are in a closed fold. */
function hosts() {
  return [...document.querySelectorAll(`section[data-scenario="${shown}"] .chart`)].filter(
    (host) => host.closest("details:not([open])") === null,
  );
}

function redraw() {
  for (const chart of charts.values()) chart.destroy();
  charts.clear();
  const { panels } = data.scenarios[shown];
  const deciding = panels.filter(({ place }) => place === "deciding").length;
  for (const host of hosts()) {
    const at = Number(host.dataset.panel);
    const panel = panels[at];
    const key = panel.isLinked ? `scenario-${shown}` : `panel-${shown}-${at}`;
    charts.set(host, draw(panel, host, key, panel.place === "deciding" ? deciding : 2));
  }
  const root = document.documentElement;
  const drawn = [...charts.values()];
  root.dataset.panels = String(drawn.length);
  root.dataset.series = String(drawn.reduce((sum, chart) => sum + chart.series.length - 1, 0));
  root.dataset.ready = "true";
}

for (const button of document.querySelectorAll("nav button")) {
  button.addEventListener("click", () => show(Number(button.dataset.scenario)));
}
for (const fold of document.querySelectorAll("details")) {
  if (fold.querySelector(".chart") !== null) fold.addEventListener("toggle", redraw);
}
addEventListener("resize", () => {
  const { panels } = data.scenarios[shown];
  const deciding = panels.filter(({ place }) => place === "deciding").length;
  for (const [host, chart] of charts) {
    chart.setSize(sizeOf(host, panels[Number(host.dataset.panel)].place === "deciding" ? deciding : 2));
  }
});
darkPage.addEventListener("change", redraw);
show(0);
