//! Links prepared once, and joint problems: jobs that share several links and have one shift each.
use crate::ffi::{self, SizedStruct};
use crate::links::Concatenated;
use crate::{check, Error, Limits, Link};
use std::ptr::{null_mut, NonNull};

/// Link problems, prepared once.
pub struct PreparedLinks {
    handle: NonNull<ffi::cassini_prepared_links>,
    n_jobs: Vec<usize>,
}

// SAFETY: cassini.h promises that prepared links are immutable and that any number of threads may use them at once.
unsafe impl Send for PreparedLinks {}
unsafe impl Sync for PreparedLinks {}

impl Drop for PreparedLinks {
    fn drop(&mut self) {
        // SAFETY: made by cassini_prepare_links, freed once; a call in progress would hold a borrow.
        unsafe { ffi::cassini_free_prepared_links(self.handle.as_ptr()) }
    }
}

/// Which prepared links hold which jobs together.
#[derive(Clone, Debug)]
pub struct JointProblem {
    /// One for each job.
    pub period_ns: Vec<i64>,
    /// A prepared link, and which job stands at each of its places.
    pub links: Vec<(usize, Vec<usize>)>,
}

/// Shifts for the jobs of a joint problem, and the mean of what its links score with them.
#[derive(Clone, Debug, PartialEq)]
pub struct JointAnswer {
    pub score: f64,
    pub upper_bound: f64,
    pub optimal: bool,
    pub shifts_ns: Vec<i64>,
    pub link_scores: Vec<f64>,
}

impl PreparedLinks {
    /// # Errors
    /// The status of the first link that cannot be used.
    pub fn new(links: &[Link], limits: &Limits) -> Result<Self, Error> {
        let options = limits.options()?;
        let all = Concatenated::new(links);
        let mut status = vec![ffi::CASSINI_OK; links.len()];
        let mut handle = null_mut();
        let mut why = ffi::cassini_error::sized();
        // SAFETY: all arrays are as long as the header asks for, and outlive the call, as the flag does.
        let rc = unsafe {
            ffi::cassini_prepare_links(&all.c(), &options, limits.flag(), &mut handle, status.as_mut_ptr(), &mut why)
        };
        check(rc, &why)?;
        let handle = NonNull::new(handle).expect("cassini_prepare_links gives a handle when it succeeds");
        let prepared = PreparedLinks { handle, n_jobs: links.iter().map(|link| link.jobs.len()).collect() };
        status.into_iter().try_for_each(|status| check(status, &why))?; // frees what was prepared
        Ok(prepared)
    }

    /// Best shifts for the jobs of a joint problem, all its links weighing the same.
    ///
    /// # Errors
    /// [`Error::Canceled`], or the status of the library.
    ///
    /// # Panics
    /// A link of the problem was not prepared, or has not as many jobs as the problem says.
    pub fn solve_joint(&self, problem: &JointProblem, limits: &Limits) -> Result<JointAnswer, Error> {
        let options = limits.options()?;
        for (link, members) in &problem.links {
            assert_eq!(self.n_jobs[*link], members.len(), "jobs of link {}", link);
        }
        let link: Vec<i64> = problem.links.iter().map(|(link, _)| *link as i64).collect();
        let member: Vec<i64> = problem.links.iter().flat_map(|(_, members)| members).map(|job| *job as i64).collect();
        let joint = ffi::cassini_joint {
            n_jobs: problem.period_ns.len() as i64,
            period_ns: problem.period_ns.as_ptr(),
            n_links: link.len() as i64,
            link: link.as_ptr(),
            n_members: member.len() as i64,
            member: member.as_ptr(),
            ..SizedStruct::sized()
        };
        let search = ffi::cassini_joint_search { centred: 1, ..SizedStruct::sized() };
        let mut shifts_ns = vec![0; problem.period_ns.len()];
        let (mut lower, mut upper) = (vec![0.0; link.len()], vec![0.0; link.len()]);
        let output = ffi::cassini_joint_output {
            shift_ns: shifts_ns.as_mut_ptr(),
            score_lower: lower.as_mut_ptr(),
            score_upper: upper.as_mut_ptr(),
            ..SizedStruct::sized()
        };
        let mut found = ffi::cassini_joint_result::sized();
        let mut why = ffi::cassini_error::sized();
        // SAFETY: as above; the library checks that periods, links and members fit together.
        let rc = unsafe {
            ffi::cassini_solve_joint(
                self.handle.as_ptr(),
                &joint,
                &search,
                &options,
                limits.flag(),
                &output,
                &mut found,
                &mut why,
            )
        };
        check(rc, &why)?;
        Ok(JointAnswer {
            score: found.score,
            upper_bound: found.upper_bound,
            optimal: found.optimal != 0,
            shifts_ns,
            link_scores: lower,
        })
    }
}
