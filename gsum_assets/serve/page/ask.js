// Questions and answers, one after the other.

import { corpus, readerLink } from "./app.js";
import { ask, get } from "./api.js";
import { answerOf } from "./answer.js";
import { after, busy, count, failure, fill, h, options, say } from "./dom.js";

const turnsOf = new Map(); // by corpus
const drafts = new Map();
let running = null; // the AbortController of the question that is being answered

export async function show(main) {
  const of = corpus();
  const turns = turnsOf.get(of.corpus) ?? [];
  turnsOf.set(of.corpus, turns);
  const list = h("div", { class: "turns" });
  const form = questionForm(of, (asked) => add(list, turns, of.corpus, asked));
  fill(main, h("div", { class: "column" }, h("h1", { class: turns.length ? "hidden" : null }, `Ask ${of.corpus}`), turns.length ? null : lead(of), list, form, turns.length ? null : h("div", { class: "some" })));
  for (const turn of turns) list.append(turn.element);
  if (!turns.length) showDocuments(main.querySelector(".some"), of);
}

const lead = (of) => h("p", { class: "lead" }, `Answers come from ${count(of.n_documents, "document")} and cite the passages they were written from.`);

async function showDocuments(target, of) {
  const found = await get("documents", { corpus: of.corpus, limit: 6 }).catch(() => null);
  if (!found || !target?.isConnected) return;
  fill(target, h("h2", { class: "small" }, "Some of the documents"), h("ul", { class: "plain" }, found.documents.map((row) => h("li", {}, h("a", { href: readerLink({ doc: row.document_id }) }, row.title)))));
}

/** Return the form for a question; `submit` gets question, method, document and where. */
function questionForm(of, submit) {
  const draft = drafts.get(of.corpus) ?? {};
  const text = h("textarea", { id: "question", rows: "1", placeholder: "What was decided, and why?", required: true, "aria-label": "Question" }, draft.text ?? "");
  const method = h("select", { id: "method" }, methodOptions(of, draft.method));
  const document = documentInput(of, draft.document);
  const where = h("input", { type: "search", placeholder: "date >= '2024-01-01'", title: "Condition on the documents that are searched: date >= '2024-01-01' and kind = 'minutes'", autocomplete: "off" });
  if (draft.where) where.value = draft.where;
  const button = h("button", { type: "submit", class: "primary" }, "Ask");
  const chosen = () => ({ method: method.value, document: document.value(), where: where.value.trim() });
  const keep = () => drafts.set(of.corpus, { text: text.value, ...chosen() });
  const send = (event) => {
    event?.preventDefault();
    if (running) return running.abort();
    if (!text.value.trim()) return;
    submit({ question: text.value.trim(), ...chosen() });
    text.value = "";
    keep();
  };
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) send(event);
  });
  return h("form", { class: "question", submit: send, input: keep }, text, h("div", { class: "bar" }, h("label", {}, "Method ", method), document.element, h("label", {}, "Where ", where), button));
}

export const methodOptions = (of, chosen = "") =>
  options([["", of.default_method ? `Automatic (${of.default_method})` : "Automatic"], ...of.methods.map((name) => [name, name])], chosen);

/** Return an input for the title of a document; `value()` is its id, "" for all documents. */
function documentInput(of, chosen) {
  const ids = new Map();
  const list = h("datalist", { id: "titles" });
  const input = h("input", { type: "search", list: "titles", placeholder: "all documents", autocomplete: "off" });
  const search = after(150, async () => {
    const found = await get("documents", { corpus: of.corpus, q: input.value, limit: 30 }).catch(() => ({ documents: [] }));
    for (const row of found.documents) ids.set(row.title, row.document_id);
    fill(list, found.documents.map((row) => h("option", { value: row.title })));
  });
  input.addEventListener("focus", search, { once: true });
  input.addEventListener("input", search);
  if (chosen) input.value = chosen;
  return { element: h("label", {}, "In ", input, list), value: () => ids.get(input.value) ?? input.value.trim() };
}

async function add(list, turns, name, { question, method, document, where }) {
  const body = h("div", { class: "body", "aria-busy": "true" }, busy("Searching …"));
  const turn = { question, element: h("article", { class: "turn", "aria-label": question }, h("h2", {}, question), body) };
  if (!turns.length) list.parentElement.querySelectorAll("h1, .lead, .some").forEach((element) => element.tagName === "H1" ? element.classList.add("hidden") : element.remove());
  const history = turns.filter((earlier) => earlier.answer).map((earlier) => ({ question: earlier.understood, answer: earlier.answer }));
  turns.push(turn);
  list.append(turn.element);
  turn.element.scrollIntoView({ block: "start" });
  running = new AbortController();
  const button = list.parentElement.querySelector("button.primary");
  button.textContent = "Stop";
  let written = "";
  try {
    const answer = await ask(
      { corpus: name, question, method: method || null, document: document || null, where, history, explain: true },
      (words) => {
        written = words === null ? "" : written + words;
        fill(body, h("div", { class: "answer writing" }, h("p", {}, written)));
      },
      running.signal,
    );
    Object.assign(turn, { understood: answer.understood || question, answer: answer.text });
    fill(body, answerOf(answer));
    say(`Answer: ${answer.text}`);
  } catch (error) {
    if (error.name === "AbortError") fill(body, h("p", { class: "note" }, "Stopped."));
    else fill(body, failure(error));
  } finally {
    body.setAttribute("aria-busy", "false");
    running = null;
    button.textContent = "Ask";
  }
}
