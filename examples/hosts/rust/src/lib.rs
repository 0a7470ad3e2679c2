//! libcassini for Rust: how well the periodic traffic of jobs that share links interleaves.
//!
//! Times are whole nanoseconds and bandwidths whole kbit/s, as in cassini.h. Every function may be called from any
//! number of threads.
pub mod ffi;

mod links;
mod prepared;

pub use links::{solve_links, Answer, Job, Link, Phase};
pub use prepared::{JointAnswer, JointProblem, PreparedLinks};

use ffi::SizedStruct;
use std::ffi::CStr;
use std::fmt;
use std::ptr::null;
use std::sync::atomic::AtomicI32;
use std::time::Duration;

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The library that was loaded is not the one this crate was written for.
    Abi(i32),
    /// The caller asked for an end.
    Canceled,
    /// A status of cassini.h, and what the library says of its cause.
    Status(i32, String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Abi(have) => write!(f, "libcassini has ABI {}, expected {}", have, ffi::CASSINI_ABI_VERSION),
            Error::Canceled => f.write_str(&message(ffi::CASSINI_ECANCELED)),
            Error::Status(_, reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for Error {}

fn message(status: i32) -> String {
    // SAFETY: never null, static storage.
    unsafe { CStr::from_ptr(ffi::cassini_strerror(status)) }.to_string_lossy().into_owned()
}

pub(crate) fn check(status: i32, why: &ffi::cassini_error) -> Result<(), Error> {
    match status {
        ffi::CASSINI_OK => Ok(()),
        ffi::CASSINI_ECANCELED => Err(Error::Canceled),
        other if why.text[0] == 0 => Err(Error::Status(other, message(other))),
        // SAFETY: the library ends the text with a 0.
        other => Err(Error::Status(other, unsafe { CStr::from_ptr(why.text.as_ptr()) }.to_string_lossy().into_owned())),
    }
}

/// To be called before anything else.
pub fn check_abi() -> Result<(), Error> {
    // SAFETY: may always be called.
    match unsafe { ffi::cassini_abi_version() } {
        ffi::CASSINI_ABI_VERSION => Ok(()),
        other => Err(Error::Abi(other)),
    }
}

/// What ends a call early.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits<'a> {
    /// From the call's entry on; past it the answer is what was found until then. None: a count of nodes ends it.
    pub deadline: Option<Duration>,
    /// Any thread may store a 1, and the call ends with [`Error::Canceled`].
    pub cancel: Option<&'a AtomicI32>,
}

impl Limits<'_> {
    pub(crate) fn options(&self) -> Result<ffi::cassini_options, Error> {
        let mut options = ffi::cassini_options::sized();
        // SAFETY: the library writes at most as many bytes as it is told.
        let rc = unsafe { ffi::cassini_init_options(&mut options, options.size) };
        check(rc, &ffi::cassini_error::sized())?;
        if let Some(deadline) = self.deadline {
            options.deadline_ns = i64::try_from(deadline.as_nanos()).unwrap_or(i64::MAX);
        }
        Ok(options)
    }

    /// Where the flag is, or null.
    pub(crate) fn flag(&self) -> *const i32 {
        self.cancel.map_or(null(), |flag| flag as *const AtomicI32 as *const i32)
        // same layout, documented
    }
}
