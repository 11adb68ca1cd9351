// Shows rows as they arrive, in a table, and their numeric columns in a chart. It is redrawn a few times a second,
// independently of the rate of rows. The table has the latest rows, the newest first, if `isLive`; else the first rows, in order.

import {el, svg, setText, rate, short, clock} from "./dom.js";

const SHOWN = 100;
const POINTS = 300;
const EVERY_MS = 250;
const LINES = 4;
const CHART = {width: 640, height: 180, left: 52, bottom: 20, top: 8, right: 10};

export class Rows {
  constructor(isLive) {
    this.isLive = isLive;
    this.names = [];
    this.rows = [];
    this.count = 0;
    this.times = [];
    this.points = [];
    this.shown = null;
    this.timer = null;
    this.status = el("p", {class: "status", role: "status"}, "waiting for rows …");
    this.chart = el("div", {class: "chart", hidden: true});
    this.body = el("tbody");
    this.head = el("tr");
    this.table = el("div", {class: "scroll", tabindex: 0}, el("table", {class: "rows"}, el("thead", {}, this.head), this.body));
    this.element = el("div", {class: "rows-of"}, this.status, this.chart, this.table);
  }

  header(names, types) {
    this.names = names;
    this.numeric = names.map((name, i) => [name, i, types?.[i] ?? ""])
      .filter(([, , type]) => /^(INTEGER|BIGINT|DOUBLE|DECIMAL)/.test(type)).slice(0, LINES);
    const isNumber = (i) => /^(INTEGER|BIGINT|DOUBLE|DECIMAL)/.test(types?.[i] ?? "");
    this.head.replaceChildren(...names.map((name, i) => el("th", {title: types?.[i] ?? "", class: isNumber(i) ? "number" : null}, name)));
  }

  add(rows) {
    const now = Date.now();
    this.count += rows.length;
    this.times.push([now, rows.length]);
    if (this.isLive) this.rows = [...rows.slice(-SHOWN).reverse(), ...this.rows].slice(0, SHOWN);
    else if (this.rows.length < SHOWN) this.rows.push(...rows.slice(0, SHOWN - this.rows.length));
    for (const row of rows) this.points.push([now, row]);
    if (this.points.length > POINTS) this.points.splice(0, this.points.length - POINTS);
    this.#soon();
  }

  // Show how the rows ended: a final message, or an error.
  end(text, isError) {
    this.ended = text;
    if (isError) this.status.classList.add("error");
    // Of a refused query there is only the error to show.
    this.element.hidden = isError && !this.names.length;
    this.#soon();
  }

  #soon() {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.#draw();
    }, EVERY_MS);
  }

  #draw() {
    const now = Date.now();
    this.times = this.times.filter(([at]) => now - at < 5000);
    const perSecond = this.times.reduce((sum, [, count]) => sum + count, 0) / 5;
    const rows = `${short(this.count)} row${this.count === 1 ? "" : "s"}`;
    setText(this.status, this.ended === undefined ? `${rows}, ${rate(perSecond)}` : `${rows}. ${this.ended}`);
    this.body.replaceChildren(...this.rows.map((row) => el("tr", {}, ...row.map(cell))));
    if (this.numeric?.length && this.points.length > 1) this.#drawChart();
  }

  #drawChart() {
    const {width, height, left, right, top, bottom} = CHART;
    const [first, last] = [this.points[0][0], this.points.at(-1)[0]];
    const values = this.numeric.map(([, i]) => this.points.map(([, row]) => row[i]).map((v) => (v === null ? null : Number(v))));
    const all = values.flat().filter((value) => value !== null && Number.isFinite(value));
    if (!all.length) return;
    const [low, high] = [Math.min(...all), Math.max(...all)];
    // Rows are spaced evenly in order of arrival, since many arrive at the same time.
    const x = (i) => left + ((width - left - right) * i) / (this.points.length - 1);
    const y = (value) => top + (height - top - bottom) * (1 - (high === low ? 0.5 : (value - low) / (high - low)));
    const line = (series) => series.map((v, i) => (v === null ? "" : `${x(i).toFixed(1)},${y(v).toFixed(1)}`)).join(" ");
    const texts = [[high, y(high)], [low, y(low)]].map(([value, at]) => svg("text", {x: left - 6, y: at + 4, class: "axis end"}, short(value)));
    this.chart.replaceChildren(
      svg("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Chart of ${this.numeric.map(([name]) => name).join(", ")}`},
        svg("path", {class: "frame", d: `M${left} ${top}V${height - bottom}H${width - right}`}), ...texts,
        svg("text", {x: left, y: height - 5, class: "axis"}, clock(first).slice(0, 8)),
        svg("text", {x: width - right, y: height - 5, class: "axis end"}, clock(last).slice(0, 8)),
        ...values.map((series, i) => svg("polyline", {points: line(series), class: `line line${i}`}))),
      el("p", {class: "legend"}, ...this.numeric.map(([name], i) => el("span", {class: `key key${i}`}, name))));
    this.chart.hidden = false;
  }
}

export function cell(value) {
  if (value === null || value === undefined) return el("td", {class: "null"}, "null");
  if (typeof value === "number") return el("td", {class: "number"}, String(value));
  return el("td", {}, typeof value === "object" ? JSON.stringify(value) : String(value));
}

// A table of objects with a column for each field; `names` chooses the columns.
export function tableOf(objects, names = null) {
  const columns = names ?? [...new Set(objects.flatMap((object) => Object.keys(object)))];
  return el("div", {class: "scroll", tabindex: 0}, el("table", {class: "rows"},
    el("thead", {}, el("tr", {}, ...columns.map((name) => el("th", {class: objects.some((o) => typeof o[name] === "number") ? "number" : null}, name)))),
    el("tbody", {}, ...objects.map((object) => el("tr", {}, ...columns.map((name) => cell(object[name])))))));
}
