// How the program runs its checks and says what became of them: a line each.

const CHECK_TIME_MAX_MS = 120_000;

export class Skip extends Error {}

export function equal(got, expected) {
  const [one, other] = [got, expected].map((value) =>
    JSON.stringify(value, (_, part) => (typeof part === "bigint" ? `${part}` : part)));
  if (one !== other) throw new Error(`got ${`${one}`.slice(0, 120)}, expected ${`${other}`.slice(0, 120)}`);
}

function selected(name) {
  const only = process.env.PM_ONLY;
  if (!only) return true;
  return only.split(",").some((pattern) =>
    pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern);
}

export async function runAll(checks) {
  let code = 0;
  for (const [name, check] of checks) {
    if (!selected(name)) continue;
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error("no end after 120 s")), CHECK_TIME_MAX_MS);
    });
    try {
      await Promise.race([check(), late]);
      console.log("ok", name);
    } catch (error) {
      if (error instanceof Skip) {
        console.log("skip", name, error.message);
      } else {
        code = 1;
        console.log("FAIL", name, `${error.code ?? ""} ${error.message}`.replace(/\s+/g, " ").trim().slice(0, 300));
      }
    } finally {
      clearTimeout(timer);
    }
  }
  return code;
}
