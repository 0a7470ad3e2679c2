// Sliders, numbers and the picture of the chosen link. Reads the element "data":
//   jobs   [{id, period, shift}]                                  ns; the shift as ranked
//   demands [[start, length, rate, start, ...]]                   ns and kbit/s
//   links  [{id, capacity, jobs, demands, repeats, turn, window, whole, score}]  worst first; numbers of jobs and of demands
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const place = (id) => document.getElementById(id);
const shifts = data.jobs.map((job) => job.shift);
const linksOf = data.jobs.map(() => []);
data.links.forEach((link, number) => link.jobs.forEach((job) => linksOf[job].push(number)));
const score = data.links.map((link) => link.score);
let chosen = 0; // the number of the link that is shown

// The jobs of a link as demand.js takes them, made once.
const jobsOn = once((link) =>
  link.jobs.map((job, at) => {
    const flat = data.demands[link.demands[at]];
    const phases = Array.from({ length: flat.length / 3 }, (_, i) => flat.slice(3 * i, 3 * i + 3));
    return { period: data.jobs[job].period, repeat: link.repeats[at], phases };
  }),
);

const shiftsOn = (link) => link.jobs.map((job) => shifts[job]);

// Mean demand above the capacity of a link, kbit/s: over all time, or over what is shown where that is too long.
function excessOf(link) {
  const jobs = jobsOn(link);
  if (link.turn !== null) return meanExcess(jobs, link.capacity, link.turn, shiftsOn(link));
  return meanExcessOver(demandOver(jobs, shiftsOn(link), link.window), link.capacity);
}

function computeLinks(numbers) {
  for (const number of numbers) score[number] = 1 - excessOf(data.links[number]) / data.links[number].capacity;
}

// At the shifts as ranked. Where the page cannot compute the score over all time, what the ranking says stays.
function computeAsRanked() {
  data.links.forEach((link, number) => {
    if (link.turn === null) score[number] = link.score;
    else computeLinks([number]);
  });
}

// How many links the ranking counts with less than they score: it stops at limits that a single page need not keep.
function sayWhereTheRankingKnowsLess() {
  const less = data.links.filter((link, number) => score[number] > link.score + 1e-6).length;
  if (less === 0) return;
  const one = less === 1;
  place("less").textContent =
    `Of ${less} link${one ? "" : "s"} the ranking knows only the lower end of the score, which the tables show. ` +
    `Here ${one ? "it is" : "they are"} computed exactly, so the numbers are higher.`;
}

// Mean over the jobs placed of the score of each job's worst link, 1 for a job that is on none.
function meanOfWorst() {
  const worst = linksOf.map((links) => Math.min(...links.map((number) => score[number])));
  return (worst.reduce((sum, one) => sum + one, 0) + data.jobs_placed - worst.length) / data.jobs_placed;
}

function showNumbers() {
  const link = data.links[chosen];
  const about = link.turn === null ? "about " : "";
  place("score").textContent = about + scoreText(score[chosen]);
  place("excess").textContent = `${about}${magnitudeText(((1 - score[chosen]) * link.capacity) / KBPS)} Gbit/s`;
  const worst = score.indexOf(Math.min(...score));
  place("worst").replaceChildren(scoreText(score[worst]), small(data.links[worst].id));
  place("mean").textContent = scoreText(meanOfWorst());
}

function small(text) {
  const element = document.createElement("small");
  element.textContent = text;
  return element;
}

function showChart() {
  const link = data.links[chosen];
  const jobs = jobsOn(link);
  const peaks = jobs.reduce((sum, job) => sum + Math.max(...iteration(job).level), 0);
  const ceiling = Math.max(link.capacity * 1.2, peaks * 1.05);
  const demand = demandOver(jobs, shiftsOn(link), link.window);
  place("chart").replaceChildren(drawChart(demand, link.capacity, ceiling, Math.max(260, place("chart").clientWidth)));
}

let waiting = false;
function showSoon() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    showChart();
  });
}

function note(link) {
  const free = link.jobs.filter((_, at) => link.repeats[at] === 0).map((job) => data.jobs[job].id);
  const parts = [
    `Demand of ${link.jobs.length === 1 ? "the only job" : `${link.jobs.length} jobs, one on top of the other,`}`,
    ` during ${link.whole ? "" : "the first "}${plain(link.window / NS)} ms${link.whole ? ", then all repeats" : ""};`,
    " hatched is what is above the capacity.",
  ];
  if (link.jobs.length === 1) parts.push(" No shift changes how much that is.");
  else if (link.turn === null) {
    parts.push(" All this repeats only after a very long time: the numbers are means over the time shown.");
  } else if (free.length > 0) {
    const who = free.length === link.jobs.length ? "No shift" : `The shift of ${free.join(", ")} does not`;
    const verb = free.length === link.jobs.length ? " matters" : " matter";
    parts.push(` ${who}${verb} on this link: the iteration times have no common step, so every offset comes up`);
    parts.push(" equally often. The numbers are means over all offsets, the picture shows one.");
  } else parts.push(" The numbers are means over all time.");
  return parts.join("");
}

function slider(job, at) {
  const row = document.createElement("div");
  row.className = "slider";
  const swatch = svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" });
  swatch.append(svg("defs", {}, jobPattern(`swatch-${at}`, at)), svg("rect", { width: 16, height: 16, fill: `url(#swatch-${at})` }));
  const label = document.createElement("label");
  const name = document.createElement("bdi");
  name.textContent = data.jobs[job].id;
  label.append(name);
  label.htmlFor = `shift-${at}`;
  const most = Math.floor(data.jobs[job].period / NS / 0.1) / 10;
  const range = input("range", { id: `shift-${at}`, min: 0, max: most, step: 0.1 });
  const number = input("number", { min: 0, max: data.jobs[job].period / NS, step: 0.1 });
  number.setAttribute("aria-label", `shift of ${data.jobs[job].id}, ms`);
  const unit = document.createElement("span");
  unit.className = "unit";
  unit.textContent = "ms";
  const show = () => {
    range.value = shifts[job] / NS;
    range.setAttribute("aria-valuetext", `${plain(shifts[job] / NS)} ms`);
  };
  for (const one of [range, number]) {
    one.addEventListener("input", () => {
      if (!Number.isFinite(one.valueAsNumber)) return;
      shifts[job] = modulo(Math.round(one.valueAsNumber * NS), data.jobs[job].period);
      show();
      if (one === range) number.value = shifts[job] / NS;
      computeLinks(linksOf[job]);
      showNumbers();
      showSoon();
    });
  }
  number.value = shifts[job] / NS;
  show();
  row.append(swatch, label, range, number, unit);
  if (data.links[chosen].repeats[at] === 0) {
    const remark = document.createElement("span");
    remark.className = "remark";
    remark.textContent = "its shift does not matter on this link";
    row.append(remark);
  }
  return row;
}

function input(type, attributes) {
  const element = document.createElement("input");
  element.type = type;
  return Object.assign(element, attributes);
}

function choose(number) {
  chosen = number;
  const link = data.links[chosen];
  place("link").value = chosen;
  place("chart-note").textContent = note(link);
  place("sliders").replaceChildren(...link.jobs.map(slider));
  showNumbers();
  showChart();
}

function shiftAll(shift, compute) {
  data.jobs.forEach((job, number) => (shifts[number] = shift(job)));
  compute();
  choose(chosen);
}

function begin() {
  if (data.links.length === 0) return;
  place("workbench").hidden = false;
  place("link").append(...data.links.map((link, number) => new Option(`${link.id} (${scoreText(link.score)} as ranked)`, number)));
  place("link").addEventListener("change", (event) => choose(Number(event.target.value)));
  place("as-ranked").addEventListener("click", () => shiftAll((job) => job.shift, computeAsRanked));
  place("all-zero").addEventListener("click", () => shiftAll(() => 0, () => computeLinks(data.links.keys())));
  for (const anchor of document.querySelectorAll("a[data-link]")) {
    anchor.addEventListener("click", () => choose(Number(anchor.dataset.link)));
  }
  addEventListener("resize", showSoon);
  computeAsRanked();
  sayWhereTheRankingKnowsLess();
  // The worst link on which a shift matters, if there is one.
  choose(Math.max(0, data.links.findIndex((link) => link.repeats.filter((repeat) => repeat > 0).length > 1)));
}

begin();
