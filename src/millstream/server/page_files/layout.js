// A layered graph layout (Sugiyama's method): layers from left to right, few crossings, nodes near their neighbours.
//
//   layered(["a", "b", "c"], [["a", "b"], ["b", "c"]])  →  [{layers: [["a"], ["b"], ["c"]], across: Map {"a" → 0, …}}]
//
// It returns one result for each connected component, in the order of the components' first nodes. `across` is a node's
// position within its layer, in units of a node and the gap after it. The last edge of a cycle is ignored.

const SWEEPS = 6;
const SETTLES = 60;

export function layered(nodes, edges) {
  return components(nodes, edges).map(([members, own]) => {
    const forward = withoutLoops(members, own);
    const layers = ordered(layersOf(members, forward), forward);
    return {layers, across: settled(layers, forward)};
  });
}

function components(nodes, edges) {
  const root = new Map(nodes.map((node) => [node, node]));
  const find = (node) => {
    while (root.get(node) !== node) {
      root.set(node, root.get(root.get(node)));
      node = root.get(node);
    }
    return node;
  };
  for (const [from, to] of edges) root.set(find(to), find(from));
  const groups = new Map();
  for (const node of nodes) {
    const group = groups.get(find(node)) ?? [[], []];
    group[0].push(node);
    groups.set(find(node), group);
  }
  for (const edge of edges) groups.get(find(edge[0]))[1].push(edge);
  return [...groups.values()];
}

const grouped = (edges, key, value) => {
  const groups = new Map();
  for (const edge of edges) groups.set(edge[key], [...(groups.get(edge[key]) ?? []), edge[value]]);
  return groups;
};

function withoutLoops(nodes, edges) {
  const next = grouped(edges, 0, 1);
  const done = new Map();
  const kept = [];
  const visit = (node) => {
    done.set(node, false);
    for (const to of next.get(node) ?? []) {
      if (done.get(to) === false) continue;
      kept.push([node, to]);
      if (!done.has(to)) visit(to);
    }
    done.set(node, true);
  };
  const entered = new Set(edges.map(([, to]) => to));
  for (const node of [...nodes.filter((n) => !entered.has(n)), ...nodes]) if (!done.has(node)) visit(node);
  return kept;
}

// Layering: a node is one layer after the last of its predecessors; one without predecessors is placed right before its
// first successor.
function layersOf(nodes, edges) {
  const [before, after] = [grouped(edges, 1, 0), grouped(edges, 0, 1)];
  const depth = new Map();
  const deep = (node) => {
    if (!depth.has(node)) depth.set(node, Math.max(-1, ...(before.get(node) ?? []).map(deep)) + 1);
    return depth.get(node);
  };
  nodes.forEach(deep);
  for (const node of nodes) {
    if (!before.has(node) && after.has(node)) depth.set(node, Math.min(...after.get(node).map(deep)) - 1);
  }
  const layers = [];
  for (const node of nodes) (layers[depth.get(node)] ??= []).push(node);
  return [...layers].map((layer) => layer ?? []);
}

// Ordering within layers by the barycenter heuristic: sort by the mean position of the neighbours in the layer before,
// then by that in the layer after, several times.
function ordered(layers, edges) {
  const [before, after] = [grouped(edges, 1, 0), grouped(edges, 0, 1)];
  const sort = (layer, neighbours, place) => {
    const mean = new Map(layer.map((node, i) => {
      const places = (neighbours.get(node) ?? []).map((n) => place.get(n)).filter((p) => p !== undefined);
      return [node, places.length ? places.reduce((a, b) => a + b, 0) / places.length : i];
    }));
    return [...layer].sort((a, b) => mean.get(a) - mean.get(b));
  };
  const places = (all) => new Map(all.flatMap((layer) => layer.map((node, i) => [node, i / layer.length])));
  let best = layers;
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (let i = 1; i < best.length; i++) best[i] = sort(best[i], before, places(best));
    for (let i = best.length - 2; i >= 0; i--) best[i] = sort(best[i], after, places(best));
  }
  return best;
}

// Positions: each node is moved to the mean position of its neighbours, at least 1 apart from the nodes beside it.
function settled(layers, edges) {
  const before = grouped(edges, 1, 0);
  const neighbours = grouped([...edges, ...edges.map(([from, to]) => [to, from])], 0, 1);
  const across = new Map(layers.flatMap((layer) => layer.map((node, i) => [node, i])));
  const draw = (layer, near) => {
    const mean = (nodes) => nodes.reduce((sum, node) => sum + across.get(node), 0) / nodes.length;
    const wanted = layer.map((node) => (near.has(node) ? mean(near.get(node)) : across.get(node)));
    apart(wanted).forEach((place, i) => across.set(layer[i], place));
  };
  for (let round = 0; round < SETTLES; round++) {
    for (const layer of round % 2 ? [...layers].reverse() : layers) draw(layer, neighbours);
  }
  // The last pass aligns nodes with their predecessors, so that the arrows of a chain are straight.
  for (const layer of layers) draw(layer, before);
  const first = Math.min(...across.values());
  for (const [node, place] of across) across.set(node, Math.round((place - first) * 16) / 16);
  return across;
}

// The positions closest to the wanted ones that keep the order and a distance of 1: blocks that overlap are merged, and
// placed at their mean.
function apart(wanted) {
  const blocks = [];
  for (const place of wanted) {
    blocks.push({sum: place, size: 1});
    while (blocks.length > 1) {
      const [left, right] = blocks.slice(-2);
      if (left.sum / left.size + (left.size + right.size) / 2 <= right.sum / right.size + 1e-9) break;
      blocks.splice(-2, 2, {sum: left.sum + right.sum, size: left.size + right.size});
    }
  }
  return blocks.flatMap(({sum, size}) => Array.from({length: size}, (_, i) => sum / size - (size - 1) / 2 + i));
}
