//! Files that an operator names. A pipe or a folder under such a name must neither stop the program
//! for good nor surprise it later.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Longest file that is read, in bytes: configurations and keys are far shorter.
const MOST_BYTES: u64 = 16 << 20;

/// Reads a regular file of UTF-8 text.
///
/// # Errors
/// It cannot be read, is not a regular file, is longer than 16 MiB, or is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    let file = open(File::options().read(true), path)?;
    let mut text = String::new();
    if file.take(MOST_BYTES + 1).read_to_string(&mut text)? as u64 > MOST_BYTES {
        return Err(refused("it is longer than 16 MiB"));
    }
    Ok(text)
}

/// Opens a file to which records are appended, which is made if there is none.
///
/// # Errors
/// It cannot be written, or is a pipe, a folder or a socket.
pub fn append(path: &Path) -> io::Result<File> {
    open(File::options().create(true).append(true), path)
}

/// Opens a file without waiting for anybody at the other end.
fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    // Opening a pipe to write to it waits for a reader, or fails with ENXIO with this flag. It means
    // nothing to regular files.
    let opened = options.custom_flags(libc::O_NONBLOCK).open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ENXIO) => refused("it is a pipe or a socket; name a regular file"),
        _ => error,
    })?;
    match unfit(&file.metadata()?) {
        Some(what) => Err(refused(&format!("it is {what}; name a regular file"))),
        None => Ok(file),
    }
}

/// What a file is that cannot be read or written like a regular one. Devices such as /dev/null and
/// /dev/stdin can.
fn unfit(metadata: &Metadata) -> Option<&'static str> {
    let kind = metadata.file_type();
    if kind.is_dir() {
        Some("a folder")
    } else if kind.is_fifo() {
        Some("a pipe")
    } else if kind.is_socket() {
        Some("a socket")
    } else if kind.is_block_device() {
        Some("a block device")
    } else {
        None
    }
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_and_folders_are_refused_at_once() {
        let folder = std::env::temp_dir().join(format!("airpace-files-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let pipe = folder.join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for (path, what) in [(&pipe, "a pipe"), (&folder, "folder")] {
            let errors = [read_text(path).unwrap_err(), append(path).unwrap_err()];
            for error in errors {
                let text = error.to_string().to_lowercase();
                assert!(text.contains(what) || text.contains("directory"), "{text}");
            }
        }
        let file = folder.join("file");
        append(&file).unwrap();
        assert_eq!(read_text(&file).unwrap(), "");
        assert!(append(Path::new("/dev/null")).is_ok());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
