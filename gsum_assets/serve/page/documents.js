// The documents of a corpus, searched by title.

import { corpus, readerLink } from "./app.js";
import { get } from "./api.js";
import { after, count, failure, fill, h } from "./dom.js";

const PAGE = 50;

export async function show(main) {
  const of = corpus();
  const list = h("ul", { class: "titles" });
  const note = h("p", { class: "note", role: "status" });
  const more = h("button", { type: "button", class: "quiet", hidden: true }, "Show more");
  const input = h("input", { type: "search", placeholder: "Words of the title", "aria-label": "Search documents by title" });
  let shown = 0;
  const load = async (offset) => {
    try {
      const found = await get("documents", { corpus: of.corpus, q: input.value, offset, limit: PAGE });
      if (!offset) fill(list);
      list.append(...found.documents.map(item));
      shown = offset + found.documents.length;
      more.hidden = shown >= found.total;
      note.textContent = found.total ? `${count(found.total, "document")}` : "No document has these words in its title.";
    } catch (error) {
      fill(list, h("li", {}, failure(error)));
    }
  };
  more.addEventListener("click", () => load(shown));
  input.addEventListener("input", after(150, () => load(0)));
  fill(main, h("div", { class: "column" }, h("h1", {}, `Documents of ${of.corpus}`), input, note, list, more));
  await load(0);
}

const item = (row) =>
  h("li", {}, h("a", { href: readerLink({ doc: row.document_id }) }, row.title), h("span", { class: "note" }, row.n_words ? count(row.n_words, "word") : ""));
