//! What a page consists of.

use strum::{Display, EnumIter, EnumMessage, EnumString, IntoStaticStr, VariantNames};

/// The pages that configuration can name: those of 004 §4.2.2.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    Default,
    Display,
    EnumIter,
    EnumMessage,
    EnumString,
    IntoStaticStr,
    VariantNames,
)]
#[strum(serialize_all = "kebab-case")]
pub enum NamedPage {
    /// 56 kB in 3 requests.
    #[default]
    Small,
    /// 3 MB in 110 requests.
    Large,
}

impl NamedPage {
    /// The page of that name. The paper does not print how the bytes are divided among the objects;
    /// here they are divided evenly.
    #[must_use]
    pub fn page(self) -> Page {
        let (bytes, objects) = match self {
            Self::Small => (56_000, 3),
            Self::Large => (3_000_000, 110),
        };
        Page::even(bytes, objects).expect("there are more bytes than objects")
    }
}

/// A page: the sizes of the responses that make it up, in bytes. The first is the document, which
/// names the others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    pub(super) objects: Vec<u32>,
}

/// Why a page cannot be loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// The page has no object.
    #[error("the page has no object: give it at least the document")]
    Empty,
    /// An object is empty, so that its arrival could not be noticed.
    #[error("an object has no bytes: give it at least 1")]
    NoBytes,
}

impl Page {
    /// A page whose responses have these sizes in bytes, headers included, the document first.
    ///
    /// # Errors
    /// See [`PageError`].
    pub fn new(objects: Vec<u32>) -> Result<Self, PageError> {
        match objects.iter().min() {
            None => Err(PageError::Empty),
            Some(0) => Err(PageError::NoBytes),
            Some(_) => Ok(Self { objects }),
        }
    }

    /// A page of `total` bytes in `objects` objects of equal size; the document takes the
    /// remainder.
    ///
    /// # Errors
    /// See [`PageError`]; [`PageError::NoBytes`] also if there are more objects than bytes.
    pub fn even(total: u32, objects: u32) -> Result<Self, PageError> {
        let each = total.checked_div(objects).ok_or(PageError::Empty)?;
        let mut sizes = vec![each; objects as usize];
        sizes[0] += total % objects;
        Self::new(sizes)
    }

    /// Bytes of all responses.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.objects.iter().map(|&bytes| u64::from(bytes)).sum()
    }

    /// Number of objects, which is the number of requests.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Always false: a page has a document.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }
}
