// Where should job c go? Ranks two placements by how well the traffic on the link "tor1-up" interleaves, best first.
#include <algorithm>
#include <cassini/cassini.hpp>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr int64_t ms = 1'000'000;    // ns
constexpr int64_t gbps = 1'000'000;  // kbit/s

struct Job {
  std::string id;
  int64_t period;  // ns
  std::vector<cassini::Phase> phases;
};

// One placement: the jobs that it brings together on the link.
struct Candidate {
  std::string id;
  int64_t capacity;  // kbit/s
  std::vector<Job> jobs;
};

struct Ranked {
  const Candidate* candidate;
  cassini::LinkSolution solution;
};

// Solves the links of all candidates in one call and puts the best first. Past the deadline it answers with what it
// has; any thread may set `cancel`, and the call throws.
std::vector<Ranked> rank(const std::vector<Candidate>& candidates, std::chrono::nanoseconds deadline,
                         const cassini::CancelFlag& cancel) {
  std::vector<cassini::Link> links;
  for (const Candidate& candidate : candidates) {
    cassini::Link& link = links.emplace_back(candidate.capacity);
    for (const Job& job : candidate.jobs) link.add_job(job.period, job.phases);
  }
  cassini::Options options;
  options.deadline_ns = deadline.count();
  std::vector<Ranked> ranking;
  std::vector<cassini::BatchEntry> entries = cassini::solve(links, options, &cancel);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i].reason.empty()) throw std::runtime_error(candidates[i].id + ": " + entries[i].reason);
    cassini::throw_if_failed(entries[i].status, candidates[i].id.c_str());
    ranking.push_back({&candidates[i], std::move(entries[i].solution)});
  }
  std::ranges::stable_sort(ranking, std::greater{}, [](const Ranked& one) { return one.solution.score_lower; });
  return ranking;
}

void show(const std::vector<Ranked>& ranking) {
  for (std::size_t place = 0; place < ranking.size(); ++place) {
    const auto& [candidate, found] = ranking[place];
    std::printf("%zu %-8s  score %.13a %.6f  bound %.13a %.6f  optimal %-3s  hold %8" PRId64 " ns\n", place + 1,
                candidate->id.c_str(), found.score_lower, found.score_lower, found.upper_bound, found.upper_bound,
                found.optimal ? "yes" : "no", found.hold_ns);
    for (std::size_t j = 0; j < candidate->jobs.size(); ++j) {
      std::printf("    %s  shift %9" PRId64 " ns  slack %8" PRId64 " ns\n", candidate->jobs[j].id.c_str(),
                  found.shift_ns[j], found.slack_ns[j]);
    }
  }
}

std::vector<Candidate> make_round() {
  const Job a{"a", 255 * ms, {{141 * ms, 114 * ms, 45 * gbps}}};
  const Job b{"b", 255 * ms, {{141 * ms, 114 * ms, 45 * gbps}}};
  const Job c{"c", 510 * ms, {{0, 60 * ms, 40 * gbps}, {300 * ms, 50 * ms, 25 * gbps}}};
  return {{"together", 50 * gbps, {a, b, c}}, {"apart", 50 * gbps, {a, b}}};
}

}  // namespace

int main() try {
  cassini::require_abi();
  const std::vector<Candidate> round = make_round();
  const cassini::CancelFlag cancel = 0;  // a program with threads lends it to whoever may cancel
  show(rank(round, std::chrono::seconds(10), cancel));
} catch (const std::exception& error) {
  std::fprintf(stderr, "rank: %s\n", error.what());
  return 1;
}
