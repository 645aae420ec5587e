// How each corpus is: current, being indexed, failed, and what it cost.

import { inDagster, link, refreshCorpora } from "./app.js";
import { count, fill, h } from "./dom.js";

const EVERY = 10_000; // ms between two looks
const STATES = {
  current: ["Current", "Every table is up to date with the documents."],
  indexing: ["Being indexed", "A run is at work; answers come from the tables of the run before."],
  behind: ["Behind", "A run has not written all tables; some methods answer from the tables before it."],
  failed: ["Failed", "A document or a request to a model failed; the rest is up to date."],
};
let timer = 0;

export async function show(main) {
  clearTimeout(timer);
  const rows = await refreshCorpora();
  if (!main.classList.contains("corpora")) return;
  fill(main, h("div", { class: "wide" }, h("h1", {}, "Corpora"), rows.length ? h("div", { class: "cards" }, rows.map(card)) : h("p", {}, "This home has no corpus yet.")));
  timer = setTimeout(() => main.classList.contains("corpora") && !document.hidden && show(main).catch(() => {}), EVERY);
}

function card(row) {
  const [name, meaning] = STATES[row.state] ?? [row.state, ""];
  return h(
    "section",
    { class: "card", "aria-label": row.corpus },
    h("div", { class: "card-head" }, h("h2", {}, row.corpus), h("span", { class: `state ${row.state}`, title: meaning }, name)),
    h("p", { class: "note" }, meaning),
    h(
      "dl",
      {},
      fact("Documents", row.n_documents.toLocaleString("en")),
      fact("Passages", row.n_chunks.toLocaleString("en")),
      fact("Indexed", row.indexed_at ? new Date(row.indexed_at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }) : "not known"),
      fact("Model calls", (row.calls ?? 0).toLocaleString("en")),
      fact("Cost", `$${(row.cost_usd ?? 0).toFixed(2)}`),
    ),
    row.failed.length > 0 &&
      h("details", { class: "failures", open: row.state === "failed" }, h("summary", {}, `${count(row.failed.length, "failure")}`), h("ul", {}, row.failed.map((one) => h("li", {}, h("b", {}, one.document ?? one.asset ?? ""), " ", one.message)))),
    h("details", {}, h("summary", {}, `Answers by ${count(row.methods.length, "method")}`), h("p", { class: "methods" }, row.methods.join(", ") || "none yet")),
    h(
      "p",
      { class: "links" },
      ["ask", "documents", "graphs"].map((view) => h("a", { href: link(view, { corpus: row.corpus }) }, view[0].toUpperCase() + view.slice(1))),
      inDagster("asset-groups", "Lineage in Dagster"),
    ),
  );
}

const fact = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
