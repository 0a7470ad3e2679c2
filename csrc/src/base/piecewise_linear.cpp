#include "base/piecewise_linear.hpp"

#include <algorithm>

#include "base/merge_runs.hpp"
#include "base/periods.hpp"

namespace cassini {

std::size_t PiecewiseLinear::piece_of(int64_t shift) const {
  const auto after =
      std::upper_bound(knots.begin(), knots.end(), shift, [](int64_t s, const Knot& knot) { return s < knot.at; });
  return static_cast<std::size_t>(after - knots.begin()) - 1;
}

double PiecewiseLinear::at(int64_t shift) const {
  const int64_t s = wrap(shift, modulus);
  const Knot& knot = knots[piece_of(s)];
  return knot.value + knot.slope * static_cast<double>(s - knot.at);
}

namespace {

double kinks_of(const Term& term, int64_t modulus) {
  return static_cast<double>(term.profile->knots.size()) * static_cast<double>(modulus / term.profile->modulus);
}

}  // namespace

double TermSum::kinks_on(int64_t modulus) const {
  double sum = 0.0;
  for (const Term& term : terms) sum += kinks_of(term, modulus);
  return sum;
}

double TermSum::at(int64_t shift) const {
  double sum = 0.0;
  for (const Term& term : terms) sum += term.weight * term.profile->at(shift - term.lag);
  return sum;
}

// The term's changes of slope on the whole circle but for shift 0, as one ascending run.
void TermSum::gather(const Term& term, int64_t modulus) {
  runs_.push_back(bends_.size());
  const PiecewiseLinear& f = *term.profile;
  const std::size_t n = f.knots.size();
  if (n < 2) return;
  const int64_t lag = wrap(term.lag, f.modulus);
  // The first knot that stands at or after 0 once it is turned.
  const auto first =
      static_cast<std::size_t>(std::lower_bound(f.knots.begin(), f.knots.end(), f.modulus - lag,
                                                [](const Knot& knot, int64_t to) { return knot.at < to; }) -
                               f.knots.begin());
  const std::size_t begin = bends_.size();
  for (std::size_t step = 0; step < n; ++step) {
    const bool rotated = first + step >= n;
    const std::size_t i = rotated ? first + step - n : first + step;
    const double change = term.weight * (f.knots[i].slope - f.knots[i == 0 ? n - 1 : i - 1].slope);
    bends_.push_back({f.knots[i].at + lag - (rotated ? 0 : f.modulus), change});
  }
  for (int64_t tile = f.modulus; tile < modulus; tile += f.modulus) {
    for (std::size_t i = 0; i < n; ++i) bends_.push_back({bends_[begin + i].at + tile, bends_[begin + i].change});
  }
}

Minimum TermSum::minimum(int64_t modulus, bool all, int64_t* work) {
  minima.clear();
  if (kinks_on(modulus) > kMostKinks) return sample(modulus, all, work);
  bends_.clear();
  runs_.clear();
  for (const Term& term : terms) gather(term, modulus);
  if (runs_.empty()) runs_.push_back(0);
  *work += static_cast<int64_t>(16 * (bends_.size() + terms.size()));
  merge_runs(bends_.data(), bends_.size(), runs_, merged_, is_earlier);

  double value = 0.0;
  double slope = 0.0;
  for (const Term& term : terms) {
    const int64_t s = wrap(-term.lag, term.profile->modulus);
    const Knot& knot = term.profile->knots[term.profile->piece_of(s)];
    value += term.weight * (knot.value + knot.slope * static_cast<double>(s - knot.at));
    slope += term.weight * knot.slope;
  }
  Minimum best{0, value};
  const double first_value = value;
  const double first_slope = slope;
  int64_t here = 0;
  std::size_t b = 0;
  while (b < bends_.size() && bends_[b].at == 0) ++b;  // in the slope already
  while (b < bends_.size()) {
    const int64_t next = bends_[b].at;
    const double before = slope;
    value += slope * static_cast<double>(next - here);
    here = next;
    for (; b < bends_.size() && bends_[b].at == next; ++b) slope += bends_[b].change;
    if (value < best.value) best = {next, value};
    if (all && before < 0.0 && slope >= 0.0) minima.push_back({next, value});
  }
  // The piece before shift 0 is the last.
  if (all && slope < 0.0 && first_slope >= 0.0) minima.insert(minima.begin(), {0, first_value});
  return best;
}

// Too many kinks to sort: those of the most influential terms are read on all of them, evenly thinned if need be.
Minimum TermSum::sample(int64_t modulus, bool all, int64_t* work) {
  constexpr std::size_t kMostReadings = 4096;
  const auto by_value = [](const Knot& x, const Knot& y) { return x.value < y.value; };
  std::size_t leader = 0;
  double most = -1.0;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const std::vector<Knot>& knots = terms[t].profile->knots;
    const auto [low, high] = std::minmax_element(knots.begin(), knots.end(), by_value);
    const double influence = terms[t].weight * (high->value - low->value);
    *work += static_cast<int64_t>(knots.size());
    if (influence > most) {
      most = influence;
      leader = t;
    }
  }
  const PiecewiseLinear& f = *terms[leader].profile;
  const auto total = static_cast<std::size_t>(std::min(kinks_of(terms[leader], modulus), 9e15));
  const std::size_t stride = total / kMostReadings + 1;
  Minimum best{0, at(0)};
  for (std::size_t i = 0; i < total; i += stride) {
    const auto tile = static_cast<int64_t>(i / f.knots.size());
    const int64_t s = wrap(f.knots[i % f.knots.size()].at + terms[leader].lag, f.modulus) + tile * f.modulus;
    const double value = at(s);
    if (value < best.value) best = {s, value};
    if (all) minima.push_back({s, value});
  }
  *work += static_cast<int64_t>(8 * kMostReadings * terms.size());
  if (all) {  // few are worth a second look
    constexpr std::size_t kKept = 16;
    std::sort(minima.begin(), minima.end(), lower_first);
    if (minima.size() > kKept) minima.resize(kKept);
  }
  return best;
}

}  // namespace cassini
