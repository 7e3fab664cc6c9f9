/** Tests that any proxy passes, and that change nothing at it. */

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";

const VIEWS = ["now", "servers", "statements", "sessions", "config"];
/** Bytes that the whole page may take, compressed. */
const WEIGHT = 60_000;

/** Tests by name; each gets `open`, which opens the page, and an account. */
export const anywhere = {
  async "a wrong login is refused with a reason"({ open, user }) {
    const visit = await open();
    await visit.page.goto(visit.address);
    await visit.page.fill("#login [name=user]", user);
    await visit.page.fill("#login [name=password]", "not the password");
    await visit.page.press("#login [name=password]", "Enter");
    await visit.page.waitForFunction(
      () => document.getElementById("login-error").textContent !== "",
    );
    assert.equal(await visit.page.isVisible("#page"), false);
    await visit.close();
  },

  async "every view is accessible, in both themes"({ open }) {
    for (const colorScheme of ["light", "dark"]) {
      const visit = await open({ colorScheme });
      await visit.page.goto(visit.address);
      await visit.page.waitForSelector("#login", { state: "visible" });
      assert.deepEqual(await visit.violations(), []);
      await shoot(visit, "login", colorScheme);
      await visit.login();
      for (const name of VIEWS) {
        await visit.view(name);
        assert.deepEqual(await visit.violations(), [], `${name}, ${colorScheme}`);
        await shoot(visit, name, colorScheme);
      }
      await visit.close();
    }
  },

  async "tables in place of pictures are accessible"({ open }) {
    const visit = await open();
    await visit.login();
    for (const name of ["now", "servers"]) {
      await visit.view(name);
      const buttons = visit.page.locator("button[aria-label^='Show as table']");
      const many = await buttons.count();
      assert.ok(many > 0);
      for (let index = 0; index < many; index += 1) await buttons.nth(index).click();
      assert.equal(await visit.page.locator("main canvas:visible, main .edges:visible").count(), 0);
      assert.deepEqual(await visit.violations(), [], name);
    }
    await visit.close();
  },

  async "no view is wider than a screen of 360 pixels, or one of 640 at 200 %"({ open }) {
    for (const [width, scale] of [
      [360, 2],
      [640, 2],
    ]) {
      for (const colorScheme of width === 360 ? ["light", "dark"] : ["light"]) {
        const visit = await open({
          viewport: { width, height: 740 },
          deviceScaleFactor: scale,
          colorScheme,
        });
        await visit.login();
        for (const name of VIEWS) {
          await visit.view(name);
          const over = await visit.page.evaluate(
            () => document.documentElement.scrollWidth - innerWidth,
          );
          assert.equal(over, 0, `${name} at ${width}`);
          assert.deepEqual(await visit.violations(), [], `${name} at ${width}`);
          if (width === 360) await shoot(visit, `${name}-360`, colorScheme);
        }
        await visit.close();
      }
    }
  },

  async "the keyboard reaches everything"({ open }) {
    const visit = await open();
    const { page } = visit;
    await visit.login();
    await visit.view("now");
    await page.evaluate(() => document.activeElement?.blur());
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the view");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement.id === "main" && location.hash === "#now");
    await page.focus("#nav a[href='#sessions']");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".view.sessions tbody tr:visible, .view.sessions .empty:visible");
    await page.click("#freeze");
    const reached = await walk(page);
    const wanted = await page.evaluate(
      () =>
        [
          ...document.querySelectorAll(
            "#page button:not([disabled]), #page a[href], #page input, #page summary",
          ),
        ].filter((element) => element.checkVisibility()).length,
    );
    assert.ok(reached >= wanted, `${reached} of ${wanted}`);
    await visit.close();
  },

  async "a heading sorts, by mouse and keyboard"({ open }) {
    const visit = await open();
    await visit.login();
    await visit.view("servers");
    const heading = visit.page.locator("th", { hasText: "Q/s" }).first();
    await heading.locator("button").focus();
    await visit.page.keyboard.press("Enter");
    assert.equal(await heading.getAttribute("aria-sort"), "descending");
    await visit.page.keyboard.press("Enter");
    assert.equal(await heading.getAttribute("aria-sort"), "ascending");
    await visit.close();
  },

  async "EXPLAIN ROUTE answers below the header"({ open }) {
    const visit = await open();
    await visit.login();
    await visit.page.fill("#explain [name=statement]", "SELECT 1");
    await visit.page.press("#explain [name=statement]", "Enter");
    await visit.page.waitForSelector("#answer tr.main");
    assert.match(await visit.page.textContent("#answer tr.main"), /^destination/);
    assert.deepEqual(await visit.violations(), []);
    await visit.close();
  },

  async "the theme is kept"({ open }) {
    const visit = await open({ colorScheme: "light" });
    await visit.login();
    const ground = () => visit.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await ground();
    await visit.page.click("#theme");
    await visit.page.click("#theme");
    const dark = await ground();
    assert.notEqual(dark, light);
    await visit.page.reload();
    await visit.page.waitForSelector("#page:not([hidden]) .view");
    assert.equal(await ground(), dark);
    await visit.close();
  },

  async "the page is light, and has no request to others"({ open, address }) {
    const visit = await open();
    const requests = new Map();
    visit.page.on("requestfinished", (request) => {
      if (!request.url().includes("/api/")) requests.set(request.url(), request.sizes());
    });
    await visit.login();
    const icons = ["icon-ok.svg", "icon-warn.svg", "icon-bad.svg"];
    await visit.page.evaluate((names) => Promise.all(names.map((name) => fetch(name))), icons);
    await visit.page.waitForLoadState("load");
    const sizes = await Promise.all(requests.values());
    const whole = sizes.reduce((sum, { responseBodySize }) => sum + responseBodySize, 0);
    assert.ok(sizes.length > 10, `${sizes.length} files from ${address}`);
    assert.ok(whole <= WEIGHT, `${whole} bytes`);
    console.log(`      ${whole} bytes in ${sizes.length} files`);
    await visit.close();
  },
};

/** Presses Tab until the focus comes round; returns how many elements had it. */
async function walk(page) {
  await page.evaluate(() => {
    document.querySelector(".skip").focus();
    window.walked = new Set([document.activeElement]);
  });
  for (let step = 0; step < 1000; step += 1) {
    await page.keyboard.press("Tab");
    const round = await page.evaluate(() => {
      const at = document.activeElement;
      if (at === document.body || (window.walked.size > 1 && at.matches(".skip"))) return true;
      window.walked.add(at);
      return false;
    });
    if (round) break;
  }
  return page.evaluate(
    () => [...window.walked].filter((one) => one.matches("button, a, input, summary")).length,
  );
}

async function shoot(visit, name, theme) {
  const folder = process.env.SHOTS;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await visit.page.screenshot({ path: `${folder}/${name}-${theme}.png`, fullPage: true });
}
