//! A list that grows without being moved: one that is copied to where there is more room takes its
//! memory twice, and leaves holes.

/// How many items a piece has.
const PIECE_ITEMS: usize = 4096;

/// A list in pieces of one length.
#[derive(Debug)]
pub(super) struct Pieces<T>(Vec<Vec<T>>);

impl<T> Default for Pieces<T> {
    fn default() -> Pieces<T> {
        Pieces(Vec::new())
    }
}

impl<T> Pieces<T> {
    /// Counts the items.
    pub(super) fn len(&self) -> usize {
        let last = self.0.last().map_or(0, Vec::len);
        self.0.len().saturating_sub(1) * PIECE_ITEMS + last
    }

    /// Adds an item.
    pub(super) fn push(&mut self, item: T) {
        match self.0.last_mut().filter(|last| last.len() < PIECE_ITEMS) {
            Some(last) => last.push(item),
            None => {
                // The first grows as it is needed: most files are short.
                let room = if self.0.is_empty() { 0 } else { PIECE_ITEMS };
                let mut piece = Vec::with_capacity(room);
                piece.push(item);
                self.0.push(piece);
            }
        }
    }

    /// Gives the item at a place.
    pub(super) fn at(&self, place: u32) -> &T {
        &self.0[place as usize / PIECE_ITEMS][place as usize % PIECE_ITEMS]
    }

    /// Gives the item at a place, to change it.
    pub(super) fn at_mut(&mut self, place: u32) -> &mut T {
        &mut self.0[place as usize / PIECE_ITEMS][place as usize % PIECE_ITEMS]
    }

    /// Gives all items in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_back_in_their_order() {
        let mut pieces = Pieces::default();
        for item in 0..3 * PIECE_ITEMS + 7 {
            assert_eq!(pieces.len(), item);
            pieces.push(item);
        }
        *pieces.at_mut(PIECE_ITEMS as u32) = 17;
        assert_eq!((*pieces.at(PIECE_ITEMS as u32 - 1), *pieces.at(5000)), (PIECE_ITEMS - 1, 5000));
        assert_eq!(pieces.iter().filter(|item| **item == 17).count(), 2);
        assert_eq!(pieces.iter().count(), pieces.len());
    }
}
