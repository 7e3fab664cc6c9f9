/**
 * Tests in front of real servers under load. The program that has started the proxy does what they
 * ask for: it answers each line with one line.
 */

import assert from "node:assert/strict";
import { createConnection } from "node:net";
import { createInterface } from "node:readline";

/** The program behind the proxy, at an address such as `127.0.0.1:7000`. */
export class Scene {
  constructor(address) {
    const { hostname, port } = new URL(`tcp://${address}`);
    this.socket = createConnection(Number(port), hostname);
    this.lines = createInterface(this.socket)[Symbol.asyncIterator]();
  }

  /** Asks for something and returns the answer. */
  async ask(line) {
    this.socket.write(`${line}\n`);
    const { value, done } = await this.lines.next();
    assert.ok(!done, `no answer to: ${line}`);
    return value;
  }

  end() {
    this.socket.end();
  }
}

/** The statement that is explained, of this user. */
const EXPLAINED = { user: "app", schema: "shop", statement: "SELECT name FROM item WHERE id = 1" };

/** Waits until figures move. */
async function moves(page) {
  const before = await page.textContent("#figures");
  await page.waitForFunction(
    (text) => document.getElementById("figures").textContent !== text,
    before,
  );
}

/** Waits until the verdict begins like this. */
async function verdict(page, beginning) {
  await page.waitForFunction(
    (text) => document.getElementById("verdict-text").textContent.startsWith(text),
    beginning,
  );
}

/** Tests by name, in their order: the last one leaves a server dead. */
export const real = {
  async "EXPLAIN ROUTE is that of the admin port"({ open, scene }) {
    const visit = await open();
    const { page } = visit;
    await visit.login();
    for (const [name, value] of Object.entries(EXPLAINED))
      await page.fill(`#explain [name=${name}]`, value);
    // What is known of servers may change between the two answers.
    let shown = [];
    let wanted = [];
    for (let round = 0; round < 10; round += 1) {
      await page.press("#explain [name=statement]", "Enter");
      await page.waitForSelector("#answer tr.main");
      shown = await page
        .locator("#answer tbody tr")
        .evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
      wanted = JSON.parse(await scene.ask(`explain ${JSON.stringify(EXPLAINED)}`));
      if (JSON.stringify(shown) === JSON.stringify(wanted)) break;
    }
    assert.deepEqual(shown, wanted);
    assert.ok(wanted.length > 3);
    await visit.close();
  },

  async "the stream goes on after a restart of the proxy"({ open, scene, user, password }) {
    // Logins with the form end with the process; this one comes with each request.
    const basic = Buffer.from(`${user}:${password}`).toString("base64");
    const visit = await open({ extraHTTPHeaders: { authorization: `Basic ${basic}` } });
    const { page } = visit;
    await page.goto(visit.address);
    await page.waitForSelector(".now tbody tr:visible");
    const resumed = page.waitForResponse(
      (response) => /\/api\/stream.*&last=/.test(response.url()) && response.ok(),
    );
    await scene.ask("restart");
    await resumed;
    await page.waitForFunction(() => document.getElementById("banners").children.length === 0);
    await moves(page);
    await visit.close();
  },

  async "a restart of the proxy asks for the password again"({ open, scene }) {
    const visit = await open();
    const { page } = visit;
    await visit.login();
    await visit.view("servers");
    await scene.ask("restart");
    await page.waitForSelector("#login", { state: "visible" });
    await visit.enter();
    await page.waitForSelector(".servers tbody tr:visible");
    await moves(page);
    await visit.close();
  },

  async "the verdict turns when a replica is killed"({ open, scene }) {
    const visit = await open();
    const { page } = visit;
    await visit.login();
    await verdict(page, "all 3 servers work");
    const name = await scene.ask("kill");
    const killed = Date.now();
    await verdict(page, `1 of 3 servers out: ${name} `);
    console.log(`      after ${Date.now() - killed} ms`);
    assert.match(await page.title(), /1 of 3 servers out/);
    assert.match(await page.getAttribute("#icon", "href"), /bad|warn/);
    await visit.view("servers");
    assert.match(await page.textContent(".servers"), new RegExp(name));
    assert.deepEqual(await visit.violations(), []);
    await visit.close();
  },
};
