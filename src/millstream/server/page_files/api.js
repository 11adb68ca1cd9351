// The client of the server's API: executes statements, streams rows, polls. Shows the login dialog after a 401.

import {byId, setText} from "./dom.js";

let authorization = "";
let asking = null;

export class Refused extends Error {
  constructor(body, status) {
    super(body?.message ?? `the server answered ${status}`);
    this.body = body;
    this.status = status;
  }
}

// `credentials: "omit"` keeps the browser from showing its own login dialog.
async function send(path, options = {}) {
  const headers = {...options.headers, ...(authorization ? {Authorization: authorization} : {})};
  const answer = await fetch(path, {...options, headers, credentials: "omit"});
  if (answer.status !== 401) return answer;
  const body = await answer.json().catch(() => null);
  await login(authorization ? body?.message : "");
  return send(path, options);
}

// Concurrent requests that were refused share one login dialog.
function login(error) {
  asking ??= askLogin(error).finally(() => (asking = null));
  return asking;
}

function askLogin(error) {
  const [dialog, form, password] = [byId("login"), byId("login-form"), byId("login-password")];
  setText(byId("login-error"), error ?? "");
  password.value = "";
  if (!dialog.open) dialog.showModal();
  const stay = (event) => event.preventDefault();
  dialog.addEventListener("cancel", stay);
  return new Promise((resolve) => {
    form.onsubmit = (event) => {
      event.preventDefault();
      const name = byId("login-name").value;
      authorization = name ? `Basic ${base64(`${name}:${password.value}`)}` : `Bearer ${password.value}`;
      dialog.removeEventListener("cancel", stay);
      dialog.close();
      resolve();
    };
  });
}

const base64 = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

// Forget the login, which is kept only in this variable.
export function logout() {
  authorization = "";
}

export const isLoggedIn = () => authorization !== "";

async function checked(answer) {
  if (answer.ok) return answer;
  throw new Refused(await answer.json().catch(() => null), answer.status);
}

export async function json(path) {
  return (await checked(await send(path))).json();
}

// GET a path if it has changed since the response with the ETag `tag`: {tag, body}, or null if it has not (304).
export async function changed(path, tag) {
  const answer = await send(path, tag ? {headers: {"If-None-Match": tag}} : {});
  if (answer.status === 304) return null;
  await checked(answer);
  return {tag: answer.headers.get("ETag"), body: await answer.json()};
}

const post = (path, body, headers, signal) =>
  send(path, {method: "POST", body: JSON.stringify(body), headers: {"Content-Type": "application/json", ...headers}, signal});

// Execute statements that return at once (all but SELECT and PRINT); resolves to their entities.
export async function execute(text, properties = {}) {
  return (await checked(await post("/ksql", {ksql: text, streamsProperties: properties}))).json();
}

// Stream a SELECT or PRINT to callbacks: `on.header` and `on.rows` (an array of rows), or `on.lines` for PRINT. Resolves
// at the end of the response; `signal` aborts it.
export async function follow(text, properties, on, signal) {
  const accept = {Accept: "application/vnd.ksqlapi.delimited.v1"};
  const answer = await checked(await post("/query-stream", {sql: text, properties}, accept, signal));
  const isPrint = answer.headers.get("Content-Type").startsWith("text/plain");
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const {value, done} = await reader.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    deliver(lines.filter((line) => line.trim()), isPrint, on);
  }
  deliver(rest.trim() ? [rest] : [], isPrint, on);
}

function deliver(lines, isPrint, on) {
  if (isPrint) {
    if (lines.length) on.lines(lines);
    return;
  }
  const values = lines.map((line) => JSON.parse(line));
  const rows = values.filter(Array.isArray);
  for (const other of values.filter((value) => !Array.isArray(value))) {
    if (other.columnNames) on.header(other);
    else if (other.error_code || other.errorCode) throw new Refused(other, 200);
  }
  if (rows.length) on.rows(rows);
}
