//! Where should job c go? Ranks two placements by how well the traffic on the link "tor1-up" interleaves, best first.
use rank::{check_abi, solve_links, Answer, Error, Job, Limits, Link, Phase};
use std::process::ExitCode;
use std::sync::atomic::AtomicI32;
use std::time::Duration;

const MS: i64 = 1_000_000; // ns
const GBPS: i64 = 1_000_000; // kbit/s

/// One placement: the jobs that it brings together on the link.
struct Candidate {
    id: &'static str,
    link: Link,
}

/// Solves the links of all candidates in one call and puts the best first.
fn rank(candidates: Vec<Candidate>, limits: &Limits) -> Result<Vec<(Candidate, Answer)>, Error> {
    let links: Vec<Link> = candidates.iter().map(|candidate| candidate.link.clone()).collect();
    let mut ranking: Vec<_> = candidates.into_iter().zip(solve_links(&links, limits)?).collect();
    ranking.sort_by(|(_, a), (_, b)| b.score.total_cmp(&a.score));
    Ok(ranking)
}

/// A number to the last bit, as %a of C writes it.
fn hexadecimal(x: f64) -> String {
    let bits = x.to_bits();
    let sign = if x.is_sign_negative() { "-" } else { "" };
    let digits = bits & ((1 << 52) - 1);
    match (bits >> 52) & 0x7ff {
        0 if digits == 0 => format!("{}0x0.{:013x}p+0", sign, digits),
        0 => format!("{}0x0.{:013x}p-1022", sign, digits),
        exponent => format!("{}0x1.{:013x}p{:+}", sign, digits, exponent as i64 - 1023),
    }
}

fn show(ranking: &[(Candidate, Answer)]) {
    for (place, (candidate, answer)) in ranking.iter().enumerate() {
        println!(
            "{} {:<8}  score {} {:.6}  bound {} {:.6}  optimal {:<3}  hold {:8} ns",
            place + 1,
            candidate.id,
            hexadecimal(answer.score),
            answer.score,
            hexadecimal(answer.upper_bound),
            answer.upper_bound,
            if answer.optimal { "yes" } else { "no" },
            answer.hold_ns
        );
        for (j, job) in candidate.link.jobs.iter().enumerate() {
            println!("    {}  shift {:9} ns  slack {:8} ns", job.id, answer.shifts_ns[j], answer.slacks_ns[j]);
        }
    }
}

fn round() -> Vec<Candidate> {
    let phase = |start, length, gbps| Phase { start_ns: start * MS, length_ns: length * MS, rate_kbps: gbps * GBPS };
    let job = |id: &str, period, phases| Job { id: id.into(), period_ns: period * MS, phases };
    let a = job("a", 255, vec![phase(141, 114, 45)]);
    let b = job("b", 255, vec![phase(141, 114, 45)]);
    let c = job("c", 510, vec![phase(0, 60, 40), phase(300, 50, 25)]);
    let tor1_up = |jobs| Link { capacity_kbps: 50 * GBPS, jobs };
    vec![
        Candidate { id: "together", link: tor1_up(vec![a.clone(), b.clone(), c]) },
        Candidate { id: "apart", link: tor1_up(vec![a, b]) },
    ]
}

fn main() -> ExitCode {
    let cancel = AtomicI32::new(0); // a program with threads lends it to whoever may cancel
    let limits = Limits { deadline: Some(Duration::from_secs(10)), cancel: Some(&cancel) };
    match check_abi().and_then(|()| rank(round(), &limits)) {
        Ok(ranking) => {
            show(&ranking);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("rank: {}", error);
            ExitCode::FAILURE
        }
    }
}
