// What the jobs of a link ask for at given shifts, and how much of it is above the capacity. No document here.
//
// Times are whole nanoseconds, rates whole kbit/s. A job on a link is {period, repeat, phases}: `phases` are
// [start, length, rate]; `repeat` is the part of a turn after which its shift makes no difference on this link
// (F1 in docs/method.md), 0 for a job whose shift does not matter there at all.
"use strict";

// What is computed once for each job, as its phases never change.
function once(compute) {
  const known = new WeakMap();
  return (job) => {
    if (!known.has(job)) known.set(job, compute(job));
    return known.get(job);
  };
}

// The demand of one iteration from 0 on: `level[i]` from `edge[i]` to `edge[i + 1]`; the last edge is the period.
const iteration = once((job) => {
  const steps = new Map([[0, 0]]);
  const step = (at, rate) => steps.set(at, (steps.get(at) || 0) + rate);
  for (const [start, length, rate] of job.phases) {
    const end = start + length;
    step(start, rate);
    if (end < job.period) step(end, -rate);
    if (end > job.period) {
      step(0, rate);
      step(end - job.period, -rate);
    }
  }
  const edge = [...steps.keys()].sort((a, b) => a - b);
  let level = 0;
  const levels = edge.map((at) => (level += steps.get(at)));
  return { edge: [...edge, job.period], level: levels };
});

// The demand folded to `repeat`: in each piece the levels that the iteration has there, each with its share (F1).
const folded = once((job) => {
  const { edge, level } = iteration(job);
  if (job.repeat === 0) {
    return { edge: [0], levels: [shares(level, (i) => (edge[i + 1] - edge[i]) / job.period)] };
  }
  const starts = [...new Set(edge.map((at) => at % job.repeat))].sort((a, b) => a - b);
  const turns = job.period / job.repeat;
  const at = (time) => level[lastAtMost(edge, time)];
  const samples = (start) => Array.from({ length: turns }, (_, turn) => at(start + turn * job.repeat));
  return { edge: starts, levels: starts.map((start) => shares(samples(start), () => 1 / turns)) };
});

function shares(levels, share) {
  const found = new Map();
  levels.forEach((level, i) => found.set(level, (found.get(level) || 0) + share(i)));
  return [...found];
}

function lastAtMost(sorted, value) {
  let low = 0;
  let high = sorted.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (sorted[middle] <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}

// Mean demand above the capacity, kbit/s. `turn` is the time after which all repeats: the LCM of the `repeat`s.
function meanExcess(jobs, capacity, turn, shifts) {
  const folds = jobs.map(folded);
  const events = [];
  folds.forEach((fold, j) => {
    const length = jobs[j].repeat || turn;
    for (let begin = 0; begin < turn; begin += length) {
      fold.edge.forEach((edge, piece) => events.push([begin + modulo(edge + shifts[j], length), j, piece]));
    }
  });
  events.sort((one, other) => one[0] - other[0]);
  const now = folds.map((fold, j) => fold.levels[lastAtMost(fold.edge, modulo(-shifts[j], jobs[j].repeat || 1))]);
  let sum = 0;
  let since = 0;
  for (const [time, j, piece] of [...events, [turn, 0, -1]]) {
    if (time > since) sum += (time - since) * expectedExcess(now, 0, -capacity);
    since = time;
    if (piece >= 0) now[j] = folds[j].levels[piece];
  }
  return sum / turn;
}

// Over all levels that the jobs from `first` on may have, each job on its own: the mean of what is above 0.
function expectedExcess(levels, first, sum) {
  if (first === levels.length) return Math.max(0, sum);
  let mean = 0;
  for (const [level, share] of levels[first]) mean += share * expectedExcess(levels, first + 1, sum + level);
  return mean;
}

// The demand of each job over a stretch of time from 0 on: `levels[j][i]` from `edge[i]` to `edge[i + 1]`.
function demandOver(jobs, shifts, until) {
  const found = new Set([0, until]);
  const iterations = jobs.map(iteration);
  jobs.forEach((job, j) => {
    for (let begin = modulo(shifts[j], job.period) - job.period; begin < until; begin += job.period) {
      for (const at of iterations[j].edge) if (begin + at > 0 && begin + at < until) found.add(begin + at);
    }
  });
  const edge = [...found].sort((a, b) => a - b);
  const level = (j, time) => {
    const { edge: own, level: levels } = iterations[j];
    return levels[lastAtMost(own, modulo(time - shifts[j], jobs[j].period))];
  };
  return { edge, levels: jobs.map((_, j) => edge.slice(0, -1).map((time) => level(j, time))) };
}

// Mean demand above the capacity over such a stretch, kbit/s.
function meanExcessOver(demand, capacity) {
  let sum = 0;
  for (let i = 0; i + 1 < demand.edge.length; i++) {
    const total = demand.levels.reduce((all, level) => all + level[i], 0);
    sum += Math.max(0, total - capacity) * (demand.edge[i + 1] - demand.edge[i]);
  }
  return sum / demand.edge[demand.edge.length - 1];
}

function modulo(value, length) {
  return ((value % length) + length) % length;
}

// A score with four decimals, more where four would show a score below 1 as 1; rounded as everywhere, half to even.
function scoreText(score) {
  for (const digits of [4, 6]) {
    const text = fixed(score, digits);
    if (Number(text) < 1 || score >= 1 - 1e-9) return text;
  }
  return fixed(score, 9);
}

// A rate of any size with its leading digits, Gbit/s.
function magnitudeText(value) {
  return value >= 0.001 || value === 0 ? fixed(value, 4) : value.toExponential(1).replace(/e-(\d)$/, "e-0$1");
}

function fixed(value, digits) {
  const halves = value * 2 ** (digits + 1); // odd where the value lies in the middle between two texts
  let text = value.toFixed(digits);
  if (Math.abs(halves % 2) === 1 && Number(text.at(-1)) % 2) {
    text = (value - Math.sign(value) / 10 ** (digits + 1)).toFixed(digits);
  }
  return Number(text) === 0 ? text.replace("-", "") : text;
}
