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

void say(cassini_error& error, int32_t status, int64_t link) {
  error = sized<cassini_error>();
  error.link = link;
  error.index = -1;
  error.status = status;
  std::strcpy(error.text, cassini_strerror(status));
}

Outputs blank() {
  Outputs out;
  std::memset(static_cast<void*>(&out), 0xA5, sizeof out);
  for (cassini_link_result& one : out.result) one.size = sizeof(cassini_link_result);
  out.joint.size = sizeof(cassini_joint_result);
  out.error = sized<cassini_error>();
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

cassini_links LinkArrays::all() const {
  return links_of(capacity, job_offset, period, phase_offset, start, length, rate);
}

cassini_link LinkArrays::one(std::size_t i) const {
  return link_of(capacity[i], job_offset[i], job_offset[i + 1], period, phase_offset, start, length, rate);
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
  const cassini_links all = links.all();
  const auto prepare = [&](const cassini_options& options, cassini_prepared_links** out) {
    std::vector<int32_t> status(link.size());
    return cassini_prepare_links(&all, &options, nullptr, out, status.data(), nullptr);
  };
  cassini_options narrow = defaults();
  narrow.max_events = 1;
  const std::vector<int64_t> zero(jobs.period.size(), 0);
  const cassini_joint some = joint(link.size() - 2);
  if (prepare(defaults(), &prepared) != CASSINI_OK || prepare(narrow, &limited) != CASSINI_OK ||
      cassini_prepare_baseline(prepared, &some, zero.data(), nullptr, nullptr, &baseline, nullptr) != CASSINI_OK) {
    std::printf("cannot prepare the ring\n");
    std::abort();
  }
}

Ring::~Ring() {
  cassini_free_baseline(baseline);
  cassini_free_prepared_links(limited);
  cassini_free_prepared_links(prepared);
}

cassini_joint Ring::joint(std::size_t n_links) const {
  cassini_joint out = joint_of(jobs.period, link, member, weight.data());
  out.n_links = static_cast<int64_t>(n_links);
  out.n_members = 3 * out.n_links;
  return out;
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
  const cassini_links all = links_.all();
  std::vector<int32_t> status(links_.capacity.size());
  cassini_prepared_links* made = nullptr;
  const cassini_options usual = options();
  if (cassini_prepare_links(&all, &usual, nullptr, &made, status.data(), nullptr) != CASSINI_OK) std::abort();
  prepared_.reset(made);
  add_links();
  add_batches();
  for (const auto& [ring, which] : {std::pair<const Ring&, const char*>{small_, "small"}, {large_, "large"}}) {
    add_joint_problems(ring, which);
    add_baselines(ring, which);
  }
  n_cancelable_ = all_.size();
  add_refusals();
}

cassini_options PublicCalls::options() const {
  cassini_options out = defaults();
  out.node_limit = 300;
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
    const cassini_link link = links_.one(i);
    const int32_t* cancel = cancel_;
    const std::string which = " of link " + std::to_string(i);
    const auto solve = [&](const std::string& how, bool with_slack, const cassini_options& o) {
      add("solve_link" + which + how, [=](Outputs& out) {
        const cassini_link_output to = link_output(out.shift, with_slack ? out.slack : nullptr, out.is_free);
        return cassini_solve_link(&link, &o, cancel, &to, out.result, &out.error);
      });
    };
    solve("", true, options());
    solve(" without slack", false, options());
    cassini_options o = options();
    o.node_limit = 2;
    solve(" in two nodes", true, o);
    o = options();
    o.max_events = 1;
    solve(" beyond the limit of events", true, o);
    o = options();
    o.max_levels = 2;
    solve(" beyond the limit of levels", true, o);
    add("solve_link_angles" + which, [=, o = options()](Outputs& out) {
      const cassini_link_output to = link_output(out.shift, out.slack, out.is_free);
      return cassini_solve_link_angles(&link, 24, &o, cancel, &to, out.result, &out.claimed, &out.error);
    });

    for (const bool with_slack : {true, false}) {
      add("evaluate_link" + which, [=, o = options()](Outputs& out) {
        const int64_t shift[5] = {0, 40 * kMs, -7 * kMs, 3, 300 * kMs};
        const cassini_evaluation to = evaluation(out.lower, out.upper, with_slack ? out.slack : nullptr,
                                                 with_slack ? out.hold : nullptr, out.is_free);
        return cassini_evaluate_link(&link, shift, &o, cancel, &to, &out.error);
      });
    }
  }
}

void PublicCalls::add_batches() {
  const cassini_links links = links_.all();
  const int32_t* cancel = cancel_;
  const auto batch = [this](Outputs& expected, const Outputs& got) {
    bool first = true;  // that is said of
    for (std::size_t i = 0; i < links_.capacity.size(); ++i) {
      if (!disturbed(got.status[i])) continue;
      unsolved(expected, links_, i, got.status[i]);
      if (first) say(expected.error, got.status[i], static_cast<int64_t>(i));
      first = false;
    }
  };
  add("solve_links", [=, o = options()](Outputs& out) {
    const cassini_link_output to = link_output(out.shift, out.slack, out.is_free);
    return cassini_solve_links(&links, &o, cancel, &to, out.result, out.status, &out.error);
  });
  all_.back().partly = batch;
  add("solve_prepared_links", [=, prepared = prepared_.get(), o = options()](Outputs& out) {
    const cassini_link_output to = link_output(out.shift, out.slack, out.is_free);
    return cassini_solve_prepared_links(prepared, 0, links.n_links, &o, cancel, &to, out.result, out.status,
                                        &out.error);
  });
  all_.back().partly = batch;
  add("prepare_links, free_prepared_links", [=, o = options()](Outputs& out) {
    cassini_prepared_links* made = nullptr;
    const int32_t status = cassini_prepare_links(&links, &o, cancel, &made, out.status, &out.error);
    if (made != nullptr) out.prepared = 1;
    cassini_free_prepared_links(made);
    return status;
  });
  all_.back().partly = [this](Outputs& expected, const Outputs& got) {
    for (std::size_t i = links_.capacity.size(); i-- > 0;) {
      if (!disturbed(got.status[i])) continue;
      expected.status[i] = got.status[i];
      say(expected.error, got.status[i], static_cast<int64_t>(i));
    }
  };
}

void PublicCalls::add_joint_problems(const Ring& ring, const std::string& which) {
  const int32_t* cancel = cancel_;
  const cassini_joint plain = ring.joint(ring.link.size());
  const std::vector<int64_t> own(ring.member.size(), 5 * kMs), begin(ring.jobs.period.size(), -kMs);
  std::vector<uint8_t> dirty(ring.jobs.period.size(), 0);
  dirty[1] = 1;
  const auto solve = [&](const std::string& how, const cassini_prepared_links* prepared, auto&& run) {
    add("solve_joint " + which + how, [=, o = options()](Outputs& out) {
      const cassini_joint_output to = joint_output(out.shift, out.lower, out.upper);
      return run([&](const cassini_joint& joint, const cassini_joint_search& search) {
        return cassini_solve_joint(prepared, &joint, &search, &o, cancel, &to, &out.joint, &out.error);
      });
    });
  };
  for (const bool centred : {false, true}) {
    const std::string how = centred ? " centred" : "";
    solve(how, ring.prepared, [=, bound = ring.bound](auto&& call) {
      cassini_joint joint = plain;
      joint.upper_bound = bound.data();
      joint.own_shift_ns = own.data();
      return call(joint, search_of(nullptr, nullptr, centred));
    });
    solve(" from shifts" + how, ring.prepared,
          [=](auto&& call) { return call(plain, search_of(begin.data(), dirty.data(), centred)); });
  }
  solve(" beyond limits", ring.limited, [=](auto&& call) { return call(plain, search_of(nullptr, nullptr, true)); });
  for (const cassini_prepared_links* links : {ring.prepared, ring.limited}) {
    add("evaluate_joint " + which, [=, o = options()](Outputs& out) {
      const cassini_evaluation to = evaluation(out.lower, out.upper, out.slack, out.hold, out.is_free);
      return cassini_evaluate_joint(links, &plain, begin.data(), &o, cancel, &to, &out.error);
    });
  }
}

void PublicCalls::add_baselines(const Ring& ring, const std::string& which) {
  const Ring* r = &ring;
  const int32_t* cancel = cancel_;
  const std::vector<int64_t> begin(ring.jobs.period.size(), 3 * kMs);
  add("prepare_baseline, free_baseline " + which, [=, o = options()](Outputs& out) {
    cassini_baseline* made = nullptr;
    cassini_joint some = r->joint(r->link.size() - 2);
    some.upper_bound = r->bound.data();
    const int32_t status = cassini_prepare_baseline(r->prepared, &some, begin.data(), &o, cancel, &made, &out.error);
    if (made != nullptr) out.prepared = 1;
    cassini_free_baseline(made);
    return status;
  });
  add("solve_delta " + which, [=, o = options()](Outputs& out) {
    const int64_t dropped = 1, n = length_of(r->link);
    cassini_delta delta = sized<cassini_delta>();
    delta.n_dropped = 1;
    delta.dropped = &dropped;
    delta.n_added = 2;
    delta.link = r->link.data() + n - 2;
    delta.n_members = 6;
    delta.member = r->member.data() + 3 * (n - 2);
    delta.weight = r->weight.data() + n - 2;
    const cassini_joint_output to = joint_output(out.shift, out.lower, out.upper);
    return cassini_solve_delta(r->baseline, &delta, &o, cancel, &to, &out.joint, &out.error);
  });
}

void PublicCalls::add_refusals() {
  const Ring* r = &small_;
  add("init_options", [](Outputs& out) { return cassini_init_options(&out.options, sizeof out.options); });
  all_.back().tells = false;
  add("abi_version, version, strerror, stop_string", [](Outputs&) {
    bool known = cassini_abi_version() == CASSINI_ABI_VERSION && cassini_version()[0] != '\0';
    for (int32_t value = -1; value < 10; ++value) {
      known = known && cassini_strerror(value)[0] != '\0' && cassini_stop_string(value)[0] != '\0';
    }
    return known ? CASSINI_OK : CASSINI_EINTERNAL;
  });
  add(
      "solve_link without jobs",
      [](Outputs& out) {
        const auto link = sized<cassini_link>();
        const cassini_link_output to = link_output(out.shift, out.slack, out.is_free);
        return cassini_solve_link(&link, nullptr, nullptr, &to, out.result, &out.error);
      },
      CASSINI_EINVAL);
  add(
      "prepare_links without arrays",
      [](Outputs& out) {
        cassini_prepared_links* made = nullptr;
        auto links = sized<cassini_links>();
        links.n_links = 2;
        return cassini_prepare_links(&links, nullptr, nullptr, &made, out.status, &out.error);
      },
      CASSINI_EINVAL);
  add(
      "solve_joint of strangers",
      [=](Outputs& out) {
        const int64_t period[5] = {7, 7, 7, 7, 7};  // not those of the jobs on the links
        cassini_joint joint = r->joint(r->link.size());
        joint.period_ns = period;
        const cassini_joint_output to = joint_output(out.shift, out.lower, out.upper);
        return cassini_solve_joint(r->prepared, &joint, nullptr, nullptr, nullptr, &to, &out.joint, &out.error);
      },
      CASSINI_EINVAL);
  add(
      "solve_delta, dropping what is not there",
      [=](Outputs& out) {
        const int64_t dropped = 99;
        auto delta = sized<cassini_delta>();
        delta.n_dropped = 1;
        delta.dropped = &dropped;
        const cassini_joint_output to = joint_output(out.shift, out.lower, out.upper);
        return cassini_solve_delta(r->baseline, &delta, nullptr, nullptr, &to, &out.joint, &out.error);
      },
      CASSINI_EINVAL);
}

bool PublicCalls::kept_promise(const PublicCall& call, int32_t status, const Outputs& got, int32_t reason) {
  Outputs refused = blank();
  if (call.tells) say(refused.error, reason);
  if (status == reason && got == refused) return true;
  Outputs expected = call.expected;
  if (call.partly) call.partly(expected, got);
  const bool partly = call.partly && status == reason;
  return (partly || status == call.status) && got == expected;
}

}  // namespace cassini::test
