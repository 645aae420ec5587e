// The graphs of a corpus: drawn, searched, filtered, walked; and the same as a table.

import { corpus, inDagster, link, readerLink } from "./app.js";
import { get } from "./api.js";
import { draw } from "./canvas.js";
import { after, busy, count, failure, fill, h, options, say } from "./dom.js";

const MEANINGS = {
  records: "Passages, and answers to simulated questions that used them.",
  passages: "Passages, each joined to those that it predicts best.",
  entities: "What the documents name, coloured by community.",
  jerr: "Core elements of synopses, and relations between them.",
};
const ROWS = 100; // of the table
const NEAR = 40; // neighbours that are listed
let present = null; // what is shown: { key, explorer }

export async function show(main, values) {
  const of = corpus();
  const key = JSON.stringify([of.corpus, values.graph, values.document]);
  if (present?.key === key && present.explorer.element.isConnected) return present.explorer.select(values);
  performance.mark("graph-asked");
  present?.explorer.done();
  const { graphs } = await get("graph", { corpus: of.corpus });
  const name = graphs.some((graph) => graph.graph === values.graph) ? values.graph : graphs[0]?.graph;
  if (!name) return fill(main, noGraph(of));
  const explorer = new Explorer(of.corpus, graphs.find((graph) => graph.graph === name), values.document ?? "");
  present = { key, explorer };
  fill(main, head(of, graphs, name, values), explorer.element);
  await explorer.load();
  explorer.select(values);
}

const noGraph = (of) =>
  h("div", { class: "column" }, h("h1", {}, "No graph yet"), h("p", {}, `Corpus ${of.corpus} was indexed by methods without a graph. Run `, h("code", {}, `gsum run ${of.corpus} --methods gor,passage_walk`), "."));

function head(of, graphs, name, values) {
  const tab = (graph) =>
    h("a", { href: link("graphs", { graph: graph.graph }), "aria-current": graph.graph === name ? "page" : null }, graph.title, h("span", { class: "n" }, graph.n_nodes.toLocaleString("en")));
  const chosen = graphs.find((graph) => graph.graph === name);
  return h(
    "div",
    { class: "graph-head" },
    h("h1", { class: "hidden" }, `Graphs of ${of.corpus}`),
    h("nav", { class: "tabs", "aria-label": "Graphs" }, graphs.map(tab)),
    h("p", { class: "note" }, MEANINGS[name], " ", inDagster(`assets/${chosen.asset}?view=lineage`, "Lineage")),
    chosen.has_documents ? documentChoice(of, name, values.document) : null,
  );
}

function documentChoice(of, name, chosen = "") {
  const select = h("select", { change: () => (location.hash = link("graphs", { graph: name, document: select.value })) }, options([["", "all documents"]]));
  get("documents", { corpus: of.corpus, limit: 500 }).then(({ documents }) => {
    select.append(...options(documents.map((row) => [row.document_id, row.title]), chosen));
  });
  return h("label", { class: "in" }, "In ", select);
}

class Explorer {
  constructor(name, graph, document) {
    this.query = { corpus: name, graph: graph.graph, document };
    this.title = graph.title;
    this.rows = new Map();
    this.hidden = { group: new Set(), kind: new Set() };
    this.stage = h("div", { class: "stage", tabindex: "0", role: "application", "aria-label": `Graph of ${graph.title.toLowerCase()}. Arrow keys move it, plus and minus zoom; the table below has the same nodes.`, keydown: (event) => this.key(event) });
    this.card = h("div", { class: "tip", hidden: true });
    this.side = h("section", { class: "side", "aria-label": "Chosen node", "aria-live": "polite" });
    this.legend = h("fieldset", { class: "legend" });
    this.caption = h("p", { class: "note caption", role: "status" });
    this.found = h("ul", { class: "found", "aria-label": "Nodes found" });
    this.table = h("div", { class: "table" });
    this.hover = after(90, (id) => this.showTip(id));
    const search = h("input", { type: "search", placeholder: "Find a node", "aria-label": "Find a node", input: after(150, (event) => this.search(event.target.value)) });
    const button = (text, label, act) => h("button", { type: "button", "aria-label": label, title: label, click: act }, text);
    const tools = h("div", { class: "tools" }, button("+", "Zoom in", () => this.canvas?.zoom(0.6)), button("−", "Zoom out", () => this.canvas?.zoom(1.6)), button("⤢", "Show all", () => this.canvas?.fit()));
    const details = h("details", { class: "as-table" }, h("summary", {}, "The same as a table"), this.table);
    details.addEventListener("toggle", () => details.open && this.showTable());
    this.details = details;
    this.element = h(
      "div",
      { class: "explorer" },
      h("div", { class: "picture" }, h("div", { class: "finder" }, search, this.found), this.stage, tools, this.card),
      h("div", { class: "beside" }, this.side, this.legend),
      this.caption,
      details,
    );
  }

  async load() {
    fill(this.side, busy("Loading the graph …"));
    this.data = await get("graph/nodes", this.query);
    performance.mark("graph-received");
    this.byId = new Map(this.data.nodes.map((node) => [node.id, node]));
    this.labels = new Map(this.data.legend.map((entry) => [entry.group, entry]));
    const { nodes, edges, total_nodes, total_edges } = this.data;
    const part = nodes.length < total_nodes ? ` of ${total_nodes.toLocaleString("en")}, those with most edges` : "";
    this.caption.textContent = `${nodes.length.toLocaleString("en")} nodes${part} · ${edges.length.toLocaleString("en")} edges${part ? ` of ${total_edges.toLocaleString("en")}` : ""}`;
    this.showLegend();
    this.showHint();
    try {
      this.canvas = await draw(this.stage, this.data, {
        hover: (id, event) => this.onHover(id, event),
        choose: (id) => (location.hash = link("graphs", { graph: this.query.graph, document: this.query.document, node: id })),
      });
    } catch (error) {
      fill(this.stage, h("p", { class: "failure" }, `This browser cannot draw the graph (${error.message}). The table below has the same nodes.`));
      this.details.open = true;
    }
    performance.mark("graph-complete");
    this.element.dataset.drawn = "true";
  }

  done() {
    this.canvas?.done();
  }

  showHint() {
    fill(this.side, h("p", { class: "note" }, "Point at a node to see its row, choose it to see its neighbours."));
  }

  /** Show the node and the way of a route. */
  select({ node = null, way = "" }) {
    this.chosen = node;
    this.canvas?.choose(node, way ? way.split(",") : []);
    if (!node) return this.showHint();
    this.canvas?.look(node);
    return this.showNode(node);
  }

  async row(id) {
    if (!this.rows.has(id)) this.rows.set(id, get("graph/row", { corpus: this.query.corpus, graph: this.query.graph, id }));
    return this.rows.get(id);
  }

  onHover(id, event) {
    this.stage.classList.toggle("on-node", id !== null);
    if (event) {
      const { width, height } = this.stage.getBoundingClientRect();
      this.card.classList.toggle("left", event.x > width / 2);
      this.card.classList.toggle("up", event.y > height / 2);
      this.card.style.setProperty("--x", `${event.x}px`);
      this.card.style.setProperty("--y", `${event.y}px`);
    }
    this.hovered = id;
    if (id === null) this.card.hidden = true;
    else this.hover(id);
  }

  async showTip(id) {
    if (this.hovered !== id) return;
    const node = this.byId.get(id);
    const start = [h("p", { class: "kind" }, `${node.kind} · ${this.labels.get(node.group).label}`), h("p", { class: "title" }, node.label)];
    fill(this.card, start);
    this.card.hidden = false;
    const { row, degree } = await this.row(id).catch(() => ({ row: {} }));
    if (this.hovered !== id) return;
    const text = row.text ?? row.description ?? row.facts?.join(" ") ?? "";
    fill(this.card, start, text && text !== node.label ? h("p", {}, clipped(text, 320)) : null, degree === undefined ? null : h("p", { class: "note" }, count(degree, "edge")));
  }

  async showNode(id) {
    const node = this.byId.get(id);
    fill(this.side, h("h2", {}, node?.label ?? "Node"), busy("Loading …"));
    try {
      const [found, near] = await Promise.all([this.row(id), get("graph/neighbours", { ...this.query, document: "", id, limit: NEAR + 1 })]);
      if (this.chosen !== id) return;
      fill(this.side, this.nodeCard(found), neighbours(near, (one) => this.linkTo(one)));
      say(`${found.label}: ${count(found.degree, "edge")}`);
    } catch (error) {
      fill(this.side, failure(error));
    }
  }

  linkTo = (id) => link("graphs", { graph: this.query.graph, document: this.query.document, node: id });

  nodeCard(found) {
    const { row } = found;
    const text = row.text ?? row.description ?? "";
    const isText = ["passage", "response"].includes(found.kind); // whose label is how the text begins
    const place = row.start !== undefined ? readerLink({ doc: row.document_id, passage: `${row.start}-${row.end}` }) : null;
    return [
      h("p", { class: "kind" }, `${found.kind} · ${found.group}`),
      h("h2", { class: isText ? "hidden" : null }, found.label),
      text && h("p", { class: "excerpt" }, clipped(text, 500)),
      row.facts?.length > 0 && h("ul", {}, row.facts.slice(0, 6).map((fact) => h("li", {}, fact))),
      place && h("p", {}, h("a", { href: place }, "Open in its document")),
      row.communities?.length > 0 && communities(row.communities),
      h("details", {}, h("summary", {}, "Row of the table"), h("dl", { class: "row" }, Object.entries(row).filter(([name]) => name !== "communities").map(fact))),
    ];
  }

  showLegend() {
    const box = (of, value, label, swatch) => {
      const input = h("input", { type: "checkbox", checked: true, change: () => this.toggle(of, value, input.checked) });
      return h("label", {}, input, swatch, h("span", {}, label));
    };
    const groups = this.data.legend.map((entry) => {
      const swatch = h("i", { class: "swatch", "aria-hidden": "true" });
      swatch.style.setProperty("--color", entry.color);
      return box("group", entry.group, [entry.label, h("span", { class: "n" }, entry.count.toLocaleString("en"))], swatch);
    });
    const kinds = this.data.kinds.length > 1 ? this.data.kinds.map((kind) => box("kind", kind, kind, null)) : [];
    fill(this.legend, h("legend", {}, "Colours"), groups, kinds.length > 0 && h("p", { class: "kind" }, "Kinds"), kinds);
  }

  toggle(of, value, isShown) {
    if (isShown) this.hidden[of].delete(value);
    else this.hidden[of].add(value);
    this.canvas?.filter((node) => this.isShown(node));
    if (this.details.open) this.showTable();
  }

  isShown = (node) => !this.hidden.group.has(node.group) && !this.hidden.kind.has(node.kind);

  async search(query) {
    if (!query.trim()) return fill(this.found);
    try {
      const { nodes } = await get("graph/search", { ...this.query, q: query, limit: 12 });
      fill(this.found, nodes.length ? nodes.map((node) => h("li", {}, h("a", { href: this.linkTo(node.id), click: () => this.clearSearch() }, node.label, h("span", { class: "note" }, ` ${node.kind}`)))) : h("li", { class: "note" }, "No node has these words."));
      say(count(nodes.length, "node"));
    } catch (error) {
      fill(this.found, h("li", {}, failure(error)));
    }
  }

  clearSearch() {
    fill(this.found);
    this.element.querySelector(".finder input").value = "";
  }

  showTable() {
    const shown = this.data.nodes.filter(this.isShown).sort((a, b) => b.size - a.size);
    const degrees = new Map();
    for (const [a, b] of this.data.edges) for (const i of [a, b]) degrees.set(i, (degrees.get(i) ?? 0) + 1);
    const index = new Map(this.data.nodes.map((node, i) => [node.id, i]));
    fill(
      this.table,
      h(
        "table",
        {},
        h("caption", {}, shown.length > ROWS ? `The ${ROWS} nodes with most edges of ${shown.length.toLocaleString("en")}; find others by their words.` : count(shown.length, "node")),
        h("thead", {}, h("tr", {}, ["Node", "Kind", "Group", "Edges"].map((name) => h("th", { scope: "col" }, name)))),
        h(
          "tbody",
          {},
          shown.slice(0, ROWS).map((node) =>
            h("tr", {}, h("th", { scope: "row" }, h("a", { href: this.linkTo(node.id) }, node.label)), h("td", {}, node.kind), h("td", {}, this.labels.get(node.group).label), h("td", { class: "n" }, String(degrees.get(index.get(node.id)) ?? 0))),
          ),
        ),
      ),
    );
  }

  key(event) {
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    if (moves[event.key]) this.canvas?.pan(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") this.canvas?.zoom(0.7);
    else if (event.key === "-") this.canvas?.zoom(1.4);
    else if (event.key === "0") this.canvas?.fit();
    else return;
    event.preventDefault();
  }
}

const clipped = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** Return the neighbours of the first node of a reply of /api/graph/neighbours. */
function neighbours(near, linkTo) {
  const relation = new Map();
  for (const [a, b, , kind] of near.edges) {
    if (a === 0 || b === 0) relation.set(a === 0 ? b : a, near.relations[kind]);
  }
  const listed = near.nodes.map((node, i) => [node, relation.get(i)]).slice(1);
  if (!listed.length) return h("p", { class: "note" }, "It has no neighbours.");
  return [
    h("h3", {}, listed.length < NEAR ? "Neighbours" : `The ${NEAR} most connected neighbours`),
    h("ul", { class: "neighbours" }, listed.map(([node, how]) => h("li", {}, h("a", { href: linkTo(node.id) }, node.label), h("span", { class: "note" }, ` ${how ?? node.kind}`)))),
  ];
}

const communities = (rows) =>
  h(
    "details",
    { open: true },
    h("summary", {}, count(rows.length, "community", "communities")),
    h("ul", { class: "communities" }, rows.map((row) => h("li", {}, h("b", {}, row.report || row.title), h("span", { class: "note" }, ` level ${row.level}, ${count(row.size, "entity", "entities")}`), row.summary ? h("p", {}, clipped(row.summary, 320)) : null))),
  );

function fact([name, value]) {
  const text = Array.isArray(value) ? value.join(", ") : value === null ? "—" : String(value);
  return h("div", {}, h("dt", {}, name), h("dd", {}, clipped(text, 600)));
}
