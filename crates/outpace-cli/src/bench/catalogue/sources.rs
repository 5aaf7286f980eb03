//! The publications that the experiments come from.

use crate::bench::experiment::Publication;

pub(super) const STDOUT_AND_STDERR: Publication = Publication {
    author: "Orhun Parmaksız",
    title: "Why stdout is faster than stderr?",
    year: Some(2024),
    link: Some("https://blog.orhun.dev/stdout-vs-stderr/"),
};

pub(super) const BUFFERING_BY_BLOCK: Publication = Publication {
    author: "Eric Park",
    title: "Buffering by block in Rust",
    year: Some(2025),
    link: Some("https://ericswpark.com/blog/2025/2025-01-23-buffering-by-block-in-rust"),
};

pub(super) const FASTHELLO: Publication = Publication {
    author: "Bart Massey and others",
    title: "IO Buffering performance in Rust (fasthello)",
    year: Some(2019),
    link: Some("https://github.com/BartMassey/fasthello"),
};

pub(super) const WHY_BUFFERING: Publication = Publication {
    author: "bruce3434 and others",
    title: "Why does buffering the already buffered stdout …",
    year: Some(2019),
    link: Some(
        "https://www.reddit.com/r/rust/comments/dogxk8/why_does_buffering_the_already_buffered_stdout/",
    ),
};

/// Where it is published is not known any more: its text was found in the sources of a blog.
pub(super) const ENDL: Publication = Publication {
    author: "Taichi Ichisawa",
    title: "Why std::endl is not good in terms of performance",
    year: Some(2024),
    link: None,
};

pub(super) const ONLY_AS_FAST: Publication = Publication {
    author: "Sid",
    title: "Writing to stdout is only as fast as your terminal",
    year: Some(2023),
    link: Some("http://madebysid.com/p/stdout-perf"),
};

pub(super) const DRAWING_WAITS: Publication = Publication {
    author: "ratatui",
    title: "issue 2742",
    year: None,
    link: Some("https://github.com/ratatui/ratatui/issues/2742"),
};

pub(super) const VTEBENCH: Publication = Publication {
    author: "The Alacritty project",
    title: "vtebench",
    year: None,
    link: Some("https://github.com/alacritty/vtebench"),
};

pub(super) const FAST_IO: Publication = Publication {
    author: "Benjamin Qi and Nathan Chen",
    title: "Fast Input & Output, USACO Guide",
    year: None,
    link: Some("https://usaco.guide/general/fast-io/"),
};

pub(super) const EIGHT_DIGITS: Publication = Publication {
    author: "Kholdstare",
    title: "Faster Integer Parsing",
    year: Some(2020),
    link: Some("https://kholdstare.github.io/technical/2020/05/26/faster-integer-parsing.html"),
};

pub(super) const WITH_AVX_512: Publication = Publication {
    author: "Daniel Lemire",
    title: "Parsing integers quickly with AVX-512",
    year: Some(2023),
    link: Some("https://lemire.me/blog/2023/09/22/parsing-integers-quickly-with-avx-512/"),
};

pub(super) const TO_DECIMAL: Publication = Publication {
    author: "Daniel Lemire",
    title: "Converting integers to decimal strings faster with AVX-512",
    year: Some(2022),
    link: Some(
        "https://lemire.me/blog/2022/03/28/converting-integers-to-decimal-strings-faster-with-avx-512/",
    ),
};

pub(super) const LIBRARY_CHECKER: Publication = Publication {
    author: "Nyaan",
    title: "fastio.hpp, a library for library-checker",
    year: None,
    link: Some("https://nyaannyaan.github.io/library/misc/fastio.hpp"),
};
