SHOW CONNECTORS;
-- → GET /connectors?expand=info&expand=status
-- → {"@type": "connector_list", "statementText": "SHOW CONNECTORS;", "connectors": [{"name": "Paused", "type": "source", "className": "FileStreamSource", "state": "PAUSED"}, {"name": "fresh", "type": "source", "className": "FileStreamSource", "state": "UNASSIGNED"}, {"name": "lines", "type": "source", "className": "FileStreamSource", "state": "RUNNING (1/2 tasks RUNNING)"}, {"name": "out", "type": "sink", "className": "org.apache.kafka.connect.file.FileStreamSinkConnector", "state": "WARNING (0/1 tasks RUNNING)"}], "warnings": []}

LIST SOURCE CONNECTORS;
-- → GET /connectors?expand=info&expand=status
-- → {"@type": "connector_list", "statementText": "LIST SOURCE CONNECTORS;", "connectors": [{"name": "Paused", "type": "source", "className": "FileStreamSource", "state": "PAUSED"}, {"name": "fresh", "type": "source", "className": "FileStreamSource", "state": "UNASSIGNED"}, {"name": "lines", "type": "source", "className": "FileStreamSource", "state": "RUNNING (1/2 tasks RUNNING)"}], "warnings": []}

SHOW SINK CONNECTORS;
-- → GET /connectors?expand=info&expand=status
-- → {"@type": "connector_list", "statementText": "SHOW SINK CONNECTORS;", "connectors": [{"name": "out", "type": "sink", "className": "org.apache.kafka.connect.file.FileStreamSinkConnector", "state": "WARNING (0/1 tasks RUNNING)"}], "warnings": []}

SHOW ALL CONNECTORS;
-- → GET /connectors?expand=info&expand=status
-- → {"@type": "connector_list", "statementText": "SHOW ALL CONNECTORS;", "connectors": [{"name": "Paused", "type": "source", "className": "FileStreamSource", "state": "PAUSED"}, {"name": "fresh", "type": "source", "className": "FileStreamSource", "state": "UNASSIGNED"}, {"name": "lines", "type": "source", "className": "FileStreamSource", "state": "RUNNING (1/2 tasks RUNNING)"}, {"name": "out", "type": "sink", "className": "org.apache.kafka.connect.file.FileStreamSinkConnector", "state": "WARNING (0/1 tasks RUNNING)"}], "warnings": []}

SHOW CONNECTOR PLUGINS;
-- → GET /connector-plugins
-- → {"@type": "connector_plugins_list", "statementText": "SHOW CONNECTOR PLUGINS;", "connectorsPlugins": [{"className": "org.apache.kafka.connect.file.FileStreamSinkConnector", "type": "sink", "version": "4.1.1"}, {"className": "org.apache.kafka.connect.file.FileStreamSourceConnector", "type": "source", "version": "4.1.1"}], "warnings": []}

DESCRIBE CONNECTOR `lines`;
-- → GET /connectors/lines
-- → GET /connectors/lines/topics
-- → GET /connectors/lines/status
-- → {"@type": "connector_description", "statementText": "DESCRIBE CONNECTOR `lines`;", "connectorClass": "FileStreamSource", "status": {"name": "lines", "connector": {"state": "RUNNING", "worker_id": "127.0.0.1:8083", "version": "4.1.1"}, "tasks": [{"id": 0, "state": "RUNNING", "worker_id": "127.0.0.1:8083", "version": "4.1.1"}, {"id": 1, "state": "FAILED", "worker_id": "127.0.0.1:8083", "version": "4.1.1", "trace": "org.apache.kafka.connect.errors.ConnectException: no route to http://[hidden]@db:5432\n\tat Task.run(Task.java:1)"}], "type": "source"}, "sources": [{"name": "LINES", "windowType": null, "readQueries": [], "writeQueries": [], "fields": [], "type": "STREAM", "timestamp": "", "statistics": "", "errorStats": "", "clusterStatistics": [], "clusterErrorStats": [], "extended": false, "keyFormat": "KAFKA", "valueFormat": "JSON", "topic": "lines", "partitions": 0, "replication": 0, "statement": "", "queryOffsetSummaries": [], "sourceConstraints": []}], "topics": ["lines"], "warnings": []}

DESCRIBE CONNECTOR `out`;
-- → GET /connectors/out
-- → GET /connectors/out/topics
-- → GET /connectors/out/status
-- → {"@type": "connector_description", "statementText": "DESCRIBE CONNECTOR `out`;", "connectorClass": "org.apache.kafka.connect.file.FileStreamSinkConnector", "status": {"name": "out", "connector": {"state": "RUNNING", "worker_id": "127.0.0.1:8083", "version": "4.1.1"}, "tasks": [{"id": 0, "state": "FAILED", "worker_id": "127.0.0.1:8083", "version": "4.1.1", "trace": "no room"}], "type": "sink"}, "sources": [{"name": "LINES", "windowType": null, "readQueries": [], "writeQueries": [], "fields": [], "type": "STREAM", "timestamp": "", "statistics": "", "errorStats": "", "clusterStatistics": [], "clusterErrorStats": [], "extended": false, "keyFormat": "KAFKA", "valueFormat": "JSON", "topic": "lines", "partitions": 0, "replication": 0, "statement": "", "queryOffsetSummaries": [], "sourceConstraints": []}], "topics": ["lines", "secret"], "warnings": []}

DESCRIBE CONNECTOR `Paused`;
-- → GET /connectors/Paused
-- → GET /connectors/Paused/topics
-- → GET /connectors/Paused/status
-- → {"@type": "connector_description", "statementText": "DESCRIBE CONNECTOR `Paused`;", "connectorClass": "FileStreamSource", "status": {"name": "Paused", "connector": {"state": "PAUSED", "worker_id": "127.0.0.1:8083", "version": "4.1.1"}, "tasks": [{"id": 0, "state": "PAUSED", "worker_id": "127.0.0.1:8083", "version": "4.1.1"}], "type": "source"}, "sources": [], "topics": [], "warnings": [{"message": "Could not list related topics due to error: Kafka Connect answered 403: Topic tracking is disabled."}]}

DESCRIBE CONNECTOR `fresh`;
-- → GET /connectors/fresh
-- → GET /connectors/fresh/topics
-- → GET /connectors/fresh/status
-- → {"@type": "connector_description", "statementText": "DESCRIBE CONNECTOR `fresh`;", "connectorClass": "FileStreamSource", "status": {"name": "fresh", "connector": {"state": "UNASSIGNED", "worker_id": ""}, "tasks": [], "type": "source"}, "sources": [], "topics": [], "warnings": []}

DESCRIBE CONNECTOR lines;
-- → GET /connectors/LINES
-- → GET /connectors
-- → 40400 line 1:1: Kafka Connect answered 404: Connector LINES not found
-- →   hint: did you mean `lines`?
-- → statement: DESCRIBE CONNECTOR lines;

DESCRIBE CONNECTOR `a/b?c`;
-- → GET /connectors/a%2Fb%3Fc
-- → GET /connectors
-- → 40400 line 1:1: Kafka Connect answered 404: Connector a/b?c not found
-- → statement: DESCRIBE CONNECTOR `a/b?c`;

CREATE SOURCE CONNECTOR `new` WITH ("connector.class"='FileStreamSource', "file"='in.txt', "topic"='t', "tasks.max"=1, "some.flag"=TRUE);
-- → GET /connectors
-- → PUT /connector-plugins/FileStreamSource/config/validate {"connector.class": "FileStreamSource", "file": "in.txt", "topic": "t", "tasks.max": "1", "some.flag": "true", "name": "new"}
-- → POST /connectors {"name": "new", "config": {"connector.class": "FileStreamSource", "file": "in.txt", "topic": "t", "tasks.max": "1", "some.flag": "true", "name": "new"}}
-- → {"@type": "connector_info", "statementText": "CREATE SOURCE CONNECTOR `new` WITH (\"connector.class\"='FileStreamSource', \"file\"='in.txt', \"topic\"='t', \"tasks.max\"=1, \"some.flag\"=TRUE);", "info": {"name": "new", "config": {"connector.class": "FileStreamSource", "file": "in.txt", "topic": "t", "tasks.max": "1", "some.flag": "true", "name": "new"}, "tasks": [], "type": "source"}, "warnings": []}

CREATE SINK CONNECTOR `new` WITH ("connector.class"='FileStreamSource', "database.password"='hush', "file"='in.txt', "topic"='t');
-- → GET /connectors
-- → PUT /connector-plugins/FileStreamSource/config/validate {"connector.class": "FileStreamSource", "database.password": "hush", "file": "in.txt", "topic": "t", "name": "new"}
-- → POST /connectors {"name": "new", "config": {"connector.class": "FileStreamSource", "database.password": "hush", "file": "in.txt", "topic": "t", "name": "new"}}
-- → {"@type": "connector_info", "statementText": "CREATE SINK CONNECTOR `new` WITH (\"connector.class\"='FileStreamSource', \"database.password\"='[hidden]', \"file\"='in.txt', \"topic\"='t');", "info": {"name": "new", "config": {"connector.class": "FileStreamSource", "database.password": "[hidden]", "file": "in.txt", "topic": "t", "name": "new"}, "tasks": [], "type": "source"}, "warnings": [{"message": "new is a SOURCE connector, and was created as a SINK"}]}

CREATE SOURCE CONNECTOR LINES WITH ("connector.class"='FileStreamSource');
-- → GET /connectors
-- → 40900 line 1:1: Connector LINES already exists
-- →   hint: IF NOT EXISTS keeps it; DROP CONNECTOR removes it
-- → statement: CREATE SOURCE CONNECTOR LINES WITH ("connector.class"='FileStreamSource');

CREATE SOURCE CONNECTOR IF NOT EXISTS lines WITH ("connector.class"='FileStreamSource', "database.password"='hush');
-- → GET /connectors
-- → {"@type": "warning_entity", "statementText": "CREATE SOURCE CONNECTOR IF NOT EXISTS lines WITH (\"connector.class\"='FileStreamSource', \"database.password\"='[hidden]');", "message": "Connector LINES already exists", "warnings": []}

CREATE SINK CONNECTOR new WITH ("connector.class"='FileStreamSink',
  "database.password"='hush', "tasks.max"='many');
-- → GET /connectors
-- → PUT /connector-plugins/FileStreamSink/config/validate {"connector.class": "FileStreamSink", "database.password": "hush", "tasks.max": "many", "name": "NEW"}
-- → 40001 line 2:31: Validation error: tasks.max - Invalid value many for configuration tasks.max: Not a number of type INT. Invalid value null for configuration tasks.max: Value must be non-null
-- → topics - Must configure one of topics or topics.regex
-- → database.password - [hidden] is too short
-- → statement: CREATE SINK CONNECTOR new WITH ("connector.class"='FileStreamSink',
-- →   "database.password"='[hidden]', "tasks.max"='many');

CREATE SOURCE CONNECTOR new WITH ("connector.class"='FileStreamSourc');
-- → GET /connectors
-- → PUT /connector-plugins/FileStreamSourc/config/validate {"connector.class": "FileStreamSourc", "name": "NEW"}
-- → PUT /connector-plugins/FileStreamSourc/config/validate {"connector.class": "FileStreamSourc", "name": "NEW"}
-- → PUT /connector-plugins/FileStreamSourc/config/validate {"connector.class": "FileStreamSourc", "name": "NEW"}
-- → GET /connector-plugins
-- → 40001 line 1:35: Kafka Connect has no connector class "FileStreamSourc"
-- →   hint: did you mean 'FileStreamSource'?
-- → statement: CREATE SOURCE CONNECTOR new WITH ("connector.class"='FileStreamSourc');

CREATE SOURCE CONNECTOR new WITH ("connector.class"='org.acme.Jdbc');
-- → GET /connectors
-- → PUT /connector-plugins/org.acme.Jdbc/config/validate {"connector.class": "org.acme.Jdbc", "name": "NEW"}
-- → PUT /connector-plugins/org.acme.Jdbc/config/validate {"connector.class": "org.acme.Jdbc", "name": "NEW"}
-- → PUT /connector-plugins/org.acme.Jdbc/config/validate {"connector.class": "org.acme.Jdbc", "name": "NEW"}
-- → GET /connector-plugins
-- → 40001 line 1:35: Kafka Connect has no connector class "org.acme.Jdbc"
-- →   hint: SHOW CONNECTOR PLUGINS lists those it has; others go into a folder of its plugin.path
-- → statement: CREATE SOURCE CONNECTOR new WITH ("connector.class"='org.acme.Jdbc');

CREATE SINK CONNECTOR new WITH ("connector.class"='FileStreamSinkConnector', "database.password"='hush');
-- → GET /connectors
-- → PUT /connector-plugins/FileStreamSinkConnector/config/validate {"connector.class": "FileStreamSinkConnector", "database.password": "hush", "name": "NEW"}
-- → PUT /connector-plugins/FileStreamSinkConnector/config/validate {"connector.class": "FileStreamSinkConnector", "database.password": "hush", "name": "NEW"}
-- → PUT /connector-plugins/FileStreamSinkConnector/config/validate {"connector.class": "FileStreamSinkConnector", "database.password": "hush", "name": "NEW"}
-- → GET /connector-plugins
-- → 50000 line 1:1: Kafka Connect answered 500: the disk of [hidden] is full
-- → statement: CREATE SINK CONNECTOR new WITH ("connector.class"='FileStreamSinkConnector', "database.password"='[hidden]');

CREATE SINK CONNECTOR new WITH ("topic"='t');
-- → GET /connectors
-- → 40001 line 1:1: the configuration has no "connector.class"
-- →   hint: SHOW CONNECTOR PLUGINS lists the classes
-- → statement: CREATE SINK CONNECTOR new WITH ("topic"='t');

CREATE SINK CONNECTOR new WITH ("connector.class"=' ');
-- → GET /connectors
-- → 40001 line 1:1: the configuration has no "connector.class"
-- →   hint: SHOW CONNECTOR PLUGINS lists the classes
-- → statement: CREATE SINK CONNECTOR new WITH ("connector.class"=' ');

CREATE SINK CONNECTOR new WITH ("connector.class"='FileStreamSink', "topic"='a', `topic`='b');
-- → GET /connectors
-- → 40001 line 1:82: property "topic" is set twice
-- → statement: CREATE SINK CONNECTOR new WITH ("connector.class"='FileStreamSink', "topic"='a', `topic`='b');

CREATE SINK CONNECTOR new WITH ("connector.class"='FileStreamSink', "topic"=NULL);
-- → GET /connectors
-- → 40001 line 1:69: property "topic" has no value
-- →   hint: leave it out
-- → statement: CREATE SINK CONNECTOR new WITH ("connector.class"='FileStreamSink', "topic"=NULL);

CREATE SOURCE CONNECTOR new WITH ("connector.class"='io.confluent.connect.jdbc.JdbcSourceConnector', "key"='id', "transforms"='mine');
-- → GET /connectors
-- → PUT /connector-plugins/io.confluent.connect.jdbc.JdbcSourceConnector/config/validate {"key.converter": "org.apache.kafka.connect.storage.StringConverter", "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector", "transforms": "ksqlCreateKey,ksqlExtractString,mine", "transforms.ksqlCreateKey.type": "org.apache.kafka.connect.transforms.ValueToKey", "transforms.ksqlCreateKey.fields": "id", "transforms.ksqlExtractString.type": "org.apache.kafka.connect.transforms.ExtractField$Key", "transforms.ksqlExtractString.field": "id", "name": "NEW"}
-- → POST /connectors {"name": "NEW", "config": {"key.converter": "org.apache.kafka.connect.storage.StringConverter", "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector", "transforms": "ksqlCreateKey,ksqlExtractString,mine", "transforms.ksqlCreateKey.type": "org.apache.kafka.connect.transforms.ValueToKey", "transforms.ksqlCreateKey.fields": "id", "transforms.ksqlExtractString.type": "org.apache.kafka.connect.transforms.ExtractField$Key", "transforms.ksqlExtractString.field": "id", "name": "NEW"}}
-- → {"@type": "connector_info", "statementText": "CREATE SOURCE CONNECTOR new WITH (\"connector.class\"='io.confluent.connect.jdbc.JdbcSourceConnector', \"key\"='id', \"transforms\"='mine');", "info": {"name": "NEW", "config": {"key.converter": "org.apache.kafka.connect.storage.StringConverter", "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector", "transforms": "ksqlCreateKey,ksqlExtractString,mine", "transforms.ksqlCreateKey.type": "org.apache.kafka.connect.transforms.ValueToKey", "transforms.ksqlCreateKey.fields": "id", "transforms.ksqlExtractString.type": "org.apache.kafka.connect.transforms.ExtractField$Key", "transforms.ksqlExtractString.field": "id", "name": "NEW"}, "tasks": [], "type": "source"}, "warnings": []}

DROP CONNECTOR `lines`;
-- → DELETE /connectors/lines
-- → {"@type": "drop_connector", "statementText": "DROP CONNECTOR `lines`;", "connectorName": "lines", "warnings": []}

DROP CONNECTOR lines;
-- → DELETE /connectors/LINES
-- → GET /connectors
-- → 40400 line 1:1: Kafka Connect answered 404: Connector LINES not found
-- →   hint: did you mean `lines`?
-- → statement: DROP CONNECTOR lines;

DROP CONNECTOR `gone`;
-- → DELETE /connectors/gone
-- → GET /connectors
-- → 40400 line 1:1: Kafka Connect answered 404: Connector gone not found
-- → statement: DROP CONNECTOR `gone`;

DROP CONNECTOR IF EXISTS `gone`;
-- → DELETE /connectors/gone
-- → {"@type": "warning_entity", "statementText": "DROP CONNECTOR IF EXISTS `gone`;", "message": "Connector 'gone' does not exist.", "warnings": []}
