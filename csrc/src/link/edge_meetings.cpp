#include "link/edge_meetings.hpp"

#include <algorithm>
#include <numeric>

#include "base/periods.hpp"

namespace cassini {
namespace {

constexpr std::size_t kMaxMeetings = 1 << 16;  // of one pair of jobs, lifts included

}  // namespace

Meetings meetings(const JobPattern& k, const JobPattern& i, int64_t modulus) {
  Meetings out;
  out.step = std::gcd(k.period, i.period);
  out.modulus = modulus;
  out.usable = append_meetings(k, i, out.step, out.offset);
  if (!out.usable) return out;
  std::sort(out.offset.begin(), out.offset.end());
  out.offset.erase_from(std::unique(out.offset.begin(), out.offset.end()));
  out.usable =
      static_cast<double>(out.offset.size()) * (static_cast<double>(modulus) / static_cast<double>(out.step)) <=
      static_cast<double>(kMaxMeetings);
  return out;
}

void Meetings::at(int64_t shift, Shifts& out) const {
  out.clear();
  if (!usable || offset.empty()) return;
  // Ascending offsets, the first of them at or after -shift: one round of step, and its lifts, ascend without sorting.
  const int64_t from = wrap(shift, step);
  const auto first = static_cast<std::size_t>(
      std::lower_bound(offset.begin(), offset.end(), from == 0 ? 0 : step - from) - offset.begin());
  for (int64_t lift = 0; lift < modulus; lift += step) {
    for (std::size_t i = first; i < offset.size(); ++i) out.push_back(lift + offset[i] + (from == 0 ? 0 : from - step));
    for (std::size_t i = 0; i < first; ++i) out.push_back(lift + offset[i] + from);
  }
}

void merge(const Candidates& known, const Shifts& fresh, int64_t modulus, bool complete, Candidates& out) {
  const std::size_t n = known.size();
  Candidate* const begin = out.overwrite(n + fresh.size());
  Candidate* to = begin;
  std::size_t a = 0;
  for (const int64_t shift : fresh) {
    for (; a < n && known[a].shift < shift; ++a) *to++ = known[a];
    if (a < n && known[a].shift == shift) continue;
    *to++ = {shift, complete ? chord(known, a, shift, modulus) : 0.0, true};
  }
  for (; a < n; ++a) *to++ = known[a];
  out.erase_from(to);
}

}  // namespace cassini
