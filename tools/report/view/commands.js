// The commands of an entry point in their order, with the ways of tensors, and what a click on one shows.

const ROW = 24;

function drawCommands(parent, model, entry, show) {
  const box = section(
    parent, "commands", `Commands of ${entry.name}`,
    "In the order in which they run. A line goes from the command that writes a tensor to those that read it. " +
      "A click on a command shows its kernel.",
  );
  chart(box, "Commands and the tensors between them", (svg, width) => {
    const commands = model.commands.slice(entry.first, entry.end);
    const lanes = 1 + (d3.max(entry.ways, (d) => d.lane) ?? 0);
    const space = Math.min(12, Math.min(200, width / 4) / lanes);
    const left = 16 + lanes * space;
    const y = (index) => (index === null ? ROW / 2 : (index - entry.first + 1.5) * ROW);
    svg.append("text").attr("x", left + 8).attr("y", ROW / 2 + 4).attr("class", "quiet").text("inputs");
    const row = svg.selectAll("g.command").data(commands).join("g").attr("class", "command")
      .attr("data-index", (d) => d.index).attr("transform", (d) => `translate(0,${y(d.index) - ROW / 2})`);
    row.append("rect").attr("class", "row-ground").attr("x", left).attr("width", width - left).attr("height", ROW);
    const most = d3.max(commands, (d) => d.instructions) || 1;
    const numberAt = left + 46;
    const wide = width > 700;
    const longest = wide ? 120 : 50;
    const barAt = width - 84 - longest;
    const half = (barAt - numberAt) * (wide ? 0.5 : 1);
    row.append("text").attr("x", numberAt - 10).attr("y", 16).attr("text-anchor", "end").attr("class", "quiet")
      .text((d) => d.index);
    // For each row a piece of its own, which hides the end of a long name.
    const text = (x, size, kind, words) => row.append("svg").attr("x", x).attr("width", Math.max(0, size))
      .attr("height", ROW).append("text").attr("y", 16).attr("class", kind).text(words);
    text(numberAt, half - 8, "", (d) => d.layer || d.op);
    if (wide) text(numberAt + half, half - 8, "quiet", (d) => (d.layer ? d.op : ""));
    row.append("rect").attr("class", (d) => grade(d.percent)).attr("x", barAt).attr("y", 6).attr("height", 12)
      .attr("width", (d) => (longest * d.instructions) / most);
    row.append("text").attr("x", width).attr("y", 16).attr("text-anchor", "end").text((d) => number(d.instructions));
    row.append("title").text((d) => `#${d.index} ${d.layer}  ${d.op}`);
    clickable(row, (d) => show(d.index));
    const ways = svg.selectAll("path.way").data(entry.ways).join("path").attr("class", "way").attr("d", (d) => {
      const x = left - 6 - (d.lane + 1) * space;
      const turns = d.readers.map((reader) => `M${x},${y(d.writer) + 4}V${y(reader) - 4}H${left - 1}l-4,-3m4,3l-4,3`);
      return `M${left},${y(d.writer) + 4}H${x}${turns.join("")}`;
    });
    ways.append("title").text((d) => {
      const tensor = entry.tensors[d.tensor];
      return `${tensor.name}: ${number(tensor.bytes)} bytes`;
    });
    return (commands.length + 1) * ROW + 4;
  });
}

/** Fills the panel with a command; `model` is its own. */
function showCommand(model, index) {
  const panel = d3.select("#details").attr("hidden", null);
  const command = model.commands[index];
  panel.selectAll("*").remove();
  d3.selectAll(".command").classed("chosen", (d) => d === command);
  panel.append("h3").text(`#${index} ${command.layer || command.op}`);
  panel.append("button").attr("aria-label", "Close").text("×").on("click", hideCommand);
  const rows = [
    ["operation", command.op],
    ["kernel", command.function],
    ["class", command.class],
    ["instructions", number(command.instructions) + (command.times > 1 ? ` in ${command.times} runs` : "")],
    ["bound", command.bound === null ? "" : `${number(Math.ceil(command.bound))}, ${percentText(command.percent)}`],
    ["products", command.macs ? number(command.macs) : ""],
    ["bytes", number(command.bytes)],
    ...command.details,
  ].filter((row) => row[1]);
  const list = panel.append("dl");
  for (const [name, value] of rows) {
    list.append("dt").text(name);
    list.append("dd").text(value);
  }
  if (command.hot_loop.length) {
    panel.append("h4").text("Hot loop");
    panel.append("pre").text(command.hot_loop.join("\n"));
  }
}

function hideCommand() {
  d3.select("#details").attr("hidden", "");
  d3.selectAll(".command").classed("chosen", false);
}
