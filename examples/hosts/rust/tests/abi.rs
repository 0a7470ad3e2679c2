//! src/ffi.rs says what the header says. The list of the header is $CASSINI_ABI_LIST, or csrc/abi/cassini.abi around here.
use rank::ffi;
use std::mem::{align_of, size_of, MaybeUninit};
use std::path::PathBuf;

fn abi_list() -> String {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../csrc/abi/cassini.abi");
    let path = std::env::var_os("CASSINI_ABI_LIST").map_or_else(beside, PathBuf::from);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {}", path.display(), error))
}

/// A struct as the list writes it, from where the compiler put its fields.
macro_rules! listed {
    ($type:ident { $($field:ident: $c:literal $($length:literal)?),* $(,)? }) => {{
        let place = MaybeUninit::<ffi::$type>::uninit();
        let base = place.as_ptr();
        let mut lines = vec![format!("struct {} size {}", stringify!($type), size_of::<ffi::$type>())];
        $(
            // SAFETY: only the address is taken.
            let offset = unsafe { std::ptr::addr_of!((*base).$field) as usize } - base as usize;
            lines.push(format!("  {} {}{}{}", offset, $c, stringify!($field), concat!($($length)?)));
        )*
        assert_eq!(align_of::<ffi::$type>(), 8);
        lines.join("\n") + "\n"
    }};
}

#[test]
fn structs_are_laid_out_as_listed() {
    let structs = [
        listed!(cassini_error {
            size: "int64_t ",
            link: "int64_t ",
            index: "int64_t ",
            status: "int32_t ",
            reserved: "int32_t ",
            argument: "char " "[32]",
            text: "char " "[160]",
        }),
        listed!(cassini_options {
            size: "int64_t ",
            resolution_ns: "int64_t ",
            slack_tolerance: "double ",
            node_limit: "int64_t ",
            deadline_ns: "int64_t ",
            max_events: "int64_t ",
            max_levels: "int64_t ",
        }),
        listed!(cassini_links {
            size: "int64_t ",
            n_links: "int64_t ",
            capacity_kbps: "const int64_t *",
            job_offset: "const int64_t *",
            n_jobs: "int64_t ",
            period_ns: "const int64_t *",
            phase_offset: "const int64_t *",
            n_phases: "int64_t ",
            phase_start_ns: "const int64_t *",
            phase_length_ns: "const int64_t *",
            phase_rate_kbps: "const int64_t *",
        }),
        listed!(cassini_link_output {
            size: "int64_t ",
            shift_ns: "int64_t *",
            slack_ns: "int64_t *",
            is_free: "uint8_t *",
        }),
        listed!(cassini_link_result {
            size: "int64_t ",
            score_lower: "double ",
            score_upper: "double ",
            upper_bound: "double ",
            hold_ns: "int64_t ",
            nodes: "int64_t ",
            optimal: "int32_t ",
            stopped_by: "int32_t ",
        }),
        listed!(cassini_joint {
            size: "int64_t ",
            n_jobs: "int64_t ",
            period_ns: "const int64_t *",
            n_links: "int64_t ",
            link: "const int64_t *",
            n_members: "int64_t ",
            member: "const int64_t *",
            weight: "const double *",
            upper_bound: "const double *",
            own_shift_ns: "const int64_t *",
        }),
        listed!(cassini_joint_search {
            size: "int64_t ",
            start_ns: "const int64_t *",
            is_dirty: "const uint8_t *",
            centred: "int32_t ",
            reserved: "int32_t ",
            is_kept: "const uint8_t *",
        }),
        listed!(cassini_joint_output {
            size: "int64_t ",
            shift_ns: "int64_t *",
            score_lower: "double *",
            score_upper: "double *",
        }),
        listed!(cassini_joint_result {
            size: "int64_t ",
            score: "double ",
            upper_bound: "double ",
            nodes: "int64_t ",
            optimal: "int32_t ",
            stopped_by: "int32_t ",
        }),
    ];
    let list = abi_list();
    for one in structs {
        assert!(list.contains(&one), "expected in the list:\n{}", one);
    }
}

fn rust_type(c: &str) -> String {
    let plain = |c: &str| match c {
        "int32_t" => "i32".to_owned(),
        "int64_t" => "i64".to_owned(),
        "uint8_t" => "u8".to_owned(),
        "double" => "f64".to_owned(),
        "char" => "c_char".to_owned(),
        other => other.to_owned(),
    };
    match c.strip_suffix('*').map(str::trim) {
        Some(target) => match target.strip_prefix("const ") {
            Some(target) => format!("*const {}", rust_type(target)),
            None => format!("*mut {}", rust_type(target)),
        },
        None => plain(c),
    }
}

/// `int32_t f(const double *x)` as `pub fn f(x: *const f64) -> i32;`.
fn rust_declaration(c: &str) -> String {
    let (head, parameters) = c.trim_end_matches(')').split_once('(').unwrap();
    let split = |c: &str| {
        let at = c.rfind(|x| x == ' ' || x == '*').unwrap() + 1;
        (c[..at].trim().to_owned(), c[at..].to_owned())
    };
    let (result, name) = split(head);
    let parameters = parameters.split(", ").filter(|c| *c != "void").map(|c| {
        let (kind, name) = split(c);
        format!("{}: {}", name, rust_type(&kind))
    });
    let parameters = parameters.collect::<Vec<_>>().join(", ");
    let result = if result == "void" { String::new() } else { format!(" -> {}", rust_type(&result)) };
    format!("pub fn {}({}){};", name, parameters, result)
}

#[test]
fn functions_and_constants_are_declared_as_listed() {
    let source = include_str!("../src/ffi.rs").split_whitespace().collect::<Vec<_>>().join(" ");
    let source = source.replace("( ", "(").replace(", )", ")");
    let list = abi_list();
    let (mut functions, mut constants) = (0, 0);
    for line in list.lines() {
        if let Some(c) = line.strip_prefix("function ") {
            let expected = rust_declaration(c);
            let name = &expected[..expected.find('(').unwrap() + 1];
            if source.contains(name) {
                assert!(source.contains(&expected), "expected in ffi.rs: {}", expected);
                functions += 1;
            }
        } else if let Some((name, value)) = line.strip_prefix("constant ").and_then(|c| c.split_once(' ')) {
            if source.contains(&format!("const {}:", name)) {
                assert!(source.contains(&format!("const {}: i32 = {};", name, value)), "{} is {}", name, value);
                constants += 1;
            }
        }
    }
    assert_eq!(functions, source.matches("pub fn ").count());
    assert_eq!(constants, source.matches("pub const ").count());
}
