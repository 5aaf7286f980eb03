//! The macros. What they do is decided in `outpace-macros`; what stands here adds the path back to
//! this crate, and leaves the printing ones to std under the caller's `cfg(test)`.

/// Prints to standard output.
#[macro_export]
macro_rules! print {
    ($($arguments:tt)*) => {{
        #[cfg(test)]
        { $crate::__private::std::print!($($arguments)*); }
        #[cfg(not(test))]
        { $crate::__private::macros::print!($crate $($arguments)*); }
    }};
}

/// Prints to standard output, with a newline.
#[macro_export]
macro_rules! println {
    ($($arguments:tt)*) => {{
        #[cfg(test)]
        { $crate::__private::std::println!($($arguments)*); }
        #[cfg(not(test))]
        { $crate::__private::macros::println!($crate $($arguments)*); }
    }};
}

/// Prints to standard error.
#[macro_export]
macro_rules! eprint {
    ($($arguments:tt)*) => {{
        #[cfg(test)]
        { $crate::__private::std::eprint!($($arguments)*); }
        #[cfg(not(test))]
        { $crate::__private::macros::eprint!($crate $($arguments)*); }
    }};
}

/// Prints to standard error, with a newline.
#[macro_export]
macro_rules! eprintln {
    ($($arguments:tt)*) => {{
        #[cfg(test)]
        { $crate::__private::std::eprintln!($($arguments)*); }
        #[cfg(not(test))]
        { $crate::__private::macros::eprintln!($crate $($arguments)*); }
    }};
}

/// Makes a `String`.
#[macro_export]
macro_rules! format {
    ($($arguments:tt)*) => {
        $crate::__private::macros::format!($crate $($arguments)*)
    };
}

/// Writes to a destination.
#[macro_export]
macro_rules! write {
    ($($arguments:tt)*) => {
        $crate::__private::macros::write!($crate $($arguments)*)
    };
}

/// Writes to a destination, with a newline.
#[macro_export]
macro_rules! writeln {
    ($($arguments:tt)*) => {
        $crate::__private::macros::writeln!($crate $($arguments)*)
    };
}
