/**
 * Tests of the page in a real browser.
 *
 *   node run.mjs                       against the mock, all tests
 *   node run.mjs URL USER PASSWORD     against a proxy: the tests that change nothing
 *
 * SCENE=HOST:PORT adds tests that kill and restart: the program there does it, see real.mjs.
 * SHOTS=FOLDER saves pictures of all views. ONLY=WORD runs tests with that word in their names.
 */

import { readFileSync } from "node:fs";
import { anywhere } from "./anywhere.mjs";
import { mocked } from "./mocked.mjs";
import { Mock } from "./mock.mjs";
import { real, Scene } from "./real.mjs";
import { browserPath, checkTypes, packages } from "./tools.mjs";

/** Milliseconds that a step of a test may take. */
const DEADLINE_MS = 15_000;

const [url, user = "admin", password = "admin"] = process.argv.slice(2);
const { require } = packages();
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({
  executablePath: browserPath(),
  args: ["--no-sandbox", "--js-flags=--expose-gc"],
});

/** A page of its own, and what it has done that no page may do. */
class Visit {
  static async open(address, options = {}) {
    const context = await browser.newContext({
      viewport: { width: 1440, height: 900 },
      ...options,
    });
    context.setDefaultTimeout(DEADLINE_MS);
    return new Visit(context, await context.newPage(), address);
  }

  constructor(context, page, address) {
    this.context = context;
    this.page = page;
    this.address = address;
    this.faults = [];
    page.on("pageerror", (error) => this.faults.push(error.stack ?? String(error)));
    page.on("console", (message) => {
      const refusals = /status of (401|409|503)|ERR_(CONNECTION|INCOMPLETE|EMPTY|NETWORK)/;
      if (message.type() === "error" && !refusals.test(message.text()))
        this.faults.push(message.text());
    });
    page.on("request", (request) => {
      if (!request.url().startsWith(address)) this.faults.push(`foreign: ${request.url()}`);
    });
  }

  async login(name = user, word = password) {
    await this.page.goto(this.address);
    await this.enter(name, word);
  }

  /** Logs in with the form that is there. */
  async enter(name = user, word = password) {
    await this.page.fill("#login [name=user]", name);
    await this.page.fill("#login [name=password]", word);
    await this.page.press("#login [name=password]", "Enter");
    await this.page.waitForSelector("#page:not([hidden]) .view");
  }

  /** Goes to a view and waits for its first state. */
  async view(name) {
    await this.page.evaluate((hash) => {
      location.hash = hash;
    }, `#${name}`);
    await this.page.waitForSelector(`.view.${name}`);
    await this.page.waitForSelector("main tbody tr:visible, main .empty:visible");
  }

  /** Violations of accessibility rules, as lines. */
  async violations() {
    await this.page.evaluate(`${axe}; 0`);
    const { violations } = await this.page.evaluate(() =>
      window.axe.run(document, {
        runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
      }),
    );
    return violations.flatMap((one) =>
      one.nodes.map(
        (node) =>
          `${one.id}: ${node.html.slice(0, 160)}\n` +
          `${node.any
            .concat(node.all, node.none)
            .map((check) => check.message)
            .join("; ")}`,
      ),
    );
  }

  async close() {
    await this.context.close();
    if (this.faults.length > 0) throw new Error(this.faults.join("\n"));
  }
}

let failed = 0;

async function test(name, body) {
  if (!name.includes(process.env.ONLY ?? "")) return;
  try {
    await body();
    console.log(`ok    ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${name}\n${error.stack ?? error}`);
  }
}

if (!url) await test("types", async () => checkTypes());
const mock = url ? null : new Mock();
const address = url?.replace(/\/$/, "") ?? (await mock.start());
const scene = process.env.SCENE ? new Scene(process.env.SCENE) : null;
for (const [name, body] of Object.entries({ ...anywhere, ...(scene ? real : {}) })) {
  await test(name, () =>
    body({ open: (options) => Visit.open(address, options), address, user, password, scene }),
  );
}
scene?.end();
await mock?.stop();
for (const [name, body] of Object.entries(url ? {} : mocked)) {
  await test(name, () => body({ open: (at, options) => Visit.open(at, options), Mock }));
}
await browser.close();
console.log(failed === 0 ? "all passed" : `${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
