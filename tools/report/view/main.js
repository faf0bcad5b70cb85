function drawPage(data) {
  document.title = data.title;
  const page = d3.select("#page");
  drawSummary(page, data);
  if (data.against) drawDifferences(page, data.against);
  drawMemory(page, data);
  for (const model of data.models) {
    const box = page.append("article");
    const show = (index) => showCommand(model, index);
    box.append("h2").text(model.name);
    drawWarnings(box, model);
    drawFrontier(box, model.frontier);
    drawHarts(box, model, show);
    drawTree(box, model, show);
    drawLayers(box, model, show);
    for (const entry of model.entries) {
      if (entry.end === entry.first) continue;
      drawArena(box, model, entry, show);
      drawCommands(box, model, entry, show);
    }
    drawRoofline(box, model, show);
    drawWeights(box, model);
    drawFacts(box, model);
  }
  d3.select(document).on("keydown", (event) => {
    if (event.key === "Escape") hideCommand();
  });
}

drawPage(JSON.parse(document.getElementById("data").textContent));
