#!/usr/bin/env bash
# dgl 1.1.3: by which degrees do SGConv and GraphConv scale messages of a directed graph?
#
# Guess: by the same, as both documentations have D^-1/2 A D^-1/2; GraphConv divides by the root of the
# sender's out-degree and of the receiver's in-degree, so that SGConv with one hop, without bias and
# with weight 1 gives what GraphConv gives.
# Behaviour: SGConv divides by the root of the in-degree on both sides. A hub that sends to many and
# receives from few keeps its whole weight. On undirected graphs both agree.
# Source: dgl/nn/pytorch/conv/sgconv.py, `degs = graph.in_degrees()`, with which features are multiplied
# before and after each hop; graphconv.py takes `out_degrees` before and `in_degrees` after.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3.11 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  dgl==1.1.3 torch==2.13.0 numpy==1.26.4 packaging==26.0 setuptools==80.9.0
cat > "$folder/try.py" <<'PY'
import dgl
import torch
from dgl.nn.pytorch import GraphConv, SGConv


def outputs(senders: list[int], receivers: list[int]) -> None:
    graph, ones = dgl.graph((senders, receivers)), torch.ones(3, 1)
    simple = SGConv(1, 1, k=1, bias=False)
    torch.nn.init.ones_(simple.fc.weight)
    for layer in (simple, GraphConv(1, 1, weight=False, bias=False)):
        values = layer(graph, ones).detach().ravel().tolist()
        print(type(layer).__name__, *(f"{value:.4f}" for value in values))


print("node 0 sends to all:")
outputs([0, 0, 0, 1], [0, 1, 2, 1])
print("both directions:")
outputs([0, 0, 1, 2], [1, 2, 0, 0])
PY
DGLBACKEND=pytorch "$folder/venv/bin/python" "$folder/try.py" 2>/dev/null > "$folder/seen"
diff - "$folder/seen" <<'SEEN'
node 0 sends to all:
SGConv 1.0000 1.2071 1.0000
GraphConv 0.5774 1.1154 0.5774
both directions:
SGConv 1.4142 0.7071 0.7071
GraphConv 1.4142 0.7071 0.7071
SEEN
echo "as described"
