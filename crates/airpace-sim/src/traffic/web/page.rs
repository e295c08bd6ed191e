//! What a page consists of.

/// A page: the objects that it needs, by the bytes of their responses. The first is the document that names the others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    pub(super) objects: Vec<u32>,
}

/// Why a page cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// No object.
    #[error("the page has no object: give it at least the document")]
    Empty,
    /// An object without bytes, which no one would notice to have come.
    #[error("an object has no bytes: give it at least 1")]
    NoBytes,
}

impl Page {
    /// A page of objects with responses of these bytes, headers included, the document first.
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

    /// A page of `total` bytes in `objects` objects as even as can be, the document taking the odd bytes.
    ///
    /// # Errors
    /// See [`PageError`]; also if there are more objects than bytes.
    pub fn even(total: u32, objects: u32) -> Result<Self, PageError> {
        let each = total.checked_div(objects).ok_or(PageError::Empty)?;
        let mut sizes = vec![each; objects as usize];
        sizes[0] += total % objects;
        Self::new(sizes)
    }

    /// The small page of 004 §4.2.2: 56 kB in 3 requests. How the bytes divide is not printed there: evenly.
    #[must_use]
    pub fn small() -> Self {
        Self::even(56_000, 3).expect("each object has bytes")
    }

    /// The large page of 004 §4.2.2: 3 MB in 110 requests. How the bytes divide is not printed there: evenly.
    #[must_use]
    pub fn large() -> Self {
        Self::even(3_000_000, 110).expect("each object has bytes")
    }

    /// Bytes of all responses.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.objects.iter().map(|&bytes| u64::from(bytes)).sum()
    }

    /// How many objects it has: so many requests.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Never: a page has a document.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }
}
