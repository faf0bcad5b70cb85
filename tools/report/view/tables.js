// Numbers and words: the summary, memories, weights, warnings, differences, and what the model was built with.

function drawSummary(parent, data) {
  parent.append("h1").text(data.title);
  const tiles = parent.append("div").attr("class", "summary").selectAll("div").data(data.summary).join("div");
  tiles.append("span").text((d) => d.label);
  tiles.append("b").text((d) => d.value);
  tiles.append("span").text((d) => d.note);
}

function drawMemory(parent, data) {
  const columns = parent.append("div").attr("class", "columns");
  const rows = (parts) => parts.map((d) => ({ label: d.name, value: d.bytes }));
  bars(section(columns, "flash", "Flash by part, bytes"), rows(data.flash));
  const used = `Of the stack, ${number(data.stack_bytes)} were used.`;
  bars(section(columns, "ram", "RAM by use, bytes", used), rows(data.ram));
  const box = section(columns, "memory", "Memories of the board, bytes used");
  for (const memory of data.memory) {
    const share = (100 * memory.used) / memory.length;
    const row = box.append("div").attr("class", "bars").append("div").attr("class", "bar-row");
    row.append("div").attr("class", "label").text(memory.name);
    row.append("div").attr("class", "track").append("div").attr("class", `bar ${share > 90 ? "poor" : "between"}`)
      .attr("data-value", memory.used).style("width", `${Math.min(100, share)}%`);
    row.append("div").attr("class", "number").text(`${number(memory.used)} of ${number(memory.length)}`);
  }
}

function drawWarnings(parent, model) {
  const box = section(parent, "warnings", "What to look at");
  if (!model.warnings.length) {
    box.append("p").text("No scalar kernels, copies or fills, and the arena is at its bound.");
  }
  box.append("ul").selectAll("li").data(model.warnings).join("li").text((d) => d);
}

function drawWeights(parent, model) {
  if (!model.weights.length) return;
  const box = section(parent, "weights", "Weights by layer, bytes", "Of the first layer that reads them.");
  bars(box, model.weights.map((d) => ({ label: d.layer, value: d.bytes })));
}

function drawFacts(parent, model) {
  const box = parent.append("details").attr("class", "facts");
  box.append("summary").text("Versions, hashes and flags");
  for (const fact of model.facts) {
    box.append("h4").text(fact.title);
    const row = box.append("table").selectAll("tr").data(fact.rows).join("tr");
    row.selectAll("td").data((d) => d).join("td").text((d) => d);
  }
}

function drawDifferences(parent, tables) {
  const box = section(parent, "differences", "Differences", "From the report that this page was made against.");
  for (const table of tables) {
    box.append("h4").text(table.title);
    if (!table.rows.length) {
      box.append("p").text("The same.");
      continue;
    }
    const made = box.append("table");
    made.append("tr").selectAll("th").data(["", "before", "now", "change"]).join("th")
      .attr("class", (_, index) => (index ? "number" : null)).text((d) => d);
    const row = made.selectAll("tr.difference").data(table.rows).join("tr")
      .attr("class", (d) => (d.now > d.before ? "difference grew" : "difference"));
    row.append("td").text((d) => d.name);
    for (const words of [
      (d) => number(d.before),
      (d) => number(d.now),
      (d) => d3.format("+,")(d.now - d.before) + (d.before ? ` (${d3.format("+.1%")(d.now / d.before - 1)})` : ""),
    ]) row.append("td").attr("class", "number").text(words);
  }
}
