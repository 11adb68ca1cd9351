// The details panel: a source's columns, records and partitions; a query's SQL, plan, figures, errors and controls.

import {el, setText, short, rate, bytes, millis, ago, clock, confirmed} from "./dom.js";
import {execute, json} from "./api.js";
import {colours} from "./editor.js";
import {tableOf} from "./rows.js";

const RECORDS_EVERY_MS = 3000;
const RECORDS = 20;

export class Detail {
  constructor(place, model, actions) {
    this.place = place;
    this.model = model;
    this.actions = actions;
    this.id = "";
    this.live = [];
    this.timer = null;
  }

  // Show the details of a node of the graph, by its id; "" closes the panel.
  show(id) {
    if (this.id === id) return;
    this.close();
    this.id = id;
    this.place.hidden = !id;
    document.body.classList.toggle("with-detail", Boolean(id));
    if (id) this.#build();
  }

  close() {
    clearTimeout(this.timer);
    this.timer = null;
    this.live = [];
    this.place.replaceChildren();
    this.id = "";
    this.place.hidden = true;
    document.body.classList.remove("with-detail");
  }

  update() {
    for (const refresh of this.live) refresh();
  }

  #build() {
    const [kind, name] = [this.id.slice(0, this.id.indexOf(":")), this.id.slice(this.id.indexOf(":") + 1)];
    const query = kind === "query" && this.model.queries.get(name);
    const sources = [...this.model.sources.values()];
    const source = kind === "source" ? this.model.sources.get(name) : sources.find((each) => each.topic === name);
    if (!query && !source) return this.actions.select("");
    const title = query ? "query" : kind === "topic" ? "topic" : source.kind.toLowerCase();
    this.place.append(el("div", {class: "head"}, el("p", {class: `kind ${title}`}, title), el("h2", {}, name),
      el("button", {class: "quiet close", "aria-label": "Close details", title: "Close (Esc)", onclick: () => this.actions.select("")}, "✕")));
    if (query) this.#query(name);
    else this.#source(source.name, kind === "topic");
    this.update();
  }

  // A part that is updated with the figures: `make` returns its nodes, which replace the old ones only if their HTML differs.
  #live(make) {
    const holder = el("div", {});
    let before = null;
    this.live.push(() => {
      const content = make();
      const text = JSON.stringify(content.map((part) => part?.outerHTML ?? part));
      if (text !== before) holder.replaceChildren(...content.filter(Boolean));
      before = text;
    });
    return holder;
  }

  // ---------------------------------------------------------------- a query

  #query(id) {
    const query = () => this.model.queries.get(id);
    this.place.append(this.#live(() => (query() ? queryState(query()) : [el("p", {class: "status"}, "It is gone.")])),
      this.#controls(id),
      this.#live(() => (query() ? queryFigures(query()) : [])),
      el("h3", {}, "SQL"), el("pre", {class: "sql-text"}, ...colours(query().statement ?? "")),
      this.#live(() => (query() ? neighbours(query(), this.actions) : [])),
      this.#live(() => (query() ? partitions(query()) : [])));
    const plan = el("pre", {class: "plan"}, "…");
    this.place.append(el("h3", {}, "Plan"), plan);
    execute(`EXPLAIN ${id};`).then(([answer]) => setText(plan, answer.queryDescription.executionPlan)).catch((error) => setText(plan, error.message));
    this.place.append(this.#live(() => (query() ? failures(query()) : [])));
  }

  #controls(id) {
    const say = el("p", {class: "error message", role: "alert", hidden: true});
    const button = (verb, question, name, isShown) => {
      const made = el("button", {class: name, onclick: () => this.#control(id, verb, question, say)}, verb);
      this.live.push(() => (made.hidden = !isShown(this.model.queries.get(id))));
      return made;
    };
    return el("div", {}, el("div", {class: "row"},
      button("PAUSE", "It ends its batch and reads no more until it is resumed. What comes meanwhile waits in Kafka.", "", (q) => q && q.state !== "PAUSED"),
      button("RESUME", "It goes on from where it was.", "primary", (q) => q && q.state === "PAUSED"),
      button("TERMINATE", "It ends for good, with its state and its position. What it has written stays.", "danger", (q) => Boolean(q)),
      el("button", {onclick: () => this.actions.edit(`EXPLAIN ${id};\n`)}, "In the editor")), say);
  }

  async #control(id, verb, question, say) {
    if (!(await confirmed(`${verb} ${id}?`, question, verb))) return;
    say.hidden = true;
    try {
      await execute(`${verb} ${id};`);
      await this.actions.poll();
    } catch (error) {
      say.hidden = false;
      setText(say, error.message);
    }
  }

  // ---------------------------------------------------------------- a source, or a topic

  #source(name, isTopic) {
    const source = () => this.model.sources.get(name);
    const {topic, columns, statement, keyFormat, valueFormat, kind} = source();
    const select = `SELECT * FROM ${identifier(name)} EMIT CHANGES;\n`;
    this.place.append(
      facts([["topic", topic], ["key format", keyFormat], ["value format", valueFormat], ["window", source().windowed]]),
      this.#live(() => (source() ? [facts([["written", source().rate === null ? "–" : rate(source().rate)]])] : [el("p", {class: "status"}, "It is gone.")])),
      el("div", {class: "row"}, el("button", {class: "primary", onclick: () => this.actions.edit(select, true)}, "Watch its rows"),
        el("button", {onclick: () => this.actions.edit(`DESCRIBE ${identifier(name)} EXTENDED;\n`, true)}, "Describe")));
    if (!isTopic) {
      this.place.append(el("h3", {}, "Columns"), tableOf((columns ?? []).map((column) => ({column: column.name, type: column.type,
        part: column.part === "KEY" ? (kind === "TABLE" ? "primary key" : "key") : column.part.toLowerCase()}))));
    }
    this.place.append(el("h3", {}, "Last records"), this.#records(topic), this.#live(() => (source() ? this.#ends(source()) : [])));
    if (!isTopic) this.place.append(el("h3", {}, "SQL"), el("pre", {class: "sql-text"}, ...colours(statement ?? "")));
  }

  #records(topic) {
    const holder = el("div", {class: "records"}, el("p", {class: "status"}, "…"));
    const id = this.id;
    let before = "";
    const ask = async () => {
      try {
        const records = document.hidden ? null : await json(`/page/records/${encodeURIComponent(topic)}?count=${RECORDS}`);
        const text = JSON.stringify(records);
        if (records && text !== before) holder.replaceChildren(recordTable(records));
        before = records ? text : before;
      } catch (error) {
        holder.replaceChildren(el("p", {class: "error message"}, error.message));
      }
      if (this.id === id) this.timer = setTimeout(ask, RECORDS_EVERY_MS);
    };
    ask();
    return holder;
  }

  #ends(source) {
    const readers = [...this.model.queries.values()].filter((query) => query.sources.includes(source.name));
    const lag = (query, partition) => query.lag.find((place) => place.topic === source.topic && String(place.partition) === partition)?.lag;
    const rows = Object.entries(source.ends).map(([partition, end]) => ({partition: Number(partition), end,
      ...Object.fromEntries(readers.map((query) => [`lag of ${query.id}`, lag(query, partition) ?? null]))}));
    return [el("h3", {}, "Partitions"), rows.length ? tableOf(rows) : el("p", {class: "status"}, "Kafka has not told yet.")];
  }
}

function queryState(query) {
  const {status, reason} = query.now;
  const words = {failing: "failing", lagging: "lagging", dropping: "running, with bad records", paused: "paused", well: query.runsHere ? "running" : "running on another server"};
  const times = query.restarts ? `, ${query.restarts} restart${query.restarts === 1 ? "" : "s"}` : "";
  return [el("p", {class: `state ${status}`}, `${words[status]}${times}`),
    status === "failing" ? el("p", {class: "error message reason"}, reason || "It has not said why.") : null,
    status === "dropping" ? el("p", {class: "warning"}, `${short(query.now.drops)} entries in the processing log in the last minute.`) : null];
}

function queryFigures(query) {
  const {figures, now} = query;
  if (figures.read === undefined) return [];
  return [facts([
    ["in", rate(now.read)], ["out", rate(now.written)], ["behind", short(now.lag)],
    ["latency, median", millis(now.latency.p50)], ["99 %", millis(now.latency.p99)],
    ["state", figures.stateRows ? `${short(figures.stateRows)} rows, ${bytes(figures.stateBytes)}` : "none"],
    ["read in all", short(figures.read)], ["written", `${short(figures.written)}, ${bytes(figures.bytes)}`],
    ["bad records", short(figures.failed)], ["late", short(figures.late)],
    ["checkpoint", figures.committed ? ago(figures.committed) : "none yet"],
  ])];
}

function neighbours(query, actions) {
  const link = (name) => el("button", {class: "link", onclick: () => actions.select(`source:${name}`)}, name);
  return [el("p", {class: "field"}, el("b", {}, "reads "), ...query.sources.flatMap((name) => [link(name), " "]), el("b", {}, " writes "), link(query.sink))];
}

function partitions(query) {
  if (!query.lag.length) return [];
  return [el("h3", {}, "Partitions"), tableOf(query.lag.map(({topic, partition, position, lag}) => ({topic, partition, position, lag})))];
}

function failures(query) {
  if (!query.failures.length) return [];
  return [el("h3", {}, "Failures"), el("ol", {class: "failures"}, ...[...query.failures].reverse().map((failure) =>
    el("li", {}, el("time", {}, new Date(failure.at).toLocaleString("en-GB")), el("p", {class: "error"}, failure.message))))];
}

const facts = (pairs) => el("dl", {class: "facts"}, ...pairs.filter(([, value]) => value !== null && value !== undefined)
  .map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, String(value)))));

function recordTable(records) {
  if (!records.length) return el("p", {class: "status"}, "The topic is empty.");
  return tableOf([...records].reverse().map((record) => ({time: clock(record.time), key: record.key, value: record.value, at: `${record.partition}:${record.offset}`})));
}

const identifier = (name) => (/^[A-Z_@][A-Z0-9_@]*$/.test(name) ? name : `\`${name}\``);
