/** What the tests need and the repository does not have: a browser and npm packages. */

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Path of a Chromium; Debian's package is installed if there is none. */
export function browserPath() {
  const found = () =>
    [process.env.CHROMIUM ?? "", ...BROWSERS].find((path) => path && existsSync(path));
  if (!found()) execFileSync("apt-get", ["install", "-y", "-qq", "chromium"], { stdio: "inherit" });
  const path = found();
  if (!path) throw new Error("there is no Chromium: set CHROMIUM to its path");
  return path;
}

/**
 * The folder with the packages of package-lock.json. They are installed once for each state of
 * that file, in the user's cache.
 */
export function packages() {
  const lock = join(HERE, "package-lock.json");
  const hash = createHash("sha256").update(readFileSync(lock)).digest("hex").slice(0, 12);
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache");
  const folder = join(cache, "pointsman-page-tests", hash);
  if (!existsSync(folder)) {
    const fresh = `${folder}.${process.pid}`;
    mkdirSync(fresh, { recursive: true });
    for (const name of ["package.json", "package-lock.json"])
      copyFileSync(join(HERE, name), join(fresh, name));
    execFileSync("npm", ["ci", "--silent", "--no-audit", "--no-fund"], {
      cwd: fresh,
      stdio: "inherit",
    });
    try {
      renameSync(fresh, folder);
    } catch (error) {
      // Another run was faster.
      if (!existsSync(folder)) throw error;
      rmSync(fresh, { recursive: true });
    }
  }
  return { folder, require: createRequire(join(folder, "package.json")) };
}

/** Checks the types of the page; an error has what the compiler says. */
export function checkTypes() {
  const compiler = join(packages().folder, "node_modules", "typescript", "bin", "tsc");
  try {
    execFileSync(process.execPath, [compiler, "-p", join(HERE, "tsconfig.json")], {
      encoding: "utf8",
    });
  } catch (error) {
    throw new Error(error.stdout || String(error));
  }
}
