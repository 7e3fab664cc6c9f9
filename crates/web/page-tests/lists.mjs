/** Rows of long lists, chosen among all as the proxy chooses them. */

/** What a row is sorted by, by list and by the label of its column. */
const CELLS = {
  sessions: {
    State: (row) => row.state,
    For: (row) => row.ms,
    User: (row) => row.user,
    Client: (row) => row.client,
    Schema: (row) => row.schema,
    "Waits for, runs at": (row) => row.server ?? `hostgroup ${row.hostgroup}`,
    Pin: (row) => row.pin?.reason ?? null,
    Transaction: (row) => row.transaction_ms,
    Statement: (row) => row.command,
    Session: (row) => row.id,
  },
  statements: {
    Statement: (row) => row.text,
    Share: (row, recent) => (recent ? row.recent : row).share,
    Hostgroup: (row) => row.hostgroup,
    User: (row) => row.user,
    Count: (row, recent) => (recent ? row.recent : row).count,
    Average: (row, recent) => {
      const of = recent ? row.recent : row;
      return of.count && of.time_us / of.count;
    },
    p50: (row) => row.p50_us,
    p95: (row) => row.p95_us,
    p99: (row) => row.p99_us,
    Errors: (row, recent) => (recent ? row.recent : row).errors,
  },
};

const compare = (one, other) =>
  (one === null ? 0 : 1) - (other === null ? 0 : 1) || (one < other ? -1 : one > other ? 1 : 0);

/**
 * @param {"sessions" | "statements"} list
 * @param {any[]} all rows of the proxy
 * @param {URLSearchParams} query
 * @returns {{ rows: any[], matching: number } | null} nothing where the proxy refuses
 */
export function chosen(list, all, query) {
  const label = query.get("sort") ?? "";
  const cell = CELLS[list][label];
  if (label && !cell) return null;
  const words = (query.get("filter") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const found = all.filter((row) => {
    const text = JSON.stringify(row).toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const recent = query.get("recent") !== "0";
  const sign = query.get("order") === "asc" ? 1 : -1;
  if (cell) found.sort((one, other) => sign * compare(cell(one, recent), cell(other, recent)));
  return { rows: found.slice(0, Number(query.get("limit") ?? 200)), matching: found.length };
}
