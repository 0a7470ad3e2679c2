// A cyclic joint problem: jobs with one shift each, and the links that they share. What is minimised is the weighted
// sum of the links' mean excess as shares of their capacities.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/piecewise_linear.hpp"
#include "base/small_vector.hpp"
#include "demand/link_problem.hpp"
#include "link/canonical_shifts.hpp"
#include "link/score_interval.hpp"

namespace cassini {

// A link problem that joint problems refer to, with what never changes about it.
struct PreparedLink {
  Link link;
  // Excess by the shift of either of two movable jobs, the other at 0: all there is to know about a pair.
  std::array<PiecewiseLinear, 2> pair;
  CanonicalShifts canonical;
  bool guides = true;  // false: beyond the limits of folding, or of kinks; scored in the end, but no help on the way
};

PreparedLink prepare_link(Link link);

// How a joint problem uses a link.
struct JointLink {
  const PreparedLink* prepared;
  // Of the prepared link, kept here because passes over all links ask for nothing else of it.
  bool guides;
  double capacity;
  double noise;
  SmallVector<std::size_t, 6> job;  // [movable] which job of the joint problem stands there
  std::vector<int64_t> own_shift;   // [movable] best for this link alone, if known; else empty
  double weight = 1.0;
  double lower_bound = 0.0;  // no shifts have less mean excess

  explicit JointLink(const PreparedLink& of)
      : prepared(&of), guides(of.guides), capacity(of.link.capacity), noise(of.link.noise) {}

  const Link& link() const { return prepared->link; }
  double per_excess() const { return weight / capacity; }  // objective per unit of mean excess
};

// Where a job takes part.
struct Place {
  std::size_t link;    // index into JointProblem::links
  std::size_t member;  // index into Link::movable
};

// The places of each job, job after job.
class Places {
 public:
  Places() = default;
  Places(std::size_t n_jobs, std::span<const JointLink> links);

  std::span<const Place> operator[](std::size_t j) const {
    return {at_.data() + first_[j], at_.data() + first_[j + 1]};
  }

 private:
  std::vector<std::size_t> first_;  // [jobs + 1]
  std::vector<Place> at_;
};

struct JointProblem {
  std::vector<int64_t> period;         // [jobs]
  std::vector<JointLink> links;        // in canonical order, none twice
  Places places;                       // [jobs] on links that guide
  std::vector<int64_t> modulus;        // [jobs] the objective depends on the shift modulo this; 1 if on no place
  std::vector<std::size_t> component;  // [jobs] jobs of one component are held together by links
  std::size_t n_components = 0;
  double weight = 0.0;  // of all links
  double noise = 0.0;   // rounding of the objective stays below this

  std::size_t n_jobs() const { return period.size(); }

  // Sum over the links that guide of what no shifts can avoid.
  double floor() const;
};

// Sorts and joins links that ask the same of the same jobs; fills all that follows from period and links.
// origin[i]: where link i as given went.
JointProblem make_joint_problem(std::vector<int64_t> period, std::vector<JointLink> links,
                                std::vector<std::size_t>& origin);

// What make_joint_problem consists of, for those who have part of it already.

// The canonical order of links, by the jobs that stand there and what these ask for; 0: they ask the same of the same.
int compare(const JointLink& a, const JointLink& b);

// Canonical order of links that compare as equal, too.
bool before(const JointLink& a, const JointLink& b);

// Joins a link with one that asks the same of the same jobs.
void join(JointLink& at, const JointLink& equal);

// A link on which no shift matters has what it has.
void set_constant_excess(JointLink& at);

// All that follows from the period and the links, which are sorted, joined and settled. What is known of the moduli
// [jobs] may be given: those at 0 are not known. Else all are looked up.
void fill(JointProblem& problem, std::vector<int64_t> modulus = {});

// What counts as nothing in the objective of links of this weight together. `rounding`: of their sum.
inline double noise_of(double weight, double rounding) { return std::max(1e-11 * weight, 10.0 * rounding); }

// The shifts of a link's movable jobs, each by its modulus.
void shifts_on(const JointLink& at, std::span<const int64_t> shift, std::vector<int64_t>& out);

// Mean excess of a link that guides, at the shifts of the joint problem's jobs. LimitExceeded. `movable` is memory.
double excess_at(const JointLink& at, std::span<const int64_t> shift, std::vector<int64_t>& movable, int64_t* work);

// Turns every component so that its first job with a place stands at 0; nothing else changes.
void rotate_to_zero(const JointProblem& problem, std::vector<int64_t>& shift);

// A link's excess at the shifts of the joint problem's jobs; the same to the last bit wherever its jobs stand alike.
Interval canonical_excess(const JointLink& at, std::span<const int64_t> shift, int64_t* work);

}  // namespace cassini
