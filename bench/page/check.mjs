// What check.sh runs: each page at 360 and 1,400 pixels, light and dark, with its details closed and open. Fails on anything that
// reaches beyond the page or its box, on a message in the console, on a request, and on what axe finds serious. Leaves pictures.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const { CHROMIUM, TOOLS, SHOTS } = process.env;
const require = createRequire(`${TOOLS}/`);
const puppeteer = (await import(pathToFileURL(require.resolve("puppeteer-core")))).default;
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

/** Elements that reach beyond the page, and boxes whose contents do not fit. */
function overflowing() {
  const width = document.documentElement.clientWidth;
  const said = (element) => `${element.tagName} ${(element.textContent ?? "").trim().slice(0, 40)}`;
  const beyond = [...document.querySelectorAll("body *")].filter((element) => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && (box.right > width + 0.5 || box.left < -0.5);
  });
  const boxes = [...document.querySelectorAll("table, figure, details, section, li, td, th, svg")];
  const full = boxes.filter((box) => box.clientWidth > 0 && box.scrollWidth > box.clientWidth + 1);
  const page = document.scrollingElement.scrollWidth > width ? ["the page"] : [];
  return [...page, ...beyond.map(said), ...full.map(said)];
}

const browser = await puppeteer.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
let failures = 0;
const fail = (where, what) => {
  failures += 1;
  console.log(`${where}: ${what}`);
};
for (const file of process.argv.slice(2)) {
  const name = basename(file, ".html");
  for (const width of [360, 1400]) {
    for (const scheme of ["light", "dark"]) {
      const where = `${name}-${width}-${scheme}`;
      const page = await browser.newPage();
      // The page's policy refuses scripts, also axe's.
      await page.setBypassCSP(true);
      page.on("console", (message) => fail(where, `console: ${message.text()}`));
      page.on("pageerror", (error) => fail(where, `error: ${error}`));
      page.on("request", (request) => {
        if (!request.url().startsWith("file:")) fail(where, `request: ${request.url()}`);
      });
      await page.setViewport({ width, height: 900 });
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      await page.goto(pathToFileURL(resolve(file)));
      for (const open of [false, true]) {
        await page.evaluate((open) => document.querySelectorAll("details").forEach((one) => (one.open = open)), open);
        const found = await page.evaluate(overflowing);
        if (found.length > 0) fail(where, `${found.length} overflow, such as ${found.slice(0, 5).join("; ")}`);
      }
      await page.evaluate(axe);
      const violations = await page.evaluate(async () => (await globalThis.axe.run()).violations);
      for (const { id, impact, nodes } of violations) {
        const serious = impact === "serious" || impact === "critical";
        (serious ? fail : (at, what) => console.log(`${at}: ${what}`))(where, `axe, ${impact}: ${id}, ${nodes[0].html.slice(0, 200)}`);
      }
      await page.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = false)));
      await page.screenshot({ path: `${SHOTS}/${where}.png`, clip: { x: 0, y: 0, width, height: 5000 }, captureBeyondViewport: true });
      await page.close();
    }
  }
  const page = await browser.newPage();
  await page.goto(pathToFileURL(resolve(file)));
  await page.pdf({ path: `${SHOTS}/${name}.pdf`, format: "A4", margin: { top: "15mm", bottom: "15mm", left: "15mm", right: "15mm" } });
  await page.close();
}
await browser.close();
console.log(`${failures === 0 ? "nothing found" : `${failures} found`}; pictures and prints: ${SHOTS}`);
process.exit(failures === 0 ? 0 : 1);
