//! What this program uses of cassini.h, by hand. tests/abi.rs compares it with the list that the library is tested with.
use std::os::raw::c_char;

pub const CASSINI_ABI_VERSION: i32 = 3;
pub const CASSINI_OK: i32 = 0;
pub const CASSINI_ECANCELED: i32 = 4;

/// A struct of cassini.h, which begins with its size.
///
/// # Safety
/// The type begins with an `i64` that is its size, and is valid when all its bytes are zero.
pub unsafe trait SizedStruct: Sized {
    /// The size set, all else zero.
    fn sized() -> Self {
        // SAFETY: promised by who implements this.
        unsafe {
            let mut out: Self = std::mem::zeroed();
            *(&mut out as *mut Self as *mut i64) = std::mem::size_of::<Self>() as i64;
            out
        }
    }
}

macro_rules! structs {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* $(,)? })*) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy)]
        #[allow(non_camel_case_types)]
        pub struct $name {
            pub size: i64,
            $(pub $field: $type),*
        }
        // SAFETY: integers, floats, pointers and arrays of them.
        unsafe impl SizedStruct for $name {}
    )*};
}

structs! {
    cassini_error { link: i64, index: i64, status: i32, reserved: i32, argument: [c_char; 32], text: [c_char; 160] }
    cassini_options {
        resolution_ns: i64,
        slack_tolerance: f64,
        node_limit: i64,
        deadline_ns: i64,
        max_events: i64,
        max_levels: i64,
    }
    cassini_links {
        n_links: i64,
        capacity_kbps: *const i64,
        job_offset: *const i64,
        n_jobs: i64,
        period_ns: *const i64,
        phase_offset: *const i64,
        n_phases: i64,
        phase_start_ns: *const i64,
        phase_length_ns: *const i64,
        phase_rate_kbps: *const i64,
    }
    cassini_link_output { shift_ns: *mut i64, slack_ns: *mut i64, is_free: *mut u8 }
    cassini_link_result {
        score_lower: f64,
        score_upper: f64,
        upper_bound: f64,
        hold_ns: i64,
        nodes: i64,
        optimal: i32,
        stopped_by: i32,
    }
    cassini_joint {
        n_jobs: i64,
        period_ns: *const i64,
        n_links: i64,
        link: *const i64,
        n_members: i64,
        member: *const i64,
        weight: *const f64,
        upper_bound: *const f64,
        own_shift_ns: *const i64,
    }
    cassini_joint_search { start_ns: *const i64, is_dirty: *const u8, centred: i32, reserved: i32, is_kept: *const u8 }
    cassini_joint_output { shift_ns: *mut i64, score_lower: *mut f64, score_upper: *mut f64 }
    cassini_joint_result { score: f64, upper_bound: f64, nodes: i64, optimal: i32, stopped_by: i32 }
}

/// Only ever behind a pointer.
#[repr(C)]
#[allow(non_camel_case_types)]
pub struct cassini_prepared_links {
    _private: [u8; 0],
}

extern "C" {
    pub fn cassini_abi_version() -> i32;
    pub fn cassini_strerror(status: i32) -> *const c_char;
    pub fn cassini_init_options(options: *mut cassini_options, size: i64) -> i32;
    pub fn cassini_solve_links(
        links: *const cassini_links,
        options: *const cassini_options,
        cancel: *const i32,
        output: *const cassini_link_output,
        result: *mut cassini_link_result,
        status: *mut i32,
        error: *mut cassini_error,
    ) -> i32;
    pub fn cassini_prepare_links(
        links: *const cassini_links,
        options: *const cassini_options,
        cancel: *const i32,
        prepared: *mut *mut cassini_prepared_links,
        status: *mut i32,
        error: *mut cassini_error,
    ) -> i32;
    pub fn cassini_free_prepared_links(prepared: *mut cassini_prepared_links);
    pub fn cassini_solve_joint(
        prepared: *const cassini_prepared_links,
        joint: *const cassini_joint,
        search: *const cassini_joint_search,
        options: *const cassini_options,
        cancel: *const i32,
        output: *const cassini_joint_output,
        result: *mut cassini_joint_result,
        error: *mut cassini_error,
    ) -> i32;
}
