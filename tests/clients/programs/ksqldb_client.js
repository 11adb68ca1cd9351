// Uses ksqldb-client: URL TOPIC → what the server answered, as JSON.
const KsqldbClient = require("ksqldb-client");

const [, , address, topic] = process.argv;
const { protocol, hostname, port } = new URL(address);
const client = new KsqldbClient({ host: `${protocol}//${hostname}`, port: Number(port) });

// Three rows of a push query that has no end: each is inserted when the one before it has come.
async function push(rows) {
  const sql = `SELECT id, name FROM ${topic} EMIT CHANGES;`;
  const answer = { acks: [], pushed: [], columns: [] };
  let following;
  const insert = async (row) => {
    const { data } = await client.insertInto(topic.toUpperCase(), row);
    answer.acks.push(data.rows ? data.rows[0].status : data.status);
  };
  const ended = client.streamQuery(sql, ({ metadata, rows: arrived }) => {
    answer.columns = metadata.columnNames;
    for (const row of arrived || []) answer.pushed.push([row.ID, row.NAME]);
    const next = rows[answer.pushed.length];
    if (next && following !== next) {
      following = next;
      insert(next);
    }
    if (!next) {
      client.terminatePushQuery(metadata.queryId).then(({ status }) => (answer.terminated = status));
    }
  }, { streamsProperties: { "auto.offset.reset": "earliest" } });
  await ended;
  return answer;
}

async function pull() {
  const sql = `SELECT name, n FROM ${topic}_counts WHERE name = 'ada';`;
  for (let attempt = 0; attempt < 2400; attempt++) {
    const { data } = await client.query(sql);
    const [row] = data.rows;
    if (row && row.N === 2) return [row.NAME, row.N];
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return null;
}

async function main() {
  await client.connect();
  const columns = "(id BIGINT, name STRING)";
  await client.executeStatement(`CREATE STREAM ${topic} ${columns} WITH (kafka_topic='${topic}', value_format='JSON');`);
  const table = `CREATE TABLE ${topic}_counts AS SELECT name, COUNT(*) AS n FROM ${topic} GROUP BY name EMIT CHANGES;`;
  const created = await client.executeStatement(table);
  const rows = [[1, "ada"], [2, "bob"], [3, "ada"]].map(([ID, NAME]) => ({ ID, NAME }));
  const answer = await push(rows);
  answer.created = created.data.rows ? created.data.rows[0].commandStatus.status : created.data;
  answer.streams = (await client.listStreams()).map(({ name }) => name);
  answer.tables = (await client.listTables()).map(({ name }) => name).filter((name) => name.startsWith(topic.toUpperCase()));
  answer.topics = (await client.listTopics()).map(({ name }) => name);
  answer.running = (await client.listQueries()).filter(({ sinks }) => sinks.includes(`${topic}_counts`.toUpperCase())).length;
  answer.described = (await client.describeSource(topic)).fields.map(({ name }) => name);
  answer.pulled = await pull();
  const { error } = await client.executeStatement("DESCRIBE nowhere;");
  answer.refused = [error.error_code, error.message];
  console.log(JSON.stringify(answer));
  await client.disconnect();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
