// A graph drawn with WebGL by sigma.js, from the positions that the service computed.

const MANY = 5_000; // nodes above which drawing saves time: points, thin lines, edges after the first frame
let libraries = null;

/** Load sigma.js and graphology once, when a graph is first shown. */
function load() {
  const script = (file) =>
    new Promise((done, failed) => {
      const element = document.createElement("script");
      element.src = `vendor/${file}`;
      element.onload = done;
      element.onerror = () => failed(new Error(`vendor/${file} could not be loaded; reload the page.`));
      document.head.append(element);
    });
  libraries ??= Promise.all([script("graphology.min.js"), script("sigma.min.js")]);
  return libraries;
}

export const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/**
 * Draw a graph into an element.
 *
 * data: the reply of /api/graph/nodes. on: `hover(id or null, event)` and `choose(id or null)`.
 * Returns functions that change what is shown; `done` frees the canvas.
 */
export async function draw(container, data, on) {
  await load();
  let graph = new graphology.Graph({ type: "undirected", multi: true });
  const scale = Math.min(1, Math.max(0.55, container.clientWidth / 900)); // smaller on a phone
  const colors = new Map(data.legend.map((entry) => [entry.group, entry.color]));
  for (const node of data.nodes) {
    graph.addNode(node.id, { label: node.label, x: node.x, y: node.y, size: scale * node.size, color: colors.get(node.group), group: node.group, kind: node.kind });
  }
  const nodes = data.nodes;
  const isLarge = nodes.length > MANY;
  const addEdges = (to) => data.edges.forEach(([source, target]) => to.addEdge(nodes[source].id, nodes[target].id));
  if (!isLarge) addEdges(graph);

  const hasNames = nodes.reduce((sum, node) => sum + node.label.length, 0) < 40 * nodes.length;
  const view = { isShown: () => true, chosen: null, near: new Set(), way: [], hovered: null };
  const paint = { edge: "", faint: "", strong: "" };
  const readColors = () => Object.assign(paint, { edge: color("--edge"), faint: color("--faint"), strong: color("--accent") });
  readColors();
  const isOn = (id) => view.near.has(id) || view.way.includes(id);
  const onWay = (a, b) => view.way.some((id, i) => (id === a && view.way[i + 1] === b) || (id === b && view.way[i + 1] === a));
  const isFocused = () => view.chosen !== null || view.way.length > 0;
  const sigma = new Sigma(graph, container, {
    hideEdgesOnMove: isLarge,
    nodeProgramClasses: isLarge ? { circle: Sigma.rendering.NodePointProgram } : {},
    edgeProgramClasses: { line: isLarge ? Sigma.rendering.EdgeLineProgram : Sigma.rendering.EdgeRectangleProgram, thick: Sigma.rendering.EdgeRectangleProgram },
    labelRenderedSizeThreshold: hasNames ? 3 : Infinity, // sentences would cover the graph
    labelDensity: 0.5,
    labelGridCellSize: 110,
    labelFont: getComputedStyle(document.body).fontFamily,
    labelSize: 12,
    labelColor: { color: color("--ink") },
    defaultEdgeColor: paint.edge,
    minEdgeThickness: nodes.length > 1000 ? 0.8 : 1.4,
    zIndex: true,
    stagePadding: 24,
    allowInvalidContainer: true,
    defaultDrawNodeLabel: drawLabel,
    defaultDrawNodeHover: drawHover,
  });
  const reducers = {
    nodeReducer: (id, node) => {
      if (!view.isShown(node)) return { ...node, hidden: true };
      if (!isFocused()) return node;
      if (id === view.chosen || view.way.includes(id)) return { ...node, size: Math.max(node.size, 7), zIndex: 2, forceLabel: true };
      return isOn(id) ? { ...node, zIndex: 1, forceLabel: view.near.size < 30 } : { ...node, color: paint.faint, size: 0.6 * node.size, label: "", zIndex: 0 };
    },
    edgeReducer: (edge, attributes) => {
      if (!isFocused()) return { ...attributes, color: paint.edge };
      const [a, b] = graph.extremities(edge);
      if (onWay(a, b)) return { ...attributes, type: "thick", color: paint.strong, size: 3, zIndex: 1 };
      const isNear = a === view.chosen || b === view.chosen;
      return isNear ? { ...attributes, type: "thick", color: paint.strong, size: 1 } : { ...attributes, hidden: true };
    },
  };
  sigma.on("enterNode", ({ node, event }) => on.hover(node, event));
  sigma.on("leaveNode", () => on.hover(null));
  sigma.on("clickNode", ({ node }) => on.choose(node));
  sigma.on("clickStage", () => on.choose(null));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  performance.mark("graph-drawn");
  if (isLarge) {
    graph = graph.copy();
    addEdges(graph);
    sigma.setGraph(graph);
  }
  // without a filter or a chosen node, they would only take time
  const reduce = () => {
    if (sigma.getSetting("nodeReducer")) sigma.refresh({ skipIndexation: true });
    else sigma.setSettings(reducers).refresh(); // now: positions are those of the screen only after it
  };

  const camera = sigma.getCamera();
  const step = () => 0.15 * camera.ratio;
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const motion = { duration: isStill ? 0 : 200 };
  const moved = (state) => camera.animate({ ...camera.getState(), ...state }, motion);
  const recolor = () => {
    readColors();
    sigma.setSettings({ labelColor: { color: color("--ink") }, defaultEdgeColor: paint.edge });
  };
  document.addEventListener("theme", recolor);
  return {
    filter(isShown) {
      view.isShown = isShown;
      reduce();
    },
    choose(id, way = []) {
      view.chosen = id !== null && graph.hasNode(id) ? id : null;
      view.way = way.filter((one) => graph.hasNode(one));
      view.near = new Set(view.chosen === null ? [] : graph.neighbors(view.chosen));
      if (isFocused() || sigma.getSetting("nodeReducer")) reduce();
    },
    look(id) {
      if (!graph.hasNode(id)) return;
      const { x, y } = sigma.getNodeDisplayData(id);
      const around = [...view.near, ...view.way].map((one) => sigma.getNodeDisplayData(one));
      const extent = Math.max(0, ...around.map((node) => Math.max(Math.abs(node.x - x), Math.abs(node.y - y))));
      moved({ x, y, ratio: Math.min(1, Math.max(0.12, 2.3 * extent)) });
    },
    neighbors: (id) => (graph.hasNode(id) ? graph.neighbors(id) : []),
    zoom: (factor) => moved({ ratio: Math.min(10, Math.max(0.02, camera.ratio * factor)) }),
    pan: (x, y) => moved({ x: camera.x + x * step(), y: camera.y + y * step() }),
    fit: () => moved({ x: 0.5, y: 0.5, ratio: 1, angle: 0 }),
    done() {
      document.removeEventListener("theme", recolor);
      sigma.kill();
    },
  };
}

const short = (label) => (label.length > 44 ? `${label.slice(0, 43)}…` : label);

function drawLabel(context, node, settings) {
  if (!node.label) return;
  context.font = `${settings.labelSize}px ${settings.labelFont}`;
  context.lineWidth = 3;
  context.lineJoin = "round";
  context.strokeStyle = color("--surface");
  context.strokeText(short(node.label), node.x + node.size + 4, node.y + 4);
  context.fillStyle = settings.labelColor.color;
  context.fillText(short(node.label), node.x + node.size + 4, node.y + 4);
}

function drawHover(context, node, settings) {
  context.beginPath();
  context.arc(node.x, node.y, node.size + 3, 0, 2 * Math.PI);
  context.lineWidth = 2;
  context.strokeStyle = color("--accent");
  context.stroke();
  drawLabel(context, node, settings);
}
