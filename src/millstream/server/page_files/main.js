// The page's entry point: polls the server and updates the four views and the details panel.

import {byId, el, setText, rate, short, bytes} from "./dom.js";
import {changed, isLoggedIn, logout} from "./api.js";
import {Model} from "./model.js";
import {Graph, contents, narrowed} from "./graph.js";
import {Detail} from "./detail.js";
import {Editor} from "./editor.js";
import {Log, QueryList} from "./lists.js";

const POLL_MS = 2000;
// In views that show no figures but the summary.
const SLOW_POLL_MS = 5000;
const PAUSE_MS = 5000;
const SHOWN_TROUBLES = 4;
const FILTERS = [["all", "All"], ["failing", "Failing"], ["lagging", "Lagging"], ["dropping", "Bad records"], ["paused", "Paused"]];

const model = new Model();
const state = {view: "flow", filter: "all", find: "", selected: "", tag: null, body: null, timer: null, isStale: true};
const actions = {select, poll, edit};
const graph = new Graph(byId("graph"), select);
const detail = new Detail(byId("detail"), model, actions);
const editor = new Editor(byId("editor"), model);
const list = new QueryList(byId("query-list"), model, select);
const log = new Log(byId("log"), model, select);

// ---------------------------------------------------------------- polling

async function poll() {
  clearTimeout(state.timer);
  let pause = ["flow", "queries"].includes(state.view) || state.selected ? POLL_MS : SLOW_POLL_MS;
  try {
    const have = model.position === null ? "" : `?have=${model.position}`;
    const answer = document.hidden && model.server ? null : await changed(`/page/live${have}`, state.tag);
    if (answer) Object.assign(state, answer);
    // After a 304 the same figures are taken again with a new time, so that rates go down to 0.
    if (state.body && !document.hidden) {
      const isNew = model.take(state.body, Date.now());
      if (isNew && have && lacksText()) state.tag = null, (model.position = null), (pause = 0);
      state.isStale ||= isNew;
    }
    document.body.classList.remove("away");
    if (model.server) show();
  } catch (error) {
    document.body.classList.add("away");
    setText(byId("server"), `no answer: ${error.message}`);
    pause = PAUSE_MS;
  }
  // Another call may have set a timer meanwhile.
  clearTimeout(state.timer);
  state.timer = setTimeout(poll, pause);
}

// Whether there is a new source or query of which only the figures were sent, so that a full answer is needed.
const lacksText = () => [...model.sources.values(), ...model.queries.values()].some((each) => each.statement === undefined);

function show() {
  const {server} = model;
  setText(byId("server"), `${server.service} at ${server.host}, ${server.leads ? "runs the queries" : "stands by"}, millstream ${model.version}`);
  byId("user").hidden = !isLoggedIn();
  setText(byId("user"), `${model.user}: log out`);
  showSummary();
  showTroubles();
  showFilters();
  if (state.view === "flow") showGraph();
  if (state.view === "queries") list.update();
  detail.update();
}

function showSummary() {
  const queries = [...model.queries.values()];
  const sum = (of) => queries.reduce((all, query) => all + (of(query) ?? 0), 0);
  const {jvm, server} = model;
  const figures = [
    ["queries", short(queries.length), ""],
    ["failing", short(model.count("failing")), model.count("failing") ? "bad" : ""],
    ["in", rate(sum((q) => q.now.read)), ""],
    ["out", rate(sum((q) => q.now.written)), ""],
    ["behind", short(sum((q) => q.now.lag)), model.count("lagging") ? "warn" : ""],
    ["state", bytes(sum((q) => q.figures.stateBytes)), ""],
    ["slots", `${server.slotsTaken} of ${server.slots}`, ""],
    ["heap", jvm.heapUsed ? bytes(jvm.heapUsed) : "–", ""],
    ["push queries", short(server.pushQueries), ""],
  ];
  const place = byId("summary");
  if (place.children.length !== figures.length) {
    place.replaceChildren(...figures.map(([name]) => el("div", {}, el("span", {class: "value"}), el("span", {class: "label"}, name))));
  }
  figures.forEach(([, value, kind], i) => {
    setText(place.children[i].firstChild, value);
    place.children[i].className = kind;
  });
}

function showTroubles() {
  const troubles = model.troubles();
  const loops = Object.entries(model.server.loops).filter(([, error]) => error).map(([name, error]) => ["failing", "", name, error]);
  const words = {failing: (q) => q.now.reason, lagging: (q) => `${short(q.now.lag)} records behind`, dropping: (q) => `${short(q.now.drops)} bad records in the last minute`};
  const all = [...loops, ...troubles.map((q) => [q.now.status, `query:${q.id}`, q.id, words[q.now.status](q)])];
  const text = JSON.stringify(all);
  if (text === state.troubles) return;
  state.troubles = text;
  const place = byId("troubles");
  place.hidden = !all.length;
  const lines = all.slice(0, SHOWN_TROUBLES).map(([status, id, name, why]) => el("button", {class: `trouble ${status}`, onclick: () => id && select(id)},
    el("b", {}, name), el("span", {}, why || status)));
  const more = all.length - lines.length;
  place.replaceChildren(...lines, ...(more > 0 ? [el("button", {class: "trouble link", onclick: () => view("queries")}, `and ${more} more`)] : []));
}

function showFilters() {
  const place = byId("filters");
  if (!place.children.length) {
    place.append(...FILTERS.map(([name]) => el("button", {"data-filter": name, onclick: () => filter(name)})));
  }
  FILTERS.forEach(([name, title], i) => {
    const count = name === "all" ? model.queries.size : model.count(name);
    setText(place.children[i], `${title} ${count}`);
    place.children[i].hidden = name !== "all" && !count && state.filter !== name;
    place.children[i].setAttribute("aria-pressed", state.filter === name);
  });
}

function showGraph() {
  if (state.isStale && byId("graph").clientWidth) {
    state.isStale = false;
    graph.draw(narrowed(contents(model), wanted()), model);
    graph.mark(state.selected, model);
  } else graph.update(model);
}

// A predicate for the nodes that match the search text and the filter; null if all do.
function wanted() {
  const text = state.find.trim().toUpperCase();
  if (state.filter === "all" && !text) return null;
  const statusOf = (node) => model.queries.get(node.query?.id)?.now.status;
  return (node) => (state.filter === "all" || statusOf(node) === state.filter) &&
    (!text || [node.name, node.source?.topic ?? ""].some((name) => name.toUpperCase().includes(text)));
}

// ---------------------------------------------------------------- user actions

function filter(name) {
  state.filter = name;
  redraw();
}

function redraw() {
  state.isStale = true;
  if (model.server) show();
}

function select(id) {
  state.selected = id;
  if (id) detail.show(id);
  else detail.close();
  if (location.hash.slice(1) !== encodeURIComponent(id)) history.replaceState(null, "", id ? `#${encodeURIComponent(id)}` : location.pathname);
  if (state.view === "flow") {
    redraw();
    if (id) graph.reveal(id);
  }
}

function view(name) {
  state.view = name;
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const isChosen = tab.dataset.view === name;
    tab.setAttribute("aria-selected", isChosen);
    tab.tabIndex = isChosen ? 0 : -1;
    byId(`view-${tab.dataset.view}`).hidden = !isChosen;
  }
  if (name === "editor") editor.shown();
  if (name === "log") log.shown();
  else log.hidden();
  if (model.server) redraw();
  if (model.server && ["flow", "queries"].includes(name)) poll();
}

// Put statements into the editor, and run them if `isRun`.
function edit(text, isRun = false) {
  if (innerWidth < 900) select("");
  editor.set(text);
  view("editor");
  if (isRun) editor.run();
}

function theme(name) {
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
}

function switchTheme() {
  const isDark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  theme(isDark ? "light" : "dark");
  localStorage.setItem("theme", isDark ? "light" : "dark");
}

const isTyping = (target) => target.closest("input, textarea, dialog") !== null;

function onKey(event) {
  if (event.key === "Escape" && state.selected && !byId("confirm").open) select("");
  if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
  const views = {1: "flow", 2: "queries", 3: "editor", 4: "log"};
  if (views[event.key]) {
    // The editor takes the focus: without this the key itself would be typed into it.
    event.preventDefault();
    view(views[event.key]);
  } else if (event.key === "t") switchTheme();
  else if (event.key === "/") {
    event.preventDefault();
    view("flow");
    byId("find").focus();
  }
}

function onTabKey(event) {
  const tabs = [...document.querySelectorAll("[role=tab]")];
  const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
  if (!step) return;
  const next = tabs[(tabs.indexOf(event.target) + step + tabs.length) % tabs.length];
  view(next.dataset.view);
  next.focus();
}

function start() {
  theme(localStorage.getItem("theme"));
  byId("theme").addEventListener("click", switchTheme);
  byId("user").addEventListener("click", () => (logout(), location.reload()));
  for (const tab of document.querySelectorAll("[role=tab]")) {
    tab.addEventListener("click", () => view(tab.dataset.view));
    tab.addEventListener("keydown", onTabKey);
  }
  byId("find").addEventListener("input", (event) => ((state.find = event.target.value), redraw()));
  document.addEventListener("keydown", onKey);
  document.addEventListener("visibilitychange", () => document.hidden || poll());
  let width = innerWidth;
  addEventListener("resize", () => innerWidth !== width && ((width = innerWidth), redraw()));
  view("flow");
  poll().then(() => location.hash.length > 1 && select(decodeURIComponent(location.hash.slice(1))));
}

start();
