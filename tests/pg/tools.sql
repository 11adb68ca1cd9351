-- Queries of the catalog that tools send, in the shape that they have there, and the rows of each answer over the fake
-- engine's five sources; test_tools.py runs them.

-- grafana: 5
SELECT CASE WHEN quote_ident(table_schema) IN (SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END
FROM generate_series(array_lower(string_to_array(current_setting('search_path'),','),1),
array_upper(string_to_array(current_setting('search_path'),','),1)) as i,
string_to_array(current_setting('search_path'),',') s) THEN quote_ident(table_name) ELSE quote_ident(table_schema)
|| '.' || quote_ident(table_name) END AS "table" FROM information_schema.tables WHERE quote_ident(table_schema) NOT
IN ('information_schema','pg_catalog','_timescaledb_cache') ORDER BY CASE WHEN quote_ident(table_schema) IN (SELECT
CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END FROM
generate_series(array_lower(string_to_array(current_setting('search_path'),','),1),
array_upper(string_to_array(current_setting('search_path'),','),1)) as i,
string_to_array(current_setting('search_path'),',') s) THEN 0 ELSE 1 END, 1;

-- grafana: 2
SELECT quote_ident(column_name) AS "column", data_type AS "type" FROM information_schema.columns WHERE CASE WHEN
array_length(parse_ident('orders'),1) = 2 THEN quote_ident(table_schema) = (parse_ident('orders'))[1] AND
quote_ident(table_name) = (parse_ident('orders'))[2] ELSE quote_ident(table_name) = 'orders' END;

-- npgsql: 2
SELECT ns.nspname, t.oid, t.typname, t.typtype, t.typnotnull, t.elemtypoid FROM ( SELECT typ.oid, typ.typnamespace,
typ.typname, typ.typtype, typ.typrelid, typ.typnotnull, typ.relkind, elemtyp.oid AS elemtypoid, elemtyp.typname AS
elemtypname, elemcls.relkind AS elemrelkind, CASE WHEN elemproc.proname='array_recv' THEN 'a' ELSE elemtyp.typtype
END AS elemtyptype, elemtyp.typcategory FROM ( SELECT typ.oid, typnamespace, typname, typrelid, typnotnull, relkind,
typelem AS elemoid, CASE WHEN proc.proname='array_recv' THEN 'a' ELSE typ.typtype END AS typtype, CASE WHEN
proc.proname='array_recv' THEN typ.typelem WHEN typ.typtype='r' THEN rngsubtype WHEN typ.typtype='m' THEN (SELECT
rngtypid FROM pg_range WHERE rngmultitypid = typ.oid) WHEN typ.typtype='d' THEN typ.typbasetype END AS elemtypoid
FROM pg_type AS typ LEFT JOIN pg_class AS cls ON (cls.oid = typ.typrelid) LEFT JOIN pg_proc AS proc ON proc.oid =
typ.typreceive LEFT JOIN pg_range ON (pg_range.rngtypid = typ.oid) ) AS typ LEFT JOIN pg_type AS elemtyp ON
elemtyp.oid = elemtypoid LEFT JOIN pg_class AS elemcls ON (elemcls.oid = elemtyp.typrelid) LEFT JOIN pg_proc AS
elemproc ON elemproc.oid = elemtyp.typreceive ) AS t JOIN pg_namespace AS ns ON (ns.oid = typnamespace) WHERE
typtype IN ('b', 'r', 'm', 'e', 'd') OR (typtype = 'c' AND relkind='c') ORDER BY 1 LIMIT 2;

-- dbeaver: 1
SELECT c.oid,c.*,d.description,pg_catalog.pg_get_expr(c.relpartbound, c.oid) as partition_expr,
pg_catalog.pg_get_partkeydef(c.oid) as partition_key FROM pg_catalog.pg_class c LEFT OUTER JOIN
pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 AND d.classoid='pg_class'::regclass WHERE
c.relnamespace=2200 AND c.relkind not in ('i','I','c') LIMIT 1;

-- dbeaver: 1
SELECT c.relname,a.*,pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) as def_value,dsc.description,dep.objid FROM
pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON (a.attrelid=c.oid) LEFT OUTER JOIN
pg_catalog.pg_attrdef ad ON (a.attrelid=ad.adrelid AND a.attnum = ad.adnum) LEFT OUTER JOIN
pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid) LEFT OUTER JOIN pg_depend dep on
dep.refobjid = a.attrelid AND dep.deptype = 'i' and dep.refobjsubid = a.attnum and dep.classid = dep.refclassid
WHERE NOT a.attisdropped AND c.relkind not in ('i','I','c') ORDER BY a.attnum LIMIT 1;

-- dbeaver: 1
SELECT t.oid,t.*,c.relkind,format_type(nullif(t.typbasetype, 0), t.typtypmod) as base_type_name, d.description FROM
pg_catalog.pg_type t LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid=t.typelem LEFT OUTER JOIN pg_catalog.pg_class c
ON c.oid=t.typrelid LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid=d.objoid WHERE t.typname IS NOT NULL AND
(c.relkind IS NULL OR c.relkind = 'c') AND (et.typcategory IS NULL OR et.typcategory <> 'C') LIMIT 1;

-- dbeaver: 1
select string_agg(word, ',') from pg_catalog.pg_get_keywords() where word not in ('a');

-- dbeaver: 1
SELECT db.oid,db.* FROM pg_catalog.pg_database db WHERE datname='millstream';

-- dbeaver: 1
select * from pg_catalog.pg_settings where name='standard_conforming_strings';

-- dbeaver: 3
SELECT n.oid,n.*,d.description FROM pg_catalog.pg_namespace n LEFT OUTER JOIN pg_catalog.pg_description d ON
d.objoid=n.oid AND d.objsubid=0 AND d.classoid='pg_namespace'::regclass ORDER BY nspname;

-- metabase: 5
SELECT n.nspname AS schema, c.relname AS name, CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'p' THEN 'PARTITIONED
TABLE' WHEN 'v' THEN 'VIEW' WHEN 'f' THEN 'FOREIGN TABLE' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE NULL END AS type,
d.description AS description, stat.n_live_tup AS estimated_row_count FROM pg_catalog.pg_class AS c INNER JOIN
pg_catalog.pg_namespace AS n ON c.relnamespace = n.oid LEFT JOIN pg_catalog.pg_description AS d ON (c.oid = d.objoid
AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass) LEFT JOIN pg_stat_user_tables AS stat ON (n.nspname =
stat.schemaname AND c.relname = stat.relname) WHERE (c.relnamespace = n.oid) AND n.nspname !~ '^pg_' AND n.nspname
<> 'information_schema' AND (c.relkind IN ('r','p','v','f','m')) ORDER BY type ASC, schema ASC, name ASC;

-- metabase: 1
with table_privileges as ( select NULL as role, t.schemaname as schema, t.objectname as table,
pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' ||
replace(t.objectname, '"', '""') || '"', 'update') as update, pg_catalog.has_table_privilege(current_user, '"' ||
t.schemaname || '"' || '.' || '"' || t.objectname || '"', 'DELETE') as delete from ( select schemaname, tablename as
objectname from pg_catalog.pg_tables union select schemaname, viewname as objectname from pg_views union select
schemaname, matviewname as objectname from pg_matviews ) t where t.schemaname !~ '^pg_' and t.schemaname <>
'information_schema' and pg_catalog.has_schema_privilege(current_user, t.schemaname, 'USAGE') ) select t.* from
table_privileges t limit 1;

-- metabase: 2
SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_';

-- metabase: 2
SELECT c.column_name AS name, c.udt_name AS "database-type", c.table_schema, c.table_name, c.ordinal_position - 1 AS
"database-position", pk.column_name IS NOT NULL AS "pk?", col_description(CAST(CAST(format('%I.%I',
CAST(c.table_schema AS TEXT), CAST(c.table_name AS TEXT)) AS REGCLASS) AS OID), c.ordinal_position) AS
"field-comment", column_default IS NULL AND LOWER(is_nullable)='no' AS "req" FROM information_schema.columns AS c
LEFT JOIN (SELECT tc.table_schema, tc.table_name, kc.column_name FROM information_schema.table_constraints AS tc
INNER JOIN information_schema.key_column_usage AS kc ON (tc.constraint_name = kc.constraint_name) AND
(tc.table_schema = kc.table_schema) AND (tc.table_name = kc.table_name) WHERE tc.constraint_type = 'PRIMARY KEY') AS
pk ON (c.table_schema = pk.table_schema) AND (c.table_name = pk.table_name) AND (c.column_name = pk.column_name)
WHERE c.table_schema !~ '^information_schema|catalog_history|pg_' ORDER BY table_name, "database-position" LIMIT 2;

-- superset: 2
SELECT pg_catalog.format_type(a.atttypid, a.atttypmod), (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid) FROM
pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef) AS DEFAULT,
a.attnotnull, a.attrelid as table_oid, pgd.description as comment, a.attgenerated as generated, (SELECT
json_build_object('always', a.attidentity = 'a', 'start', s.seqstart) FROM pg_catalog.pg_sequence s JOIN
pg_catalog.pg_class c on s.seqrelid = c."oid" WHERE c.relkind = 'S' AND a.attidentity != '' AND s.seqrelid =
pg_catalog.pg_get_serial_sequence(a.attrelid::regclass::text, a.attname)::regclass::oid) as identity_options FROM
pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_description pgd ON (pgd.objoid = a.attrelid AND pgd.objsubid =
a.attnum) WHERE a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum LIMIT 2;

-- power bi: 5
select TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE from INFORMATION_SCHEMA.tables where TABLE_SCHEMA not in
('information_schema', 'pg_catalog') order by TABLE_SCHEMA, TABLE_NAME;

-- power bi: 2
select COLUMN_NAME, ORDINAL_POSITION, IS_NULLABLE, case when (data_type like '%unsigned%') then DATA_TYPE || '
unsigned' else DATA_TYPE end as DATA_TYPE from INFORMATION_SCHEMA.columns where TABLE_SCHEMA = 'public' and
TABLE_NAME = 'orders' order by TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION;

-- power bi: 0
select pkcol.COLUMN_NAME as PK_COLUMN_NAME, fkcol.TABLE_SCHEMA AS FK_TABLE_SCHEMA from (select distinct
constraint_catalog, constraint_schema, unique_constraint_schema, constraint_name, unique_constraint_name from
INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS) fk inner join INFORMATION_SCHEMA.KEY_COLUMN_USAGE fkcol on
fkcol.CONSTRAINT_SCHEMA = fk.CONSTRAINT_SCHEMA and fkcol.CONSTRAINT_NAME = fk.CONSTRAINT_NAME inner join
INFORMATION_SCHEMA.KEY_COLUMN_USAGE pkcol on pkcol.CONSTRAINT_NAME = fk.unique_constraint_name where
pkcol.ORDINAL_POSITION = fkcol.ORDINAL_POSITION;

-- power bi: 1
select character_set_name from INFORMATION_SCHEMA.character_sets;

-- power bi: 0
select * from pg_catalog.pg_stat_activity limit 1;
