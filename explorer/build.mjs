// Bundles src/ with regl-scatterplot into the data of the Python package, with a record of what
// went in: tests/plotting/test_explorer_bundle.py compares the record with the sources.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "..", "skmde", "plotting", "explorer", "bundle");
mkdirSync(target, { recursive: true });

const digest = (...chunks) => {
  const hash = createHash("sha256");
  chunks.forEach((chunk) => hash.update(chunk));
  return hash.digest("hex");
};

await build({
  absWorkingDir: here,
  entryPoints: [
    { in: "src/main.js", out: "explorer" },
    { in: "src/explorer.css", out: "explorer" },
  ],
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2020"],
  charset: "ascii",
  // of code that packages have copied from others, such as KDBush
  legalComments: "eof",
  // the build without checks of arguments
  alias: { regl: "regl/dist/regl.min.js" },
  outdir: target,
});

// regl-scatterplot's own build contains the packages that it depends on.
const lock = JSON.parse(readFileSync(join(here, "package-lock.json"), "utf8"));
const packages = Object.entries(lock.packages)
  .filter(([path, about]) => path.startsWith("node_modules/") && !about.dev)
  .map(([path]) => path)
  .sort();

const versions = {};
const licences = [];
for (const path of packages) {
  const name = path.split("node_modules/").pop();
  const folder = join(here, path);
  const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  versions[path.replaceAll("node_modules/", "")] = about.version;
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file
    ? readFileSync(join(folder, file), "utf8").trim()
    : `Licence as its package.json says: ${about.license}`;
  licences.push(`${name} ${about.version} (${about.license})\n\n${text}`);
}
const rule = `\n\n${"-".repeat(80)}\n\n`;
writeFileSync(
  join(target, "LICENSES.txt"),
  `explorer.js contains skmde's own sources (BSD-3-Clause) and these packages:${rule}` +
    licences.join(rule) + "\n",
);

copyFileSync(join(here, "src", "page.html"), join(target, "page.html"));

const sources = readdirSync(join(here, "src"), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => relative(here, join(entry.parentPath, entry.name)).split(sep).join("/"))
  .sort();
const record = {
  packages: versions,
  sources_sha256: digest(
    ...sources.map((name) => readFileSync(join(here, name))),
    readFileSync(join(here, "package-lock.json")),
  ),
  "explorer.js_sha256": digest(readFileSync(join(target, "explorer.js"))),
  "explorer.css_sha256": digest(readFileSync(join(target, "explorer.css"))),
};
writeFileSync(join(target, "build.json"), JSON.stringify(record, null, 1) + "\n");
console.log(record);
