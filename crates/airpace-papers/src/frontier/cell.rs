//! Cells: the scenarios in which every arm is run.

use airpace_config::suggest::remedy;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A scenario file that says which access point and stations there are. Load and arm are put in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cell {
    /// Its name in the rows: that of the file, without folder and ending.
    pub name: String,
    /// Text of the scenario.
    pub text: String,
    /// The folder to which paths in the text are relative.
    pub folder: PathBuf,
}

/// Why a cell cannot be taken.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CellError {
    /// It is neither a known name nor a path.
    #[error("there is no cell `{name}`: {remedy}, or name a scenario file")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What may have been meant.
        remedy: String,
    },
    /// Two different cells have the same name, so that their rows could not be told apart.
    #[error("two cells are called `{0}`: rename one of the files")]
    SameName(String),
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../scenarios/frontier/", $name, ".toml")))),*]
    };
}

/// The cells that the bars are checked in.
const MAIN: &[(&str, &str)] = files![
    "one",
    "three",
    "ten",
    "thirty-11n",
    "mixed-traffic",
    "neighbours",
    "minstrel",
    "mobility",
    "he-1024",
];

/// Further cells of the same kinds, which show whether a law was made for the others alone.
const EXTRA: &[(&str, &str)] = files![
    "extra-two-far",
    "extra-vht-he",
    "extra-forty",
    "extra-32-mpdus",
    "extra-256-mpdus",
    "extra-airtime-ap",
    "extra-oldest-first",
    "extra-shared-fifo",
    "extra-uplink",
];

/// The word for all cells that the bars are checked in.
pub const MAIN_SET: &str = "main";
/// The word for the further cells.
pub const EXTRA_SET: &str = "extra";

impl Cell {
    fn embedded(&(name, text): &(&str, &str)) -> Self {
        Self {
            name: name.to_owned(),
            text: text.to_owned(),
            // No embedded cell refers to other files.
            folder: PathBuf::from("."),
        }
    }

    fn from_file(path: &Path) -> Result<Self, CellError> {
        let text = std::fs::read_to_string(path).map_err(|source| CellError::Read {
            path: path.to_owned(),
            source,
        })?;
        let name = path.file_stem().unwrap_or(path.as_os_str());
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            text,
            folder: path.parent().unwrap_or(Path::new(".")).to_owned(),
        })
    }
}

/// The cells that `names` stand for, each once: names of cells, [`MAIN_SET`], [`EXTRA_SET`], or
/// paths of scenario files, which end in `.toml`.
///
/// # Errors
/// [`CellError`] if a name is not known, a file cannot be read, or two cells have the same name.
pub fn select(names: &[String]) -> Result<Vec<Cell>, CellError> {
    let mut cells: Vec<Cell> = Vec::new();
    for name in names {
        for cell in named(name)? {
            match cells.iter().find(|known| known.name == cell.name) {
                None => cells.push(cell),
                Some(known) if *known == cell => {}
                Some(_) => return Err(CellError::SameName(cell.name)),
            }
        }
    }
    Ok(cells)
}

fn named(name: &str) -> Result<Vec<Cell>, CellError> {
    if name == MAIN_SET {
        return Ok(MAIN.iter().map(Cell::embedded).collect());
    }
    if name == EXTRA_SET {
        return Ok(EXTRA.iter().map(Cell::embedded).collect());
    }
    if name.ends_with(".toml") {
        return Ok(vec![Cell::from_file(Path::new(name))?]);
    }
    let known = || MAIN.iter().chain(EXTRA);
    if let Some(cell) = known().find(|(known, _)| *known == name) {
        return Ok(vec![Cell::embedded(cell)]);
    }
    let words = known().map(|&(name, _)| name).chain([MAIN_SET, EXTRA_SET]);
    Err(CellError::Unknown {
        name: name.to_owned(),
        remedy: remedy(name, words),
    })
}
