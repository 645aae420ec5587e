// The frame of the page: route, corpus, theme, and the reader beside the view.

import { ApiError, get, setToken } from "./api.js";
import { busy, failure, fill, h, options } from "./dom.js";
import { closeReader, openReader } from "./reader.js";
import * as ask from "./ask.js";
import * as compare from "./compare.js";
import * as corpora from "./corpora.js";
import * as documents from "./documents.js";
import * as graphs from "./graphs.js";

const VIEWS = {
  ask: ["Ask", ask],
  compare: ["Compare", compare],
  documents: ["Documents", documents],
  graphs: ["Graphs", graphs],
  corpora: ["Corpora", corpora],
};
const READER = ["doc", "in", "passage", "mark", "source"]; // values of the route that the reader shows
const main = document.getElementById("main");
const reader = document.getElementById("reader");
const select = document.getElementById("corpus");
let shown = ""; // the view that is in `main`, with its values
let state = []; // rows of /api/corpora
let ui = ""; // address of Dagster's UI

/** Return view and values of the address. */
function route() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { view: path in VIEWS ? path : "ask", values: Object.fromEntries(new URLSearchParams(query)) };
}

/** Return the address of a view. */
export function link(view, values = {}) {
  const known = Object.entries({ corpus: corpus()?.corpus, ...values }).filter(([, value]) => value);
  return `#/${view}?${new URLSearchParams(known)}`;
}

/** Return the address that opens the reader beside the present view. */
export function readerLink(values) {
  const { view, values: present } = route();
  const kept = Object.fromEntries(Object.entries(present).filter(([name]) => !READER.includes(name)));
  return link(view, { ...kept, ...values });
}

export const corpus = () => state.find((row) => row.corpus === route().values.corpus) ?? state[0];

/** Return a link to a page of Dagster's UI; null if its address is not set. */
export const inDagster = (path, text) => (ui ? h("a", { href: `${ui}/${path}`, rel: "noreferrer" }, text) : null);

export async function refreshCorpora() {
  const found = await get("corpora");
  state = found.corpora;
  ui = /^https?:/.test(found.ui_url ?? "") ? found.ui_url : "";
  return state;
}

async function showRoute() {
  const { view, values } = route();
  const ofView = Object.entries(values).filter(([name]) => name !== "corpus" && !READER.includes(name));
  const key = JSON.stringify([view, corpus()?.corpus, ofView]);
  document.title = `${VIEWS[view][0]} · gsum`;
  for (const anchor of document.querySelectorAll("#views a")) {
    const name = anchor.dataset.view;
    anchor.href = link(name);
    if (name === view) anchor.setAttribute("aria-current", "page");
    else anchor.removeAttribute("aria-current");
  }
  select.value = corpus()?.corpus ?? "";
  if (key !== shown) {
    const isOther = !shown || JSON.parse(shown)[0] !== view;
    shown = key;
    main.className = view;
    if (isOther) fill(main);
    if (!state.length && view !== "corpora") fill(main, nothing());
    else await VIEWS[view][1].show(main, values).catch((error) => fill(main, failure(error)));
  }
  const isOpen = Boolean(values.doc || values.source);
  document.getElementById("frame").classList.toggle("reading", isOpen);
  if (isOpen) await openReader(reader, values);
  else closeReader(reader);
}

const nothing = () =>
  h(
    "section",
    { class: "column" },
    h("h1", {}, "No corpus yet"),
    h("p", {}, "Put documents into a folder and run ", h("code", {}, "gsum run FOLDER"), ". It appears here once it is indexed."),
  );

const THEMES = { "": ["◐", "as the system"], light: ["○", "light"], dark: ["●", "dark"] };

function showTheme() {
  const button = document.getElementById("theme");
  const theme = document.documentElement.dataset.theme ?? "";
  button.textContent = THEMES[theme][0];
  button.setAttribute("aria-label", `Theme: ${THEMES[theme][1]}. Change`);
  button.title = `Theme: ${THEMES[theme][1]}`;
}

function nextTheme() {
  const names = Object.keys(THEMES);
  const next = names[(names.indexOf(document.documentElement.dataset.theme ?? "") + 1) % names.length];
  if (next) document.documentElement.dataset.theme = next;
  else delete document.documentElement.dataset.theme;
  localStorage.setItem("theme", next);
  showTheme();
  document.dispatchEvent(new Event("theme"));
}

function askToken(message) {
  const input = h("input", { type: "password", id: "token", autocomplete: "off", required: true });
  const enter = (event) => {
    event.preventDefault();
    setToken(input.value.trim());
    start();
  };
  fill(
    main,
    h(
      "form",
      { class: "column token", submit: enter },
      h("h1", {}, "This service needs a token"),
      h("p", {}, message),
      h("label", { for: "token" }, "Token"),
      input,
      h("p", { class: "note" }, "It is kept until this tab is closed."),
      h("button", { type: "submit", class: "primary" }, "Continue"),
    ),
  );
  input.focus();
}

async function start() {
  fill(main, busy("Loading the corpora …"));
  select.parentElement.hidden = true;
  try {
    await refreshCorpora();
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) askToken(error.message);
    else fill(main, failure(error));
    return;
  }
  select.parentElement.hidden = !state.length;
  fill(select, options(state.map((row) => [row.corpus, row.corpus])));
  shown = "";
  await showRoute();
}

fill(
  document.getElementById("views"),
  Object.entries(VIEWS).map(([name, [title]]) => h("a", { href: `#/${name}`, "data-view": name }, title)),
);
select.addEventListener("change", () => {
  location.hash = link(route().view, { corpus: select.value });
});
document.getElementById("theme").addEventListener("click", nextTheme);
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !reader.hidden) location.hash = readerLink({});
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.dispatchEvent(new Event("theme")));
window.addEventListener("hashchange", showRoute);
showTheme();
start();
