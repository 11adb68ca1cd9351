// The views Queries, a sortable table, and Log, the last entries of the processing log.

import {el, setText, short, rate, millis, clock} from "./dom.js";
import {json} from "./api.js";

const WORDS = {failing: "failing", lagging: "lagging", dropping: "bad records", well: "running", paused: "paused"};
const NUMBERS = ["in", "out", "behind", "p99", "bad"];
const RANK = {failing: 0, lagging: 1, dropping: 2, well: 3, paused: 4};
const LOG_EVERY_MS = 3000;
const LOG_ENTRIES = 100;
const COLUMNS = [
  ["state", (q) => RANK[q.now.status], (q) => WORDS[q.now.status]],
  ["query", (q) => q.id, (q) => q.id],
  ["reads", (q) => q.sources.join(", "), (q) => q.sources.join(", ")],
  ["writes", (q) => q.sink, (q) => q.sink],
  ["in", (q) => -(q.now.read ?? -1), (q) => rate(q.now.read)],
  ["out", (q) => -(q.now.written ?? -1), (q) => rate(q.now.written)],
  ["behind", (q) => -q.now.lag, (q) => short(q.now.lag)],
  ["p99", (q) => -(q.now.latency.p99 ?? -1), (q) => millis(q.now.latency.p99)],
  ["bad", (q) => -(q.figures.failed ?? 0), (q) => short(q.figures.failed ?? 0)],
];

export class QueryList {
  constructor(place, model, onSelect) {
    this.model = model;
    this.onSelect = onSelect;
    this.by = 0;
    this.body = el("tbody");
    this.head = el("tr", {}, ...COLUMNS.map(([name], i) => el("th", {"aria-sort": "none", class: NUMBERS.includes(name) ? "number" : null},
      el("button", {class: "quiet", onclick: () => this.#sort(i)}, name))));
    this.rows = new Map();
    this.none = el("tr", {}, el("td", {colspan: COLUMNS.length, class: "empty"}, "No queries yet. Start one in the Editor with CREATE STREAM … AS SELECT."));
    place.append(el("div", {class: "scroll"}, el("table", {class: "rows queries"}, el("thead", {}, this.head), this.body)));
  }

  #sort(column) {
    this.by = column;
    this.update();
  }

  update() {
    [...this.head.children].forEach((th, i) => th.setAttribute("aria-sort", i === this.by ? "ascending" : "none"));
    const key = COLUMNS[this.by][1];
    const compare = (a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : a.id.localeCompare(b.id));
    const queries = [...this.model.queries.values()].sort(compare);
    const rows = queries.length ? queries.map((query) => this.#row(query)) : [this.none];
    if (rows.length !== this.body.children.length || rows.some((row, i) => this.body.children[i] !== row)) {
      this.body.replaceChildren(...rows);
    }
    for (const id of this.rows.keys()) if (!this.model.queries.has(id)) this.rows.delete(id);
  }

  #row(query) {
    if (!this.rows.has(query.id)) {
      const cells = COLUMNS.map(([name]) => el("td", {"data-label": name, class: NUMBERS.includes(name) ? "number" : name}));
      cells[1].append(el("button", {class: "link", onclick: () => this.onSelect(`query:${query.id}`)}, query.id));
      this.rows.set(query.id, el("tr", {}, ...cells));
    }
    const row = this.rows.get(query.id);
    COLUMNS.forEach(([name, , text], i) => name !== "query" && setText(row.children[i], text(query)));
    row.className = query.now.status;
    row.title = query.now.status === "failing" ? query.now.reason : "";
    return row;
  }
}

export class Log {
  constructor(place, model, onSelect) {
    this.model = model;
    this.onSelect = onSelect;
    this.entries = el("ol", {class: "log-entries"});
    this.status = el("p", {class: "status", role: "status"}, "…");
    this.before = "";
    this.timer = null;
    place.append(this.status, this.entries);
  }

  shown() {
    this.#ask();
  }

  hidden() {
    clearTimeout(this.timer);
    this.timer = null;
  }

  async #ask() {
    clearTimeout(this.timer);
    const topic = this.model.server?.processingLog;
    try {
      if (topic && !document.hidden) this.#show(await json(`/page/records/${encodeURIComponent(topic)}?count=${LOG_ENTRIES}`), topic);
    } catch (error) {
      setText(this.status, error.message);
    }
    this.timer = setTimeout(() => this.#ask(), LOG_EVERY_MS);
  }

  #show(records, topic) {
    const text = JSON.stringify(records);
    if (text === this.before) return;
    this.before = text;
    setText(this.status, records.length ? `The last ${records.length} entries of ${topic}, the newest first` : `${topic} has no entries: no record was left out, no query has failed.`);
    this.entries.replaceChildren(...[...records].reverse().map((record) => this.#entry(record)));
  }

  #entry(record) {
    const entry = parsed(record.value);
    const message = entry?.message ?? {};
    const [kind, body] = Object.entries(message).find(([, value]) => value && typeof value === "object") ?? ["", {}];
    const logger = entry?.logger?.replace(/^processing\./, "") ?? "";
    const id = [...this.model.queries.keys()].find((query) => logger === query || logger.startsWith(`${query}.`));
    const place = [body.topic, body.partition === undefined ? "" : `partition ${body.partition}, offset ${body.offset}`].filter(Boolean).join(", ");
    return el("li", {class: kind === "kafkaStreamsThreadError" ? "failing" : ""},
      el("time", {}, clock(entry?.time ?? record.time)),
      id ? el("button", {class: "link", onclick: () => this.onSelect(`query:${id}`)}, logger) : el("span", {class: "logger"}, logger),
      el("span", {class: "log-kind"}, kind), el("p", {}, body.errorMessage ?? record.value), place ? el("p", {class: "place"}, place) : null);
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
