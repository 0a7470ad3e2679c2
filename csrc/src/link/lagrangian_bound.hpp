// A lower bound on the best excess that forgets time (F3).
#pragma once

#include "base/budget.hpp"
#include "demand/link_problem.hpp"

namespace cassini {

// Mean excess no shifts can avoid, whatever the edges: the least over all joint distributions of the jobs' demands at a
// random instant, each job's own distribution kept. Time is forgotten, which levels can stand together is not: two
// jobs of 0.6 C each that are Up 60 % of the time must overlap for a fifth of it, though their area fits.
//
// Lagrangian dual of that linear program: prices on the levels of each job; the cheapest combination of levels by a
// table over their sum (rounded down, so that the bound stays one); subgradient steps towards `known`, the least excess
// seen. Any prices give a true bound. Ends early where it reaches `known`.
double lagrangian_bound(const Link& link, double known, Budget& budget);

}  // namespace cassini
