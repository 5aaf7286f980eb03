//! The shared library is never unloaded: its helper threads and its exit drain would be code that is gone.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS")
        .is_ok_and(|os| matches!(&*os, "linux" | "android" | "freebsd"))
    {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,liboutpace_c.so");
    }
}
