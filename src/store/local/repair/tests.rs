//! Salvage, piece by piece.
