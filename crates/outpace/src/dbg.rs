//! `dbg!`, whose messages are whole.

/// Prints an expression and its value to standard error and returns the value: std's [`dbg!`](std::dbg), byte for
/// byte.
///
/// Each value is one message, and so one system call, where std's makes one for each fragment of the value's
/// `Debug`: other threads' output never comes between its lines. On a terminal that standard output is on, too,
/// what was printed before comes first.
///
/// Under the caller's `cfg(test)` it prints as std's does, so that libtest captures it.
///
/// ```
/// let area = outpace::dbg!(3 * 4) + 1;
/// assert_eq!(area, 13);
/// ```
#[macro_export]
macro_rules! dbg {
    () => {
        $crate::eprintln!(
            "[{}:{}:{}]",
            $crate::__private::std::file!(),
            $crate::__private::std::line!(),
            $crate::__private::std::column!()
        )
    };
    ($value:expr $(,)?) => {
        // `match`, so that temporaries of the expression live as long as in its statement.
        match $value {
            value => {
                $crate::eprintln!(
                    "[{}:{}:{}] {} = {:#?}",
                    $crate::__private::std::file!(),
                    $crate::__private::std::line!(),
                    $crate::__private::std::column!(),
                    $crate::__private::std::stringify!($value),
                    &&value as &dyn $crate::__private::std::fmt::Debug
                );
                value
            }
        }
    };
    ($($value:expr),+ $(,)?) => {
        ($($crate::dbg!($value)),+,)
    };
}
