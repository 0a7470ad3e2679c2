//! Links prepared once, and blocks: jobs that share several links and have one shift each.
use crate::links::Concatenated;
use crate::{check, ffi, Error, Limits, Link};
use std::mem::size_of;
use std::ptr::{null, null_mut, NonNull};

/// Link problems, prepared once.
pub struct PreparedLinks {
    handle: NonNull<ffi::cassini_links>,
    n_jobs: Vec<usize>,
}

// SAFETY: cassini.h promises that prepared links are immutable and that any number of threads may use them at once.
unsafe impl Send for PreparedLinks {}
unsafe impl Sync for PreparedLinks {}

impl Drop for PreparedLinks {
    fn drop(&mut self) {
        // SAFETY: made by cassini_prepare_links, freed once; a call in progress would hold a borrow.
        unsafe { ffi::cassini_free_links(self.handle.as_ptr()) }
    }
}

/// Which prepared links hold which jobs together.
#[derive(Clone, Debug)]
pub struct Block {
    /// One for each job.
    pub period_ns: Vec<i64>,
    /// A prepared link, and which job of the block stands at each of its places.
    pub links: Vec<(usize, Vec<usize>)>,
}

/// Shifts for the jobs of a block, and the mean of what its links score with them.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockAnswer {
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
        // SAFETY: all arrays are as long as the header asks for; the flag in options outlives the call.
        check(unsafe {
            ffi::cassini_prepare_links(
                links.len() as i64,
                all.job_offset.as_ptr(),
                all.period.as_ptr(),
                all.phase_offset.as_ptr(),
                all.phase_start.as_ptr(),
                all.phase_length.as_ptr(),
                all.phase_rate.as_ptr(),
                all.capacity.as_ptr(),
                &options,
                &mut handle,
                status.as_mut_ptr(),
            )
        })?;
        let handle = NonNull::new(handle).expect("cassini_prepare_links gives a handle when it succeeds");
        let prepared = PreparedLinks { handle, n_jobs: links.iter().map(|link| link.jobs.len()).collect() };
        status.into_iter().try_for_each(check)?; // frees what was prepared
        Ok(prepared)
    }

    /// Best shifts for the jobs of a block, all its links weighing the same.
    ///
    /// # Errors
    /// [`Error::Canceled`], or the status of the library.
    ///
    /// # Panics
    /// A link of the block was not prepared, or has not as many jobs as the block says.
    pub fn solve_block(&self, block: &Block, limits: &Limits) -> Result<BlockAnswer, Error> {
        let options = limits.options()?;
        for (link, members) in &block.links {
            assert_eq!(self.n_jobs[*link], members.len(), "jobs of link {}", link);
        }
        let link: Vec<i64> = block.links.iter().map(|(link, _)| *link as i64).collect();
        let member: Vec<i64> = block.links.iter().flat_map(|(_, members)| members).map(|job| *job as i64).collect();
        let weight = vec![1.0; link.len()];
        let mut shifts_ns = vec![0; block.period_ns.len()];
        let (mut lower, mut upper) = (vec![0.0; link.len()], vec![0.0; link.len()]);
        let mut found =
            ffi::cassini_block_result { size: size_of::<ffi::cassini_block_result>() as i64, ..Default::default() };
        // SAFETY: as above; the library checks that periods, links and members fit together.
        check(unsafe {
            ffi::cassini_solve_block(
                self.handle.as_ptr(),
                shifts_ns.len() as i64,
                block.period_ns.as_ptr(),
                link.len() as i64,
                link.as_ptr(),
                member.as_ptr(),
                weight.as_ptr(),
                null(),
                null(),
                null(),
                null(),
                1,
                &options,
                shifts_ns.as_mut_ptr(),
                lower.as_mut_ptr(),
                upper.as_mut_ptr(),
                &mut found,
            )
        })?;
        Ok(BlockAnswer {
            score: found.score,
            upper_bound: found.upper_bound,
            optimal: found.optimal != 0,
            shifts_ns,
            link_scores: lower,
        })
    }
}
