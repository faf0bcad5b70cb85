// Products of each command: per byte that it reads or writes, and per instruction, below what is possible.

function drawRoofline(parent, model, show) {
  const commands = model.commands.filter((d) => d.macs && d.bytes && d.instructions);
  if (!model.roofs || !commands.length) return;
  const box = section(
    parent, "roofline", "Roofline",
    "Each circle is a command, larger if it takes more instructions. The level lines are the bound of products by " +
      "the type of their sums; the slope is what loads and stores of whole vectors allow.",
  );
  legend(box, GRADES);
  chart(box, "Multiply-accumulates per instruction over those per byte", (svg, width) => {
    const height = 340;
    const [left, right, top, bottom] = [52, 12, 20, 40];
    const perByte = (d) => d.macs / d.bytes;
    const perInstruction = (d) => d.macs / d.instructions;
    const roofs = model.roofs.products;
    const slope = model.roofs.bytes_per_instruction;
    const highest = d3.max(roofs, (d) => d.macs_per_instruction);
    const x = d3.scaleLog(
      [Math.min(d3.min(commands, perByte), highest / slope) / 2, 2 * d3.max(commands, perByte)], [left, width - right]);
    const y = d3.scaleLog(
      [d3.min(commands, perInstruction) / 2, 2 * Math.max(highest, d3.max(commands, perInstruction))],
      [height - bottom, top]);
    const plot = clipped(svg, left, 0, width - left, height - bottom)
      .append("g").attr("transform", `translate(${-left},0)`);
    for (const roof of roofs) {
      const knee = roof.macs_per_instruction / slope;
      const level = y(roof.macs_per_instruction);
      plot.append("line").attr("class", "roof").attr("x1", x(knee)).attr("x2", width - right)
        .attr("y1", level).attr("y2", level);
      plot.append("text").attr("class", "bound-text").attr("x", width - right).attr("y", level - 5)
        .attr("text-anchor", "end").text(`sums of ${roof.accumulator}`);
    }
    const low = y.domain()[0] / slope;
    plot.append("line").attr("class", "roof").attr("x1", x(low)).attr("y1", y(low * slope))
      .attr("x2", x(highest / slope)).attr("y2", y(highest));
    const most = d3.max(commands, (d) => d.instructions);
    const points = plot.selectAll("circle").data(commands).join("circle")
      .attr("class", (d) => `${grade(d.percent)} outlined`)
      .attr("cx", (d) => x(perByte(d))).attr("cy", (d) => y(perInstruction(d)))
      .attr("r", (d) => 5 + 11 * Math.sqrt(d.instructions / most));
    points.append("title").text((d) => {
      const where = `${perByte(d).toFixed(2)} per byte, ${perInstruction(d).toFixed(2)} per instruction`;
      return `#${d.index} ${d.layer}  ${d.op}: ${where}`;
    });
    clickable(points, (d) => show(d.index));
    svg.append("g").attr("transform", `translate(0,${height - bottom})`)
      .call(d3.axisBottom(x).ticks(Math.max(2, width / 150), "~g"));
    svg.append("g").attr("transform", `translate(${left},0)`).call(d3.axisLeft(y).ticks(4, "~g"));
    svg.append("text").attr("class", "quiet").attr("x", width - right).attr("y", height - 5)
      .attr("text-anchor", "end").text("multiply-accumulates per byte");
    svg.append("text").attr("class", "quiet").attr("x", 4).attr("y", 12).text("multiply-accumulates per instruction");
    return height;
  });
}
