// The script of the page: reads the data block, draws one uPlot chart per scenario, and switches between scenarios.
// It runs under a content security policy that allows exactly this text, and loads nothing.

const data = JSON.parse(document.getElementById("data").textContent);
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

function formatBytes(bytes) {
  let value = Math.abs(bytes);
  let unit = 0;
  while (value >= 1023.995 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${bytes < 0 ? "-" : ""}${unit === 0 ? Math.round(value) : value.toFixed(2)} ${UNITS[unit]}`;
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

/** Axis steps that are round in binary units. */
const BYTE_STEPS = Array.from({ length: 60 }, (_, i) => 2 ** i);

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function tableOf(line) {
  const time = Array.from(column(line.time, Float32Array));
  const bytes = Array.from(column(line.bytes, Float64Array), (value) => (Number.isNaN(value) ? null : value));
  return [time, bytes];
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

function draw(scenario, host) {
  host.replaceChildren();
  if (scenario.lines.length === 0) {
    host.textContent = "No memory samples were recorded.";
    return null;
  }
  const joined = uPlot.join(scenario.lines.map(tableOf));
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const axis = {
    stroke: css("--soft"),
    grid: { stroke: css("--grid"), width: 1 },
    ticks: { stroke: css("--line"), width: 1 },
    font: "13px system-ui, sans-serif",
  };
  const bandOf = (role) => scenario.lines.findIndex((line) => line.role === role) + 1;
  const high = bandOf("baseline-high");
  const low = bandOf("baseline-low");
  const options = {
    width: Math.max(320, host.clientWidth),
    height: 460,
    scales: { x: { time: false }, y: { range: (_, min, max) => rangeOf(min, max) } },
    axes: [
      {
        ...axis,
        values: (_, ticks) =>
          ticks.map((tick) => (tick < 60 ? `${Number(tick.toFixed(3))} s` : formatSeconds(tick).replace(/\.00$/, ""))),
      },
      {
        ...axis,
        size: 92,
        incrs: BYTE_STEPS,
        values: (_, ticks) => ticks.map((tick) => (tick === 0 ? "0" : formatBytes(tick).replace(/\.00 /, " "))),
      },
    ],
    series: [
      { label: "time", value: (_, value) => (value === null ? "–" : formatSeconds(value)) },
      ...scenario.lines.map((line) => ({
        label: line.label,
        stroke: dark && line.dark ? line.dark : line.color,
        width: line.width,
        dash: line.dash,
        points: { show: line.lone },
        spanGaps: false,
        value: (_, value) => (value === null || value === undefined ? "–" : formatBytes(value)),
      })),
    ],
    bands:
      high > 0 && low > 0
        ? [{ series: [high, low], fill: dark ? "rgba(140,149,159,0.42)" : "rgba(140,149,159,0.50)" }]
        : [],
    cursor: {
      drag: { x: true, y: false },
      dataIdx: (self, series, hovered) => (series === 0 ? hovered : nearest(self.data[series], hovered)),
    },
    legend: { live: true },
    tzDate: (seconds) => new Date(seconds * 1000),
  };
  return new uPlot(options, joined, host);
}

function rangeOf(min, max) {
  if (min === null || max === null) return [0, 1024];
  if (min > max * 0.6 && min < max) {
    const pad = (max - min) * 0.12;
    return [Math.max(0, min - pad), max + pad];
  }
  return [0, max <= 0 ? 1024 : max * 1.08];
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

function redraw() {
  const host = document.querySelector(`section[data-scenario="${shown}"] .chart`);
  if (host === null) return;
  charts.get(shown)?.destroy();
  const chart = draw(data.scenarios[shown], host);
  charts.set(shown, chart);
  const root = document.documentElement;
  root.dataset.series = String(chart === null ? 0 : chart.series.length - 1);
  root.dataset.points = String(chart === null ? 0 : chart.data[0].length);
  root.dataset.ready = "true";
}

for (const button of document.querySelectorAll("nav button")) {
  button.addEventListener("click", () => show(Number(button.dataset.scenario)));
}
addEventListener("resize", () => {
  const host = document.querySelector(`section[data-scenario="${shown}"] .chart`);
  charts.get(shown)?.setSize({ width: Math.max(320, host.clientWidth), height: 460 });
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
show(0);
