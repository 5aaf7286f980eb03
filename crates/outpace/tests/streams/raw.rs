//! The example about ways to an unbuffered standard output: it breaks what it says it breaks.

use crate::support::{Program, To, list};

#[path = "../../examples/raw_forms.rs"]
mod raw_forms;

list! {
    portable: [the_forms_break_as_the_example_says],
    native: [],
    programs: [forms],
}

fn forms() {
    raw_forms::main().unwrap();
}

fn the_forms_break_as_the_example_says() {
    let working = [
        "Mutex<File>",
        "OwnedFd, cloned",
        "OwnedFd of stdout(), cloned",
        "outpace::raw::stdout()",
    ];
    for to in [To::Pipe, To::Terminal, To::File] {
        let finished = Program::new(forms).run(to);
        assert_eq!(finished.code(), 0);
        let mut report = finished.stderr.lines();
        let mut next = || report.next().unwrap_or_default();
        assert!(next().ends_with("first use: works"));
        assert!(next().ends_with("second use: Bad file descriptor (os error 9)"));
        let mut expected = "File::from_raw_fd(1): first use\n".to_owned();
        for form in working {
            for use_of_it in ["first", "second"] {
                assert!(next().ends_with(&format!("{use_of_it} use: works")));
                expected += &format!("{form}: {use_of_it} use\n");
            }
        }
        assert_eq!(String::from_utf8(finished.stdout).unwrap(), expected);
    }
}
