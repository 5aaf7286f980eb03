//! The publications that the experiments come from.

use crate::bench::experiment::Publication;

/// Author, title, year and address.
macro_rules! publications {
    ($($name:ident: $author:literal, $title:literal, $year:expr, $link:expr;)*) => {
        $(pub(super) const $name: Publication =
            Publication { author: $author, title: $title, year: $year, link: $link };)*
    };
}

publications! {
    STDOUT_AND_STDERR: "Orhun Parmaksız", "Why stdout is faster than stderr?", Some(2024), Some("https://blog.orhun.dev/stdout-vs-stderr/");
    BUFFERING_BY_BLOCK: "Eric Park", "Buffering by block in Rust", Some(2025),
        Some("https://ericswpark.com/blog/2025/2025-01-23-buffering-by-block-in-rust");
    FASTHELLO: "Bart Massey and others", "IO Buffering performance in Rust (fasthello)", Some(2019), Some("https://github.com/BartMassey/fasthello");
    WHY_BUFFERING: "bruce3434 and others", "Why does buffering the already buffered stdout …", Some(2019),
        Some("https://www.reddit.com/r/rust/comments/dogxk8/why_does_buffering_the_already_buffered_stdout/");
    // Its address is lost: its text was found in the sources of a blog.
    ENDL: "Taichi Ichisawa", "Why std::endl is not good in terms of performance", Some(2024), None;
    ONLY_AS_FAST: "Sid", "Writing to stdout is only as fast as your terminal", Some(2023), Some("http://madebysid.com/p/stdout-perf");
    DRAWING_WAITS: "ratatui", "issue 2742", None, Some("https://github.com/ratatui/ratatui/issues/2742");
    INK: "Vadim Demedes", "Ink, React for interactive command-line apps", None, Some("https://github.com/vadimdemedes/ink");
    NOTCURSES: "Nick Black", "notcurses, blingful terminal interfaces", None, Some("https://github.com/dankamongmen/notcurses");
    QUILL: "Odysseas Georgoudis", "quill, Asynchronous Low Latency C++ Logging", None, Some("https://github.com/odygrd/quill");
    VTEBENCH: "The Alacritty project", "vtebench", None, Some("https://github.com/alacritty/vtebench");
    FAST_IO: "Benjamin Qi and Nathan Chen", "Fast Input & Output, USACO Guide", None, Some("https://usaco.guide/general/fast-io/");
    EIGHT_DIGITS: "Kholdstare", "Faster Integer Parsing", Some(2020),
        Some("https://kholdstare.github.io/technical/2020/05/26/faster-integer-parsing.html");
    WITH_AVX_512: "Daniel Lemire", "Parsing integers quickly with AVX-512", Some(2023),
        Some("https://lemire.me/blog/2023/09/22/parsing-integers-quickly-with-avx-512/");
    TO_DECIMAL: "Daniel Lemire", "Converting integers to decimal strings faster with AVX-512", Some(2022),
        Some("https://lemire.me/blog/2022/03/28/converting-integers-to-decimal-strings-faster-with-avx-512/");
    LIBRARY_CHECKER: "Nyaan", "fastio.hpp, a library for library-checker", None, Some("https://nyaannyaan.github.io/library/misc/fastio.hpp");
}
