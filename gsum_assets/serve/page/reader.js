// The document beside the view, with the passage and the sentences that were cited marked in it.

import { corpus, readerLink } from "./app.js";
import { get } from "./api.js";
import { sourceOf } from "./answer.js";
import { busy, count, failure, fill, h, options } from "./dom.js";

let opened = ""; // what is shown
let opener = null; // the element that had the focus before
const kept = new Map(); // documents by corpus and id

/** Show the document `doc` of a route, or the text of the source `source` of an answer. */
export async function openReader(panel, values) {
  const name = values.in ?? corpus().corpus; // a source may be of another corpus
  const key = JSON.stringify([name, values.doc, values.source, values.passage, values.mark]);
  if (key === opened) return;
  if (panel.hidden) opener = document.activeElement;
  opened = key;
  panel.hidden = false;
  fill(panel, busy("Opening the document …"));
  try {
    const content = (values.doc && (await ofDocument(name, values))) || ofSource(values.source);
    if (opened !== key) return;
    fill(panel, content);
    panel.querySelector("h2").focus({ preventScroll: true });
    const target = panel.querySelector("mark") ?? panel.querySelector(".passage");
    target?.scrollIntoView({ block: "center" });
  } catch (error) {
    fill(panel, h("div", { class: "reader-head" }, h("h2", { tabindex: "-1" }, "Document"), close()), failure(error));
  }
}

export function closeReader(panel) {
  if (panel.hidden) return;
  panel.hidden = true;
  opened = "";
  fill(panel);
  if (opener?.isConnected) opener.focus();
}

const close = () => h("a", { class: "button", href: readerLink({}), "aria-label": "Close the document" }, "Close");

async function ofDocument(name, values) {
  const key = `${name}/${values.doc}`;
  if (!kept.has(key)) kept.set(key, await get("document", { corpus: name, id: values.doc }));
  const found = kept.get(key);
  const at = offsets(found.text);
  const cited = sourceOf(values.source);
  const first = cited ? found.text.indexOf(cited.text) : -1;
  if (cited && first < 0) return null; // a text about the document
  const ranges = [
    ...(cited ? quoted(cited, first) : []),
    ...headings(found, at),
    ...spans(values.passage).map(([start, end]) => [at(start), at(end), "passage"]),
    ...spans(values.mark).map(([start, end]) => [at(start), at(end), "mark"]),
  ];
  const text = h("div", { class: "text", tabindex: "0", role: "region", "aria-label": `Text of ${found.title}` }, marked(found.text, ranges));
  const facts = [count(found.n_words ?? found.text.split(/\s+/).length, "word"), count(found.chunks.length, "passage")];
  return [
    h("div", { class: "reader-head" }, h("h2", { tabindex: "-1" }, found.title), close()),
    h("p", { class: "note" }, facts.join(" · "), values.mark ? " · cited sentence marked" : values.passage ? " · passage marked" : ""),
    contents(found, text),
    text,
  ];
}

/** Return the ranges of a source whose text begins at `first` in its document. */
function quoted(source, first) {
  const at = offsets(source.text);
  const marks = (source.marked ?? []).map(([start, end]) => [first + at(start), first + at(end), "mark"]);
  return [[first, first + source.text.length, "passage"], ...marks];
}

function ofSource(number) {
  const source = sourceOf(number);
  if (!source) throw new Error("This text belongs to an answer that is no longer on the page. Ask the question again.");
  const at = offsets(source.text);
  const ranges = (source.marked ?? []).map(([start, end]) => [at(start), at(end), "mark"]);
  return [
    h("div", { class: "reader-head" }, h("h2", { tabindex: "-1" }, source.title), close()),
    h("p", { class: "note" }, source.document_id ? "Written about the document when the corpus was indexed." : "Written from several passages when the corpus was indexed."),
    h("div", { class: "text", tabindex: "0", role: "region", "aria-label": `Text of ${source.title}` }, marked(source.text, ranges)),
  ];
}

/** Return a menu of the document's headings, pages or times, if it has several. */
function contents(found, text) {
  if (found.sections.length < 2) return null;
  const jump = (event) => text.querySelector(`[data-start="${event.target.value}"]`)?.scrollIntoView({ block: "start" });
  const at = offsets(found.text);
  const pairs = found.sections.map((section) => [String(at(section.start)), section.kind === "heading" ? section.label : `${section.kind} ${section.label}`]);
  return h("label", { class: "contents" }, "Go to ", h("select", { change: jump }, options(pairs)));
}

function headings(found, at) {
  return found.sections.map((section) => {
    const start = at(section.start);
    const line = found.text.indexOf("\n", start);
    return [start, section.kind === "heading" ? (line < 0 ? found.text.length : line) : start + 1, section.kind === "heading" ? "heading" : "section"];
  });
}

/** Return the ranges in "12-80,95-130". */
const spans = (text = "") => text.split(",").map((pair) => pair.split("-").map(Number)).filter(([start, end]) => start < end);

/** Return the nodes of a text of which ranges [start, end, class] are marked. */
export function marked(text, ranges) {
  const inside = ranges.filter(([start, end]) => start < end && start < text.length);
  const cuts = [...new Set([0, text.length, ...inside.flatMap(([start, end]) => [start, Math.min(end, text.length)])])];
  cuts.sort((a, b) => a - b);
  return cuts.slice(0, -1).map((start, i) => {
    const piece = text.slice(start, cuts[i + 1]);
    const classes = inside.filter(([from, to]) => from <= start && start < to).map(([, , name]) => name);
    if (!classes.length) return piece;
    return h(classes.includes("mark") ? "mark" : "span", { class: classes.join(" "), "data-start": start }, piece);
  });
}

/** Return the function from the service's offsets, in code points, to those of JavaScript. */
export function offsets(text) {
  const wide = [...text.matchAll(/[\ud800-\udbff][\udc00-\udfff]/g)].map((match, i) => match.index - i);
  return (point) => point + wide.filter((position) => position < point).length;
}
