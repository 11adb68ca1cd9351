// The data flow graph: its nodes and edges, their drawing as SVG, and the update of the figures.

import {el, svg, setText, setClass, rate, millis, short} from "./dom.js";
import {layered} from "./layout.js";

const WIDE = {width: 208, height: 48, along: 92, gap: 16, between: 28, isDown: false};
// The least sizes of nodes and gaps (px) when layers are squeezed to fit the window, the largest gap, and the largest width
// of nodes, which they have if names are long and there is room.
const LEAST = {width: 148, along: 52};
const MOST_GAP = 40;
const MOST_WIDTH = 420;
// The least sizes on a screen narrower than NARROW_BELOW px, where data flows downwards.
const NARROW = {width: 104, height: 52, along: 46, gap: 10, between: 16, isDown: true};
const NARROW_BELOW = 640;
const MARGIN = 14;
// The fonts of a node's two lines, used to measure text; they must be the same as in style.css.
const FAMILY = "system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
const [NAME, SECOND] = [`600 12.5px ${FAMILY}`, `11.5px ${FAMILY}`];
// What a node's width has beside its text: the icon before it, and a margin.
const BESIDE_NAME = 30;
const ruler = document.createElement("canvas").getContext("2d");
const MOST_MOVING = 80;

// The nodes and edges of a model. A topic is a node if no query here writes it, or if several sources share it.
export function contents(model) {
  const [nodes, edges] = [new Map(), []];
  const queries = [...model.queries.values()];
  const read = new Set(queries.flatMap((query) => query.sources));
  const written = new Set(queries.map((query) => query.sink));
  const shown = [...model.sources.values()].filter((source) => !source.isProcessingLog || read.has(source.name));
  const sharers = new Map();
  for (const source of shown) sharers.set(source.topic, [...(sharers.get(source.topic) ?? []), source]);
  for (const [topic, sources] of sharers) {
    const writers = sources.filter((source) => written.has(source.name));
    if (writers.length && sources.length === 1) continue;
    nodes.set(`topic:${topic}`, {kind: "topic", name: topic, source: sources[0]});
    for (const source of sources) {
      const [topicId, sourceId] = [`topic:${topic}`, `source:${source.name}`];
      edges.push(writers.includes(source) ? {from: sourceId, to: topicId} : {from: topicId, to: sourceId, source});
    }
  }
  for (const source of shown) nodes.set(`source:${source.name}`, {kind: source.kind.toLowerCase(), name: source.name, source});
  for (const query of queries) {
    nodes.set(`query:${query.id}`, {kind: "query", name: query.id, query});
    for (const name of new Set(query.sources)) {
      if (nodes.has(`source:${name}`)) edges.push({from: `source:${name}`, to: `query:${query.id}`, query, reads: model.sources.get(name)});
    }
    // The query of a SOURCE table writes nothing.
    if (nodes.has(`source:${query.sink}`) && !query.sources.includes(query.sink)) {
      edges.push({from: `query:${query.id}`, to: `source:${query.sink}`, query});
    }
  }
  return {nodes, edges: edges.filter((edge) => nodes.has(edge.from) && nodes.has(edge.to))};
}

// Only the wanted nodes and those upstream or downstream of them, so that the origin of the data stays visible.
export function narrowed({nodes, edges}, wanted) {
  if (!wanted) return {nodes, edges};
  const kept = new Set([...nodes].filter(([, node]) => wanted(node)).map(([id]) => id));
  const reach = (from, to) => {
    const queue = [...kept];
    const next = new Map();
    for (const edge of edges) next.set(edge[from], [...(next.get(edge[from]) ?? []), edge[to]]);
    const seen = new Set(queue);
    while (queue.length) for (const id of next.get(queue.pop()) ?? []) if (!seen.has(id)) seen.add(id), queue.push(id);
    return seen;
  };
  const near = new Set([...reach("from", "to"), ...reach("to", "from")]);
  return {nodes: new Map([...nodes].filter(([id]) => near.has(id))), edges: edges.filter((e) => near.has(e.from) && near.has(e.to))};
}

export class Graph {
  constructor(place, onSelect) {
    this.place = place;
    this.onSelect = onSelect;
    this.drawn = null;
    this.selected = null;
    this.focused = null;
    place.addEventListener("keydown", (event) => this.#onKey(event));
  }

  get isNarrow() {
    return this.place.clientWidth < NARROW_BELOW;
  }

  // Draw the whole graph again, after nodes or edges have changed.
  draw(contents, model) {
    const order = [...contents.nodes.keys()];
    const parts = layered(order, contents.edges.map((edge) => [edge.from, edge.to]));
    const form = (this.form = this.isNarrow ? this.#fittingDown(parts) : this.#fitting(parts, longest(contents.nodes)));
    const size = this.#placed(parts, form);
    this.drawn = {contents, nodes: new Map(), edges: []};
    const hasMotion = contents.edges.length <= MOST_MOVING;
    const picture = svg("svg", {width: size.width, height: size.height, viewBox: `0 0 ${size.width} ${size.height}`,
      class: hasMotion ? "moving" : "", role: "group", "aria-label": "Flow of data"}, arrowHead());
    for (const edge of contents.edges) picture.append(this.#edge(edge));
    for (const [id, node] of contents.nodes) picture.append(this.#node(id, node));
    this.place.replaceChildren(contents.nodes.size ? picture : el("p", {class: "empty"}, "Nothing here yet. ",
      el("span", {}, "Create a stream in the Editor, and it appears.")));
    if (!this.drawn.nodes.has(this.focused)) this.focused = order[0] ?? null;
    this.update(model);
  }

  // Choose sizes for which all layers fit into the width, and a few nodes fill the height.
  #fitting(parts, longest) {
    const layers = Math.max(1, ...parts.map((part) => part.layers.length));
    const step = (this.place.clientWidth - 2 * MARGIN - 4) / layers;
    const along = Math.min(WIDE.along, Math.max(LEAST.along, step * 0.27));
    const most = Math.min(MOST_WIDTH, Math.max(WIDE.width, longest + BESIDE_NAME));
    const width = Math.min(most, Math.max(LEAST.width, step - along + along / layers));
    const lanes = parts.reduce((sum, part) => sum + Math.max(...part.across.values()) + 1, 0);
    const height = parseFloat(getComputedStyle(this.place).maxHeight) || 600;
    const gap = Math.min(MOST_GAP, Math.max(WIDE.gap, (height * 0.8) / lanes - WIDE.height));
    return {...WIDE, along, width, gap};
  }

  // Choose the width of nodes for which the widest component, or two components beside each other, fit into the width.
  #fittingDown(parts) {
    const widest = Math.max(1, ...parts.map((part) => Math.max(...part.across.values()) + 1));
    const lanes = Math.max(widest, Math.min(2, parts.length));
    const room = this.place.clientWidth - 2 * MARGIN - 4 - (lanes - 1) * NARROW.between * 2;
    return {...NARROW, width: Math.floor(Math.min(WIDE.width, Math.max(NARROW.width, room / lanes)))};
  }

  // The positions of all nodes in px: components below each other, or side by side if there is room.
  #placed(parts, form) {
    const [step, lane] = form.isDown ? [form.height + form.along, form.width + form.gap] : [form.width + form.along, form.height + form.gap];
    this.at = new Map();
    const room = Math.max(this.place.clientWidth - 2, 320);
    const sizes = parts.map(({layers, across}) => ({
      along: layers.length * step - form.along,
      across: Math.max(...across.values()) * lane + (form.isDown ? form.width : form.height),
    }));
    let [x, y, line, widest] = [MARGIN, MARGIN, 0, 0];
    parts.forEach(({layers, across}, i) => {
      const {width, height} = form.isDown ? {width: sizes[i].across, height: sizes[i].along} : {width: sizes[i].along, height: sizes[i].across};
      if (x > MARGIN && x + width + MARGIN > room) [x, y, line] = [MARGIN, y + line + form.between, 0];
      layers.forEach((layer, depth) => layer.forEach((id) => {
        const [a, b] = [depth * step, across.get(id) * lane];
        this.at.set(id, form.isDown ? {x: x + b, y: y + a, depth} : {x: x + a, y: y + b, depth});
      }));
      widest = Math.max(widest, x + width + MARGIN);
      line = Math.max(line, height);
      x += width + form.between * 2;
    });
    return {width: Math.ceil(widest), height: Math.ceil(y + line + MARGIN)};
  }

  #edge(edge) {
    const [from, to] = [this.at.get(edge.from), this.at.get(edge.to)];
    const {width, height, isDown} = this.form;
    const [x1, y1] = isDown ? [from.x + width / 2, from.y + height] : [from.x + width, from.y + height / 2];
    const [x2, y2] = isDown ? [to.x + width / 2, to.y] : [to.x, to.y + height / 2];
    const isBack = isDown ? y2 < y1 : x2 < x1;
    const bend = isBack ? 60 : Math.max(24, (isDown ? y2 - y1 : x2 - x1) / 2);
    const path = isDown ? `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}` : `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
    const line = svg("path", {d: path, class: "edge", "marker-end": "url(#head)"});
    // The label is near the query's end of the edge, since the other end may be shared by many edges.
    const atEnd = edge.reads !== undefined || edge.source !== undefined;
    const label = isDown
      ? svg("text", {x: (atEnd ? x2 : x1) + 4, y: atEnd ? y2 - 14 : y1 + 18, class: "rate"})
      : svg("text", {x: atEnd ? x2 - 12 : x1 + 6, y: atEnd ? y2 + (y1 < y2 - 8 ? 14 : -6) : y1 - 6, class: `rate ${atEnd ? "end" : ""}`});
    this.drawn.edges.push({edge, line, label});
    return svg("g", {}, line, label);
  }

  #node(id, node) {
    const {x, y} = this.at.get(id);
    const {width, height} = this.form;
    const group = svg("g", {transform: `translate(${x} ${y})`, class: "node", tabindex: -1, role: "button", "data-id": id,
      onclick: () => this.select(id), onfocus: () => this.#onFocus(id)});
    const second = svg("text", {x: 22, y: height - 13, class: "second"});
    const title = svg("title");
    group.append(title, svg("rect", {width, height, rx: node.kind === "query" ? height / 2 : 6, class: "box"}), mark(node.kind, height),
      svg("text", {x: 22, y: 19, class: "name"}, clipped(this.#nameOf(node), width - BESIDE_NAME, NAME)), second);
    this.drawn.nodes.set(id, {node, group, second, title});
    return group;
  }

  // On a narrow screen the common prefix CSAS_ or CTAS_ is left out of query names.
  #nameOf(node) {
    return this.form.isDown && node.kind === "query" ? node.name.replace(/^C[ST]AS_/, "") : node.name;
  }

  // Update states, rates and labels from the latest figures, without a new layout.
  update(model) {
    if (!this.drawn) return;
    for (const [id, drawn] of this.drawn.nodes) this.#updateNode(id, drawn, model);
    for (const {edge, line, label} of this.drawn.edges) {
      const query = edge.query && model.queries.get(edge.query.id);
      const perSecond = edge.reads ? query && model.edgeRate(query, edge.reads.topic)
        : query ? query.now.written : edge.source ? model.sources.get(edge.source.name)?.rate : null;
      const status = query && query.now.status !== "well" ? query.now.status : "";
      setClass(line, `edge ${perSecond > 0 ? "flows" : ""} ${status}`);
      setText(label, perSecond === null || perSecond === undefined || (edge.from.startsWith("source:") && edge.to.startsWith("topic:")) ? "" : perSecond > 0 ? rate(perSecond) : "");
    }
  }

  #updateNode(id, {node, group, second, title}, model) {
    const query = node.query && model.queries.get(node.query.id);
    const source = node.source && model.sources.get(node.source.name);
    const status = query ? query.now.status : "";
    setClass(group, `node ${node.kind} ${status} ${id === this.selected ? "selected" : ""}`);
    group.setAttribute("tabindex", id === this.focused ? 0 : -1);
    const text = query ? queryLine(query) : source ? sourceLine(node, source, model) : "";
    setText(second, clipped(text, this.form.width - BESIDE_NAME, SECOND, false));
    const told = `${node.kind} ${node.name}: ${text}${query?.now.reason && status === "failing" ? `: ${query.now.reason}` : ""}`;
    setText(title, told);
    if (group.getAttribute("aria-label") !== told) group.setAttribute("aria-label", told);
  }

  // Mark the node whose details are shown; "" for none.
  mark(id, model) {
    this.selected = id;
    if (id && this.drawn?.nodes.has(id)) this.focused = id;
    this.update(model);
  }

  select(id) {
    this.focused = id;
    this.onSelect(id);
  }

  reveal(id) {
    const at = this.at?.get(id);
    if (!at || !this.drawn.nodes.has(id)) return;
    const {place, form: {width, height}} = this;
    const isSeen = at.x >= place.scrollLeft && at.x + width <= place.scrollLeft + place.clientWidth &&
      at.y >= place.scrollTop && at.y + height <= place.scrollTop + place.clientHeight;
    if (!isSeen) place.scrollTo(at.x - (place.clientWidth - width) / 2, at.y - (place.clientHeight - height) / 2);
  }

  #onFocus(id) {
    if (this.focused === id) return;
    this.drawn.nodes.get(this.focused)?.group.setAttribute("tabindex", -1);
    this.focused = id;
    this.drawn.nodes.get(id).group.setAttribute("tabindex", 0);
  }

  #onKey(event) {
    const arrows = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (this.focused) this.select(this.focused);
    } else if (arrows[event.key] && this.focused) {
      event.preventDefault();
      this.#move(...arrows[event.key]);
    }
  }

  // Move the focus to the nearest node in a direction (arrow keys).
  #move(dx, dy) {
    const here = this.at.get(this.focused);
    const cost = ({x, y}) => {
      const [along, aside] = dx ? [(x - here.x) * dx, Math.abs(y - here.y)] : [(y - here.y) * dy, Math.abs(x - here.x)];
      return along <= 4 ? Infinity : along + aside * 3;
    };
    const others = [...this.at].map(([id, at]) => [cost(at), id]).filter(([c]) => c < Infinity).sort(([a], [b]) => a - b);
    if (others.length) this.drawn.nodes.get(others[0][1]).group.focus();
  }
}

function queryLine(query) {
  const {status, read, written, latency, lag} = query.now;
  if (status === "failing") return "failing";
  if (status === "paused") return "paused";
  if (status === "lagging") return `${short(lag)} behind`;
  if (status === "dropping") return `${short(query.now.drops)} bad records`;
  if (!query.runsHere) return query.state.toLowerCase();
  if (latency.p99 !== null) return `p99 ${millis(latency.p99)}`;
  // Rows without a latency: those of a query whose records have the times of a column.
  if (written > 0) return "running";
  return read > 0 ? "nothing to write" : read === null ? "…" : "idle";
}

function sourceLine(node, source, model) {
  const partitions = Object.keys(source.ends).length;
  if (node.kind === "topic") return partitions ? `${partitions} partition${partitions === 1 ? "" : "s"}` : model.hasEnds ? "missing" : "topic";
  return `${node.kind}, ${source.valueFormat}${source.windowed ? `, ${source.windowed.toLowerCase()}` : ""}`;
}

// The width in px of the longest name.
function longest(nodes) {
  ruler.font = NAME;
  return Math.ceil(Math.max(0, ...[...nodes.values()].map((node) => ruler.measureText(node.name).width)));
}

// Shorten a text with "…" to at most `width` px in a font.
function clipped(text, width, font, isName = true) {
  ruler.font = font;
  if (ruler.measureText(text).width <= width) return text;
  // Names often differ only at their ends, so 30 % of what is kept is the end.
  const behind = (length) => (isName ? Math.floor(length * 0.3) : 0);
  const shorter = (length) => `${text.slice(0, length - behind(length))}…${text.slice(text.length - behind(length))}`;
  let length = text.length - 1;
  while (length > 4 && ruler.measureText(shorter(length)).width > width) length--;
  return shorter(length);
}

function arrowHead() {
  return svg("defs", {}, svg("marker", {id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto"},
    svg("path", {d: "M0 0L8 4L0 8z", class: "head"})));
}

// The icon of a node: waves for a stream, lines for a table, a drum for a topic, a dot for a query.
function mark(kind, height) {
  const shapes = {
    query: [svg("circle", {cx: 12, cy: 15, r: 4})],
    stream: [svg("path", {d: "M7 13q2.5-3 5 0t5 0M7 18q2.5-3 5 0t5 0"})],
    table: [svg("path", {d: "M7 10h10v9h-10zM7 14h10M11 10v9"})],
    topic: [svg("path", {d: "M7 11v7q5 3 10 0v-7q-5-3-10 0q5 3 10 0"})],
  };
  return svg("g", {class: "mark"}, ...shapes[kind]);
}
