//! Links solved each for itself.
use crate::ffi::{self, SizedStruct};
use crate::{check, Error, Limits};

/// An interval of an iteration in which a job sends.
#[derive(Clone, Debug)]
pub struct Phase {
    pub start_ns: i64,
    pub length_ns: i64,
    pub rate_kbps: i64,
}

/// A job repeats one iteration.
#[derive(Clone, Debug)]
pub struct Job {
    pub id: String,
    pub period_ns: i64,
    pub phases: Vec<Phase>,
}

/// Jobs that share a link.
#[derive(Clone, Debug)]
pub struct Link {
    pub capacity_kbps: i64,
    pub jobs: Vec<Job>,
}

/// How well the jobs of a link interleave.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Certified: the shifts reach at least so much.
    pub score: f64,
    /// No shifts score more.
    pub upper_bound: f64,
    pub optimal: bool,
    /// One for each job.
    pub shifts_ns: Vec<i64>,
    /// How far each job alone may drift.
    pub slacks_ns: Vec<i64>,
    /// How far all may drift at once.
    pub hold_ns: i64,
}

/// Links one after the other, as the library takes them.
#[derive(Default)]
pub(crate) struct Concatenated {
    pub job_offset: Vec<i64>,
    pub period: Vec<i64>,
    pub phase_offset: Vec<i64>,
    pub phase_start: Vec<i64>,
    pub phase_length: Vec<i64>,
    pub phase_rate: Vec<i64>,
    pub capacity: Vec<i64>,
}

impl Concatenated {
    pub fn new(links: &[Link]) -> Self {
        let mut all = Concatenated { job_offset: vec![0], phase_offset: vec![0], ..Default::default() };
        for link in links {
            for job in &link.jobs {
                all.period.push(job.period_ns);
                all.phase_start.extend(job.phases.iter().map(|phase| phase.start_ns));
                all.phase_length.extend(job.phases.iter().map(|phase| phase.length_ns));
                all.phase_rate.extend(job.phases.iter().map(|phase| phase.rate_kbps));
                all.phase_offset.push(all.phase_start.len() as i64);
            }
            all.capacity.push(link.capacity_kbps);
            all.job_offset.push(all.period.len() as i64);
        }
        all
    }

    /// For the library; valid as long as `self` is and does not change.
    pub fn c(&self) -> ffi::cassini_links {
        ffi::cassini_links {
            n_links: self.capacity.len() as i64,
            capacity_kbps: self.capacity.as_ptr(),
            job_offset: self.job_offset.as_ptr(),
            n_jobs: self.period.len() as i64,
            period_ns: self.period.as_ptr(),
            phase_offset: self.phase_offset.as_ptr(),
            n_phases: self.phase_start.len() as i64,
            phase_start_ns: self.phase_start.as_ptr(),
            phase_length_ns: self.phase_length.as_ptr(),
            phase_rate_kbps: self.phase_rate.as_ptr(),
            ..SizedStruct::sized()
        }
    }
}

/// Best shifts for each link, in one call.
///
/// # Errors
/// [`Error::Canceled`], or the status of the first link that cannot be solved.
pub fn solve_links(links: &[Link], limits: &Limits) -> Result<Vec<Answer>, Error> {
    let options = limits.options()?;
    let all = Concatenated::new(links);
    let n_jobs = all.period.len();
    let (mut shift, mut slack, mut is_free) = (vec![0; n_jobs], vec![0; n_jobs], vec![0; n_jobs]);
    let output = ffi::cassini_link_output {
        shift_ns: shift.as_mut_ptr(),
        slack_ns: slack.as_mut_ptr(),
        is_free: is_free.as_mut_ptr(),
        ..SizedStruct::sized()
    };
    let mut result = vec![ffi::cassini_link_result::sized(); links.len()];
    let mut status = vec![ffi::CASSINI_OK; links.len()];
    let mut why = ffi::cassini_error::sized();
    // SAFETY: all arrays are as long as the header asks for, and outlive the call, as the flag does.
    let rc = unsafe {
        ffi::cassini_solve_links(
            &all.c(),
            &options,
            limits.flag(),
            &output,
            result.as_mut_ptr(),
            status.as_mut_ptr(),
            &mut why,
        )
    };
    check(rc, &why)?;
    let mut answers = Vec::with_capacity(links.len());
    for (i, found) in result.iter().enumerate() {
        check(status[i], &why)?;
        let own = all.job_offset[i] as usize..all.job_offset[i + 1] as usize;
        answers.push(Answer {
            score: found.score_lower,
            upper_bound: found.upper_bound,
            optimal: found.optimal != 0,
            shifts_ns: shift[own.clone()].to_vec(),
            slacks_ns: slack[own].to_vec(),
            hold_ns: found.hold_ns,
        });
    }
    Ok(answers)
}
