//! What this program uses of cassini.h, by hand. tests/abi.rs compares it with the list that the library is tested with.
use std::os::raw::c_char;

pub const CASSINI_ABI_VERSION: i32 = 2;
pub const CASSINI_OK: i32 = 0;
pub const CASSINI_ECANCELED: i32 = 4;

#[repr(C)]
#[allow(non_camel_case_types)]
pub struct cassini_options {
    pub size: i64,
    pub method: i32,
    pub reserved: i32,
    pub angles: i64,
    pub resolution: i64,
    pub slack_tolerance: f64,
    pub node_limit: i64,
    pub deadline_ns: i64,
    pub max_events: i64,
    pub max_levels: i64,
    pub cancel: *const i32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
#[allow(non_camel_case_types)]
pub struct cassini_result {
    pub size: i64,
    pub score_lower: f64,
    pub score_upper: f64,
    pub upper_bound: f64,
    pub claimed_score: f64,
    pub hold: i64,
    pub nodes: i64,
    pub optimal: i32,
    pub stopped_by: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
#[allow(non_camel_case_types)]
pub struct cassini_block_result {
    pub size: i64,
    pub score: f64,
    pub upper_bound: f64,
    pub nodes: i64,
    pub optimal: i32,
    pub stopped_by: i32,
}

/// Only ever behind a pointer.
#[repr(C)]
#[allow(non_camel_case_types)]
pub struct cassini_links {
    _private: [u8; 0],
}

extern "C" {
    pub fn cassini_abi_version() -> i32;
    pub fn cassini_strerror(status: i32) -> *const c_char;
    pub fn cassini_init_options(options: *mut cassini_options, size: i64) -> i32;
    pub fn cassini_solve_links(
        n_links: i64,
        job_offset: *const i64,
        period: *const i64,
        phase_offset: *const i64,
        phase_start: *const i64,
        phase_length: *const i64,
        phase_rate: *const i64,
        capacity: *const i64,
        options: *const cassini_options,
        shift: *mut i64,
        slack: *mut i64,
        is_free: *mut u8,
        result: *mut cassini_result,
        status: *mut i32,
    ) -> i32;
    pub fn cassini_prepare_links(
        n_links: i64,
        job_offset: *const i64,
        period: *const i64,
        phase_offset: *const i64,
        phase_start: *const i64,
        phase_length: *const i64,
        phase_rate: *const i64,
        capacity: *const i64,
        options: *const cassini_options,
        links: *mut *mut cassini_links,
        status: *mut i32,
    ) -> i32;
    pub fn cassini_free_links(links: *mut cassini_links);
    pub fn cassini_solve_block(
        links: *const cassini_links,
        n_jobs: i64,
        period: *const i64,
        n_links: i64,
        link: *const i64,
        member: *const i64,
        weight: *const f64,
        upper_bound: *const f64,
        own_shift: *const i64,
        start: *const i64,
        dirty: *const u8,
        centred: i32,
        options: *const cassini_options,
        shift: *mut i64,
        score_lower: *mut f64,
        score_upper: *mut f64,
        result: *mut cassini_block_result,
    ) -> i32;
}
