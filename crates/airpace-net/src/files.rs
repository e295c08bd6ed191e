//! Files that an operator names. A pipe or a folder under such a name must not make the program wait.

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
    let metadata = file.metadata()?;
    refuse_unfit(&metadata)?;
    if metadata.file_type().is_fifo() {
        // Reading would wait for as long as somebody keeps the other end open.
        return Err(refused("it is a pipe; name a regular file"));
    }
    let mut text = String::new();
    if file.take(MOST_BYTES + 1).read_to_string(&mut text)? as u64 > MOST_BYTES {
        return Err(refused("it is longer than 16 MiB"));
    }
    Ok(text)
}

/// Opens a file to which records are appended, which is made if there is none. Writing never waits:
/// a pipe that is full refuses ([`io::ErrorKind::WouldBlock`]).
///
/// # Errors
/// It cannot be written, is a folder or a socket, or a pipe from which nobody reads.
pub fn append(path: &Path) -> io::Result<File> {
    let file = open(File::options().create(true).append(true), path)?;
    refuse_unfit(&file.metadata()?)?;
    Ok(file)
}

/// Opens a file without waiting for anybody at the other end.
fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    // Without this flag, opening a pipe waits for the other end; with it, opening one to write fails
    // with ENXIO while nobody reads. It means nothing to regular files.
    let opened = options.custom_flags(libc::O_NONBLOCK).open(path);
    opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ENXIO) => {
            refused("it is a pipe from which nobody reads, or a socket; name a regular file")
        }
        _ => error,
    })
}

/// Refuses what can be neither read nor written like a regular file. Devices such as /dev/null can.
fn refuse_unfit(metadata: &Metadata) -> io::Result<()> {
    let kind = metadata.file_type();
    if kind.is_dir() {
        Err(refused("it is a folder; name a regular file"))
    } else if kind.is_socket() {
        Err(refused("it is a socket; name a regular file"))
    } else {
        Ok(())
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
