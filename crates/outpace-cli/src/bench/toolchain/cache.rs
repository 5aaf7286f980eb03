//! The user's cache, in which built rungs are kept.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::Access;

use crate::platform::scratch;

/// The directory of the programs that were built here: `$XDG_CACHE_HOME/outpace`, by default `~/.cache/outpace`. Without a
/// usable home, a directory of this user's own among the temporary files.
///
/// Files there are executed. So a directory that another user owns or can write to is never taken.
pub(crate) fn cache() -> Result<&'static Path, String> {
    static CACHE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let cache = CACHE.get_or_init(|| {
        let temporary = format!("outpace-{}", rustix::process::geteuid().as_raw());
        absolute("XDG_CACHE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
            .map(|base| base.join("outpace"))
            .into_iter()
            .chain([std::env::temp_dir().join(temporary)])
            .find(|directory| is_private(directory).unwrap_or(false))
            .map_or_else(
                || {
                    let made = scratch().map(tempfile::TempDir::keep);
                    made.map_err(|error| format!("no directory for built rungs: {error}"))
                },
                Ok,
            )
    });
    cache.as_deref().map_err(Clone::clone)
}

/// Creates a directory, if it is not there; returns whether only this user can change its contents.
fn is_private(directory: &Path) -> io::Result<bool> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    // Not through a symbolic link, which might be another user's.
    let found = fs::symlink_metadata(directory)?;
    let is_ours = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
    // Also false on a file system that is mounted read-only.
    let is_writable = rustix::fs::access(directory, Access::WRITE_OK).is_ok();
    Ok(is_ours && found.mode() & 0o022 == 0 && is_writable)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_directory_that_others_can_change_is_not_private() {
        let scratch = tempfile::tempdir().unwrap();
        let (ours, theirs) = (scratch.path().join("a/b"), scratch.path().join("open"));
        assert!(is_private(&ours).unwrap());
        assert!(is_private(&ours).unwrap(), "it is there already");
        fs::create_dir(&theirs).unwrap();
        fs::set_permissions(&theirs, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(!is_private(&theirs).unwrap());
        let link = scratch.path().join("link");
        std::os::unix::fs::symlink(&ours, &link).unwrap();
        assert!(!is_private(&link).unwrap_or(false));
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&ours, Some(65534), None).unwrap();
            assert!(!is_private(&ours).unwrap());
        }
    }
}
