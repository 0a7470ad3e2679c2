//! Finds libcassini: in $CASSINI_LIB_DIR, else where pkg-config or the Python package say that it is.
use std::path::{Path, PathBuf};
use std::process::Command;

fn printed(program: &str, arguments: &[&str]) -> Option<PathBuf> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let line = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !line.is_empty()).then(|| PathBuf::from(line))
}

fn library_dir() -> Option<PathBuf> {
    std::env::var_os("CASSINI_LIB_DIR")
        .map(PathBuf::from)
        .or_else(|| printed("pkg-config", &["--variable=libdir", "cassini"]))
        .or_else(|| {
            let library = printed("python", &["-m", "cassini_core", "--library"])?;
            library.parent().map(Path::to_owned)
        })
}

fn main() {
    for variable in ["CASSINI_LIB_DIR", "PKG_CONFIG_PATH", "VIRTUAL_ENV", "PATH"] {
        println!("cargo:rerun-if-env-changed={}", variable);
    }
    let dir =
        library_dir().expect("libcassini: set CASSINI_LIB_DIR, or PKG_CONFIG_PATH, or `pip install cassini-core`");
    println!("cargo:rustc-link-search=native={}", dir.display());
    println!("cargo:rustc-link-lib=dylib=cassini");
    println!("cargo:rustc-link-arg=-Wl,-rpath,{}", dir.display()); // found again when the program runs
}
