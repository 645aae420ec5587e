// An answer with its citations, what was read for it, and why each passage was found.

import { link, readerLink } from "./app.js";
import { get, post } from "./api.js";
import { busy, count, failure, fill, h } from "./dom.js";

const sources = new Map(); // of the answers on the page, by key
let nAnswers = 0;

export const sourceOf = (key) => sources.get(key);

/** Return the elements of an answer of /api/ask. */
export function answerOf(answer) {
  const keys = register(answer);
  const byNumber = new Map(answer.sources.map((source) => [source.number, source]));
  const cite = (number, sentence, isUnsupported) => citation(byNumber.get(number), keys.get(number), sentence, isUnsupported);
  const cited = new Set(answer.lines.flatMap((line) => line.sentences.flatMap((sentence) => sentence.numbers)));
  return [
    answer.understood && h("p", { class: "note" }, `Understood as: ${answer.understood}`),
    h("div", { class: answer.is_refusal ? "answer refusal" : "answer" }, answer.is_refusal ? [] : lines(answer, cite)),
    answer.is_refusal && h("p", { class: "refusal" }, answer.text),
    facts(answer),
    sourceList(answer, keys, cited),
    answer.explanation && h("details", { class: "explanation" }, h("summary", {}, "How the answer came about"), h("pre", { tabindex: "0" }, answer.explanation)),
  ];
}

function register(answer) {
  nAnswers += 1;
  return new Map(
    answer.sources.map((source) => {
      const key = `${nAnswers}.${source.number}`;
      sources.set(key, source);
      return [source.number, key];
    }),
  );
}

function lines(answer, cite) {
  if (!answer.lines.length) return answer.text.split(/\n+/).map((line) => h("p", {}, line));
  const shown = [];
  for (const line of answer.lines) {
    const mark = line.mark ?? "";
    const content = line.sentences.flatMap((sentence) => [
      h("span", { class: "sentence" }, sentence.text, numbersOf(sentence).map(([number, isUnsupported]) => ["\u2060", cite(number, sentence, isUnsupported)])),
      " ",
    ]);
    if (!line.sentences.some((sentence) => sentence.text.trim())) continue;
    if (/^\s*(?:[-*•]|\d+[.)])/.test(mark)) {
      const isOrdered = /\d/.test(mark);
      const tag = isOrdered ? "OL" : "UL";
      if (shown.at(-1)?.tagName !== tag) shown.push(h(tag.toLowerCase()));
      shown.at(-1).append(h("li", {}, content));
    } else shown.push(mark.trim().startsWith("#") ? h("h4", {}, content) : h("p", {}, content));
  }
  return shown;
}

const numbersOf = (sentence) => [
  ...sentence.numbers.map((number) => [number, false]),
  ...(sentence.unsupported ?? []).map((number) => [number, true]),
];

function citation(source, key, sentence, isUnsupported) {
  if (!source) return null;
  const label = `Source ${source.number}: ${named(source)}${isUnsupported ? ", which does not support this sentence" : ""}`;
  return h("a", { class: isUnsupported ? "cite doubtful" : "cite", href: address(source, key, sentence.text), "aria-label": label, title: label }, String(source.number), isUnsupported ? "?" : "");
}

const named = (source) => [source.title, source.location].filter(Boolean).join(", ");

/** Return the address that opens a source where a sentence stands in it. */
function address(source, key, sentence = "") {
  const origins = (source.origins ?? []).filter((origin) => origin.start !== null);
  const place = source.start !== null ? source : origins.find((origin) => placeOf(origin, sentence)) ?? origins[0];
  if (!place || !place.document_id) return readerLink({ doc: source.document_id, in: source.corpus, source: key });
  const within = sentence ? sentenceIn(place, sentence) : place.marked ?? [];
  const first = place.end - [...place.text].length; // before its start are the names of a table's columns
  const mark = within.map((ends) => ends.map((at) => Math.max(place.start, first + at)).join("-")).join(",");
  return readerLink({ doc: place.document_id, in: source.corpus, passage: `${place.start}-${place.end}`, mark });
}

/** Return where a sentence stands in a source, else all that is marked in it. */
function sentenceIn(source, sentence) {
  const place = placeOf(source, sentence);
  return place ? [place] : source.marked ?? [];
}

/** Return start and end of a sentence in a text, with or without its speaker; null if it is not there. */
function placeOf({ text }, sentence) {
  for (const words of [sentence, sentence.split(": ").slice(1).join(": ")].map((one) => one.trim())) {
    const at = words ? text.toLowerCase().indexOf(words.toLowerCase()) : -1;
    const start = [...text.slice(0, Math.max(0, at))].length; // offsets are in code points
    if (at >= 0) return [start, start + [...words].length];
  }
  return null;
}

function facts(answer) {
  const usage = answer.usage ?? {};
  const shown = [
    answer.method,
    answer.note,
    answer.passages.length ? `read ${count(answer.passages.length, "passage")}` : null,
    answer.probability !== null && answer.probability !== undefined ? `probability of an answer ${answer.probability.toFixed(2)}` : null,
    usage.tokens_in ? `${usage.tokens_in.toLocaleString("en")} tokens read` : null,
    usage.cost_usd ? `$${usage.cost_usd.toFixed(4)}` : null,
  ];
  return h("p", { class: "facts" }, shown.filter(Boolean).join(" · "));
}

function sourceList(answer, keys, cited) {
  if (!answer.sources.length) return null;
  const rows = new Map(answer.passages.map((row) => [row.node_id, row]));
  const first = answer.sources.filter((source) => cited.has(source.number));
  const rest = answer.sources.filter((source) => !cited.has(source.number));
  const item = (source) => sourceItem(answer, source, keys.get(source.number), rows.get(source.node_id));
  return h(
    "div",
    { class: "sources" },
    first.length > 0 && [h("h3", {}, "Cited"), h("ol", {}, first.map(item))],
    rest.length > 0 &&
      h("details", { open: !first.length }, h("summary", {}, first.length ? `Also read, not cited (${rest.length})` : `Nearest passages (${rest.length})`), h("ol", {}, rest.map(item))),
  );
}

function sourceItem(answer, source, key, row) {
  const reason = h("div", { class: "why", "aria-live": "polite" });
  const details = h("details", { class: "reason" }, h("summary", {}, "Why was it found?"), reason);
  details.addEventListener("toggle", () => details.open && !reason.hasChildNodes() && explain(reason, answer, source, row));
  return h(
    "li",
    { value: source.number },
    h("span", { class: "number", "aria-hidden": "true" }, String(source.number)),
    h(
      "div",
      {},
      h("p", {}, h("a", { class: "title", href: address(source, key) }, source.title), source.location ? h("span", { class: "note" }, ` ${source.location}`) : null),
      h("p", { class: "excerpt" }, source.text.trim().slice(0, 400)),
      answer.passages.length > 0 && details,
    ),
  );
}

/** Show the rank of a passage, and a way to it through the graph of its method. */
async function explain(target, answer, source, row) {
  const facts = row
    ? `Rank ${row.rank} of ${answer.passages.length} by ${answer.method}${row.score ? `, with a score of ${row.score.toPrecision(3)}` : ""}.`
    : "The method did not read it for this answer; a sentence of the answer stands there.";
  fill(target, h("p", {}, facts), busy("Looking for a way through the graph …"));
  try {
    const corpus = source.corpus || answer.corpus;
    const question = answer.understood || answer.question;
    answer.seeds ??= post("search", { corpus, query: question, method: "bm25", k: 8 }).then(
      (found) => found.passages.map((passage) => passage.node_id),
      () => answer.passages.slice(0, 3).map((passage) => passage.node_id),
    );
    const found = await get("why", { corpus, method: answer.method, question, to: source.node_id, from: await answer.seeds });
    fill(target, h("p", {}, facts), wayOf(found, corpus));
  } catch (error) {
    fill(target, h("p", {}, facts), error.status === 404 ? h("p", { class: "note" }, "This corpus has no graph that leads to it.") : failure(error));
  }
}

function wayOf(found, corpus) {
  const start = found.from_question ? "what the question names" : "the passages that share most words with the question";
  if (!found.steps.length) return h("p", { class: "note" }, `No way through the graph of ${found.title.toLowerCase()} leads to it from ${start}.`);
  if (found.steps.length === 1) return h("p", {}, `It is one of ${start}: the search begins here.`);
  const ids = found.steps.filter((step) => step.degree !== undefined).map((step) => step.id);
  return [
    h("p", {}, `A shortest way through the graph of ${found.title.toLowerCase()} from ${start}. It is a way to the passage, not the method's own computation.`),
    h(
      "ol",
      { class: "way" },
      found.steps.map((step) =>
        h("li", {}, step.relation && h("span", { class: "relation" }, step.relation), h("span", { class: "node" }, h("span", { class: "kind" }, step.kind), step.label || `this ${step.kind}`)),
      ),
    ),
    h("p", {}, h("a", { href: link("graphs", { corpus, graph: found.graph, node: ids.at(-1), way: ids.join(",") }) }, "Show it in the graph")),
  ];
}
