// What a model takes if it is compiled into less RAM: a point for each number that can be had.

function drawFrontier(parent, points) {
  if (!points) return;
  const box = section(
    parent, "frontier", "Less RAM",
    "Each circle is the model compiled into some RAM: arena, state and scratch memory. No other way that was found needs " +
      "less RAM and fewer instructions. Point at a circle for the `ram` to write in the bm_model.",
  );
  chart(box, "Instructions of one inference by bytes of RAM", (svg, width) => {
    const height = 300;
    const [left, right, top, bottom] = [72, 60, 24, 40];
    const most = d3.max(points, (d) => d.ram);
    const x = d3.scaleLinear([0, most], [left, width - right]);
    const [low, high] = d3.extent(points, (d) => d.instructions);
    const room = Math.max(high - low, 0.02 * high);
    const y = d3.scaleLinear([low - 0.2 * room, high + 0.2 * room], [height - bottom, top]);
    svg.append("path").attr("class", "roof").attr("fill", "none")
      .attr("d", d3.line((d) => x(d.ram), (d) => y(d.instructions))(points));
    const circles = svg.selectAll("circle").data(points).join("circle").attr("class", "between outlined")
      .attr("cx", (d) => x(d.ram)).attr("cy", (d) => y(d.instructions)).attr("r", 7)
      .attr("data-value", (d) => d.ram);
    circles.append("title").text((d) => {
      const more = 100 * (d.instructions / points[0].instructions - 1);
      const asked = d.asked ? `ram = ${d.asked}: ` : "";
      return `${asked}${number(d.ram)} bytes, ${number(d.instructions)} instructions (${d3.format("+.1f")(more)} %), ` +
        `${number(d.cycles)} modeled cycles, ${number(d.flash)} bytes of flash`;
    });
    svg.selectAll("text.ram").data(points).join("text").attr("class", "ram").attr("text-anchor", "middle")
      .attr("x", (d) => x(d.ram)).attr("y", (d) => y(d.instructions) - 12).text((d) => number(d.ram));
    svg.append("g").attr("transform", `translate(0,${height - bottom})`)
      .call(d3.axisBottom(x).ticks(Math.max(2, width / 150)));
    svg.append("g").attr("transform", `translate(${left},0)`).call(d3.axisLeft(y).ticks(5));
    svg.append("text").attr("class", "quiet").attr("x", width - right).attr("y", height - 5)
      .attr("text-anchor", "end").text("bytes of RAM");
    svg.append("text").attr("class", "quiet").attr("x", 4).attr("y", 12).text("instructions");
    return height;
  });
}
