/** Tests of what goes wrong or changes something: they need the mock. */

import assert from "node:assert/strict";

/** Elements that a view has at most, however many rows the proxy has. */
const ELEMENTS = 6000;
/** Bytes by which the heap may grow over `STATES` states. */
const GROWTH = 1_500_000;
const STATES = 400;

/** Runs `body` with a mock and a visit of an account, and ends both. */
async function withMock({ open, Mock }, options, body, user = "admin") {
  const mock = new Mock(options);
  const visit = await open(await mock.start());
  try {
    await visit.login(user, user);
    await body(mock, visit.page, visit);
    await visit.close();
  } finally {
    await mock.stop();
  }
}

/** Waits until the mock has sent `number` more states. */
async function states(mock, number) {
  const until = mock.model.number + number;
  while (mock.model.number < until)
    await new Promise((resolve) => setTimeout(resolve, mock.period));
}

/** Tests by name; each gets `open(address)` and the class of the mock. */
export const mocked = {
  async "a lost connection is told, and the stream resumes"(tools) {
    await withMock(tools, { period: 100 }, async (mock, page) => {
      await page.waitForFunction(() => document.querySelector(".now tbody tr"));
      const { port } = mock;
      await mock.stop();
      await page.waitForSelector("#banners .bad");
      assert.match(await page.textContent("#banners"), /Connection lost since \d\d:\d\d:\d\d/);
      const resumed = page.waitForRequest((request) =>
        request.url().includes(`last=${mock.model.boot}-`),
      );
      await mock.start(port);
      await page.click("#banners button");
      await resumed;
      await page.waitForFunction(() => document.querySelector("#banners").children.length === 0);
    });
  },

  async "another version of the proxy is told, and reloads on demand"(tools) {
    await withMock(tools, { period: 100 }, async (mock, page) => {
      await page.waitForSelector(".now tbody tr");
      mock.model.version = "0.2.0";
      await page.waitForSelector("#banners .news");
      assert.match(await page.textContent("#banners"), /runs version 0\.2\.0/);
      await Promise.all([page.waitForEvent("load"), page.click("#banners .news button")]);
      await page.waitForSelector(".now tbody tr");
      assert.equal(await page.locator("#banners .news").count(), 0);
    });
  },

  async "a login that expires brings the form back"(tools) {
    await withMock(tools, { period: 100 }, async (mock, page) => {
      await page.waitForSelector(".now tbody tr");
      mock.sessions.clear();
      mock.end("login_required", "log in first");
      await page.waitForSelector("#login", { state: "visible" });
      assert.equal(await page.isVisible("#page"), false);
    });
  },

  async "without a free stream the page asks"(tools) {
    await withMock(tools, { period: 100 }, async (mock, page) => {
      await page.waitForSelector(".now tbody tr");
      mock.maxViewers = 0;
      mock.end("ending", "the proxy ends");
      await page.waitForSelector("#banners .warn");
      assert.match(await page.textContent("#banners .warn"), /no free stream/);
      mock.maxViewers = 32;
      await page.waitForFunction(() => document.querySelector("#banners").children.length === 0);
    });
  },

  async "an action runs only after its statement was typed"(tools) {
    await withMock(tools, {}, async (mock, page, visit) => {
      await visit.view("sessions");
      const button = page.locator("button[aria-label^='Kill session']").first();
      const id = /\d+/.exec(await button.getAttribute("aria-label"))[0];
      await button.click();
      assert.deepEqual(await visit.violations(), []);
      await page.keyboard.press("Escape");
      assert.equal(await page.isVisible("#confirm"), false);
      await button.click();
      await page.fill("#confirm-typed", "KILL");
      assert.equal(await page.isDisabled("#confirm-run"), true);
      await page.press("#confirm-typed", "Enter");
      assert.deepEqual(mock.actions, []);
      await page.fill("#confirm-typed", `KILL ${id}`);
      await page.press("#confirm-typed", "Enter");
      await page.waitForSelector("#confirm", { state: "hidden" });
      assert.deepEqual(mock.actions, [`KILL ${id}`]);
    });
  },

  async "pause, load and roll back send what the contract wants"(tools) {
    await withMock(tools, { period: 100 }, async (mock, page, visit) => {
      await visit.view("config");
      for (const name of [
        "Pause the proxy",
        "Resume the proxy",
        "Load MYSQL SERVERS",
        "Roll back MYSQL SERVERS to version 8",
      ]) {
        await page.getByRole("button", { name }).click();
        await page.fill("#confirm-typed", await page.textContent("#confirm-statement"));
        await page.press("#confirm-typed", "Enter");
        await page.waitForSelector("#confirm", { state: "hidden" });
      }
      assert.deepEqual(mock.actions, [
        "PROXYSQL PAUSE",
        "PROXYSQL RESUME",
        "LOAD MYSQL SERVERS TO RUNTIME",
        "POINTSMAN ROLLBACK MYSQL SERVERS TO 8",
      ]);
    });
  },

  async "an account with rights on statistics has no actions"(tools) {
    await withMock(
      tools,
      {},
      async (_mock, page, visit) => {
        for (const name of ["sessions", "config"]) {
          await visit.view(name);
          const actions = page.getByRole("button", { name: /^(Kill|Load|Roll|Pause|Resume) / });
          assert.equal(await actions.count(), 0, name);
        }
      },
      "stats",
    );
  },

  async "frozen figures stand still"(tools) {
    await withMock(tools, { period: 100 }, async (mock, page) => {
      await page.waitForSelector(".now tbody tr");
      const figure = () => page.textContent("#figures");
      const first = await figure();
      await page.waitForFunction(
        (text) => document.querySelector("#figures").textContent !== text,
        first,
      );
      await page.click("#freeze");
      const frozen = await figure();
      await states(mock, 5);
      assert.equal(await figure(), frozen);
      await page.click("#freeze");
      await page.waitForFunction(
        (text) => document.querySelector("#figures").textContent !== text,
        frozen,
      );
    });
  },

  async "a hidden tab has no stream, and resumes when it is shown"(tools) {
    await withMock(tools, { period: 100 }, async (mock, page) => {
      await page.waitForSelector(".now tbody tr:visible");
      const turn = (hidden) =>
        page.evaluate((value) => {
          Object.defineProperty(document, "hidden", { value, configurable: true });
          document.dispatchEvent(new Event("visibilitychange"));
        }, hidden);
      assert.equal(mock.viewers.size, 1);
      await turn(true);
      for (let tries = 0; tries < 50 && mock.viewers.size > 0; tries += 1) await states(mock, 1);
      // No try to connect follows from the loss.
      await states(mock, 20);
      assert.equal(mock.viewers.size, 0);
      const resumed = page.waitForRequest((request) =>
        request.url().includes(`last=${mock.model.boot}-`),
      );
      await turn(false);
      await resumed;
      assert.equal(await page.locator("#banners .bad").count(), 0);
    });
  },

  async "a moment of the record is shown until the page goes live again"(tools) {
    await withMock(tools, { period: 100 }, async (mock, page, visit) => {
      await page.waitForSelector(".now tbody tr:visible");
      assert.equal(await page.textContent("#when-text"), "live");
      await visit.view("servers");
      // By keyboard: one step is ten seconds.
      await page.focus("#when");
      await page.waitForFunction(() => Number(document.getElementById("when").min) < -600);
      for (let step = 0; step < 3; step += 1) await page.keyboard.press("ArrowLeft");
      await page.waitForSelector("#banners .news");
      assert.match(await page.textContent("#banners"), /This is .* ago/);
      assert.match(await page.getAttribute("#when", "aria-valuetext"), /\d\d:\d\d:\d\d/);
      await page.waitForSelector(".view.now tbody tr:visible");
      const figures = await page.textContent("#figures");
      await states(mock, 10);
      assert.equal(await page.textContent("#figures"), figures, "the past stands still");
      assert.deepEqual(await visit.violations(), []);
      await page.click("#banners button");
      assert.equal(await page.textContent("#when-text"), "live");
      await page.waitForFunction(
        (text) => document.querySelector("#figures").textContent !== text,
        figures,
      );
      await page.focus("#when");
      await page.keyboard.press("Home");
      await page.waitForSelector("#banners .news");
      await visit.view("statements");
      assert.equal(await page.inputValue("#when"), "0", "the other views are live");
      assert.equal(await page.locator("#banners .news").count(), 0);
    });
  },

  async "a moment that cannot be read leaves the slider at live"(tools) {
    await withMock(tools, { period: 100 }, async (mock, page) => {
      await page.waitForSelector(".now tbody tr:visible");
      await page.focus("#when");
      await page.waitForFunction(() => Number(document.getElementById("when").min) < -600);
      mock.record = (at, _viewer, reply) => reply(409, { error: "failed", message: "no" });
      await page.keyboard.press("ArrowLeft");
      await page.waitForFunction(() => document.getElementById("when").value === "0");
      assert.equal(await page.textContent("#when-text"), "live");
    });
  },

  async "a view that is opened while frozen is painted"(tools) {
    await withMock(tools, { period: 100 }, async (_mock, page, visit) => {
      await page.waitForSelector(".now tbody tr:visible");
      await page.click("#freeze");
      await visit.view("statements");
      assert.ok((await page.locator(".statements tbody tr").count()) > 0);
    });
  },

  async "a link to a statement opens it, also on the page that is there"(tools) {
    await withMock(tools, { period: 100 }, async (_mock, page, visit) => {
      await visit.view("statements");
      await page.locator(".opener").nth(2).click();
      const link = page.url();
      assert.match(link, /#statements\?open=0x/);
      const digest = await page.textContent("tr.detail .facts dd");
      await page.locator(".opener").nth(2).click();
      assert.equal(await page.locator("tr.detail").count(), 0);
      await page.evaluate((url) => {
        location.href = url;
      }, link);
      await page.waitForSelector("tr.detail");
      assert.equal(await page.textContent("tr.detail .facts dd"), digest);
    });
  },

  async "a view that the proxy cannot read says why"(tools) {
    await withMock(tools, { period: 100 }, async (mock, page) => {
      await page.waitForSelector(".now tbody tr:visible");
      mock.model.broken = "the admin thread is busy";
      await page.waitForSelector("#banners .warn");
      assert.match(await page.textContent("#banners"), /the admin thread is busy/);
      mock.model.broken = "";
      await page.waitForFunction(() => document.querySelector("#banners").children.length === 0);
    });
  },

  async "another verdict is said, and shown by the tab"(tools) {
    await withMock(tools, { period: 100 }, async (mock, page) => {
      await page.waitForFunction(() => document.title.includes("servers out"));
      assert.match(await page.getAttribute("#icon", "href"), /warn/);
      mock.model.quiet = true;
      await page.waitForFunction(() =>
        document.getElementById("live").textContent.startsWith("All servers"),
      );
      assert.equal(await page.title(), "proxy-1 – Pointsman");
      assert.match(await page.getAttribute("#icon", "href"), /ok/);
    });
  },

  async "totals of sessions stand in their order"(tools) {
    await withMock(tools, {}, async (_mock, page, visit) => {
      await visit.view("sessions");
      const names = await page.locator(".totals dt").allTextContents();
      assert.deepEqual(names.slice(0, 4), ["clients", "running", "waiting", "idle"]);
    });
  },

  async "the focus stays in a table whose rows move"(tools) {
    await withMock(tools, { period: 50 }, async (mock, page, visit) => {
      await visit.view("sessions");
      await page.getByRole("button", { name: "For", exact: true }).click();
      const button = page.locator("button[aria-label^='Kill session']").nth(5);
      await button.focus();
      const label = await button.getAttribute("aria-label");
      await states(mock, 12);
      const at = await page.evaluate(() => document.activeElement.getAttribute("aria-label"));
      assert.equal(at, label);
    });
  },

  async "5,000 servers and 50,000 digests are bounded"(tools) {
    await withMock(tools, { servers: 5000, digests: 50_000 }, async (_mock, page, visit) => {
      for (const name of ["now", "servers", "statements"]) {
        await visit.view(name);
        const many = await page.evaluate(() => document.querySelectorAll("*").length);
        assert.ok(many < ELEMENTS, `${name}: ${many} elements`);
      }
      assert.match(await page.textContent(".statements .total"), /50 of 50,000/);
      await visit.view("servers");
      await page.getByLabel("Filter: Servers").fill("db-4321");
      await page.waitForFunction(
        () => document.querySelectorAll(".servers tbody")[1].children.length === 1,
      );
      assert.match(await page.textContent(".servers"), /1 of 5,000/);
    });
  },

  async "the heap is flat"(tools) {
    await withMock(tools, { period: 10 }, async (mock, page, visit) => {
      const client = await visit.context.newCDPSession(page);
      const measure = async () => {
        await client.send("HeapProfiler.collectGarbage");
        const { usedSize } = await client.send("Runtime.getHeapUsage");
        return {
          bytes: usedSize,
          elements: await page.evaluate(() => document.querySelectorAll("*").length),
        };
      };
      for (const name of ["now", "sessions", "statements", "now"]) {
        await visit.view(name);
        await states(mock, 30);
      }
      const before = await measure();
      await states(mock, STATES);
      const after = await measure();
      assert.ok(after.bytes - before.bytes < GROWTH, `${before.bytes} to ${after.bytes} bytes`);
      assert.ok(
        after.elements < before.elements + 200,
        `${before.elements} to ${after.elements} elements`,
      );
      console.log(`      ${before.bytes} to ${after.bytes} bytes over ${STATES} states`);
    });
  },
};
