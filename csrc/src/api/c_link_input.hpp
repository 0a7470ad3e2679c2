// What a caller passed of one link or many, checked and translated to the kernel's types.
#pragma once

#include <cstdint>

#include "api/guarded.hpp"
#include "base/budget.hpp"
#include "cassini/cassini.h"
#include "demand/link_problem.hpp"
#include "link/score_interval.hpp"
#include "robustness/hold.hpp"

namespace cassini {

cassini_options defaults();

// The options with all fields in range; defaults for null.
cassini_options checked(const cassini_options* given);

// A call may spend as much as its options say, from now on. Throws Canceled where the flag is set already.
Budget budget_of(const cassini_options& options, const int32_t* cancel);

// The same for calls that count no nodes.
Budget budget_without_nodes(cassini_options options, const int32_t* cancel);

// For what outlives the call, and would be less for good where a deadline cut it off.
inline Budget budget_to_prepare(const int32_t* cancel) { return budget_without_nodes(defaults(), cancel); }

// The arrays of one link. What errors say of them is numbered as the caller has them.
struct LinkInput {
  int64_t capacity;
  int64_t n_jobs;
  const int64_t* period;
  const int64_t* phase_offset;
  int64_t n_phases;
  const int64_t* phase_start;
  const int64_t* phase_length;
  const int64_t* phase_rate;
  int64_t index = -1;     // of the link among many, or -1
  int64_t first_job = 0;  // index of its first job
};

LinkInput link_input(const cassini_link* given);

// Many links whose offsets make sense; nothing is said of what else is in the arrays.
cassini_links checked(const cassini_links* given);

LinkInput link_input(const cassini_links& links, int64_t i);

// Checked. Throws Refused, Canceled.
Link prepare(const LinkInput& in, const cassini_options& options, Budget& budget);

struct LinkOutput {
  int64_t* shift;
  int64_t* slack;  // may be null
  uint8_t* is_free;
};

LinkOutput checked(const cassini_link_output* given);

// Its pointers checked; `n_links` 0: none need be there.
cassini_evaluation checked(const cassini_evaluation* given, int64_t n_links);

// Writes what shifts of a link are worth; `to` then says where the next link's goes.
void report(const Link& link, const Interval& excess, const Hold& hold, cassini_evaluation& to);

// Why a search ended: one of CASSINI_STOP_*. `exact`: it was for a proof.
int32_t stop_reason(const Budget& budget, bool beyond_limits, bool optimal, bool exact);

// Whether a score reaches the bound on all scores.
bool is_proven(double score, double upper_bound);

}  // namespace cassini
