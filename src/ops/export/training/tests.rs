//! Tests of training data.
