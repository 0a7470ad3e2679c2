// The picture: the demand of the jobs of a link, one above the other over time, and what of it is above the capacity.
"use strict";

// Colours that people with any common colour blindness tell apart (Okabe and Ito), and textures for those who see none.
const COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442"];
const TEXTURES = [[], ["M-2,10L10,-2M6,18L18,6"], ["dots"], ["M-2,6L10,18M6,-2L18,10"], ["M0,4H16M0,12H16"], ["M4,0V16M12,0V16"]];
const NS = 1e6; // in a millisecond
const KBPS = 1e6; // in a Gbit/s

function svg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// How the job at a place on a link looks, as a pattern of this id.
function jobPattern(id, place) {
  const pattern = svg("pattern", { id, width: 16, height: 16, patternUnits: "userSpaceOnUse" });
  pattern.append(svg("rect", { width: 16, height: 16, fill: COLOURS[place % COLOURS.length] }));
  for (const path of TEXTURES[place % TEXTURES.length]) {
    if (path !== "dots") pattern.append(svg("path", { d: path, class: "texture" }));
    else for (const at of [4, 12]) pattern.append(svg("circle", { cx: at, cy: at, r: 2.2, class: "dots" }));
  }
  return pattern;
}

function excessPattern() {
  const pattern = svg("pattern", { id: "excess-hatch", width: 8, height: 8, patternUnits: "userSpaceOnUse" });
  pattern.append(svg("path", { d: "M-2,10L10,-2M-2,2L2,-2M6,10L10,6", class: "hatch" }));
  return pattern;
}

// Round numbers from 0 to at most `most`, about `count` of them.
function ticks(most, count) {
  const rough = most / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((one) => one * power >= rough);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, i) => Number((i * step).toPrecision(12)));
}

// `demand` as of demandOver, `ceiling` the rate at the top, kbit/s.
function drawChart(demand, capacity, ceiling, width) {
  const box = { left: 46, right: 16, top: 24, bottom: 38, height: width < 500 ? 250 : 300 };
  const until = demand.edge[demand.edge.length - 1];
  const x = (time) => box.left + (time / until) * (width - box.left - box.right);
  const y = (rate) => box.height - box.bottom - (rate / ceiling) * (box.height - box.top - box.bottom);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${box.height}`, height: box.height, role: "img", "aria-labelledby": "chart-note" });
  picture.append(svg("defs", {}, ...demand.levels.map((_, j) => jobPattern(`job-${j}`, j)), excessPattern()));
  drawGrid(picture, box, width, x, y, until, ceiling);
  let below = demand.levels[0].map(() => 0);
  demand.levels.forEach((level, j) => {
    const above = below.map((sum, i) => sum + level[i]);
    const area = { d: between(demand.edge, below, above, x, y) };
    picture.append(svg("path", { ...area, fill: `url(#job-${j})` }), svg("path", { ...area, class: "edge" }));
    below = above;
  });
  const limit = below.map((sum) => Math.min(sum, capacity));
  const excess = { d: between(demand.edge, limit, below, x, y) };
  picture.append(svg("path", { ...excess, fill: "url(#excess-hatch)" }), svg("path", { ...excess, class: "outline" }));
  picture.append(svg("path", { d: `M${x(0)},${y(capacity)}H${x(until)}`, class: "capacity" }));
  const label = svg("text", { x: x(until) - 4, y: y(capacity) - 6, "text-anchor": "end", class: "label" });
  label.textContent = `capacity ${plain(capacity / KBPS)} Gbit/s`;
  picture.append(label);
  return picture;
}

function drawGrid(picture, box, width, x, y, until, ceiling) {
  const text = (content, place) => {
    const element = svg("text", place);
    element.textContent = content;
    picture.append(element);
  };
  for (const gbps of ticks(ceiling / KBPS, 6)) {
    picture.append(svg("path", { d: `M${x(0)},${y(gbps * KBPS)}H${x(until)}`, class: gbps ? "grid" : "axis" }));
    text(plain(gbps), { x: box.left - 6, y: y(gbps * KBPS) + 4, "text-anchor": "end" });
  }
  for (const ms of ticks(until / NS, width < 500 ? 4 : 8)) {
    picture.append(svg("path", { d: `M${x(ms * NS)},${y(0)}v5`, class: "axis" }));
    text(plain(ms), { x: x(ms * NS), y: y(0) + 18, "text-anchor": "middle" });
  }
  text("time, ms", { x: width - box.right, y: box.height - 4, "text-anchor": "end" });
  text("Gbit/s", { x: 0, y: 12 });
}

// A path around what lies between two step functions, where they differ.
function between(edge, low, high, x, y) {
  let path = "";
  let begin = 0;
  for (let i = 0; i <= low.length; i++) {
    if (i < low.length && high[i] > low[i]) continue;
    if (i > begin) path += around(edge, low, high, begin, i, x, y);
    begin = i + 1;
  }
  return path;
}

function around(edge, low, high, begin, end, x, y) {
  const at = (value) => value.toFixed(2);
  let there = `M${at(x(edge[begin]))},${at(y(high[begin]))}`;
  let back = "";
  for (let i = begin; i < end; i++) {
    there += `V${at(y(high[i]))}H${at(x(edge[i + 1]))}`;
    back = `V${at(y(low[i]))}H${at(x(edge[i]))}` + back;
  }
  return `${there}${back}Z`;
}

function plain(number) {
  return String(Number(number.toPrecision(6)));
}
