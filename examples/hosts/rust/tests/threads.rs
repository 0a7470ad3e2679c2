//! Threads share what may be shared, and end what is no longer wanted.
use rank::{solve_links, Error, Job, JointProblem, Limits, Link, Phase, PreparedLinks};
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;
use std::time::Duration;

const MS: i64 = 1_000_000;
const GBPS: i64 = 1_000_000;

fn job(period_ns: i64, phases: impl IntoIterator<Item = (i64, i64, i64)>) -> Job {
    let phases = phases.into_iter();
    let phases = phases.map(|(start_ns, length_ns, gbps)| Phase { start_ns, length_ns, rate_kbps: gbps * GBPS });
    Job { id: String::new(), period_ns, phases: phases.collect() }
}

fn link(n_jobs: i64) -> Link {
    let jobs = (0..n_jobs).map(|j| job(255 * MS, [(7 * j * MS, 114 * MS, 45), (150 * MS, (10 + 3 * j) * MS, 20)]));
    Link { capacity_kbps: 50 * GBPS, jobs: jobs.collect() }
}

/// Keeps a search busy for minutes: fourteen jobs that together ask for all of the link.
fn hard() -> Link {
    let start = |j: i64, k: i64| (97 * k + 31 * j + j * j * k) % 400 * MS + 1000 * j * k;
    let jobs = (0..14).map(|j| job(420 * MS, (0..4).map(|k| (start(j, k), 19 * MS + 1000 * j, 20))));
    Link { capacity_kbps: 50 * GBPS, jobs: jobs.collect() }
}

#[test]
fn threads_get_the_same_answers() {
    let links = [link(2), link(3), link(4), link(1)];
    let want = solve_links(&links, &Limits::default()).unwrap();
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| assert_eq!(solve_links(&links, &Limits::default()).unwrap(), want));
        }
    });
}

#[test]
fn threads_share_prepared_links() {
    let links = PreparedLinks::new(&[link(2), link(3)], &Limits::default()).unwrap();
    let problem = JointProblem { period_ns: vec![255 * MS; 3], links: vec![(0, vec![0, 1]), (1, vec![0, 1, 2])] };
    let want = links.solve_joint(&problem, &Limits::default()).unwrap();
    assert!(want.score <= want.upper_bound && want.link_scores.len() == 2);
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| assert_eq!(links.solve_joint(&problem, &Limits::default()).unwrap(), want));
        }
    });
}

#[test]
fn a_joint_problem_of_one_link_scores_what_the_link_scores() {
    let alone = solve_links(&[link(3)], &Limits::default()).unwrap().remove(0);
    let links = PreparedLinks::new(&[link(3)], &Limits::default()).unwrap();
    let problem = JointProblem { period_ns: vec![255 * MS; 3], links: vec![(0, vec![0, 1, 2])] };
    let found = links.solve_joint(&problem, &Limits::default()).unwrap();
    assert!(alone.optimal && found.optimal && (alone.score - found.score).abs() < 1e-9);
}

#[test]
fn a_deadline_gives_an_answer() {
    let limits = Limits { deadline: Some(Duration::from_millis(20)), ..Default::default() };
    let answer = solve_links(&[hard()], &limits).unwrap().remove(0);
    assert!(!answer.optimal && answer.score <= answer.upper_bound);
}

#[test]
fn cancel_ends_a_call() {
    let cancel = AtomicI32::new(0);
    let limits = Limits { cancel: Some(&cancel), ..Default::default() };
    let many = vec![hard(); 4]; // each takes a second or more, until its node limit ends it
    thread::scope(|scope| {
        let call = scope.spawn(|| solve_links(&many, &limits));
        thread::sleep(Duration::from_millis(20));
        cancel.store(1, Ordering::Relaxed);
        assert_eq!(call.join().unwrap(), Err(Error::Canceled));
    });
}

#[test]
fn what_is_wrong_is_an_error() {
    let wrong = Link { capacity_kbps: -1, ..link(2) };
    let links = [link(2), wrong];
    let error = solve_links(&links, &Limits::default()).unwrap_err();
    assert_eq!(error.to_string(), "capacity_kbps[1]: expected 1 .. 1099511627776, got -1");
    assert_eq!(PreparedLinks::new(&links, &Limits::default()).err(), Some(error));
    assert_eq!(solve_links(&[], &Limits::default()), Ok(vec![]));
}
