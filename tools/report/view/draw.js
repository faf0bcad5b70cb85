"use strict";
// What the charts share. Text of a report only ever becomes text: nothing here makes HTML of a string.

const number = d3.format(",");
const percentText = (percent) => (percent === null ? "" : `${d3.format(".0f")(percent)} %`);

/** Names the color of a command by how near it is to its bound. */
function grade(percent) {
  if (percent === null) return "unknown";
  return percent < 15 ? "poor" : percent < 40 ? "fair" : percent < 70 ? "good" : "best";
}

const GRADES = [
  ["poor", "below 15 % of the bound"],
  ["fair", "15 to 40 %"],
  ["good", "40 to 70 %"],
  ["best", "70 % or more"],
];

/** Returns the legend of these colors; a model without vectors has no bound. */
const grades = (model) => (model.roofs ? GRADES : [["unknown", "no bound without vectors"]]);

/** Appends a section with a title and a sentence, and returns it. */
function section(parent, id, title, sentence) {
  const made = parent.append("section").attr("class", id);
  made.append("h3").text(title);
  if (sentence) made.append("p").text(sentence);
  return made;
}

/** Appends a line that says what colors mean: pairs of class and text. */
function legend(parent, entries) {
  const items = parent.append("div").attr("class", "legend").selectAll("span").data(entries).join("span");
  items.append("i").attr("class", (entry) => entry[0]);
  items.append("span").text((entry) => entry[1]);
}

/** Appends an SVG as wide as its parent; draw(svg, width) fills it, again when that changes, and returns its height. */
function chart(parent, label, draw) {
  const svg = parent.append("svg").attr("role", "img").attr("aria-label", label);
  let drawn = 0;
  const redraw = () => {
    const width = Math.floor(parent.node().clientWidth);
    if (!width || width === drawn) return;
    drawn = width;
    svg.selectAll("*").remove();
    const height = draw(svg, width);
    svg.attr("width", width).attr("height", height).attr("viewBox", [0, 0, width, height]);
  };
  redraw();
  new ResizeObserver(redraw).observe(parent.node());
}

/** Appends a piece of an SVG that hides what does not fit into it. */
function clipped(parent, x, y, width, height) {
  return parent.append("svg").attr("x", x).attr("y", y)
    .attr("width", Math.max(0, width)).attr("height", Math.max(0, height));
}

/** Lets a click or the Enter key on each element of a selection call act(datum). */
function clickable(selection, act) {
  return selection.classed("clickable", true).attr("tabindex", 0).attr("role", "button")
    .on("click", (_, datum) => act(datum))
    .on("keydown", (event, datum) => {
      if (event.key === "Enter") act(datum);
    });
}

/**
 * Appends a list of bars: rows have `label`, `value`, and may have `small` below the label, `note` behind the number,
 * `grade` and `mark`, a second value. `act` is called with the row that is clicked.
 */
function bars(parent, rows, act) {
  const most = d3.max(rows, (row) => Math.max(row.value, row.mark || 0)) || 1;
  const share = (value) => `${(100 * value) / most}%`;
  const list = parent.append("div").attr("class", "bars");
  const row = list.selectAll("div.bar-row").data(rows).join("div").attr("class", "bar-row");
  const label = row.append("div").attr("class", "label").text((d) => d.label);
  label.filter((d) => d.small).append("small").text((d) => d.small);
  const track = row.append("div").attr("class", "track");
  track.append("div").attr("class", (d) => `bar ${d.grade || "between"}`)
    .attr("data-value", (d) => d.value).style("width", (d) => share(d.value));
  track.filter((d) => d.mark).append("div").attr("class", "mark").style("left", (d) => share(d.mark));
  const shown = row.append("div").attr("class", "number").text((d) => number(d.value));
  shown.filter((d) => d.note).append("small").text((d) => d.note);
  if (act) clickable(row, act);
}
