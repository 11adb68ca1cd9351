-- The tables and functions of pg_catalog and information_schema that clients ask, in DuckDB's SQL (catalog_images.py).
-- Those that catalog_tables.py names get rows; the others are empty, since the engine has nothing of their kind.
CREATE SCHEMA pgc;
CREATE SCHEMA info;

CREATE TABLE pgc.pg_namespace (oid BIGINT, tableoid BIGINT, nspname VARCHAR, nspowner BIGINT, nspacl VARCHAR[]);
CREATE TABLE pgc.pg_class (
    oid BIGINT, tableoid BIGINT, relname VARCHAR, relnamespace BIGINT, reltype BIGINT, reloftype BIGINT, relowner BIGINT, relam BIGINT,
    relfilenode BIGINT, reltablespace BIGINT, relpages INTEGER, reltuples DOUBLE, relallvisible INTEGER,
    reltoastrelid BIGINT, relhasindex BOOLEAN, relisshared BOOLEAN, relpersistence VARCHAR, relkind VARCHAR,
    relnatts INTEGER, relchecks INTEGER, relhasrules BOOLEAN, relhastriggers BOOLEAN, relhassubclass BOOLEAN,
    relrowsecurity BOOLEAN, relforcerowsecurity BOOLEAN, relispopulated BOOLEAN, relreplident VARCHAR,
    relispartition BOOLEAN, relrewrite BIGINT, relfrozenxid BIGINT, relminmxid BIGINT, relacl VARCHAR[],
    reloptions VARCHAR[], relpartbound VARCHAR, relhasoids BOOLEAN, xmin BIGINT);
CREATE TABLE pgc.pg_attribute (
    attrelid BIGINT, attname VARCHAR, atttypid BIGINT, attlen INTEGER, attnum INTEGER, attcacheoff INTEGER,
    atttypmod INTEGER, attndims INTEGER, attbyval BOOLEAN, attalign VARCHAR, attstorage VARCHAR, attcompression VARCHAR,
    attnotnull BOOLEAN, atthasdef BOOLEAN, atthasmissing BOOLEAN, attidentity VARCHAR, attgenerated VARCHAR,
    attisdropped BOOLEAN, attislocal BOOLEAN, attinhcount INTEGER, attcollation BIGINT, attstattarget INTEGER,
    attacl VARCHAR[], attoptions VARCHAR[], attfdwoptions VARCHAR[], attmissingval VARCHAR);
CREATE TABLE pgc.pg_type (
    oid BIGINT, tableoid BIGINT, typname VARCHAR, typnamespace BIGINT, typowner BIGINT, typlen INTEGER, typbyval BOOLEAN, typtype VARCHAR,
    typcategory VARCHAR, typispreferred BOOLEAN, typisdefined BOOLEAN, typdelim VARCHAR, typrelid BIGINT,
    typsubscript VARCHAR, typelem BIGINT, typarray BIGINT, typinput VARCHAR, typoutput VARCHAR, typreceive VARCHAR,
    typsend VARCHAR, typalign VARCHAR, typstorage VARCHAR, typnotnull BOOLEAN, typbasetype BIGINT, typtypmod INTEGER,
    typndims INTEGER, typcollation BIGINT, typdefaultbin VARCHAR, typdefault VARCHAR, typacl VARCHAR[]);
CREATE TABLE pgc.pg_index (
    indexrelid BIGINT, indrelid BIGINT, indnatts INTEGER, indnkeyatts INTEGER, indisunique BOOLEAN,
    indnullsnotdistinct BOOLEAN, indisprimary BOOLEAN, indisexclusion BOOLEAN, indimmediate BOOLEAN,
    indisclustered BOOLEAN, indisvalid BOOLEAN, indcheckxmin BOOLEAN, indisready BOOLEAN, indislive BOOLEAN,
    indisreplident BOOLEAN, indkey INTEGER[], indcollation BIGINT[], indclass BIGINT[], indoption INTEGER[],
    indexprs VARCHAR, indpred VARCHAR);
CREATE TABLE pgc.pg_constraint (
    oid BIGINT, tableoid BIGINT, conname VARCHAR, connamespace BIGINT, contype VARCHAR, condeferrable BOOLEAN, condeferred BOOLEAN,
    convalidated BOOLEAN, conrelid BIGINT, contypid BIGINT, conindid BIGINT, conparentid BIGINT, confrelid BIGINT,
    confupdtype VARCHAR, confdeltype VARCHAR, confmatchtype VARCHAR, conislocal BOOLEAN, coninhcount INTEGER,
    connoinherit BOOLEAN, conkey INTEGER[], confkey INTEGER[], conpfeqop BIGINT[], conbin VARCHAR);
CREATE TABLE pgc.pg_description (objoid BIGINT, classoid BIGINT, objsubid INTEGER, description VARCHAR);
CREATE TABLE pgc.pg_am (oid BIGINT, amname VARCHAR, amhandler VARCHAR, amtype VARCHAR);
CREATE TABLE pgc.pg_database (
    oid BIGINT, datname VARCHAR, datdba BIGINT, encoding INTEGER, datlocprovider VARCHAR, datistemplate BOOLEAN,
    datallowconn BOOLEAN, datconnlimit INTEGER, dattablespace BIGINT, datcollate VARCHAR, datctype VARCHAR,
    daticulocale VARCHAR, datcollversion VARCHAR, datacl VARCHAR[]);
CREATE TABLE pgc.pg_roles (
    oid BIGINT, rolname VARCHAR, rolsuper BOOLEAN, rolinherit BOOLEAN, rolcreaterole BOOLEAN, rolcreatedb BOOLEAN,
    rolcanlogin BOOLEAN, rolreplication BOOLEAN, rolconnlimit INTEGER, rolpassword VARCHAR, rolvaliduntil TIMESTAMP,
    rolbypassrls BOOLEAN, rolconfig VARCHAR[]);
CREATE VIEW pgc.pg_authid AS SELECT * FROM pgc.pg_roles;
CREATE VIEW pgc.pg_user AS SELECT rolname AS usename, oid AS usesysid, rolcreatedb AS usecreatedb, rolsuper AS usesuper,
    rolreplication AS userepl, rolbypassrls AS usebypassrls, rolpassword AS passwd FROM pgc.pg_roles;
CREATE TABLE pgc.pg_settings (name VARCHAR, setting VARCHAR, unit VARCHAR, category VARCHAR, short_desc VARCHAR,
    context VARCHAR, vartype VARCHAR, source VARCHAR, min_val VARCHAR, max_val VARCHAR, boot_val VARCHAR, reset_val VARCHAR);
CREATE TABLE pgc.pg_tablespace (oid BIGINT, spcname VARCHAR, spcowner BIGINT, spcacl VARCHAR[], spcoptions VARCHAR[]);

CREATE TABLE pgc.pg_attrdef (oid BIGINT, adrelid BIGINT, adnum INTEGER, adbin VARCHAR);
CREATE TABLE pgc.pg_auth_members (roleid BIGINT, member BIGINT, grantor BIGINT, admin_option BOOLEAN);
CREATE TABLE pgc.pg_amop (oid BIGINT, amopfamily BIGINT, amoplefttype BIGINT, amoprighttype BIGINT, amopstrategy INTEGER,
    amoppurpose VARCHAR, amopopr BIGINT, amopmethod BIGINT, amopsortfamily BIGINT);
CREATE TABLE pgc.pg_amproc (oid BIGINT, amprocfamily BIGINT, amproclefttype BIGINT, amprocrighttype BIGINT, amprocnum INTEGER,
    amproc BIGINT);
CREATE TABLE pgc.pg_cast (oid BIGINT, tableoid BIGINT, castsource BIGINT, casttarget BIGINT, castfunc BIGINT, castcontext VARCHAR,
    castmethod VARCHAR);
CREATE TABLE pgc.pg_collation (oid BIGINT, collname VARCHAR, collnamespace BIGINT, collowner BIGINT, collprovider VARCHAR,
    collisdeterministic BOOLEAN, collencoding INTEGER, collcollate VARCHAR, collctype VARCHAR, colliculocale VARCHAR,
    collversion VARCHAR, tableoid BIGINT);
CREATE TABLE pgc.pg_conversion (oid BIGINT, tableoid BIGINT, conname VARCHAR, connamespace BIGINT, conowner BIGINT,
    conforencoding INTEGER, contoencoding INTEGER, conproc BIGINT, condefault BOOLEAN);
CREATE TABLE pgc.pg_db_role_setting (setdatabase BIGINT, setrole BIGINT, setconfig VARCHAR[]);
CREATE TABLE pgc.pg_default_acl (oid BIGINT, defaclrole BIGINT, defaclnamespace BIGINT, defaclobjtype VARCHAR, defaclacl VARCHAR[]);
CREATE TABLE pgc.pg_depend (classid BIGINT, objid BIGINT, objsubid INTEGER, refclassid BIGINT, refobjid BIGINT,
    refobjsubid INTEGER, deptype VARCHAR);
CREATE TABLE pgc.pg_enum (oid BIGINT, enumtypid BIGINT, enumsortorder DOUBLE, enumlabel VARCHAR);
CREATE TABLE pgc.pg_event_trigger (oid BIGINT, evtname VARCHAR, evtevent VARCHAR, evtowner BIGINT, evtfoid BIGINT,
    evtenabled VARCHAR, evttags VARCHAR[]);
CREATE TABLE pgc.pg_extension (oid BIGINT, extname VARCHAR, extowner BIGINT, extnamespace BIGINT, extrelocatable BOOLEAN,
    extversion VARCHAR);
CREATE TABLE pgc.pg_available_extensions (name VARCHAR, default_version VARCHAR, installed_version VARCHAR, comment VARCHAR);
CREATE TABLE pgc.pg_foreign_data_wrapper (oid BIGINT, tableoid BIGINT, fdwname VARCHAR, fdwowner BIGINT, fdwoptions VARCHAR[],
    fdwhandler BIGINT, fdwvalidator BIGINT, fdwacl VARCHAR[]);
CREATE TABLE pgc.pg_foreign_server (oid BIGINT, tableoid BIGINT, srvname VARCHAR, srvowner BIGINT, srvfdw BIGINT, srvoptions VARCHAR[],
    srvacl VARCHAR[], srvtype VARCHAR, srvversion VARCHAR);
CREATE TABLE pgc.pg_foreign_table (ftrelid BIGINT, ftserver BIGINT, ftoptions VARCHAR[]);
CREATE TABLE pgc.pg_inherits (inhrelid BIGINT, inhparent BIGINT, inhseqno INTEGER, inhdetachpending BOOLEAN);
CREATE TABLE pgc.pg_get_keywords (word VARCHAR, catcode VARCHAR, catdesc VARCHAR);
CREATE TABLE pgc.pg_options_to_table (option_name VARCHAR, option_value VARCHAR);
CREATE TABLE pgc.pg_language (oid BIGINT, tableoid BIGINT, lanname VARCHAR, lanowner BIGINT, lanispl BOOLEAN, lanpltrusted BOOLEAN,
    lanplcallfoid BIGINT, laninline BIGINT, lanvalidator BIGINT, lanacl VARCHAR[]);
CREATE TABLE pgc.pg_largeobject_metadata (oid BIGINT, lomowner BIGINT, lomacl VARCHAR[]);
CREATE TABLE pgc.pg_locks (locktype VARCHAR, database BIGINT, relation BIGINT, pid INTEGER, mode VARCHAR, granted BOOLEAN);
CREATE TABLE pgc.pg_matviews (schemaname VARCHAR, matviewname VARCHAR, matviewowner VARCHAR, definition VARCHAR);
CREATE TABLE pgc.pg_opclass (oid BIGINT, tableoid BIGINT, opcname VARCHAR, opcmethod BIGINT, opcnamespace BIGINT, opcdefault BOOLEAN,
    opcowner BIGINT, opcfamily BIGINT, opcintype BIGINT, opckeytype BIGINT);
CREATE TABLE pgc.pg_opfamily (oid BIGINT, tableoid BIGINT, opfname VARCHAR, opfmethod BIGINT, opfnamespace BIGINT, opfowner BIGINT);
CREATE TABLE pgc.pg_operator (oid BIGINT, tableoid BIGINT, oprname VARCHAR, oprnamespace BIGINT, oprleft BIGINT, oprright BIGINT,
    oprkind VARCHAR, oprresult BIGINT, oprcode BIGINT);
CREATE TABLE pgc.pg_partitioned_table (partrelid BIGINT, partstrat VARCHAR, partnatts INTEGER, partdefid BIGINT,
    partattrs INTEGER[], partexprs VARCHAR);
CREATE TABLE pgc.pg_policy (oid BIGINT, polname VARCHAR, polrelid BIGINT, polcmd VARCHAR, polpermissive BOOLEAN,
    polroles BIGINT[], polqual VARCHAR, polwithcheck VARCHAR);
CREATE TABLE pgc.pg_proc (oid BIGINT, tableoid BIGINT, proname VARCHAR, pronamespace BIGINT, proowner BIGINT, prolang BIGINT,
    prokind VARCHAR, proretset BOOLEAN, prorettype BIGINT, pronargs INTEGER, proargtypes BIGINT[], proallargtypes BIGINT[],
    proargmodes VARCHAR[], proargnames VARCHAR[], provolatile VARCHAR, prosecdef BOOLEAN, prosrc VARCHAR, proacl VARCHAR[],
    proparallel VARCHAR, proisstrict BOOLEAN, probin VARCHAR);
CREATE TABLE pgc.pg_publication (oid BIGINT, pubname VARCHAR, pubowner BIGINT, puballtables BOOLEAN, pubinsert BOOLEAN,
    pubupdate BOOLEAN, pubdelete BOOLEAN, pubtruncate BOOLEAN, pubviaroot BOOLEAN);
CREATE TABLE pgc.pg_publication_namespace (oid BIGINT, pnpubid BIGINT, pnnspid BIGINT);
CREATE TABLE pgc.pg_publication_rel (oid BIGINT, prpubid BIGINT, prrelid BIGINT, prqual VARCHAR, prattrs INTEGER[]);
CREATE TABLE pgc.pg_range (rngtypid BIGINT, rngsubtype BIGINT, rngmultitypid BIGINT, rngcollation BIGINT,
    rngsubopc BIGINT, rngcanonical BIGINT, rngsubdiff BIGINT);
CREATE TABLE pgc.pg_rewrite (oid BIGINT, tableoid BIGINT, rulename VARCHAR, ev_class BIGINT, ev_type VARCHAR, ev_enabled VARCHAR,
    is_instead BOOLEAN);
CREATE TABLE pgc.pg_sequence (seqrelid BIGINT, seqtypid BIGINT, seqstart BIGINT, seqincrement BIGINT, seqmin BIGINT,
    seqmax BIGINT, seqcache BIGINT, seqcycle BOOLEAN);
CREATE TABLE pgc.pg_sequences (schemaname VARCHAR, sequencename VARCHAR, sequenceowner VARCHAR, last_value BIGINT);
CREATE TABLE pgc.pg_shdescription (objoid BIGINT, classoid BIGINT, description VARCHAR);
CREATE TABLE pgc.pg_stat_activity (datid BIGINT, datname VARCHAR, pid INTEGER, usename VARCHAR, application_name VARCHAR,
    state VARCHAR, query VARCHAR);
CREATE TABLE pgc.pg_stat_user_tables (relid BIGINT, schemaname VARCHAR, relname VARCHAR, n_live_tup BIGINT);
CREATE TABLE pgc.pg_statistic_ext (oid BIGINT, stxrelid BIGINT, stxname VARCHAR, stxnamespace BIGINT, stxowner BIGINT,
    stxstattarget INTEGER, stxkeys INTEGER[], stxkind VARCHAR[], stxexprs VARCHAR);
CREATE TABLE pgc.pg_subscription (oid BIGINT, subdbid BIGINT, subname VARCHAR, subowner BIGINT, subenabled BOOLEAN,
    subbinary BOOLEAN, substream BOOLEAN, subtwophasestate VARCHAR, subdisableonerr BOOLEAN, subconninfo VARCHAR,
    subslotname VARCHAR, subsynccommit VARCHAR, subpublications VARCHAR[], subskiplsn VARCHAR);
CREATE TABLE pgc.pg_timezone_names (name VARCHAR, abbrev VARCHAR, utc_offset VARCHAR, is_dst BOOLEAN);
CREATE TABLE pgc.pg_trigger (oid BIGINT, tableoid BIGINT, tgrelid BIGINT, tgname VARCHAR, tgfoid BIGINT, tgtype INTEGER, tgenabled VARCHAR,
    tgisinternal BOOLEAN, tgconstraint BIGINT, tgdeferrable BOOLEAN, tginitdeferred BOOLEAN, tgparentid BIGINT);
CREATE TABLE pgc.pg_ts_config (oid BIGINT, tableoid BIGINT, cfgname VARCHAR, cfgnamespace BIGINT, cfgowner BIGINT, cfgparser BIGINT);
CREATE TABLE pgc.pg_ts_dict (oid BIGINT, tableoid BIGINT, dictname VARCHAR, dictnamespace BIGINT, dictowner BIGINT,
    dicttemplate BIGINT, dictinitoption VARCHAR);
CREATE TABLE pgc.pg_ts_parser (oid BIGINT, tableoid BIGINT, prsname VARCHAR, prsnamespace BIGINT, prsstart BIGINT, prstoken BIGINT,
    prsend BIGINT, prsheadline BIGINT, prslextype BIGINT);
CREATE TABLE pgc.pg_ts_template (oid BIGINT, tableoid BIGINT, tmplname VARCHAR, tmplnamespace BIGINT, tmplinit BIGINT,
    tmpllexize BIGINT);
CREATE TABLE pgc.pg_user_mappings (umid BIGINT, srvid BIGINT, srvname VARCHAR, umuser BIGINT, usename VARCHAR, umoptions VARCHAR[]);
CREATE TABLE pgc.pg_views (schemaname VARCHAR, viewname VARCHAR, viewowner VARCHAR, definition VARCHAR);
CREATE VIEW pgc.pg_tables AS SELECT n.nspname AS schemaname, c.relname AS tablename, 'millstream' AS tableowner,
    NULL::VARCHAR AS tablespace, c.relhasindex AS hasindexes, false AS hasrules, false AS hastriggers, false AS rowsecurity
    FROM pgc.pg_class c JOIN pgc.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r';
CREATE VIEW pgc.pg_indexes AS SELECT n.nspname AS schemaname, t.relname AS tablename, c.relname AS indexname,
    NULL::VARCHAR AS tablespace, NULL::VARCHAR AS indexdef FROM pgc.pg_index i JOIN pgc.pg_class c ON c.oid = i.indexrelid
    JOIN pgc.pg_class t ON t.oid = i.indrelid JOIN pgc.pg_namespace n ON n.oid = c.relnamespace;

CREATE MACRO pgc_format_type(type, modifier) AS (SELECT CASE
        WHEN type IS NULL THEN NULL
        WHEN type = 1700 AND modifier IS NOT NULL AND modifier >= 0
            THEN 'numeric(' || ((modifier - 4) >> 16) || ',' || ((modifier - 4) & 65535) || ')'
        ELSE coalesce((SELECT m_t.typdefault FROM pgc.pg_type m_t WHERE m_t.oid = type), '???') END);

CREATE VIEW info.schemata AS SELECT 'millstream' AS catalog_name, nspname AS schema_name, 'millstream' AS schema_owner,
    NULL::VARCHAR AS default_character_set_catalog, NULL::VARCHAR AS sql_path FROM pgc.pg_namespace;
CREATE VIEW info.tables AS SELECT 'millstream' AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
    CASE c.relkind WHEN 'v' THEN 'VIEW' ELSE 'BASE TABLE' END AS table_type, NULL::VARCHAR AS self_referencing_column_name,
    CASE c.relkind WHEN 'v' THEN 'NO' ELSE 'YES' END AS is_insertable_into, 'NO' AS is_typed, NULL::VARCHAR AS commit_action
    FROM pgc.pg_class c JOIN pgc.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'v');
CREATE VIEW info.views AS SELECT 'millstream' AS table_catalog, schemaname AS table_schema, viewname AS table_name,
    definition AS view_definition, 'NONE' AS check_option, 'NO' AS is_updatable, 'NO' AS is_insertable_into,
    'NO' AS is_trigger_updatable, 'NO' AS is_trigger_deletable, 'NO' AS is_trigger_insertable_into FROM pgc.pg_views;
CREATE VIEW info.columns AS SELECT 'millstream' AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
    a.attname AS column_name, a.attnum AS ordinal_position, NULL::VARCHAR AS column_default,
    CASE WHEN a.attnotnull THEN 'NO' ELSE 'YES' END AS is_nullable,
    CASE WHEN t.typelem <> 0 AND t.typlen = -1 THEN 'ARRAY' ELSE pgc_format_type(a.atttypid, NULL) END AS data_type,
    NULL::INTEGER AS character_maximum_length, NULL::INTEGER AS character_octet_length,
    CASE WHEN a.atttypid = 1700 THEN (a.atttypmod - 4) >> 16 WHEN a.atttypid = 23 THEN 32 WHEN a.atttypid = 20 THEN 64
        WHEN a.atttypid = 701 THEN 53 END AS numeric_precision,
    CASE WHEN a.atttypid IN (20, 23) THEN 2 WHEN a.atttypid = 1700 THEN 10 END AS numeric_precision_radix,
    CASE WHEN a.atttypid = 1700 THEN (a.atttypmod - 4) & 65535 WHEN a.atttypid IN (20, 23) THEN 0 END AS numeric_scale,
    CASE WHEN a.atttypid IN (1083, 1184) THEN 3 END AS datetime_precision, NULL::VARCHAR AS interval_type,
    NULL::VARCHAR AS collation_name, NULL::VARCHAR AS domain_name, NULL::VARCHAR AS domain_schema,
    'millstream' AS udt_catalog, 'pg_catalog' AS udt_schema, t.typname AS udt_name, a.attnum AS dtd_identifier,
    'NO' AS is_self_referencing, 'NO' AS is_identity, NULL::VARCHAR AS identity_generation, 'NEVER' AS is_generated,
    NULL::VARCHAR AS generation_expression, CASE c.relkind WHEN 'v' THEN 'NO' ELSE 'YES' END AS is_updatable
    FROM pgc.pg_attribute a JOIN pgc.pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'v')
    JOIN pgc.pg_namespace n ON n.oid = c.relnamespace JOIN pgc.pg_type t ON t.oid = a.atttypid;
CREATE VIEW info.table_constraints AS SELECT 'millstream' AS constraint_catalog, 'public' AS constraint_schema,
    k.conname AS constraint_name, 'millstream' AS table_catalog, 'public' AS table_schema, c.relname AS table_name,
    'PRIMARY KEY' AS constraint_type, 'NO' AS is_deferrable, 'NO' AS initially_deferred, 'YES' AS enforced
    FROM pgc.pg_constraint k JOIN pgc.pg_class c ON c.oid = k.conrelid;
CREATE VIEW info.key_column_usage AS SELECT 'millstream' AS constraint_catalog, 'public' AS constraint_schema,
    k.conname AS constraint_name, 'millstream' AS table_catalog, 'public' AS table_schema, c.relname AS table_name,
    a.attname AS column_name, list_position(k.conkey, a.attnum) AS ordinal_position,
    NULL::INTEGER AS position_in_unique_constraint
    FROM pgc.pg_constraint k JOIN pgc.pg_class c ON c.oid = k.conrelid
    JOIN pgc.pg_attribute a ON a.attrelid = c.oid AND list_contains(k.conkey, a.attnum);
CREATE VIEW info.constraint_column_usage AS SELECT table_catalog, table_schema, table_name, column_name,
    constraint_catalog, constraint_schema, constraint_name FROM info.key_column_usage;
CREATE TABLE info.referential_constraints (constraint_catalog VARCHAR, constraint_schema VARCHAR, constraint_name VARCHAR,
    unique_constraint_catalog VARCHAR, unique_constraint_schema VARCHAR, unique_constraint_name VARCHAR,
    match_option VARCHAR, update_rule VARCHAR, delete_rule VARCHAR);
CREATE TABLE info.routines (specific_schema VARCHAR, specific_name VARCHAR, routine_schema VARCHAR, routine_name VARCHAR,
    routine_type VARCHAR, data_type VARCHAR, routine_definition VARCHAR);
CREATE TABLE info.parameters (specific_schema VARCHAR, specific_name VARCHAR, ordinal_position INTEGER,
    parameter_name VARCHAR, data_type VARCHAR);
CREATE VIEW info.character_sets AS SELECT NULL::VARCHAR AS character_set_catalog, NULL::VARCHAR AS character_set_schema,
    'UTF8' AS character_set_name, 'UCS' AS character_repertoire, 'UTF8' AS form_of_use, 'millstream' AS default_collate_catalog,
    NULL::VARCHAR AS default_collate_schema, NULL::VARCHAR AS default_collate_name;
CREATE TABLE info.sequences (sequence_catalog VARCHAR, sequence_schema VARCHAR, sequence_name VARCHAR);
CREATE TABLE info.triggers (trigger_schema VARCHAR, trigger_name VARCHAR, event_object_table VARCHAR);
CREATE TABLE info.domains (domain_schema VARCHAR, domain_name VARCHAR, data_type VARCHAR);

-- Functions: catalog_queries.py puts pgc_ before the name of each function of Postgres that stands here. Their tables have
-- aliases that no client's query has: an argument is put into the text of a function, and would be read with them.
CREATE MACRO pgc_pg_get_userbyid(role) AS 'millstream';
CREATE MACRO pgc_pg_table_is_visible(relation) AS true;
CREATE MACRO pgc_pg_type_is_visible(type) AS true;
CREATE MACRO pgc_pg_function_is_visible(function) AS true;
CREATE MACRO pgc_pg_operator_is_visible(operator) AS true;
CREATE MACRO pgc_pg_opclass_is_visible(class) AS true;
CREATE MACRO pgc_pg_collation_is_visible(collation_oid) AS true;
CREATE MACRO pgc_pg_conversion_is_visible(conversion) AS true;
CREATE MACRO pgc_pg_opfamily_is_visible(family) AS true;
CREATE MACRO pgc_pg_statistics_obj_is_visible(object) AS true;
CREATE MACRO pgc_pg_ts_config_is_visible(object) AS true;
CREATE MACRO pgc_pg_ts_dict_is_visible(object) AS true;
CREATE MACRO pgc_pg_ts_parser_is_visible(object) AS true;
CREATE MACRO pgc_pg_ts_template_is_visible(object) AS true;
CREATE MACRO pgc_obj_description(object) AS (SELECT m_d.description FROM pgc.pg_description m_d
        WHERE m_d.objoid = object AND m_d.objsubid = 0),
    (object, class) AS (SELECT m_d.description FROM pgc.pg_description m_d WHERE m_d.objoid = object AND m_d.objsubid = 0);
CREATE MACRO pgc_col_description(object, number) AS (SELECT m_d.description FROM pgc.pg_description m_d
        WHERE m_d.objoid = object AND m_d.objsubid = number);
CREATE MACRO pgc_shobj_description(object, class) AS NULL::VARCHAR;
CREATE MACRO pgc_pg_get_expr(expression, relation) AS NULL::VARCHAR, (expression, relation, pretty) AS NULL::VARCHAR;
CREATE MACRO pgc_pg_get_constraintdef(key) AS (SELECT 'PRIMARY KEY (' || string_agg(m_a.attname, ', ' ORDER BY m_a.attnum) || ')'
        FROM pgc.pg_constraint m_k JOIN pgc.pg_attribute m_a ON m_a.attrelid = m_k.conrelid AND list_contains(m_k.conkey, m_a.attnum)
        WHERE m_k.oid = key),
    (key, pretty) AS (SELECT 'PRIMARY KEY (' || string_agg(m_a.attname, ', ' ORDER BY m_a.attnum) || ')'
        FROM pgc.pg_constraint m_k JOIN pgc.pg_attribute m_a ON m_a.attrelid = m_k.conrelid AND list_contains(m_k.conkey, m_a.attnum)
        WHERE m_k.oid = key);
CREATE MACRO pgc_pg_get_indexdef(index) AS (SELECT 'CREATE UNIQUE INDEX ' || m_c.relname || ' ON public.' || m_t.relname
            || ' USING btree (' || (SELECT string_agg(m_a.attname, ', ' ORDER BY m_a.attnum) FROM pgc.pg_attribute m_a
            WHERE m_a.attrelid = m_t.oid AND list_contains(m_i.indkey, m_a.attnum)) || ')'
        FROM pgc.pg_index m_i JOIN pgc.pg_class m_c ON m_c.oid = m_i.indexrelid JOIN pgc.pg_class m_t ON m_t.oid = m_i.indrelid
        WHERE m_i.indexrelid = index),
    (index, number, pretty) AS (SELECT CASE WHEN number = 0 THEN 'CREATE UNIQUE INDEX ' || m_c.relname || ' ON public.'
            || m_t.relname || ' USING btree (' || (SELECT string_agg(m_a.attname, ', ' ORDER BY m_a.attnum) FROM pgc.pg_attribute m_a
            WHERE m_a.attrelid = m_t.oid AND list_contains(m_i.indkey, m_a.attnum)) || ')'
            ELSE (SELECT m_a.attname FROM pgc.pg_attribute m_a WHERE m_a.attrelid = m_t.oid AND m_a.attnum = m_i.indkey[number]) END
        FROM pgc.pg_index m_i JOIN pgc.pg_class m_c ON m_c.oid = m_i.indexrelid JOIN pgc.pg_class m_t ON m_t.oid = m_i.indrelid
        WHERE m_i.indexrelid = index);
CREATE MACRO pgc_pg_get_viewdef(view_oid) AS (SELECT m_v.definition FROM pgc.pg_views m_v
        JOIN pgc.pg_class m_c ON m_c.relname = m_v.viewname AND m_c.relkind = 'v' WHERE m_c.oid = view_oid),
    (view_oid, pretty) AS (SELECT m_v.definition FROM pgc.pg_views m_v
        JOIN pgc.pg_class m_c ON m_c.relname = m_v.viewname AND m_c.relkind = 'v' WHERE m_c.oid = view_oid);
CREATE MACRO pgc_pg_get_triggerdef(trigger_oid) AS NULL::VARCHAR, (trigger_oid, pretty) AS NULL::VARCHAR;
CREATE MACRO pgc_pg_get_ruledef(rule_oid) AS NULL::VARCHAR, (rule_oid, pretty) AS NULL::VARCHAR;
CREATE MACRO pgc_pg_get_partkeydef(relation) AS NULL::VARCHAR;
CREATE MACRO pgc_pg_get_function_result(function) AS NULL::VARCHAR;
CREATE MACRO pgc_pg_get_function_arguments(function) AS NULL::VARCHAR;
CREATE MACRO pgc_pg_get_function_identity_arguments(function) AS NULL::VARCHAR;
CREATE MACRO pgc_pg_get_function_sqlbody(function) AS NULL::VARCHAR;
CREATE MACRO pgc_pg_get_functiondef(function) AS NULL::VARCHAR;
CREATE MACRO pgc_pg_get_statisticsobjdef_columns(object) AS NULL::VARCHAR;
CREATE MACRO pgc_pg_get_serial_sequence(relation, name) AS NULL::VARCHAR;
CREATE MACRO pgc_pg_relation_is_publishable(relation) AS false;
CREATE MACRO pgc_pg_encoding_to_char(encoding) AS 'UTF8';
CREATE MACRO pgc_pg_char_to_encoding(name) AS 6;
CREATE MACRO pgc_pg_table_size(relation) AS 0::BIGINT;
CREATE MACRO pgc_pg_relation_size(relation) AS 0::BIGINT, (relation, fork) AS 0::BIGINT;
CREATE MACRO pgc_pg_total_relation_size(relation) AS 0::BIGINT;
CREATE MACRO pgc_pg_indexes_size(relation) AS 0::BIGINT;
CREATE MACRO pgc_pg_database_size(database) AS 0::BIGINT;
CREATE MACRO pgc_pg_tablespace_size(tablespace) AS 0::BIGINT;
CREATE MACRO pgc_pg_size_pretty(size) AS size || ' bytes';
CREATE MACRO pgc_pg_tablespace_location(tablespace) AS ''::VARCHAR;
CREATE MACRO pgc_pg_is_in_recovery() AS false;
CREATE MACRO pgc_pg_is_other_temp_schema(schema_oid) AS false;
CREATE MACRO pgc_pg_my_temp_schema() AS 0::BIGINT;
CREATE MACRO pgc_pg_stat_get_numscans(relation) AS 0::BIGINT;
CREATE MACRO pgc_pg_advisory_lock(key) AS NULL::VARCHAR;
CREATE MACRO pgc_pg_advisory_unlock(key) AS true;
CREATE MACRO pgc_pg_advisory_unlock_all() AS NULL::VARCHAR;
CREATE MACRO pgc_pg_postmaster_start_time() AS TIMESTAMP '2000-01-01 00:00:00';
CREATE MACRO pgc_has_schema_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO pgc_has_table_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO pgc_has_column_privilege(a, b, c) AS true, (a, b, c, d) AS true;
CREATE MACRO pgc_has_any_column_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO pgc_has_database_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO pgc_has_function_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO pgc_pg_has_role(a, b) AS true, (a, b, c) AS true;
CREATE MACRO pgc_quote_ident(name) AS CASE WHEN regexp_full_match(name, '[a-z_][a-z0-9_]*') THEN name
    ELSE '"' || replace(name, '"', '""') || '"' END;
CREATE MACRO pgc_parse_ident(name) AS string_split(replace(name, '"', ''), '.');
CREATE MACRO pgc_quote_literal(value) AS '''' || replace(value, '''', '''''') || '''';
CREATE MACRO pgc_current_setting(setting_name) AS (SELECT m_s.setting FROM pgc.pg_settings m_s WHERE m_s.name = setting_name);
CREATE MACRO pgc_array_remove(items, item) AS list_filter(items, lambda one: one IS DISTINCT FROM item);
CREATE MACRO pgc_array_lower(items, dimension) AS 1;
CREATE MACRO pgc_array_upper(items, dimension) AS len(items)::INTEGER;
CREATE MACRO pgc__pg_expandarray(items) AS unnest(list_transform(items, lambda one, place: {'x': one, 'n': place::INTEGER}));
CREATE MACRO pgc_to_regclass(name) AS CASE replace(name, 'pg_catalog.', '') WHEN 'pg_class' THEN 1259
    WHEN 'pg_namespace' THEN 2615 WHEN 'pg_type' THEN 1247 WHEN 'pg_proc' THEN 1255 WHEN 'pg_constraint' THEN 2606
    WHEN 'pg_database' THEN 1262 ELSE (SELECT m_c.oid FROM pgc.pg_class m_c
    WHERE m_c.relname = replace(regexp_replace(name, '^"?(public|pg_catalog)"?[.]', ''), '"', '')) END;
CREATE MACRO pgc_regclass_name(relation) AS coalesce((SELECT m_c.relname FROM pgc.pg_class m_c WHERE m_c.oid = relation),
    relation::VARCHAR);
CREATE MACRO pgc_to_regtype(name) AS (SELECT m_t.oid FROM pgc.pg_type m_t WHERE m_t.typname = name OR m_t.typdefault = name LIMIT 1);
CREATE MACRO pgc_to_regnamespace(name) AS (SELECT m_n.oid FROM pgc.pg_namespace m_n WHERE m_n.nspname = name);
CREATE MACRO pgc_regnamespace_name(namespace) AS (SELECT m_n.nspname FROM pgc.pg_namespace m_n WHERE m_n.oid = namespace);
