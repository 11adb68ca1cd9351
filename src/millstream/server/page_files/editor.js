// The editor for statements, with syntax colours and completion; results are shown below it, rows as they arrive.

import {el, setText} from "./dom.js";
import {execute, follow, Refused} from "./api.js";
import {Rows, tableOf} from "./rows.js";
import {completions, statements, tokens} from "./sql.js";

const MOST_ANSWERS = 20;
// How often rows are asked for, in ms: rows.js draws them no more often.
const INTERVAL = {"millstream.push.interval.ms": "200"};
const EXAMPLE = "SHOW STREAMS;\n";

export class Editor {
  constructor(place, model) {
    this.model = model;
    this.functions = null;
    this.running = null;
    this.text = el("textarea", {id: "sql", spellcheck: "false", autocapitalize: "off", autocomplete: "off", rows: 8,
      "aria-label": "Statements", "aria-describedby": "editor-help", "aria-controls": "suggestions", "aria-autocomplete": "list",
      oninput: () => this.#changed(true), onscroll: () => this.#scrolled(), onkeydown: (event) => this.#key(event), onblur: () => this.#suggest([]),
      onclick: () => this.#suggest([])});
    this.coloured = el("pre", {"aria-hidden": "true", class: "coloured"});
    this.list = el("ul", {id: "suggestions", role: "listbox", "aria-label": "Completions", hidden: true});
    this.runButton = el("button", {class: "primary", id: "run", onclick: () => this.run()}, "Run");
    this.stopButton = el("button", {id: "stop", hidden: true, onclick: () => this.stop()}, "Stop");
    this.earliest = el("input", {type: "checkbox", id: "earliest"});
    this.answers = el("div", {class: "answers", id: "answers"});
    place.append(
      el("div", {class: "sql"}, this.coloured, this.text, this.list),
      el("div", {class: "row"}, this.runButton, this.stopButton, el("label", {class: "check"}, this.earliest, "read topics from their beginning"),
        el("span", {id: "editor-help", class: "help"}, "Ctrl + Enter runs, Tab completes")),
      this.answers);
    this.set(EXAMPLE);
  }

  set(text) {
    this.text.value = text;
    this.#changed(false);
  }

  async shown() {
    this.text.focus();
    if (this.functions === null) {
      this.functions = [];
      const [answer] = await execute("SHOW FUNCTIONS;").catch(() => []);
      this.functions = answer?.functions.map((each) => each.name) ?? [];
    }
  }

  stop() {
    this.running?.abort();
  }

  // Execute the selected text, or all text if none is selected, statement by statement, up to the first error.
  async run() {
    this.stop();
    const {selectionStart: from, selectionEnd: to, value} = this.text;
    const abort = (this.running = new AbortController());
    this.#setRunning(true);
    const properties = this.earliest.checked ? {"auto.offset.reset": "earliest"} : {};
    try {
      for (const step of statements(from < to ? value.slice(from, to) : value)) {
        if (abort.signal.aborted || !(await this.#step(step, properties, abort.signal))) break;
      }
    } finally {
      if (this.running === abort) {
        this.running = null;
        this.#setRunning(false);
      }
    }
  }

  #setRunning(isRunning) {
    this.stopButton.hidden = !isRunning;
    this.runButton.textContent = isRunning ? "Run again" : "Run";
  }

  // Execute one step (see sql.js); resolves to true if it succeeded.
  async #step(step, properties, signal) {
    const block = el("section", {class: "answer"}, el("pre", {class: "asked"}, ...colours(step.shown)));
    this.answers.prepend(block);
    while (this.answers.children.length > MOST_ANSWERS) this.answers.lastChild.remove();
    try {
      if (step.isQuery) await this.#follow(step, properties, block, signal);
      else block.append(...(await execute(step.text, properties)).map(entity), done());
    } catch (error) {
      if (!(error instanceof Refused || error instanceof TypeError)) throw error;
      block.append(...(error.body?.entities ?? []).map(entity), el("p", {class: "error message", role: "alert"}, error.message));
      return false;
    }
    return true;
  }

  async #follow(step, properties, block, signal) {
    const rows = new Rows(step.isLive);
    block.append(rows.element);
    const on = {
      header: (header) => rows.header(header.columnNames, header.columnTypes),
      rows: (more) => rows.add(more),
      lines: (lines) => {
        if (!rows.names.length) rows.header(["record"]);
        rows.add(lines.map((line) => [line]));
      },
    };
    try {
      await follow(step.text, {...INTERVAL, ...properties}, on, signal);
      rows.end("The query has ended.");
    } catch (error) {
      if (error.name !== "AbortError") {
        rows.end("", true);
        throw error;
      }
      rows.end("Stopped.");
    }
  }

  #changed(isTyped) {
    this.coloured.replaceChildren(...colours(this.text.value), "\n");
    this.#scrolled();
    const {selectionStart, value} = this.text;
    const found = isTyped ? completions(value, selectionStart, this.model, this.functions ?? []) : {words: []};
    this.from = found.from;
    this.#suggest(found.words);
  }

  #scrolled() {
    this.coloured.scrollTop = this.text.scrollTop;
    this.coloured.scrollLeft = this.text.scrollLeft;
  }

  #suggest(words) {
    this.words = words;
    this.chosen = 0;
    this.list.hidden = !words.length;
    this.list.replaceChildren(...words.map((word, i) => el("li", {role: "option", id: `word${i}`, "aria-selected": i === 0,
      onmousedown: (event) => {
        event.preventDefault();
        this.#complete(i);
      }}, word)));
    if (words.length) this.#place();
  }

  // Place the list of completions below the word at the cursor.
  #place() {
    const before = this.text.value.slice(0, this.from).split("\n");
    const style = getComputedStyle(this.text);
    const height = parseFloat(style.lineHeight);
    this.list.style.top = `${before.length * height + parseFloat(style.paddingTop) - this.text.scrollTop + 2}px`;
    this.list.style.left = `calc(${before.at(-1).length}ch + ${parseFloat(style.paddingLeft) - this.text.scrollLeft}px)`;
  }

  #key(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.#suggest([]);
      this.run();
    } else if (this.words.length && event.key === "Tab" && !event.shiftKey) {
      event.preventDefault();
      this.#complete(this.chosen);
    } else if (this.words.length && event.key === "Escape") {
      event.stopPropagation();
      this.#suggest([]);
    } else if (this.words.length && ["ArrowDown", "ArrowUp"].includes(event.key)) {
      event.preventDefault();
      this.chosen = (this.chosen + (event.key === "ArrowDown" ? 1 : this.words.length - 1)) % this.words.length;
      [...this.list.children].forEach((item, i) => item.setAttribute("aria-selected", i === this.chosen));
    }
  }

  #complete(chosen) {
    const word = this.words[chosen];
    this.text.setRangeText(word, this.from, this.text.selectionStart, "end");
    this.#changed(false);
    this.text.focus();
  }
}

export const colours = (text) => [...tokens(text)].map(({kind, text: part}) => (kind === "space" ? part : el("span", {class: `t-${kind}`}, part)));

const done = () => el("p", {class: "status"}, "Done.");

// Render an entity of the REST API: a list as a table, a status as its message, anything else as its fields.
function entity(one) {
  if (one["@type"] === "currentStatus") {
    return el("p", {class: one.commandStatus.status === "ERROR" ? "error message" : "message"}, one.commandStatus.message);
  }
  const warnings = (one.warnings ?? []).map((warning) => el("p", {class: "warning"}, warning.message ?? JSON.stringify(warning)));
  const body = one.sourceDescription ?? one.queryDescription ?? one;
  const fields = Object.entries(body).filter(([name]) => !["@type", "statementText", "warnings"].includes(name));
  const parts = fields.map(([name, value]) => part(name, value, fields.length > 1));
  return el("div", {class: "entity"}, ...warnings, ...parts);
}

function part(name, value, isNamed) {
  const isList = Array.isArray(value) && value.length && value.every((item) => item && typeof item === "object");
  const isLong = typeof value === "string" && value.includes("\n");
  if (isList) return el("div", {}, isNamed ? el("h4", {}, name) : null, tableOf(value));
  if (isLong) return el("div", {}, el("h4", {}, name), el("pre", {class: "plan"}, value));
  if (value === null || value === "" || (Array.isArray(value) && !value.length)) return isNamed ? null : el("p", {class: "status"}, "None.");
  return el("p", {class: "field"}, el("b", {}, `${name} `), typeof value === "object" ? JSON.stringify(value) : String(value));
}
