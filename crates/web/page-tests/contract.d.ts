// Types of the page: the JSON of the HTTP interface, and what modules of the page hand to each
// other. `tsc` reads this file; browsers never do.
// Ends of names: `_ms` at a point in time is Unix ms; `_us`, `_ms`, `_s` of a duration are units.


// The HTTP interface

interface Account { user: string; rights: "admin" | "stats"; csrf: string | null; expires_ms: number | null }
interface Envelope {
  id: string; time_ms: number;
  proxy: { host: string; version: string; started_ms: number; uptime_s: number };
  viewer: { user: string; rights: "admin" | "stats" };
  head: Head;
  views: Views;
}
interface Views {
  now?: NowView; servers?: ServersView; statements?: StatementsView; sessions?: SessionsView;
  config?: ConfigView; [name: string]: any;
}
interface Verdict { level: "ok" | "warn" | "bad"; text: string; reasons: string[] }
interface Head {
  verdict: Verdict; clients: number; clients_max: number; qps: number; p95_us: number | null;
  waiting: number; errors: number; accepts: boolean;
  config: { version: number | null; by: string | null; applied_ms: number | null;
    not_loaded: number | null; not_saved: number | null; problems: number | null };
}
interface Failed { error?: string }
interface Point {
  t: number; qps: number; p50_us: number | null; p95_us: number | null; p99_us: number | null;
  clients: number; busy: number; waiting: number; used: number; free: number; errors: number;
  bytes_in: number; bytes_out: number;
}
interface Span { from_ms: number; to_ms: number; state: string; cause: string }
interface TimelineServer { hostgroup: number; server: string; name: string; spans: Span[] }
interface Hostgroup {
  hostgroup: number; role: string | null; partner: number | null; comment: string; servers: number;
  usable: number; used: number; free: number; limit: number; waiting: number; qps: number;
}
interface ErrorRow {
  /** Without a server: an error of the proxy; without a hostgroup: of no session. */
  hostgroup: number | null; server: string | null; users: string; code: number;
  count: number; recent: number;
  first_ms: number | null; last_ms: number | null; message: string | null;
}
interface ProxyEvent {
  time_ms: number; kind: "server" | "config"; event: string; hostgroup: number | null;
  server: string | null; cause: string;
}
interface NowView extends Failed {
  points: Point[]; timeline: { from_ms: number; to_ms: number; servers: TimelineServer[] };
  hostgroups: Hostgroup[]; errors: ErrorRow[]; events: ProxyEvent[];
}
interface Listener {
  id: string; address: string; protocol: string; role: string; hostgroup: number | null;
  max_connections: number;
}
interface User {
  id: string; user: string; default_hostgroup: number; clients: number; clients_max: number;
  fast_forward: boolean;
}
interface Rule {
  id: string; rule_id: number; match: string | null; username: string | null;
  schemaname: string | null; destination_hostgroup: number | null; apply: boolean; hits: number;
  /** Null for accounts that see neither `match` nor `comment`. */
  comment: string | null;
}
interface ServerRow {
  id: string; hostgroup: number; configured_in: number | null; server: string; name: string; status: string;
  usable: boolean; reason: string | null; weight: number | null; used: number; free: number; limit: number | null;
  most_used: number; opened: number; failed: number; queries: number; qps: number;
  latency_us: number | null; bytes_out: number; bytes_in: number; lag_s: number | null;
  max_lag_s: number | null; read_only: boolean | null;
}
interface Edge { from: string; to: string; why: string }
interface ServersView extends Failed {
  listeners: Listener[]; users: User[]; rules: Rule[];
  hostgroups: { id: string; hostgroup: number; role: string | null; comment: string }[];
  servers: ServerRow[]; edges: Edge[];
  left_out: { users: number; rules: number; edges: number };
}
interface Digest {
  digest: string; text: string; hostgroup: number; user: string; schema: string; client: string;
  count: number; time_us: number; share: number; errors: number;
  recent: { count: number; time_us: number; share: number; errors: number };
  p50_us: number | null; p95_us: number | null; p99_us: number | null; p999_us: number | null;
  min_us: number; max_us: number; rows_sent: number; rows_affected: number; bytes_out: number;
  bytes_in: number; first_ms: number; last_ms: number; spark: number[];
}
interface StatementsView extends Failed {
  window_s: number; spark_step_s: number; rows: Digest[]; left_out: number;
  total: { count: number; time_us: number; recent_count: number; recent_time_us: number };
}
interface SessionRow {
  id: number; user: string; schema: string; client: string; hostgroup: number | null;
  server: string | null; state: string; command: string; ms: number; statement: string | null;
  pin: { reason: string; ms: number } | null; transaction_ms: number | null;
}
interface Pin {
  reason: string; user: string; hostgroup: number; sessions: number; oldest_ms: number;
  oldest_session: number;
}
interface Transaction {
  id: number; user: string; client: string; hostgroup: number; server: string | null; state: string;
  ms: number; idle_ms: number | null;
}
interface UserRow { user: string; clients: number; clients_max: number; connections: number }
interface Prepared {
  user: string; schema: string; texts: number; open_clients: number; open_servers: number;
}
interface SessionsView extends Failed {
  totals: { clients: number; idle: number; running: number; waiting: number; logging_in: number;
    pinned: number; in_transaction: number; prepared_clients: number; prepared_servers: number };
  rows: SessionRow[]; pins: Pin[]; transactions: Transaction[]; users: UserRow[];
  prepared: Prepared[]; left_out: number;
}
interface Module {
  module: string; version: number | null; by: string; applied_ms: number | null;
  not_loaded: number; not_saved: number;
}
interface Difference {
  module: string; against: string; table: string; row: string; change: string;
  column: string | null; there: string | null; memory: string | null;
}
interface Version { module: string; version: number; by: string; applied_ms: number; runs: boolean }
interface ConfigView extends Failed {
  modules: Module[]; diff: Difference[]; diff_left_out: number; versions: Version[];
  check: { level: string; message: string }[]; read_only: boolean; read_at_ms: number;
}
interface Explanation {
  steps: { step: string; result: string; detail: string }[];
  route: { destination: string; reason: string; hostgroup: number };
}

// Modules of the page

/** How grave a state is, or `news` of an event. Each level has a shape and a colour. */
type Level = "ok" | "warn" | "bad" | "off" | "news";
type Figure = number | null | undefined;
/** A view: `update` gets a state of which `views` has the view, without an error. */
interface View { element: HTMLElement; update(state: Envelope): void; destroy?(): void }
/** State of the connection: lost since a time, and when the next try is (Unix ms). */
type Link = { kind: "live" } | { kind: "polling"; reason: string }
  | { kind: "lost"; since: number; retry: number; reason: string };
interface StreamListener {
  onState(whole: boolean, envelope: Envelope): void;
  onLink(link: Link): void;
  onLoginRequired(): void;
}
interface Column<R> {
  label: string;
  /** What the cell says; also what a filter looks at. */
  text(row: R): string;
  /** To sort by; without it there is no sorting. */
  value?: (row: R) => number | string | null | undefined;
  /** Classes of the cells: `num` at the right, `minor` not on narrow screens, `code`, `prose`... */
  kind?: string;
  title?: string;
  /** Fills the cell in place of `text`, when `memo` (by default `text`) has changed. */
  draw?: (cell: HTMLElement, row: R) => void;
  memo?: (row: R) => string;
}
interface Detail<R> { element: HTMLElement; update(row: R): void }
interface TableOptions<R> {
  title: string;
  columns: Column<R>[];
  key(row: R): string;
  /** What stands there if there are no rows. */
  empty: string;
  /** Label of the column that rows are sorted by at first, largest first. */
  sort?: string;
  /** Text in the field that filters rows; undefined: there is no such field. */
  filter?: string;
  /** Rows that are shown at first, and added by "show more". */
  step?: number;
  /** Asks the proxy for rows chosen among all that it has; undefined: it sends them all. */
  remote?(wanted: Record<string, string>): Promise<{ rows: R[]; matching: number }>;
  /** Mark at the left of a row. */
  level?: (row: R) => Level | "";
  /** What a press on a row shows below it; `open` is the key of the row that is open at first. */
  detail?: { label(row: R): string; open: string; build(row: R): Detail<R>; onOpen(key: string): void };
}
interface Shown<R> {
  line: HTMLTableRowElement; cells: HTMLElement[]; memos: string[]; detail: Detail<R> | null;
  below: HTMLTableRowElement | null;
}
interface Series {
  key: keyof Point; label: string;
  /** Custom property of the style sheet, without dashes. */
  colour: string;
  area?: boolean;
}
interface TimelineRow { line: HTMLElement; bars: SVGElement; word: HTMLElement; memo: string }
interface MapColumn { title: string; nodes: MapNode[]; shown: MapNode[]; leftOut: number }
interface MapNode {
  id: string; name: string; more: string; level?: Level; word?: string; reason?: string | null;
}
/** An action that runs after its statement was typed; `body` lacks only `confirm`. */
interface Action { title: string; text: string; statement: string; body: Record<string, unknown> }
