// The model of the page, computed from answers of /page/live: rates, latencies of the last minute, troubles.

const BOUNDS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 60000, 600000];
const KEPT_MS = 60000;
const RECENT_FAILURE_MS = 60000;
// A query lags if it has at least LAG_RECORDS records to read, and more than it reads in LAG_SECONDS.
const LAG_RECORDS = 1000;
const LAG_SECONDS = 10;

export class Model {
  constructor() {
    this.server = null;
    this.position = null;
    this.sources = new Map();
    this.queries = new Map();
    this.lasting = {sources: new Map(), queries: new Map()};
    this.history = [];
  }

  // Take an answer of /page/live, received at `now` (ms). Returns true if the catalog or the user has changed.
  take(body, now) {
    const isNew = body.server.position !== this.position || body.user !== this.user ||
      names(body) !== this.names;
    this.names = names(body);
    this.user = body.user;
    this.version = body.version;
    this.server = body.server;
    this.jvm = body.jvm;
    this.sources = this.#merged("sources", body.sources, (source) => source.name);
    this.queries = this.#merged("queries", body.queries, (query) => query.id);
    this.position = body.server.position;
    this.history.push({now, sources: positions(this.sources), queries: new Map([...this.queries].map(([id, q]) => [id, q]))});
    while (this.history.length > 2 && now - this.history[0].now > KEPT_MS) this.history.shift();
    for (const query of this.queries.values()) query.now = this.#figures(query);
    this.hasEnds = [...this.sources.values()].some((source) => total(source) !== null);
    for (const source of this.sources.values()) source.rate = this.#sourceRate(source);
    return isNew;
  }

  #merged(kind, entities, nameOf) {
    const lasting = this.lasting[kind];
    const merged = new Map(entities.map((entity) => {
      const name = nameOf(entity);
      const before = lasting.get(name) ?? {};
      return [name, {...before, ...entity}];
    }));
    this.lasting[kind] = new Map([...merged].map(([name, {statement, columns}]) => [name, {statement, columns}]));
    return merged;
  }

  #figures(query) {
    // Averaged over ten seconds, so that the numbers do not flicker.
    const before = this.#before(10000);
    const old = before?.queries.get(query.id);
    const seconds = before ? (this.history.at(-1).now - before.now) / 1000 : 0;
    const delta = (name) => difference(query.figures[name], old?.figures[name], seconds);
    const lag = query.lag.reduce((sum, place) => sum + place.lag, 0);
    const read = delta("read");
    const minute = this.history[0].queries.get(query.id)?.figures;
    const latency = quantiles(query.figures.latency, minute?.latency);
    const failure = query.failures.at(-1);
    const isFailing = query.state === "ERROR" ||
      (query.state === "RUNNING" && failure && Date.now() - failure.at < RECENT_FAILURE_MS);
    const isLagging = query.state === "RUNNING" && lag >= LAG_RECORDS && read !== null && lag > LAG_SECONDS * read;
    const drops = (query.figures.failed ?? 0) - (minute?.failed ?? query.figures.failed ?? 0);
    const status = isFailing ? "failing" : query.state === "PAUSED" ? "paused" : isLagging ? "lagging" : drops > 0 ? "dropping" : "well";
    return {read, written: delta("written"), lag, latency, status, drops, reason: failure?.message ?? ""};
  }

  // The rate at which a query reads a topic, in records a second.
  edgeRate(query, topic) {
    const before = this.#before(10000);
    const old = before?.queries.get(query.id);
    if (!old) return null;
    const sum = (of) => of.lag.filter((p) => p.topic === topic).reduce((all, p) => all + p.position, 0);
    if (!old.lag.some((p) => p.topic === topic)) return null;
    return Math.max(0, sum(query) - sum(old)) / ((this.history.at(-1).now - before.now) / 1000);
  }

  // The rate at which records are written to a source's topic by any producer, in records a second.
  #sourceRate(source) {
    const before = this.#before(10000);
    const old = before?.sources.get(source.name);
    const now = total(source);
    if (old === undefined || old === null || now === null) return null;
    return Math.max(0, now - old) / ((this.history.at(-1).now - before.now) / 1000);
  }

  #before(ms) {
    const now = this.history.at(-1).now;
    const older = this.history.slice(0, -1).filter((entry) => now - entry.now >= ms);
    return older.at(-1) ?? (this.history.length > 1 ? this.history[0] : undefined);
  }

  // The queries that need attention, the worst first.
  troubles() {
    const rank = {failing: 0, lagging: 1, dropping: 2};
    return [...this.queries.values()].filter((q) => q.now.status in rank)
      .sort((a, b) => rank[a.now.status] - rank[b.now.status] || a.id.localeCompare(b.id));
  }

  count(status) {
    return [...this.queries.values()].filter((q) => q.now.status === status).length;
  }
}

const names = (body) => [...body.sources.map((s) => s.name), ...body.queries.map((q) => q.id)].join(" ");

function total(source) {
  const ends = Object.values(source.ends);
  return ends.length ? ends.reduce((sum, end) => sum + end, 0) : null;
}

const positions = (sources) => new Map([...sources].map(([name, source]) => [name, total(source)]));

function difference(now, before, seconds) {
  if (now === undefined) return 0;
  // After a restart of the query its counters begin at 0.
  if (before === undefined || seconds <= 0) return null;
  return Math.max(0, now - before) / seconds;
}

// The median and the 99th percentile in ms of the latencies counted between two snapshots of a histogram.
export function quantiles(now, before) {
  if (!now) return {p50: null, p99: null};
  const restarted = before && before.some((count, i) => i < BOUNDS.length + 1 && count > now[i]);
  const counts = now.slice(0, -1).map((count, i) => count - (before && !restarted ? before[i] : 0));
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all === 0) return {p50: null, p99: null};
  return {p50: quantile(counts, all * 0.5), p99: quantile(counts, all * 0.99)};
}

// A quantile by linear interpolation within its bucket.
function quantile(counts, wanted) {
  let below = 0;
  for (let i = 0; i < counts.length; i++) {
    if (below + counts[i] >= wanted && counts[i] > 0) {
      if (i >= BOUNDS.length) return Infinity;
      const from = i ? BOUNDS[i - 1] : 0;
      return from + (BOUNDS[i] - from) * ((wanted - below) / counts[i]);
    }
    below += counts[i];
  }
  return Infinity;
}
