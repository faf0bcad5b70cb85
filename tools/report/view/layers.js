// What layers cost: as areas by module, and as bars.

function drawTree(parent, model, show) {
  const box = section(
    parent, "tree", "Instructions by module",
    "An area is as large as its share of the instructions. Its color says how near it is to the bound.",
  );
  legend(box, grades(model));
  chart(box, "Instructions by module as areas", (svg, width) => {
    const height = Math.round(Math.min(460, 200 + width / 5));
    const root = d3.hierarchy(model.tree)
      .sum((d) => ("command" in d ? model.commands[d.command].instructions : 0))
      .sort((a, b) => b.value - a.value);
    d3.treemap().size([width, height]).paddingInner(2).paddingTop((d) => (d.depth === 1 ? 18 : 0)).round(true)(root);
    for (const node of root.descendants().filter((d) => d.depth === 1 && d.children)) {
      const piece = clipped(svg, node.x0, node.y0, node.x1 - node.x0, node.y1 - node.y0);
      piece.append("rect").attr("class", "module").attr("width", "100%").attr("height", "100%");
      piece.append("text").attr("x", 4).attr("y", 13).text(node.data.name);
      piece.append("title").text(`${node.data.name}: ${number(node.value)} instructions`);
    }
    const leaves = svg.selectAll("svg.leaf").data(root.leaves().filter((d) => "command" in d.data)).join("svg")
      .attr("class", "leaf").attr("x", (d) => d.x0).attr("y", (d) => d.y0)
      .attr("width", (d) => Math.max(0, d.x1 - d.x0)).attr("height", (d) => Math.max(0, d.y1 - d.y0));
    const command = (d) => model.commands[d.data.command];
    leaves.append("rect").attr("class", (d) => `${grade(command(d).percent)} outlined`)
      .attr("width", "100%").attr("height", "100%");
    leaves.append("title").text((d) =>
      `${command(d).layer}  ${command(d).op}: ${number(d.value)} instructions  ${percentText(command(d).percent)}`);
    const large = leaves.filter((d) => d.x1 - d.x0 > 50 && d.y1 - d.y0 > 18);
    large.append("text").attr("class", "on-color").attr("x", 4).attr("y", 14).text((d) => d.data.name);
    large.filter((d) => d.y1 - d.y0 > 34).append("text").attr("class", "on-color").attr("x", 4).attr("y", 29)
      .text((d) => number(d.value));
    clickable(leaves, (d) => show(d.data.command));
    return height;
  });
}

// More rows than this are one row together.
const MOST_LAYERS = 60;

function drawLayers(parent, model, show) {
  const box = section(
    parent, "layers", "Instructions by layer",
    "The mark is the bound: the fewest instructions that the same work could take. " +
      "Commands are counted one by one, so their sum differs a little from a whole inference.",
  );
  legend(box, grades(model));
  const rows = model.layers.slice(0, MOST_LAYERS).map((d) => ({
    label: d.layer, small: d.op, value: d.instructions, mark: d.bound, note: percentText(d.percent),
    grade: grade(d.percent), command: d.command,
  }));
  const rest = model.layers.slice(MOST_LAYERS);
  if (rest.length) {
    const value = d3.sum(rest, (d) => d.instructions);
    rows.push({ label: `${rest.length} more`, value, grade: "unknown", command: rest[0].command });
  }
  bars(box, rows, (row) => show(row.command));
}
