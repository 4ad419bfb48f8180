// One chart: up to two curves over time. Points that are not known are gaps.
//
//   const chart = new Chart(parent, "Latency", ["p50", "p99"], seconds);
//   chart.draw(times_ms, [values, values]);
//
// The pointer, or the arrow keys where the chart has the focus, read values off it.

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 150, LEFT = 56, RIGHT = 8, TOP = 8, BOTTOM = 20;
const CLASSES = ["first", "second"];

function make(name, attributes, parent) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (parent) parent.append(node);
  return node;
}

// Three to five round numbers that hold all between low and high.
export function ticks(low, high) {
  if (!(high > low)) {
    const pad = Math.abs(low) * 0.1 || 1;
    low -= low >= 0 ? Math.min(pad, low) : pad;
    high += pad;
  }
  const rough = (high - low) / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
  const out = [];
  for (let i = Math.floor(low / step); i <= Math.ceil(high / step); ++i) out.push(i * step);
  return out;
}

export class Chart {
  constructor(parent, title, names, words, fromZero = true) {
    this.words = words;
    this.names = names;
    this.fromZero = fromZero;
    this.times = [];
    this.series = [];
    this.at = null;
    const figure = document.createElement("figure");
    const caption = document.createElement("figcaption");
    const bold = document.createElement("b");
    bold.textContent = title;
    caption.append(bold);
    this.keys = names.map((name, i) => {
      const key = document.createElement("span");
      key.className = "key " + CLASSES[i];
      caption.append(key);
      return key;
    });
    this.svg = make("svg", { tabindex: 0, role: "img", "aria-label": title });
    this.title = title;
    figure.append(caption, this.svg);
    parent.append(figure);
    this.svg.addEventListener("pointermove", (event) => {
      const box = this.svg.getBoundingClientRect();
      const part = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
      this.choose(Math.round(part * (this.times.length - 1)));
    });
    this.svg.addEventListener("pointerleave", () => this.choose(null));
    this.svg.addEventListener("blur", () => this.choose(null));
    this.svg.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (by === undefined || this.times.length === 0) return;
      event.preventDefault();
      this.choose((this.at ?? this.times.length - 1) + by);
    });
  }

  choose(at) {
    const last = this.times.length - 1;
    this.at = at === null || last < 0 ? null : Math.min(Math.max(at, 0), last);
    this.draw(this.times, this.series);
  }

  draw(times, series) {
    this.times = times;
    this.series = series;
    const all = series.flat().filter((value) => value !== null);
    const last = times.length - 1;
    const at = this.at === null ? last : Math.min(this.at, last);
    const texts = this.names.map((name, i) => `${name} ${this.words(series[i]?.[at] ?? null)}`);
    texts.forEach((text, i) => { this.keys[i].textContent = text; });
    const clock = at >= 0 ? new Date(times[at]).toLocaleTimeString("en-GB") : "";
    this.svg.setAttribute("aria-label", `${this.title}: ${texts.join(", ")} ${clock}`);
    this.svg.replaceChildren();
    const width = this.svg.clientWidth;
    if (width < LEFT + RIGHT + 10) return;
    if (all.length === 0) {
      make("text", { x: width / 2, y: HEIGHT / 2, "text-anchor": "middle" }, this.svg)
        .textContent = "nothing yet";
      return;
    }
    let low = Infinity, high = -Infinity;
    for (const value of all) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    const marks = ticks(this.fromZero ? Math.min(0, low) : low, high);
    low = marks[0];
    high = marks[marks.length - 1];
    const span = Math.max(times[last] - times[0], 1);
    const x = (i) => LEFT + ((width - LEFT - RIGHT) * (times[i] - times[0])) / span;
    const y = (v) => TOP + ((HEIGHT - TOP - BOTTOM) * (high - v)) / (high - low);
    for (const mark of marks) {
      make("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(mark), y2: y(mark) }, this.svg);
      make("text", { x: LEFT - 6, y: y(mark) + 4, "text-anchor": "end" }, this.svg)
        .textContent = this.words(Number(mark.toPrecision(6)));
    }
    for (const [i, anchor] of [[0, "start"], [last, "end"]]) {
      if (i === 0 && last === 0) continue;
      make("text", { x: x(i), y: HEIGHT - 5, "text-anchor": anchor }, this.svg)
        .textContent = new Date(times[i]).toLocaleTimeString("en-GB");
    }
    series.forEach((values, i) => {
      let path = "", open = false;
      values.forEach((value, j) => {
        if (value === null) {
          open = false;
          return;
        }
        path += `${open ? "L" : "M"}${x(j).toFixed(1)} ${y(value).toFixed(1)}`;
        // A point alone is a dot.
        if (!open && (values[j + 1] ?? null) === null) path += "h0.1";
        open = true;
      });
      make("path", { class: "curve " + CLASSES[i], d: path || "M0 0" }, this.svg);
    });
    if (this.at !== null) {
      make("line", { class: "cursor", x1: x(at), x2: x(at), y1: TOP, y2: HEIGHT - BOTTOM }, this.svg);
    }
  }
}
