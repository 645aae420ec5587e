// One question by two methods, side by side.

import { corpus } from "./app.js";
import { ask } from "./api.js";
import { answerOf } from "./answer.js";
import { methodOptions } from "./ask.js";
import { busy, count, failure, fill, h, options, say } from "./dom.js";

const kept = new Map(); // what is shown, by corpus

export async function show(main) {
  const of = corpus();
  if (kept.has(of.corpus)) return fill(main, kept.get(of.corpus));
  const [first, second] = pair(of);
  const left = h("select", {}, options(of.methods.map((name) => [name, name]), first));
  const right = h("select", {}, options(of.methods.map((name) => [name, name]), second));
  const text = h("input", { type: "text", required: true, "aria-label": "Question", placeholder: "A question for both methods" });
  const result = h("div", { class: "result" });
  const send = (event) => {
    event.preventDefault();
    compare(result, of.corpus, text.value.trim(), [left.value, right.value]);
  };
  const form = h(
    "form",
    { class: "question", submit: send },
    text,
    h("div", { class: "bar" }, h("label", {}, "Left ", left), h("label", {}, "Right ", right), h("button", { type: "submit", class: "primary" }, "Compare")),
  );
  const page = h("div", { class: "wide" }, h("h1", {}, "Compare two methods"), form, result);
  kept.set(of.corpus, page);
  fill(main, page);
}

/** Return the default method and the first one of a family of another kind. */
function pair(of) {
  const first = of.default_method ?? of.methods[0];
  const wished = ["gor", "graphrag-local", "passage_walk", "evidence", "jerr"];
  return [first, wished.find((name) => of.methods.includes(name) && name !== first) ?? of.methods.find((name) => name !== first) ?? first];
}

async function compare(result, name, question, methods) {
  if (!question) return;
  const columns = methods.map((method) => ({ method, body: h("div", {}, busy("Searching …")) }));
  const summary = h("p", { class: "lead" });
  fill(result, summary, h("div", { class: "columns" }, columns.map(({ method, body }) => h("section", { "aria-label": method }, h("h2", {}, method), body))));
  const answers = await Promise.all(
    columns.map(async ({ method, body }) => {
      try {
        const answer = await ask({ corpus: name, question, method, explain: true }, () => {});
        fill(body, answerOf(answer));
        return answer;
      } catch (error) {
        fill(body, failure(error));
        return null;
      }
    }),
  );
  if (answers.every(Boolean)) mark(summary, columns, answers);
}

/** Say which passages both methods read, and mark them in the lists. */
function mark(summary, columns, answers) {
  const read = answers.map((answer) => new Set(answer.passages.map((row) => row.node_id)));
  const isShared = (id) => read.every((ids) => ids.has(id));
  const n = [...read[0]].filter(isShared).length;
  const alone = columns.map(({ method }, i) => `${count(read[i].size - n, "passage")} only by ${method}`);
  summary.textContent = `${count(n, "passage")} read by both, ${alone.join(", ")}.`;
  say(summary.textContent);
  columns.forEach(({ body }, i) => {
    const byNumber = new Map(answers[i].sources.map((source) => [source.number, source.node_id]));
    for (const item of body.querySelectorAll(".sources li[value]")) {
      if (isShared(byNumber.get(item.value))) item.querySelector("p").append(h("span", { class: "badge" }, "both"));
    }
  });
}
