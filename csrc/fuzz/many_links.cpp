#include "many_links.hpp"

#include <algorithm>
#include <limits>

namespace cassini::fuzz {

cassini_links ManyLinks::c() const {
  auto out = test::sized<cassini_links>();
  out.n_links = n_links;
  out.capacity_kbps = capacity.data();
  out.job_offset = offsets();
  out.n_jobs = static_cast<int64_t>(all.period.size());
  out.period_ns = all.periods();
  out.phase_offset = all.offsets();
  out.n_phases = std::max(all.n_phases, static_cast<int64_t>(all.start.size()));
  out.phase_start_ns = all.starts();
  out.phase_length_ns = all.length.data();
  out.phase_rate_kbps = all.rate.data();
  return out;
}

bool ManyLinks::callable() const {
  if (n_links < 0 || no_offset || all.no_period || all.no_offset) return false;
  return job_offset[0] >= 0 && std::is_sorted(job_offset.begin(), job_offset.end());
}

bool ManyLinks::sound(std::size_t i) const {
  return sound_link(all, job_offset[i], job_offset[i + 1] - job_offset[i], capacity[i]);
}

ManyLinks many_links(Bytes& in) {
  ManyLinks out;
  out.n_links = in.in(0, 3);
  out.job_offset.push_back(0);
  out.all.offset.push_back(0);
  for (int64_t i = 0; i < out.n_links; ++i) {
    const WildLink link = wild_link(in);
    const auto base = static_cast<int64_t>(out.all.start.size());
    out.all.period.insert(out.all.period.end(), link.period.begin(), link.period.end());
    out.all.start.insert(out.all.start.end(), link.start.begin(), link.start.end());
    out.all.length.insert(out.all.length.end(), link.length.begin(), link.length.end());
    out.all.rate.insert(out.all.rate.end(), link.rate.begin(), link.rate.end());
    for (std::size_t j = 1; j < link.offset.size(); ++j) {
      // What is wild stays so, short of overflowing here.
      const bool tame = link.offset[j] >= 0 && link.offset[j] <= static_cast<int64_t>(link.start.size());
      out.all.offset.push_back(tame ? base + link.offset[j] : link.offset[j]);
    }
    out.capacity.push_back(link.capacity);
    out.job_offset.push_back(static_cast<int64_t>(out.all.period.size()));
    out.all.no_phases = out.all.no_phases || in.once_in(100);
  }
  keep_promised_lengths(out.all, static_cast<int64_t>(out.all.period.size()));
  // Offsets between 0 and the end, in any order; the last may claim too few jobs, never too many.
  if (in.once_in(20)) out.job_offset[in.index(out.job_offset.size())] = in.in(-1, out.job_offset.back());
  if (in.once_in(60)) out.n_links = in.pick({-1, std::numeric_limits<int64_t>::min()});
  out.no_offset = in.once_in(100);
  out.all.no_period = in.once_in(100);
  out.all.no_offset = in.once_in(100);
  for (Array* array : {&out.job_offset, &out.capacity, &out.all.period, &out.all.offset}) array->shrink_to_fit();
  return out;
}

}  // namespace cassini::fuzz
