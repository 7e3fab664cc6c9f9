//! The groups `mysql_variables` and `pointsman_variables`.

use std::time::Duration;

use super::{Address, CausalReads, Networks, ShardTransactions, TlsParams};
use crate::row::from_row;
use crate::schema::{MYSQL_VARIABLES, POINTSMAN_VARIABLES};

/// The variables of ProxySQL's `mysql-` family that exist so far. The manual has their meanings,
/// units and ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "switches that operators set one by one")]
pub struct MysqlVariables {
    /// Data-plane threads, 1 to 255.
    pub threads: u16,
    /// Most clients at a time.
    pub max_connections: u32,
    /// Most clients from one address at a time; 0: no limit.
    pub max_connections_per_address: u32,
    /// How long clients wait for a place; zero: they are refused.
    pub client_queue_timeout: Duration,
    /// Most clients that wait for a place among all.
    pub client_queue_size: u32,
    /// The version that the greeting claims; empty for that of the servers.
    pub server_version: String,
    /// The schema of a session for which neither client nor user names one; empty means none.
    pub default_schema: String,
    /// The login method that the greeting offers.
    pub default_authentication_plugin: AuthPlugin,
    /// Whether clients may choose the compressed protocol.
    pub have_compress: bool,
    /// Longest message that a client may send, in bytes.
    pub max_allowed_packet: u32,
    /// A login must be finished within this time.
    pub connect_timeout_client: Duration,
    /// A client that is idle outside a transaction for this time is disconnected.
    pub wait_timeout: Duration,
    /// A client that is idle inside a transaction for this time is disconnected.
    pub max_transaction_idle_time: Duration,
    /// A client whose transaction lasts longer is disconnected.
    pub max_transaction_time: Duration,
    /// One attempt to connect to a server takes at most this time.
    pub connect_timeout_server: Duration,
    /// A session waits at most this time for a connection, all attempts together.
    pub connect_timeout_server_max: Duration,
    /// Whether servers are asked to tell the GTIDs of what sessions write.
    pub default_session_track_gtids: TrackGtids,
    /// Whether clients are told GTIDs that ask for them.
    pub client_session_track_gtid: bool,
    /// The pause before a reader of a server's GTIDs is connected to again.
    pub binlog_reader_connect_retry: Duration,
    /// Whether errors of statements are logged.
    pub verbose_query_error: bool,
    /// Attempts after the first one that failed.
    pub connect_retries_on_failure: u32,
    /// The pause between two attempts.
    pub connect_retries_delay: Duration,
    /// Of the connections that a server may have, the percentage that may stay open and idle.
    pub free_connections_pct: u32,
    /// Prepared statements that stay at a connection when it becomes another session's.
    pub max_stmts_per_connection: u32,
    /// Whether that share is opened ahead of need.
    pub connection_warming: bool,
    /// Connections to a hostgroup that may be begun in a second.
    pub throttle_connections_per_sec: u32,
    /// What every new connection to a server begins with; empty: nothing.
    pub init_connect: String,
    /// `multiplexing`: sessions share connections to servers.
    pub multiplexing: bool,
    /// Connections that are older are not kept; zero: no limit.
    pub connection_max_age: Duration,
    /// From one ping of an idle connection to the next.
    pub ping_interval_server: Duration,
    /// The longest time for the answer to it.
    pub ping_timeout_server: Duration,
    /// Servers that are slower are passed over; zero: no limit.
    pub default_max_latency: Duration,
    /// From this many candidates on, those that are slower than the average are passed over.
    pub min_num_servers_latency_awareness: u32,
    /// From this many candidates on, statements that bear a lag leave the writer alone; 0: off.
    pub aurora_max_lag_ms_only_read_from_replicas: u32,
    /// Further attempts of a statement that changes nothing, after its server was lost.
    pub query_retries_on_failure: u32,
    /// Connect errors in a second after which a server is shunned.
    pub shun_on_failures: u32,
    /// How long a server stays shunned; zero: until no other is left.
    pub shun_recovery_time: Duration,
    /// Mirrored statements that run at a time, of all workers together.
    pub mirror_max_concurrency: u32,
    /// Mirrored statements that wait, of all workers together.
    pub mirror_max_queue_length: u32,
    /// Whether lists of sessions have all that is known of each: 1 compact, 2 indented.
    pub show_processlist_extended: u16,
    /// Bytes of answers per second that one client gets; 0: no limit.
    pub throttle_max_bytes_per_second_to_client: u32,
    /// Whether warnings of statements are logged.
    pub log_mysql_warnings_enabled: bool,
    /// Whether it is logged when idle connections turn out to be broken.
    pub log_unhealthy_connections: bool,
    /// Whether clients are offered `DEPRECATE_EOF`.
    pub enable_client_deprecate_eof: bool,
    /// Whether servers may be asked for it.
    pub enable_server_deprecate_eof: bool,
    /// From where connections must begin with a PROXY header.
    pub proxy_protocol_networks: Networks,
    /// Whether TCP keepalive probes are sent to clients and servers.
    pub use_tcp_keepalive: bool,
    /// How long a connection is idle before its first keepalive probe; zero leaves it to the
    /// system.
    pub tcp_keepalive_time: Duration,
    /// Whether clients are offered TLS.
    pub have_ssl: bool,
    /// TLS to servers: file of certificate authorities; like the next ones, empty if there is none.
    pub ssl_p2s_ca: String,
    /// Folder of certificate authorities.
    pub ssl_p2s_capath: String,
    /// File of the certificate that servers are shown.
    pub ssl_p2s_cert: String,
    /// File of its key.
    pub ssl_p2s_key: String,
    /// Cipher suites.
    pub ssl_p2s_cipher: String,
    /// File of revoked certificates.
    pub ssl_p2s_crl: String,
    /// Folder of revoked certificates.
    pub ssl_p2s_crlpath: String,
    /// Whether the statement of a client that vanished is killed at its server.
    pub kill_backend_connection_when_disconnect: bool,
    /// Client addresses whose failed connections are counted; 0: none.
    pub client_host_cache_size: u32,
    /// Failed connections after which an address is refused; 0: never.
    pub client_host_error_counts: u32,
    /// A statement that takes longer counts as slow.
    pub long_query_time: Duration,
    /// Whether statements are counted by their kind.
    pub commands_stats: bool,
    /// Whether statements are counted by their digests.
    pub query_digests: bool,
    /// Longest text of a digest, in bytes.
    pub query_digests_max_digest_length: u32,
    /// Bytes of a statement that its digest is of.
    pub query_digests_max_query_length: u32,
    /// Values of a list that a digest keeps.
    pub query_digests_grouping_limit: u32,
    /// Repeated groups of values that a digest keeps; 0: all.
    pub query_digests_groups_grouping_limit: u32,
    /// Whether digests are in lower case.
    pub query_digests_lowercase: bool,
    /// Whether `NULL` is a value.
    pub query_digests_replace_null: bool,
    /// Whether digits in names become `?`.
    pub query_digests_no_digits: bool,
    /// Whether digests keep comments.
    pub query_digests_keep_comment: bool,
    /// Makes no difference: the text of a digest is always kept once, whatever schema and user.
    pub query_digests_normalize_digest_text: bool,
    /// Whether digests are counted by client address.
    pub query_digests_track_hostname: bool,
    /// Memory of the statistics per digest, in bytes, all workers together.
    pub query_digests_max_memory: u64,
    /// Memory of the query cache, in MiB (`query_cache_size_MB`).
    pub query_cache_size_mb: u32,
    /// The part of its time to live, in percent, after which one client refreshes an answer.
    pub query_cache_soft_ttl_pct: u32,
    /// Whether answers without rows are cached.
    pub query_cache_stores_empty_result: bool,
    /// Whether plain reads go to readers where no rule decides.
    pub read_write_split: bool,
    /// Whether statements are looked at for injected SQL.
    pub automatic_detect_sqli: bool,
    /// Whether the firewall is on.
    pub firewall_whitelist_enabled: bool,
    /// The error that statements are refused with that are on no list.
    pub firewall_whitelist_errormsg: String,
    /// Times that a rule's `flagOUT` may start the rules again for one statement.
    pub query_processor_iterations: u32,
    /// The engine of the rules' expressions: 1 PCRE, 2 RE2.
    pub query_processor_regex: u16,
    /// A statement that takes longer is killed.
    pub default_query_timeout: Duration,
    /// Artificial delay of every statement.
    pub default_query_delay: Duration,
    /// What the names of the query log's files begin with; empty: no log.
    pub eventslog_filename: String,
    /// Bytes of its longest file.
    pub eventslog_filesize: u32,
    /// 1: it gets statements that no rule decides about.
    pub eventslog_default_log: u32,
    /// 1: ProxySQL's binary form, 2: JSON.
    pub eventslog_format: u32,
    /// Newest statements of the query log that are kept in memory.
    pub eventslog_buffer_history_size: u32,
    /// Most rows of the table that these are dumped to.
    pub eventslog_table_memory_size: u32,
    /// Bytes of each statement that are kept in memory.
    pub eventslog_buffer_max_query_length: u32,
    /// What the names of the audit log's files begin with; empty: no log.
    pub auditlog_filename: String,
    /// Bytes of its longest file.
    pub auditlog_filesize: u32,
}

from_row!(MysqlVariables, MYSQL_VARIABLES, {
    threads,
    max_connections,
    max_connections_per_address,
    client_queue_timeout = "client_queue_timeout_ms",
    client_queue_size,
    server_version,
    default_schema,
    default_authentication_plugin,
    have_compress,
    max_allowed_packet,
    connect_timeout_client,
    wait_timeout,
    max_transaction_idle_time,
    max_transaction_time,
    connect_timeout_server,
    connect_timeout_server_max,
    default_session_track_gtids,
    client_session_track_gtid,
    binlog_reader_connect_retry = "binlog_reader_connect_retry_msec",
    verbose_query_error,
    show_processlist_extended,
    throttle_max_bytes_per_second_to_client,
    log_mysql_warnings_enabled,
    log_unhealthy_connections,
    enable_client_deprecate_eof,
    enable_server_deprecate_eof,
    connect_retries_on_failure,
    connect_retries_delay,
    query_retries_on_failure,
    free_connections_pct,
    max_stmts_per_connection,
    connection_warming,
    throttle_connections_per_sec = "throttle_connections_per_sec_to_hostgroup",
    init_connect,
    multiplexing,
    connection_max_age = "connection_max_age_ms",
    ping_interval_server = "ping_interval_server_msec",
    ping_timeout_server,
    default_max_latency = "default_max_latency_ms",
    min_num_servers_latency_awareness = "min_num_servers_lantency_awareness",
    aurora_max_lag_ms_only_read_from_replicas,
    shun_on_failures,
    shun_recovery_time = "shun_recovery_time_sec",
    mirror_max_concurrency,
    mirror_max_queue_length,
    proxy_protocol_networks,
    use_tcp_keepalive,
    tcp_keepalive_time,
    have_ssl,
    ssl_p2s_ca,
    ssl_p2s_capath,
    ssl_p2s_cert,
    ssl_p2s_key,
    ssl_p2s_cipher,
    ssl_p2s_crl,
    ssl_p2s_crlpath,
    kill_backend_connection_when_disconnect,
    client_host_cache_size,
    client_host_error_counts,
    long_query_time,
    commands_stats,
    query_digests,
    query_digests_max_digest_length,
    query_digests_max_query_length,
    query_digests_grouping_limit,
    query_digests_groups_grouping_limit,
    query_digests_lowercase,
    query_digests_replace_null,
    query_digests_no_digits,
    query_digests_keep_comment,
    query_digests_normalize_digest_text,
    query_digests_track_hostname,
    query_digests_max_memory,
    query_cache_size_mb = "query_cache_size_MB",
    query_cache_soft_ttl_pct,
    query_cache_stores_empty_result,
    read_write_split,
    automatic_detect_sqli,
    firewall_whitelist_enabled,
    firewall_whitelist_errormsg,
    query_processor_iterations,
    query_processor_regex,
    default_query_timeout,
    default_query_delay,
    eventslog_filename,
    eventslog_filesize,
    eventslog_default_log,
    eventslog_format,
    eventslog_buffer_history_size,
    eventslog_table_memory_size,
    eventslog_buffer_max_query_length,
    auditlog_filename,
    auditlog_filesize,
});

impl MysqlVariables {
    /// TLS to servers for which `mysql_servers_ssl_params` has no row.
    pub fn tls_to_servers(&self) -> TlsParams {
        TlsParams {
            ca: self.ssl_p2s_ca.clone(),
            capath: self.ssl_p2s_capath.clone(),
            cert: self.ssl_p2s_cert.clone(),
            key: self.ssl_p2s_key.clone(),
            cipher: self.ssl_p2s_cipher.clone(),
            crl: self.ssl_p2s_crl.clone(),
            crlpath: self.ssl_p2s_crlpath.clone(),
        }
    }
}

/// The variables that ProxySQL does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointsmanVariables {
    /// How long running transactions may go on after SIGTERM (`drain_timeout_ms`).
    pub drain_timeout: Duration,
    /// When clients get their connection to a server at their login already.
    pub check_logins: CheckLogins,
    /// File of the certificate that clients are shown; empty: one in `datadir`, or a new one.
    pub tls_cert: String,
    /// File of its key; empty: one in `datadir`, or a new one.
    pub tls_key: String,
    /// File of the authorities of clients' certificates; empty: clients are not asked for one.
    pub tls_ca: String,
    /// Of the statements that no rule decides about, the query log gets one in so many; at least 1.
    pub eventslog_sample: u32,
    /// What the names of the slow log's files begin with; empty: no log.
    pub slow_log_filename: String,
    /// Bytes of its longest file.
    pub slow_log_filesize: u32,
    /// Of the slow statements that no rule decides about, it gets one in so many; at least 1.
    pub slow_log_sample: u32,
    /// Where health checks are answered: TCP addresses.
    pub health_address: Vec<Address>,
    /// Where the page for operators is served: TCP addresses; empty: at `admin-web_port`.
    pub web_address: Vec<Address>,
    /// Collectors of spans: TCP addresses, the best one first.
    pub otlp_address: Vec<Address>,
    /// Of the statements without a parent, one in so many becomes a span; 0: none.
    pub otlp_sample: u32,
    /// Bytes of a statement that logs keep.
    pub log_text_max: u32,
    /// What looks like injected SQL passes all the same.
    pub sqli_detect_only: bool,
    /// How long at most a session that has waited for a connection comes before others who wait
    /// (`connection_turn_ms`).
    pub connection_turn: Duration,
    /// How many statements of sessions that wait for connections go out together over one, at most.
    pub statements_together: u32,
    /// Whether servers are asked what the stored routines do that have run.
    pub judge_routines: bool,
    /// Whether servers are asked what is behind the names of tables.
    pub judge_tables: bool,
    /// 1: queries are followed for advice about caching.
    pub cache_advise: u32,
    /// What transactions may change in sharded tables.
    pub shard_transactions: ShardTransactions,
    /// Whose writes reads at readers must see.
    pub causal_reads: CausalReads,
    /// How long a read waits for its replica before the writer does it (`causal_wait_ms`).
    pub causal_wait: Duration,
}

from_row!(PointsmanVariables, POINTSMAN_VARIABLES, {
    drain_timeout = "drain_timeout_ms", check_logins,
    tls_cert,
    tls_key,
    tls_ca,
    eventslog_sample,
    slow_log_filename,
    slow_log_filesize,
    slow_log_sample,
    health_address,
    web_address,
    otlp_address,
    otlp_sample,
    log_text_max,
    sqli_detect_only,
    connection_turn = "connection_turn_ms",
    statements_together,
    judge_routines,
    judge_tables,
    cache_advise,
    shard_transactions,
    causal_reads,
    causal_wait = "causal_wait_ms",
});

/// A login method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum AuthPlugin {
    /// `mysql_native_password`.
    #[default]
    MysqlNativePassword,
    /// `caching_sha2_password`.
    CachingSha2Password,
}

impl AuthPlugin {
    /// The method's name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MysqlNativePassword => "mysql_native_password",
            Self::CachingSha2Password => "caching_sha2_password",
        }
    }
}

/// Which GTIDs servers are asked to tell (`session_track_gtids`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum TrackGtids {
    /// None.
    #[default]
    Off,
    /// Those of the session's own transactions.
    OwnGtid,
}

/// The form of the process's own log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum LogFormat {
    /// Lines of text.
    #[default]
    Text,
    /// A JSON object in each line.
    Json,
}

/// Whether clients hear at their login what a server has against their user or schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum CheckLogins {
    /// With their first statement.
    Never,
    /// Unless a server has accepted the same user and schema a short time ago.
    #[default]
    First,
    /// At every login.
    Always,
}
