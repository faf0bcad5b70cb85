// A lane for each hart: what it does on the critical path, and where it waits for the others.

function drawHarts(parent, model, show) {
  const harts = model.harts;
  if (!harts) return;
  const box = section(
    parent, "harts", `${harts.count} harts`,
    `From left to right is the critical path, ${number(harts.critical)} instructions. In an empty part of a lane that hart ` +
      `waits for the others. The harts work ${percentText(harts.percent)} of the time; ` +
      `${number(harts.barriers)} instructions are in barriers.`,
  );
  legend(box, [["between", "works"], ["poor", "barrier"]]);
  const [LANE, GAP, LEFT] = [26, 6, 64];
  chart(box, "Work of each hart on the critical path", (svg, width) => {
    const x = d3.scaleLinear([0, harts.critical], [LEFT, width]);
    const bottom = harts.count * (LANE + GAP);
    const lane = svg.selectAll("g.lane").data(d3.range(harts.count)).join("g").attr("class", "lane")
      .attr("transform", (hart) => `translate(0,${hart * (LANE + GAP)})`);
    lane.append("text").attr("class", "quiet").attr("x", 0).attr("y", 17).text((hart) => `hart ${hart}`);
    lane.append("rect").attr("class", "module").attr("x", LEFT).attr("width", width - LEFT).attr("height", LANE);
    const shares = lane.selectAll("rect.share")
      .data((hart) => harts.stretches.map((d) => ({ ...d, hart, spent: d.work[hart] })).filter((d) => d.spent))
      .join("rect").attr("class", "share between")
      .attr("x", (d) => x(d.begin)).attr("height", LANE)
      .attr("width", (d) => Math.max(0.5, x(d.begin + d.spent) - x(d.begin)));
    shares.append("title").text((d) => `hart ${d.hart}: ${number(d.spent)} of ${number(d.longest)} instructions of ${d.name}`);
    clickable(shares, (d) => show(d.commands[0]));
    const barriers = svg.selectAll("rect.barrier").data(harts.stretches.filter((d) => d.barrier)).join("rect")
      .attr("class", "barrier poor").attr("x", (d) => x(d.begin + d.longest)).attr("height", bottom - GAP)
      .attr("width", (d) => Math.max(0.5, x(d.barrier) - x(0)));
    barriers.append("title").text((d) => `barrier: ${number(d.barrier)} instructions`);
    return bottom;
  });
}
