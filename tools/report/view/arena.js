// The arena over time: each tensor is a rectangle, its life wide and its bytes high.

function drawArena(parent, model, entry, show) {
  const box = section(
    parent, "arena", `Arena of ${entry.name}`,
    `${number(model.arena.bytes)} bytes. The line is the liveness bound, the least that this order of commands needs: ` +
      `${number(model.arena.bound)}.` + (model.fast ? ` Above it are ${number(model.fast)} bytes of fast memory.` : ""),
  );
  legend(box, [["input", "input"], ["between", "between"], ["output", "output"]]);
  chart(box, "Tensors in the arena over the commands", (svg, width) => {
    const height = 340;
    const [left, right, top, bottom] = [64, 8, 16, 34];
    const time = d3.scaleLinear([entry.first, Math.max(entry.end, entry.first + 1)], [left, width - right]);
    const place = d3.scaleLinear([0, Math.max(model.arena.bytes + model.fast, model.arena.bound, 1)], [height - bottom, top]);
    const rows = svg.selectAll("svg.tensor").data(entry.tensors).join("svg").attr("class", "tensor")
      .attr("x", (d) => time(d.first)).attr("y", (d) => place(d.offset + d.bytes))
      .attr("width", (d) => Math.max(1, time(d.end) - time(d.first)))
      .attr("height", (d) => Math.max(1, place(d.offset) - place(d.offset + d.bytes)));
    rows.append("title").text((d) => {
      const reads = d.readers.length ? `; read by ${d.readers.map((r) => `#${r}`).join(", ")}` : "";
      const writes = d.writers.length ? `; written by ${d.writers.map((w) => `#${w}`).join(", ")}` : "";
      return `${d.name}: ${number(d.bytes)} bytes at ${number(d.offset)}${writes}${reads}`;
    });
    rows.append("rect").attr("class", (d) => `${d.kind} outlined`).attr("width", "100%").attr("height", "100%");
    rows.filter((d) => place(0) - place(d.bytes) > 15 && time(d.end) - time(d.first) > 40)
      .append("text").attr("class", "on-color").attr("x", 5).attr("y", 14).text((d) => d.name);
    clickable(rows.filter((d) => d.writers.length), (d) => show(d.writers[0]));
    const line = place(model.arena.bound);
    svg.append("line").attr("class", "bound")
      .attr("x1", left).attr("x2", width - right).attr("y1", line).attr("y2", line);
    const whole = d3.format("d");
    const steps = time.ticks(Math.min(12, width / 60)).filter(Number.isInteger);
    svg.append("g").attr("transform", `translate(0,${height - bottom})`).call(
      d3.axisBottom(time).tickValues(steps).tickFormat(whole));
    svg.append("g").attr("transform", `translate(${left},0)`).call(d3.axisLeft(place).ticks(6));
    svg.append("text").attr("class", "quiet").attr("x", width - right).attr("y", height - 3)
      .attr("text-anchor", "end").text("command");
    return height;
  });
}
