// Models beside each other: a table that a click on a heading sorts, and instructions against flash.

const TYPES = [["input", "f32"], ["between", "f16"], ["output", "int8"]];
const colorOf = (type) => TYPES.find((entry) => entry[1] === type)[0];
const fixed = (value) => (value === null ? "" : value.toFixed(3));

// Heading, what is sorted by, and how it is written; words have no text.
const COLUMNS = [
  ["Model", (d) => d.name, null],
  ["Type", (d) => d.type, null],
  ["Flash, bytes", (d) => d.flash, number],
  ["RAM, bytes", (d) => d.ram, number],
  ["Arena, bytes", (d) => d.arena, number],
  ["Instructions", (d) => d.instructions, number],
  ["MACs", (d) => d.macs, number],
  ["per MAC", (d) => d.per_mac, fixed],
  ["of the bound", (d) => d.percent, percentText],
];

function drawTable(parent, models) {
  const box = section(
    parent, "models", "What they take",
    "Of one inference; the bound is the fewest instructions that it could take. Flash is without the self-check, RAM " +
      "with the stack that is reserved. Click a heading to sort.",
  );
  const table = box.append("div").attr("class", "wide").append("table");
  const heads = table.append("thead").append("tr").selectAll("th").data(COLUMNS).join("th")
    .attr("class", (d) => (d[2] ? "number" : null)).attr("scope", "col").text((d) => d[0]);
  const body = table.append("tbody");
  const rows = body.selectAll("tr").data(models).join("tr");
  COLUMNS.forEach(([, value, text], index) => {
    const cell = rows.append("td").attr("class", text ? "number" : null).text((d) => (text || String)(value(d)));
    if (index === COLUMNS.length - 1) {
      cell.append("i").attr("class", (d) => `swatch ${grade(d.percent)}`);
    }
  });
  let sorted = null;
  let sign = 1;
  clickable(heads, (column) => {
    sign = sorted === column ? -sign : 1;
    sorted = column;
    heads.attr("aria-sort", (d) => (d !== column ? null : sign > 0 ? "ascending" : "descending"));
    rows.sort((a, b) => sign * d3.ascending(column[1](a), column[1](b)));
  }).attr("role", null);
}

function drawScatter(parent, models) {
  const box = section(
    parent, "scatter", "Instructions against flash",
    "Less is better in both directions; a line joins the types of a network. Both scales are logarithmic.",
  );
  legend(box, TYPES.filter((entry) => models.some((d) => d.type === entry[1])));
  chart(box, "Instructions of one inference over bytes of flash", (svg, width) => {
    const height = 440;
    const [left, right, top, bottom] = [56, 12, 24, 40];
    const scale = (value, range) => {
      const [least, most] = d3.extent(models, value);
      return d3.scaleLog([least / 1.5, most * 1.5], range);
    };
    const x = scale((d) => d.flash, [left, width - right]);
    const y = scale((d) => d.instructions, [height - bottom, top]);
    const point = d3.line((d) => x(d.flash), (d) => y(d.instructions));
    svg.selectAll("path.way").data(d3.groups(models, (d) => d.name)).join("path").attr("class", "way")
      .attr("d", (d) => point(d[1]));
    const place = svg.selectAll("g.model").data(models).join("g").attr("class", "model")
      .attr("transform", (d) => `translate(${x(d.flash)},${y(d.instructions)})`);
    place.append("circle").attr("class", (d) => `${colorOf(d.type)} outlined`).attr("r", 7);
    // Above, where the line that joins the types seldom is.
    place.append("text").attr("y", -11).attr("text-anchor", "middle").text((d) => d.name);
    place.append("title").text((d) =>
      `${d.name} ${d.type}: ${number(d.flash)} bytes of flash, ${number(d.instructions)} instructions`);
    const ticks = Math.max(2, width / 150);
    svg.append("g").attr("transform", `translate(0,${height - bottom})`).call(d3.axisBottom(x).ticks(ticks, "~s"));
    svg.append("g").attr("transform", `translate(${left},0)`).call(d3.axisLeft(y).ticks(5, "~s"));
    svg.append("text").attr("class", "quiet").attr("x", width - right).attr("y", height - 5)
      .attr("text-anchor", "end").text("bytes of flash");
    svg.append("text").attr("class", "quiet").attr("x", 4).attr("y", 12).text("instructions");
    return height;
  });
}

function drawOverview(data) {
  document.title = data.title;
  const page = d3.select("#page");
  page.append("h1").text(data.title);
  drawScatter(page, data.models);
  drawTable(page, data.models);
}

drawOverview(JSON.parse(document.getElementById("data").textContent));
