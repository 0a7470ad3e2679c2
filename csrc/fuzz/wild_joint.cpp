#include "wild_joint.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "boundary.hpp"
#include "guarded.hpp"

namespace cassini::fuzz {
namespace {

// Link i of some of the jobs, each once, at their demand or a multiple of it.
void add_link(Bytes& in, const WildLink& jobs, PreparedLinks& out) {
  ManyLinks& links = out.input;
  std::vector<int64_t> who(jobs.period.size());
  std::iota(who.begin(), who.end(), int64_t{0});
  for (std::size_t j = who.size(); j > 1; --j) std::swap(who[j - 1], who[in.index(j)]);
  who.resize(in.index(who.size()) + 1);
  const int64_t factor = in.once_in(4) ? in.in(1, 3) : 1;
  for (const int64_t j : who) {
    const auto at = static_cast<std::size_t>(j);
    out.job.push_back(j);
    links.all.period.push_back(jobs.period[at]);
    for (int64_t p = jobs.offset[at]; p < jobs.offset[at + 1]; ++p) {
      const auto i = static_cast<std::size_t>(p);
      links.all.start.push_back(jobs.start[i]);
      links.all.length.push_back(jobs.length[i]);
      links.all.rate.push_back(std::clamp<int64_t>(jobs.rate[i], -1, CASSINI_MAX_RATE_KBPS) * factor);
    }
    links.all.offset.push_back(static_cast<int64_t>(links.all.start.size()));
  }
  int64_t capacity = in.once_in(3) ? in.in(1, 20) * 5000000 : jobs.capacity;
  spoil(in, capacity, 60);
  links.capacity.push_back(capacity);
  links.job_offset.push_back(static_cast<int64_t>(links.all.period.size()));
  ++links.n_links;
}

// Jobs whose offsets and numbers can be copied from.
WildLink some_jobs(Bytes& in) {
  WildLink jobs = wild_link(in);
  const auto n_phases = static_cast<int64_t>(std::min<std::size_t>(jobs.start.size(), 256));
  for (int64_t& offset : jobs.offset) offset = std::clamp<int64_t>(offset, 0, n_phases);
  std::sort(jobs.offset.begin(), jobs.offset.end());
  if (jobs.period.size() > 16) jobs.period.resize(16);
  return jobs;
}

}  // namespace

std::unique_ptr<PreparedLinks> prepared_links(Bytes& in) {
  auto out = std::make_unique<PreparedLinks>();
  const WildLink jobs = some_jobs(in);
  out->period = jobs.period;
  ManyLinks& links = out->input;
  links.job_offset.push_back(0);
  links.all.offset.push_back(0);
  for (int64_t i = in.once_in(6) ? in.in(0, 12) : in.in(0, 5); i > 0; --i) add_link(in, jobs, *out);
  for (Array* a : {&links.all.period, &links.all.offset, &links.all.start, &links.all.length, &links.all.rate}) {
    a->shrink_to_fit();
  }
  const auto options = wild_options(in, jobs.period.size() <= 3 && links.all.start.size() <= 12);
  Output<int32_t> status(links.capacity.size());
  status.remember();
  const bool nowhere = in.once_in(60);
  const cassini_links all = links.c();
  Told told;
  const int32_t rc = cassini_prepare_links(&all, options->pointer(), options->cancel(),
                                           nowhere ? nullptr : &out->handle, status.data(), told.error());
  PROMISE(expected(rc, options->sound && !nowhere, options->canceled()));
  PROMISE((rc == CASSINI_OK) == (out->handle != nullptr));
  if (rc != CASSINI_OK) PROMISE(status.unchanged());
  for (std::size_t i = 0; i < status.size() && rc == CASSINI_OK; ++i) {
    PROMISE(expected(status[i], links.sound(i), false));
    out->status.push_back(status[i]);
  }
  if (rc == CASSINI_OK) {
    PROMISE(told.of_first_refused(out->status));
  } else {
    PROMISE(told.of(rc));
  }
  return out;
}

bool Use::sound(const PreparedLinks& prepared, const Array& period) const {
  if (prepared.handle == nullptr || (no_link && n() > 0)) return false;
  std::size_t at = 0;
  for (const int64_t i : link) {
    if (i < 0 || i >= static_cast<int64_t>(prepared.status.size())) return false;
    const auto l = static_cast<std::size_t>(i);
    if (prepared.status[l] != CASSINI_OK) return false;
    std::vector<int64_t> seen;
    for (std::size_t k = 0; k < prepared.size(l); ++k, ++at) {
      const int64_t j = member[at];
      if (j < 0 || j >= static_cast<int64_t>(period.size())) return false;
      if (period[static_cast<std::size_t>(j)] != prepared.input.all.period[prepared.first(l) + k]) return false;
      if (std::find(seen.begin(), seen.end(), j) != seen.end()) return false;
      seen.push_back(j);
    }
  }
  return true;
}

cassini_joint Use::joint(const Array& period) const {
  cassini_joint out = test::joint_of(period, link, member, weights(), bounds());
  out.link = links();
  return out;
}

cassini_delta Use::delta(const Array& dropped) const {
  cassini_delta out = test::delta_of(dropped, link, member, weights(), bounds());
  out.link = links();
  return out;
}

bool Use::sound_wishes() const {
  const auto positive = [](double w) { return std::isfinite(w) && w > 0.0; };
  const auto finite = [](double b) { return std::isfinite(b); };
  return (no_weight || std::all_of(weight.begin(), weight.end(), positive)) &&
         (no_bound || std::all_of(upper_bound.begin(), upper_bound.end(), finite));
}

Use wild_use(Bytes& in, const PreparedLinks& prepared) {
  Use out;
  const std::size_t n_prepared = prepared.input.capacity.size();
  for (int64_t i = n_prepared > 0 ? in.in(0, 12) : 0; i > 0; --i) {
    int64_t which = in.in(0, static_cast<int64_t>(n_prepared) - 1);
    auto l = static_cast<std::size_t>(which);
    spoil(in, which, 80);
    // Of whatever link is named as many jobs are read as that one has; arrays that are too short are the caller's fault.
    if (which >= 0 && which < static_cast<int64_t>(n_prepared)) l = static_cast<std::size_t>(which);
    for (std::size_t k = 0; k < prepared.size(l); ++k) {
      int64_t j = prepared.job[prepared.first(l) + k];
      if (in.once_in(40)) j = in.in(-1, static_cast<int64_t>(prepared.period.size()));
      spoil(in, j, 80);
      out.member.push_back(j);
      out.own_shift.push_back(in.wild());
    }
    out.link.push_back(which);
    out.weight.push_back(in.once_in(12) ? in.wild_real() : static_cast<double>(in.in(1, 16)) / 4.0);
    out.upper_bound.push_back(in.once_in(12) ? in.wild_real() : 1.0);
  }
  out.no_bound = in.once_in(2);
  out.no_link = in.once_in(100);
  out.link.shrink_to_fit();
  out.member.shrink_to_fit();
  return out;
}

}  // namespace cassini::fuzz
