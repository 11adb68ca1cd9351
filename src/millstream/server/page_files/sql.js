// The editor's knowledge of SQL: tokens, the ends of statements, and completions.

const KEYWORDS = new Set(`ADD ALL ALTER AND AS ASSERT BEGINNING BETWEEN BY CASE CAST CHANGES CREATE DEFINE DELETE DESCRIBE DISTINCT DROP
ELSE EMIT END EXISTS EXPLAIN EXTENDED FINAL FOR FROM FULL FUNCTION FUNCTIONS GRACE GROUP HAVING HEADER HEADERS HOPPING IF IN INNER INSERT INTO IS
JOIN KEY LEFT LIKE LIMIT LIST NOT NULL ON OR OUTER PARTITION PAUSE PERIOD PRIMARY PRINT PROPERTIES QUERIES REPLACE RESUME RETENTION
RIGHT SAVEPOINT SELECT SESSION SET SHOW SIZE SOURCE STREAM STREAMS STRUCT TABLE TABLES TERMINATE THEN TO TOPIC TOPICS TUMBLING TYPE TYPES
UNDEFINE UNSET VALUES VARIABLES VIEW VIEWS WHEN WHERE WINDOW WITH WITHIN SECONDS SECOND MINUTES MINUTE HOURS HOUR DAYS DAY MILLISECONDS`.split(/\s+/));
const TYPES = new Set("ARRAY BIGINT BOOLEAN BYTES DATE DECIMAL DOUBLE INT INTEGER MAP STRING TIME TIMESTAMP VARCHAR".split(" "));
const TOKEN = /(--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|('(?:[^']|'')*(?:'|$))|(`[^`]*(?:`|$)|"[^"]*(?:"|$))|(\$\$[\s\S]*?(?:\$\$|$))|(\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b)|([A-Za-z_@][\w@]*)|(\s+)|([\s\S])/gi;
const KINDS = ["comment", "text", "name", "text", "number", "word", "space", "sign"];

// Yields the tokens of a text with their kinds; together they are the whole text.
export function* tokens(text) {
  for (const found of text.matchAll(TOKEN)) {
    const kind = KINDS[found.slice(1).findIndex((part) => part !== undefined)];
    const upper = found[0].toUpperCase();
    const named = kind === "word" ? (KEYWORDS.has(upper) ? "keyword" : TYPES.has(upper) ? "type" : "name") : kind;
    yield {kind: named, text: found[0], at: found.index};
  }
}

// Splits a text into steps to execute: a statement that returns rows is a step of its own, the others between two of
// these form one step. SET and DEFINE statements are repeated in all later steps.
//
//   "SET 'a'='b'; SELECT 1 …; SHOW STREAMS; SHOW TABLES;"  →
//   [{text: "SET 'a'='b'; SELECT 1 …;", shown: …, isQuery: true}, {text: "SET 'a'='b'; SHOW STREAMS; SHOW TABLES;", …, isQuery: false}]
//
// isLive says that new rows go on top: a push query or a PRINT.
export function statements(text) {
  const steps = [];
  const session = [];
  let fresh = [];
  for (const statement of split(text)) {
    const verb = firstWord(statement);
    if (["SET", "UNSET", "DEFINE", "UNDEFINE"].includes(verb)) {
      session.push(statement);
      fresh.push(statement);
      continue;
    }
    const isQuery = ["SELECT", "WITH", "PRINT"].includes(verb);
    const isLive = verb === "PRINT" || [...tokens(statement)].some((token) => token.text.toUpperCase() === "EMIT");
    const last = steps.at(-1);
    if (last && !isQuery && !last.isQuery) {
      Object.assign(last, {text: [last.text, ...fresh, statement].join("\n"), shown: [last.shown, ...fresh, statement].join("\n")});
    } else steps.push({text: [...session, statement].join("\n"), shown: [...fresh, statement].join("\n"), isQuery, isLive: isQuery && isLive});
    fresh = [];
  }
  // SET and DEFINE at the end of the text are sent too, so that the server checks them.
  if (fresh.length) steps.push({text: session.join("\n"), shown: fresh.join("\n"), isQuery: false, isLive: false});
  return steps;
}

function split(text) {
  const found = [];
  let statement = "";
  for (const token of tokens(text)) {
    statement += token.text;
    if (token.kind === "sign" && token.text === ";") {
      found.push(statement);
      statement = "";
    }
  }
  if (firstWord(statement)) found.push(`${statement};`);
  return found.map((one) => one.trim()).filter(firstWord);
}

function firstWord(text) {
  for (const token of tokens(text)) if (token.kind !== "space" && token.kind !== "comment") return token.text.toUpperCase();
  return "";
}

// The completions of the word before the offset `at`: {from, words}. After a source's name and a dot: its columns.
export function completions(text, at, model, functions) {
  const before = text.slice(0, at);
  const word = /[\w@]*$/.exec(before)[0];
  const from = at - word.length;
  const qualifier = /([\w]+)\.$/.exec(before.slice(0, from))?.[1]?.toUpperCase();
  const sources = [...model.sources.values()];
  const columns = (source) => (source.columns ?? []).map((column) => column.name);
  if (qualifier) return {from, words: fitting(sources.filter((s) => s.name === qualifier).flatMap(columns), word)};
  if (word.length < 1) return {from, words: []};
  const mentioned = sources.filter((source) => new RegExp(`\\b${source.name}\\b`, "i").test(text));
  const queries = /\b(pause|resume|terminate|explain|savepoint)\s+$/i.test(before.slice(0, from)) ? [...model.queries.keys()] : [];
  const words = [...queries, ...mentioned.flatMap(columns), ...sources.map((s) => s.name), ...KEYWORDS, ...TYPES, ...functions.map((f) => `${f}(`)];
  return {from, words: fitting(words, word)};
}

function fitting(words, word) {
  const start = word.toUpperCase();
  return [...new Set(words)].filter((one) => one.toUpperCase().startsWith(start) && one.toUpperCase() !== start).slice(0, 8);
}
