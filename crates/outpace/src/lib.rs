//! Output that does not slow the program down.
