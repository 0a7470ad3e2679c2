#include "api/public_calls.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace cassini::test {
namespace {

constexpr int64_t kMs = 1000000;
constexpr int64_t kGbps = 1000000;

cassini_options defaults() {
  cassini_options out;
  cassini_init_options(&out, sizeof out);
  return out;
}

int64_t pick(std::mt19937& rng, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(rng);
}

// What a batch leaves where a link was not solved: only its status.
void unsolved(Outputs& expected, const LinkArrays& links, std::size_t i, int32_t status) {
  const Outputs untouched = blank();
  for (auto j = static_cast<std::size_t>(links.job_offset[i]); j < static_cast<std::size_t>(links.job_offset[i + 1]);
       ++j) {
    expected.shift[j] = untouched.shift[j];
    expected.slack[j] = untouched.slack[j];
    expected.is_free[j] = untouched.is_free[j];
  }
  expected.result[i] = untouched.result[i];
  expected.status[i] = status;
}

bool disturbed(int32_t status) { return status == CASSINI_ENOMEM || status == CASSINI_ECANCELED; }

}  // namespace

bool Outputs::operator==(const Outputs& other) const {
  return std::memcmp(static_cast<const void*>(this), static_cast<const void*>(&other), sizeof other) == 0;
}

Outputs blank() {
  Outputs out;
  std::memset(static_cast<void*>(&out), 0xA5, sizeof out);
  for (cassini_result& one : out.result) one.size = sizeof(cassini_result);
  out.block.size = sizeof(cassini_block_result);
  return out;
}

void LinkArrays::add_job(int64_t ticks, int phases, std::mt19937& rng) {
  period.push_back(ticks);
  for (int i = 0; i < phases; ++i) {
    start.push_back(pick(rng, 0, ticks - 1));
    length.push_back(pick(rng, 1, ticks / 3));
    rate.push_back(pick(rng, 10, 45) * kGbps);
  }
  phase_offset.push_back(static_cast<int64_t>(start.size()));
}

void LinkArrays::add_again(const LinkArrays& from, std::size_t job) {
  period.push_back(from.period[job]);
  const auto first = from.phase_offset[job], last = from.phase_offset[job + 1];
  start.insert(start.end(), from.start.begin() + first, from.start.begin() + last);
  length.insert(length.end(), from.length.begin() + first, from.length.begin() + last);
  rate.insert(rate.end(), from.rate.begin() + first, from.rate.begin() + last);
  phase_offset.push_back(static_cast<int64_t>(start.size()));
}

void LinkArrays::close_link(int64_t kbit_s) {
  job_offset.push_back(static_cast<int64_t>(period.size()));
  capacity.push_back(kbit_s);
}

Ring::Ring(int64_t n_jobs, int phases, std::vector<int64_t> periods, unsigned seed) {
  std::mt19937 rng(seed);
  for (int64_t j = 0; j < n_jobs; ++j) {
    jobs.add_job(periods[static_cast<std::size_t>(j) % periods.size()], phases, rng);
  }
  for (int64_t i = 0; i < n_jobs; ++i) {
    for (const int64_t j : {i, (i + 1) % n_jobs, (i + 3) % n_jobs}) {
      links.add_again(jobs, static_cast<std::size_t>(j));
      member.push_back(j);
    }
    links.close_link(50 * kGbps);
    link.push_back(i);
    weight.push_back(1.0 + static_cast<double>(i % 2));
    bound.push_back(1.0);
  }
  const auto prepare = [&](const cassini_options& options, cassini_links** out) {
    std::vector<int32_t> status(link.size());
    return cassini_prepare_links(size(), links.job_offset.data(), links.period.data(), links.phase_offset.data(),
                                 links.start.data(), links.length.data(), links.rate.data(), links.capacity.data(),
                                 &options, out, status.data());
  };
  cassini_options narrow = defaults();
  narrow.max_events = 1;
  const std::vector<int64_t> zero(jobs.period.size(), 0);
  if (prepare(defaults(), &prepared) != CASSINI_OK || prepare(narrow, &limited) != CASSINI_OK ||
      cassini_prepare_anchor(prepared, n_jobs, jobs.period.data(), size() - 2, link.data(), member.data(),
                             weight.data(), nullptr, zero.data(), nullptr, &anchor) != CASSINI_OK) {
    std::printf("cannot prepare the ring\n");
    std::abort();
  }
}

Ring::~Ring() {
  cassini_free_anchor(anchor);
  cassini_free_links(limited);
  cassini_free_links(prepared);
}

PublicCalls::PublicCalls(const int32_t* cancel)
    : cancel_(cancel), small_(5, 1, {100 * kMs, 150 * kMs, 200 * kMs}, 3), large_(16, 2, {255 * kMs}, 5) {
  std::mt19937 rng(11);
  const auto add = [&](const std::vector<int64_t>& periods, int phases) {
    for (const int64_t ticks : periods) links_.add_job(ticks, phases, rng);
    links_.close_link(50 * kGbps);
  };
  add({255 * kMs, 255 * kMs}, 1);
  add({255 * kMs, 255 * kMs, 255 * kMs}, 3);
  add({100 * kMs, 150 * kMs, 200 * kMs, 300 * kMs}, 2);
  add({200 * kMs, 200 * kMs, 200 * kMs, 100 * kMs, 100 * kMs}, 1);
  add({255 * kMs, 247 * kMs, 331 * kMs, 255 * kMs}, 2);  // two that are free
  add({100 * kMs, 90 * kMs}, 0);                         // silent
  add_links();
  add_batches();
  for (const auto& [ring, which] : {std::pair<const Ring&, const char*>{small_, "small"}, {large_, "large"}}) {
    add_blocks(ring, which);
    add_anchors(ring, which);
  }
  add_refusals();
}

cassini_options PublicCalls::options() const {
  cassini_options out = defaults();
  out.node_limit = 300;
  out.cancel = cancel_;
  return out;
}

void PublicCalls::add(std::string name, std::function<int32_t(Outputs&)> run, int32_t status) {
  all_.push_back({std::move(name), std::move(run), status});
  PublicCall& call = all_.back();
  call.expected = blank();
  const int32_t got = call.run(call.expected);
  if (got != status) {
    std::printf("%s: status %d instead of %d\n", call.name.c_str(), got, status);
    std::abort();
  }
}

void PublicCalls::add_links() {
  for (std::size_t i = 0; i < links_.capacity.size(); ++i) {
    const int64_t j = links_.job_offset[i], n = links_.job_offset[i + 1] - j, capacity = links_.capacity[i];
    const int64_t *period = links_.period.data() + j, *offset = links_.phase_offset.data() + j;
    const int64_t *start = links_.start.data(), *length = links_.length.data(), *rate = links_.rate.data();
    const std::string link = " of link " + std::to_string(i);
    const auto solve = [&](const std::string& how, bool with_slack, const cassini_options& o) {
      add("solve_link" + link + how, [=](Outputs& out) {
        return cassini_solve_link(n, period, offset, start, length, rate, capacity, &o, out.shift,
                                  with_slack ? out.slack : nullptr, out.is_free, out.result);
      });
    };
    solve("", true, options());
    solve(" without slack", false, options());
    cassini_options o = options();
    o.node_limit = 2;
    solve(" in two nodes", true, o);
    o = options();
    o.method = CASSINI_METHOD_ANGLES;
    o.angles = 24;
    solve(" by angles", true, o);
    o = options();
    o.max_events = 1;
    solve(" beyond the limit of events", true, o);
    o = options();
    o.max_levels = 2;
    solve(" beyond the limit of levels", true, o);

    for (const bool with_slack : {true, false}) {
      add("evaluate_link" + link, [=, o = options()](Outputs& out) {
        const int64_t shift[5] = {0, 40 * kMs, -7 * kMs, 3, 300 * kMs};
        return cassini_evaluate_link(n, period, offset, start, length, rate, capacity, shift, &o, out.lower, out.upper,
                                     with_slack ? out.slack : nullptr, with_slack ? out.hold : nullptr, out.is_free);
      });
    }
    add("marginals" + link, [=, o = options()](Outputs& out) {
      const int64_t shift[5] = {0, 40 * kMs, -7 * kMs, 3, 300 * kMs}, query[3] = {0, 17 * kMs, -1};
      return cassini_marginals(n, period, offset, start, length, rate, capacity, shift, 1, 3, query, &o, out.excess);
    });
  }
}

void PublicCalls::add_batches() {
  add("solve_links", [this, o = options()](Outputs& out) {
    return cassini_solve_links(links_.size(), links_.job_offset.data(), links_.period.data(),
                               links_.phase_offset.data(), links_.start.data(), links_.length.data(),
                               links_.rate.data(), links_.capacity.data(), &o, out.shift, out.slack, out.is_free,
                               out.result, out.status);
  });
  all_.back().partly = [this](Outputs& expected, const Outputs& got) {
    for (std::size_t i = 0; i < links_.capacity.size(); ++i) {
      if (disturbed(got.status[i])) unsolved(expected, links_, i, got.status[i]);
    }
  };
  add("prepare_links, free_links", [this, o = options()](Outputs& out) {
    cassini_links* made = nullptr;
    const int32_t status = cassini_prepare_links(links_.size(), links_.job_offset.data(), links_.period.data(),
                                                 links_.phase_offset.data(), links_.start.data(), links_.length.data(),
                                                 links_.rate.data(), links_.capacity.data(), &o, &made, out.status);
    if (made != nullptr) out.prepared = 1;
    cassini_free_links(made);
    return status;
  });
  all_.back().partly = [this](Outputs& expected, const Outputs& got) {
    for (std::size_t i = 0; i < links_.capacity.size(); ++i) {
      if (disturbed(got.status[i])) expected.status[i] = got.status[i];
    }
  };
}

void PublicCalls::add_blocks(const Ring& ring, const std::string& which) {
  const Ring* r = &ring;
  const auto n_jobs = static_cast<int64_t>(ring.jobs.period.size());
  const std::vector<int64_t> own(ring.member.size(), 5 * kMs), begin(ring.jobs.period.size(), -kMs);
  std::vector<uint8_t> dirty(ring.jobs.period.size(), 0);
  dirty[1] = 1;
  for (const bool centred : {false, true}) {
    add("solve_block " + which + (centred ? " centred" : ""), [=, o = options()](Outputs& out) {
      return cassini_solve_block(r->prepared, n_jobs, r->jobs.period.data(), r->size(), r->link.data(),
                                 r->member.data(), r->weight.data(), r->bound.data(), own.data(), nullptr, nullptr,
                                 centred, &o, out.shift, out.lower, out.upper, &out.block);
    });
    add("solve_block " + which + " from shifts" + (centred ? " centred" : ""), [=, o = options()](Outputs& out) {
      return cassini_solve_block(r->prepared, n_jobs, r->jobs.period.data(), r->size(), r->link.data(),
                                 r->member.data(), r->weight.data(), nullptr, nullptr, begin.data(), dirty.data(),
                                 centred, &o, out.shift, out.lower, out.upper, &out.block);
    });
  }
  add("solve_block " + which + " beyond limits", [=, o = options()](Outputs& out) {
    return cassini_solve_block(r->limited, n_jobs, r->jobs.period.data(), r->size(), r->link.data(), r->member.data(),
                               r->weight.data(), nullptr, nullptr, nullptr, nullptr, 1, &o, out.shift, out.lower,
                               out.upper, &out.block);
  });
  for (const cassini_links* links : {ring.prepared, ring.limited}) {
    add("evaluate_block " + which, [=, o = options()](Outputs& out) {
      return cassini_evaluate_block(links, n_jobs, r->jobs.period.data(), r->size(), r->link.data(), r->member.data(),
                                    begin.data(), &o, out.lower, out.upper, out.slack, out.hold);
    });
  }
}

void PublicCalls::add_anchors(const Ring& ring, const std::string& which) {
  const Ring* r = &ring;
  const auto n_jobs = static_cast<int64_t>(ring.jobs.period.size());
  const std::vector<int64_t> begin(ring.jobs.period.size(), 3 * kMs);
  add("prepare_anchor, free_anchor " + which, [=, o = options()](Outputs& out) {
    cassini_anchor* made = nullptr;
    const int32_t status =
        cassini_prepare_anchor(r->prepared, n_jobs, r->jobs.period.data(), r->size() - 2, r->link.data(),
                               r->member.data(), r->weight.data(), r->bound.data(), begin.data(), &o, &made);
    if (made != nullptr) out.prepared = 1;
    cassini_free_anchor(made);
    return status;
  });
  add("solve_beside " + which, [=, o = options()](Outputs& out) {
    const int64_t dropped = 1, n = r->size();
    return cassini_solve_beside(r->anchor, 1, &dropped, 2, r->link.data() + n - 2, r->member.data() + 3 * (n - 2),
                                r->weight.data() + n - 2, nullptr, &o, out.shift, out.lower, out.upper, &out.block);
  });
}

void PublicCalls::add_refusals() {
  const Ring* r = &small_;
  add("init_options", [](Outputs& out) { return cassini_init_options(&out.options, sizeof out.options); });
  add("abi_version, version, strerror", [](Outputs&) {
    bool known = cassini_abi_version() == CASSINI_ABI_VERSION && cassini_version()[0] != '\0';
    for (int32_t status = -1; status < 10; ++status) known = known && cassini_strerror(status)[0] != '\0';
    return known ? CASSINI_OK : CASSINI_EINTERNAL;
  });
  add(
      "solve_link without jobs",
      [](Outputs& out) {
        return cassini_solve_link(0, nullptr, nullptr, nullptr, nullptr, nullptr, 1, nullptr, out.shift, out.slack,
                                  out.is_free, out.result);
      },
      CASSINI_EINVAL);
  add(
      "prepare_links without arrays",
      [](Outputs& out) {
        cassini_links* made = nullptr;
        return cassini_prepare_links(2, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, &made,
                                     out.status);
      },
      CASSINI_EINVAL);
  add(
      "solve_block of strangers",
      [=](Outputs& out) {
        const int64_t period[5] = {7, 7, 7, 7, 7};  // not those of the jobs on the links
        return cassini_solve_block(r->prepared, 5, period, r->size(), r->link.data(), r->member.data(),
                                   r->weight.data(), nullptr, nullptr, nullptr, nullptr, 0, nullptr, out.shift,
                                   out.lower, out.upper, &out.block);
      },
      CASSINI_EINVAL);
  add(
      "solve_beside, dropping what is not there",
      [=](Outputs& out) {
        const int64_t dropped = 99;
        return cassini_solve_beside(r->anchor, 1, &dropped, 0, nullptr, nullptr, nullptr, nullptr, nullptr, out.shift,
                                    out.lower, out.upper, &out.block);
      },
      CASSINI_EINVAL);
}

bool PublicCalls::kept_promise(const PublicCall& call, int32_t status, const Outputs& got, int32_t reason) {
  if (status == reason && got == blank()) return true;
  Outputs expected = call.expected;
  if (call.partly) call.partly(expected, got);
  const bool partly = call.partly && status == reason;
  return (partly || status == call.status) && got == expected;
}

}  // namespace cassini::test
