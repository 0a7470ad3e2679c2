// Shifts worth branching on: where opposite edges of two jobs meet (F2), and what is known of the marginal there.
#pragma once

#include <cstdint>

#include "base/periods.hpp"
#include "base/small_vector.hpp"
#include "demand/job_pattern.hpp"

namespace cassini {

// Shifts of one job, ascending.
using Shifts = SmallVector<int64_t, 24>;

// Where an edge of job k meets an opposite edge of job i.
struct Meetings {
  Shifts offset;  // shift of k less shift of i, modulo step = gcd(T_k, T_i); distinct, in [0, step)
  int64_t step = 1;
  int64_t modulus = 1;  // R_k: offset + lift * step, for all lifts in [0, modulus / step), are different shifts
  bool usable = true;   // false: too many to enumerate

  // All shifts of k in [0, modulus) at which it meets i standing at `shift`.
  void at(int64_t shift, Shifts& out) const;
};

// Appends the shifts, modulo `step`, at which an edge of k meets an opposite edge of i at shift 0. False, and nothing
// appended, where there are too many pairs of edges to look at.
template <class Offsets>
bool append_meetings(const JobPattern& k, const JobPattern& i, int64_t step, Offsets& out) {
  constexpr std::size_t kMostEdgePairs = 1 << 20;
  if (k.edges.size() * i.edges.size() > kMostEdgePairs) return false;
  for (const Edge& a : k.edges) {
    for (const Edge& b : i.edges) {
      if (a.rising != b.rising) out.push_back(wrap(b.at - a.at, step));
    }
  }
  return true;
}

Meetings meetings(const JobPattern& k, const JobPattern& i, int64_t modulus);

struct Candidate {
  int64_t shift;
  double marginal;  // exact, or a lower bound that is too high for the shift to be of use
  bool live;        // false: all placements with the job here were explored
};

// All meetings of one job with the jobs placed, ascending.
using Candidates = SmallVector<Candidate, 8>;

// A lower bound on the marginal of a job at a shift between candidates `next` - 1 and `next` (around the circle), read
// off the candidates known before another job was added. They hold all convex kinks of the marginal at that time, so
// between two of them it was concave, hence no less than their chord; and it only grew since (F3 a).
inline double chord(const Candidates& known, std::size_t next, int64_t shift, int64_t modulus) {
  const std::size_t n = known.size();
  if (n == 0) return 0.0;
  const Candidate& a = known[next > 0 ? next - 1 : n - 1];
  const Candidate& b = known[next < n ? next : 0];
  const int64_t left = next > 0 ? a.shift : a.shift - modulus;
  const int64_t right = next < n ? b.shift : b.shift + modulus;
  const double part = static_cast<double>(shift - left) / static_cast<double>(right - left);
  return a.marginal + (b.marginal - a.marginal) * part;
}

// out = known, and what is new among `fresh`: live, at its chord if all meetings are known (`complete`), else at 0.
void merge(const Candidates& known, const Shifts& fresh, int64_t modulus, bool complete, Candidates& out);

}  // namespace cassini
