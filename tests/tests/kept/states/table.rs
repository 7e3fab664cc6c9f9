//! The states: what sessions set and leave.

use std::fmt;

use e2e::Make;

/// What is there for them.
pub(super) const OBJECTS: [&str; 11] = [
    "CREATE TABLE written (id INT, v VARCHAR(20))",
    "CREATE TABLE keyed (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(20))",
    "CREATE TABLE shadowed (who VARCHAR(20)); INSERT INTO shadowed VALUES ('the table')",
    "CREATE TABLE watched (id INT); CREATE TRIGGER watcher BEFORE INSERT ON watched FOR EACH ROW SET @a = 'trigger'",
    "CREATE PROCEDURE takes_role() SQL SECURITY INVOKER SET ROLE taken",
    "CREATE PROCEDURE sets_names() SET NAMES latin1",
    "CREATE PROCEDURE profiles() SET profiling = 1",
    "CREATE PROCEDURE shadows() CREATE TEMPORARY TABLE shadowed AS SELECT 'procedure' AS who",
    "CREATE FUNCTION role_taken() RETURNS INT DETERMINISTIC SQL SECURITY INVOKER BEGIN SET ROLE taken; RETURN 1; END",
    "CREATE FUNCTION a_set() RETURNS INT DETERMINISTIC RETURN (@a := 9) + 0",
    "CREATE VIEW locking AS SELECT GET_LOCK('lock_one', 1) AS has_it",
];

/// Variables of both makes, and values that are not the usual ones.
const VARIABLES: &str = "
    auto_increment_increment=7 auto_increment_offset=3 autocommit=0 big_tables=1 binlog_row_image=MINIMAL
    bulk_insert_buffer_size=4096 character_set_client=latin1 character_set_connection=latin1
    character_set_database=latin1 character_set_filesystem=utf8mb4 character_set_results=latin1
    character_set_server=utf16 collation_connection=latin1_german2_ci collation_database=latin1_bin
    collation_server=latin1_bin completion_type=1 default_storage_engine=MyISAM
    default_tmp_storage_engine=MyISAM default_week_format=5 div_precision_increment=9
    eq_range_index_dive_limit=3 foreign_key_checks=0 group_concat_max_len=77 identity=9
    innodb_lock_wait_timeout=9 innodb_table_locks=0 insert_id=500 interactive_timeout=77
    join_buffer_size=131072 last_insert_id=77 lc_messages=de_DE lc_time_names=de_DE lock_wait_timeout=9
    long_query_time=3 low_priority_updates=1 max_error_count=3 max_heap_table_size=65536 max_join_size=7
    max_length_for_sort_data=2048 max_seeks_for_key=7 max_sort_length=99 max_sp_recursion_depth=3
    min_examined_row_limit=5 myisam_sort_buffer_size=65536 net_read_timeout=7 net_retry_count=3
    net_write_timeout=7 optimizer_prune_level=0 optimizer_search_depth=3 optimizer_switch='mrr=off'
    preload_buffer_size=65536 profiling_history_size=7 pseudo_thread_id=77 query_alloc_block_size=16384
    query_prealloc_size=32768 rand_seed1=1 range_alloc_block_size=8192 read_buffer_size=65536
    read_rnd_buffer_size=65536 session_track_schema=0 session_track_state_change=1
    session_track_system_variables='autocommit' session_track_transaction_info=CHARACTERISTICS
    sort_buffer_size=65536 sql_auto_is_null=1 sql_big_selects=0 sql_buffer_result=1 sql_log_bin=0
    sql_log_off=1 sql_mode='' sql_mode=ANSI sql_notes=0 sql_quote_show_create=0 sql_safe_updates=1
    sql_select_limit=1 sql_warnings=1 time_zone='+03:00' timestamp=100 tmp_table_size=65536
    transaction_alloc_block_size=16384 transaction_prealloc_size=8192 unique_checks=0
    updatable_views_with_limit=0 wait_timeout=77";

const OF_MARIADB: &str = "
    alter_algorithm=COPY analyze_sample_percentage=50 check_constraint_checks=0
    column_compression_threshold=77 default_regex_flags=DOTALL deadlock_search_depth_long=7
    enforce_storage_engine=InnoDB expensive_subquery_limit=7 gtid_domain_id=3 gtid_seq_no=1000000
    histogram_size=7 idle_transaction_timeout=99 in_predicate_conversion_threshold=7 join_cache_level=1
    log_slow_rate_limit=7 max_recursive_iterations=7 max_statement_time=77 mrr_buffer_size=65536
    old_mode='' optimizer_selectivity_sampling_limit=50 optimizer_trace='enabled=on'
    optimizer_use_condition_selectivity=1 progress_report_time=7 rowid_merge_buff_size=65536 server_id=77
    skip_parallel_replication=1 skip_replication=1 sql_if_exists=1 standard_compliant_cte=0
    system_versioning_asof='2020-01-01 00:00:00' tx_isolation='SERIALIZABLE' use_stat_tables=NEVER";

const OF_MYSQL: &str = "
    cte_max_recursion_depth=7 default_collation_for_utf8mb4=utf8mb4_general_ci end_markers_in_json=1
    explain_json_format_version=1 generated_random_password_length=30 histogram_generation_max_mem_size=2000000
    information_schema_stats_expiry=0 internal_tmp_mem_storage_engine=MEMORY max_execution_time=77777
    optimizer_max_subgraph_pairs=7 optimizer_trace_limit=7 optimizer_trace_offset=-7
    parser_max_mem_size=20000000 print_identified_with_as_hex=1 require_row_format=1
    select_into_buffer_size=65536 session_track_gtids=OWN_GTID set_operations_buffer_size=65536
    show_create_table_verbosity=1 sql_generate_invisible_primary_key=1 sql_require_primary_key=1
    transaction_isolation='SERIALIZABLE' transaction_read_only=1 use_secondary_engine=OFF
    windowing_use_high_precision=0 xa_detach_on_prepare=0";

/// Statements of a state with ` ~ ` between them; `!` stands in front of one that fails.
const STATES: &str = "
    SET sql_mode = CONCAT(@@sql_mode, ',ANSI')
    SET sql_mode = (SELECT REPLACE(@@sql_mode, 'STRICT_TRANS_TABLES', ''))
    SET group_concat_max_len = @@max_sort_length
    SET sql_select_limit = @@global.max_sort_length
    SET time_zone = (SELECT '+02:00')
    SET @a = 1 ~ SET sql_select_limit = @a
    SET max_sort_length = 77, group_concat_max_len = @@max_sort_length
    SET time_zone = '+01:00', sql_notes = 0, @a = 5
    SET time_zone = '+01:00'; SET sql_notes = 0
    SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE
    SET SESSION TRANSACTION READ ONLY
    SET TRANSACTION READ ONLY
    SET TRANSACTION ISOLATION LEVEL SERIALIZABLE
    SET NAMES latin1
    SET NAMES latin1 COLLATE latin1_bin
    SET NAMES gbk
    SET NAMES DEFAULT
    SET CHARACTER SET latin1
    SET CHARACTER SET DEFAULT
    USE other_states
    USE other_states ~ SET CHARACTER SET utf8mb4
    USE other_states ~ SET CHARACTER SET utf8mb4 ~ USE states
    USE other_states ~ SET collation_connection = @@collation_database ~ USE states
    SET NAMES latin1 ~ SET @a = 'text' ~ SET NAMES utf8mb4
    SET @a = 1
    SET @a = 'text', @b = NULL
    SET @a = @@sql_mode
    SELECT 1 INTO @a
    SELECT @a := 2
    SET @b = (SELECT MAX(who) FROM shadowed)
    !SELECT @a := 2 FROM missing
    SELECT GET_LOCK('lock_one', 1)
    SELECT GET_LOCK('lock_one', 1), GET_LOCK('lock_two', 1)
    SELECT GET_LOCK(CONCAT('lock_', who), 1) FROM (SELECT 'one' AS who) AS d
    SELECT GET_LOCK('lock_one', 1) ~ SELECT GET_LOCK('lock_one', 1) ~ DO RELEASE_LOCK('lock_one')
    LOCK TABLES shadowed READ
    LOCK TABLES keyed WRITE
    LOCK TABLES keyed WRITE, shadowed AS s READ
    FLUSH TABLES WITH READ LOCK
    FLUSH TABLES keyed WITH READ LOCK
    FLUSH TABLES keyed FOR EXPORT
    HANDLER shadowed OPEN AS handled
    HANDLER shadowed OPEN AS handled ~ HANDLER handled READ FIRST
    PREPARE prepared_one FROM 'SELECT 1'
    PREPARE prepared_one FROM 'SELECT 1' ~ EXECUTE prepared_one
    PREPARE prepared_one FROM 'SET @a = 3' ~ EXECUTE prepared_one ~ DEALLOCATE PREPARE prepared_one
    CREATE TEMPORARY TABLE shadowed AS SELECT 'temporary' AS who
    CREATE TEMPORARY TABLE states.shadowed (who INT)
    CREATE TEMPORARY TABLE written LIKE keyed
    CREATE TEMPORARY TABLE zz (a INT); DROP TEMPORARY TABLE zz; CREATE TEMPORARY TABLE shadowed (who INT)
    CREATE TEMPORARY TABLE shadowed (who INT) ~ ALTER TABLE shadowed ADD more INT
    BEGIN
    BEGIN ~ INSERT INTO written VALUES (2, 'open')
    BEGIN ~ SELECT * FROM written FOR UPDATE
    START TRANSACTION READ ONLY
    START TRANSACTION WITH CONSISTENT SNAPSHOT
    START TRANSACTION ~ SAVEPOINT here
    SET autocommit = 0 ~ INSERT INTO written VALUES (3, 'open')
    SET autocommit = 0 ~ SAVEPOINT here
    SET completion_type = 1 ~ BEGIN ~ COMMIT
    COMMIT AND CHAIN
    XA START 'states'
    XA START 'states' ~ INSERT INTO written VALUES (4, 'xa')
    XA START 'states' ~ INSERT INTO written VALUES (4, 'xa') ~ XA END 'states'
    !SELECT * FROM missing
    !SELECT FROM
    !INSERT INTO keyed VALUES (1), (2, 3)
    SELECT 1 + 'a'
    SELECT 1 FROM shadowed WHERE who = 1
    DROP TABLE IF EXISTS missing
    SELECT 1 UNION SELECT 2 UNION SELECT 3
    SELECT SQL_CALC_FOUND_ROWS * FROM (SELECT 1 UNION SELECT 2) AS d LIMIT 1
    INSERT INTO keyed (v) VALUES ('a')
    INSERT INTO keyed (v) VALUES ('a'), ('b'), ('c')
    SELECT LAST_INSERT_ID(55)
    UPDATE keyed SET v = CONCAT(v, '.') WHERE id < 3
    SET insert_id = 700 ~ INSERT INTO keyed (v) VALUES ('z') ~ DELETE FROM keyed WHERE id = 700
    SET timestamp = 100 ~ SELECT NOW()
    SET rand_seed1 = 1, rand_seed2 = 2
    SET sql_auto_is_null = 1 ~ INSERT INTO keyed (v) VALUES ('n')
    CALL sets_names()
    CALL shadows()
    CALL takes_role()
    CALL profiles() ~ SELECT 'of the procedure'
    SELECT a_set()
    SELECT role_taken()
    INSERT INTO watched VALUES (1)
    SELECT has_it FROM locking
    FLUSH STATUS
    SELECT CONNECTION_ID() + 0
    SELECT 1; SET ROLE taken
    SET profiling = 1 ~ SELECT 'profiled'
    SET profiling = 1 ~ SELECT 'profiled' ~ SET profiling = 0
    PREPARE p FROM 'SET ROLE taken' ~ EXECUTE p ~ DEALLOCATE PREPARE p
    PREPARE p FROM 'SET ROLE NONE' ~ EXECUTE p
    SET ROLE taken
    SET ROLE NONE
    /*!50000 SET ROLE taken */
    SET ROLE taken ~ SELECT 1; SELECT 2
    SET ROLE taken ~ SET NAMES latin1 ~ USE other_states";

const STATES_OF_MARIADB: &str = "
    SELECT NEXTVAL(numbers)
    SELECT NEXT VALUE FOR numbers
    SELECT SETVAL(numbers, 100000) ~ SELECT NEXTVAL(numbers)
    EXECUTE IMMEDIATE 'SET ROLE taken'
    EXECUTE IMMEDIATE 'SET NAMES latin1'
    BEGIN NOT ATOMIC SET ROLE taken; END
    BEGIN NOT ATOMIC SET @a = 4; END
    BACKUP STAGE START
    BACKUP LOCK written
    SET STATEMENT max_statement_time = 9 FOR SELECT 1
    SET STATEMENT max_statement_time = 9 FOR SET ROLE taken
    SET @@max_statement_time = 9, @@session.sql_mode = @@global.sql_mode
    SET optimizer_trace = 'enabled=on' ~ SELECT who FROM shadowed
    CREATE OR REPLACE TEMPORARY TABLE shadowed AS SELECT 'replaced' AS who
    CREATE TEMPORARY SEQUENCE numbers
    SET default_master_connection = 'other'
    SET NAMES latin1 COLLATE DEFAULT
    SELECT MASTER_GTID_WAIT('', 0)
    INSERT INTO keyed (v) VALUES ('r') RETURNING id
    SET profiling = 1 ~ SELECT 'kept' ~ SELECT 'more'
    SET tcp_nodelay = 0";

const STATES_OF_MYSQL: &str = "
    LOCK INSTANCE FOR BACKUP
    SET SESSION gtid_next = 'AUTOMATIC'
    SET character_set_results = NULL
    SET NAMES utf8mb4 COLLATE utf8mb4_bin
    SET default_collation_for_utf8mb4 = utf8mb4_general_ci ~ SET NAMES utf8mb4
    CALL sys.ps_setup_disable_thread(CONNECTION_ID())
    CALL goes_slow()
    SELECT WAIT_FOR_EXECUTED_GTID_SET('', 0)
    SET transaction_isolation = DEFAULT, time_zone = '+04:00'
    SELECT STATEMENT_DIGEST('SELECT 1')
    SET ROLE ALL
    SET RESOURCE GROUP slow
    SET ROLE taken ~ SET ROLE DEFAULT
    SET optimizer_trace = 'enabled=on' ~ SELECT who FROM shadowed
    SET optimizer_trace = 'enabled=on' ~ SELECT who FROM shadowed ~ SET optimizer_trace = 'enabled=off'";

/// A state of a session.
#[derive(Debug, Clone, Copy)]
pub(super) struct State {
    text: &'static str,
    /// Whether the text is an assignment to a variable.
    is_variable: bool,
}

impl State {
    /// What a session says to get into it.
    pub(super) fn statements(&self) -> Vec<String> {
        if self.is_variable {
            return vec![format!("SET SESSION {}", self.text)];
        }
        self.text.split(" ~ ").map(str::to_owned).collect()
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)
    }
}

/// Those that servers of this make have.
pub(super) fn states(make: Make) -> Vec<State> {
    let (variables, states) = match make {
        Make::MariaDb => (OF_MARIADB, STATES_OF_MARIADB),
        Make::MySql => (OF_MYSQL, STATES_OF_MYSQL),
    };
    // Quoted values may have blanks, and none of them an equals sign behind one.
    let assignments = [VARIABLES, variables].into_iter().flat_map(assignments);
    let assignments = assignments.map(|text| State { text, is_variable: true });
    let lists = [STATES, states].into_iter().flat_map(str::lines).map(str::trim);
    let lists = lists.filter(|text| !text.is_empty()).map(|text| State { text, is_variable: false });
    assignments.chain(lists).collect()
}

/// The assignments in a list, between which are blanks that are in no quotes.
fn assignments(list: &'static str) -> impl Iterator<Item = &'static str> {
    let mut is_quoted = false;
    let words = list.split(move |c: char| {
        is_quoted ^= c == '\'';
        c.is_whitespace() && !is_quoted
    });
    words.filter(|word| !word.is_empty())
}
